// A driver library without a device, for tests of what Pogo says when a device fails: memory is the machine's own, copies
// are made, kernels do nothing.
//
//   FAKE_CUDA_MEMORY=BYTES           how much memory is free (default 1 GB)
//   FAKE_CUDA_FAIL=FUNCTION:N:CODE   call N of this function, from 1 on, returns the code, and so does every call after it
//   FAKE_CUDA_VERSION=NUMBER         version of CUDA that the driver supports (default 13000, which is 13.0)
//   FAKE_CUDA_LOG=FILE               names of the functions that are called

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;

static int lost = 0;

static int called(const char *name) {
    static int count = 0;
    const char *fail = getenv("FAKE_CUDA_FAIL"), *log = getenv("FAKE_CUDA_LOG");
    if (log) {
        FILE *file = fopen(log, "a");
        if (file) {
            fprintf(file, "%s\n", name);
            fclose(file);
        }
    }
    char function[64];
    int n, code;
    if (!lost && fail && sscanf(fail, "%63[^:]:%d:%d", function, &n, &code) == 3 && !strcmp(function, name) && ++count == n)
        lost = code;
    return lost;
}

#define CALLED                                                                                                           \
    int failure = called(__func__);                                                                                     \
    if (failure) return failure

// A call that does nothing.
#define EMPTY(NAME, ...)                                                                                                 \
    int NAME(__VA_ARGS__) {                                                                                              \
        CALLED;                                                                                                          \
        return 0;                                                                                                        \
    }
// A call that gives a handle.
#define HANDLE(NAME, ...)                                                                                                \
    int NAME(void **handle, ##__VA_ARGS__) {                                                                             \
        CALLED;                                                                                                          \
        *handle = handle;                                                                                                \
        return 0;                                                                                                        \
    }

EMPTY(cuInit, unsigned flags)
EMPTY(cuCtxSetCurrent, void *context)
EMPTY(cuFuncSetAttribute, void *function, int attribute, int value)
EMPTY(cuStreamDestroy_v2, void *stream)
EMPTY(cuStreamSynchronize, void *stream)
EMPTY(cuStreamBeginCapture_v2, void *stream, int mode)
EMPTY(cuEventRecord, void *event, void *stream)
EMPTY(cuEventDestroy_v2, void *event)
EMPTY(cuStreamWaitEvent, void *stream, void *event, unsigned flags)
EMPTY(cuGraphLaunch, void *exec, void *stream)
EMPTY(cuGraphDestroy, void *graph)
EMPTY(cuGraphExecDestroy, void *exec)
EMPTY(cuLaunchKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned shared, void *stream, void **parameters, void **extra)
HANDLE(cuDevicePrimaryCtxRetain, int device)
HANDLE(cuModuleLoadData, const void *image)
HANDLE(cuModuleGetFunction, void *module, const char *name)
HANDLE(cuEventCreate, unsigned flags)
HANDLE(cuStreamCreateWithPriority, unsigned flags, int priority)
HANDLE(cuGraphInstantiateWithFlags, void *graph, unsigned long long flags)

int cuStreamEndCapture(void *stream, void **graph) {
    CALLED;
    *graph = graph;
    return 0;
}

int cuGetErrorString(int error, const char **string) {
    *string = error == 2 ? "out of memory" : error == 719 ? "unspecified launch failure" : "an error";
    return 0;
}

int cuDriverGetVersion(int *version) {
    CALLED;
    const char *text = getenv("FAKE_CUDA_VERSION");
    *version = text ? atoi(text) : 13000;
    return 0;
}

int cuDeviceGet(int *device, int ordinal) {
    CALLED;
    *device = ordinal;
    return 0;
}

int cuDeviceGetCount(int *count) {
    CALLED;
    *count = 1;
    return 0;
}

int cuDeviceGetName(char *name, int length, int device) {
    CALLED;
    snprintf(name, length, "No Device");
    return 0;
}

int cuDeviceGetUuid(char uuid[16], int device) {
    CALLED;
    memset(uuid, device, 16);
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    CALLED;
    // Compute capability 8.0, four multiprocessors, shared memory.
    *value = attribute == 75 ? 8 : attribute == 76 ? 0 : attribute == 16 ? 4 : attribute == 97 ? 166912 : 0;
    return 0;
}

static size_t memory(void) {
    const char *bytes = getenv("FAKE_CUDA_MEMORY");
    return bytes ? strtoull(bytes, 0, 10) : 1000000000;
}

int cuMemGetInfo_v2(size_t *available, size_t *total) {
    CALLED;
    *available = *total = memory();
    return 0;
}

int cuMemAlloc_v2(address *pointer, size_t bytes) {
    CALLED;
    *pointer = (address)calloc(bytes, 1);
    return *pointer ? 0 : 2;
}

int cuMemFree_v2(address pointer) {
    CALLED;
    free((void *)pointer);
    return 0;
}

int cuMemcpyHtoD_v2(address to, const void *from, size_t bytes) {
    CALLED;
    memcpy((void *)to, from, bytes);
    return 0;
}

int cuMemcpyDtoH_v2(void *to, address from, size_t bytes) {
    CALLED;
    memcpy(to, (void *)from, bytes);
    return 0;
}

int cuMemsetD8_v2(address to, unsigned char value, size_t bytes) {
    CALLED;
    memset((void *)to, value, bytes);
    return 0;
}

int cuMemsetD8Async(address to, unsigned char value, size_t bytes, void *stream) {
    CALLED;
    memset((void *)to, value, bytes);
    return 0;
}

int cuFuncGetAttribute(int *value, int attribute, void *function) {
    CALLED;
    *value = attribute == 0 ? 128 : 0;
    return 0;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared) {
    CALLED;
    *blocks = 4;
    return 0;
}
