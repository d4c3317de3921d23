/* Stands between a program and CUDA's driver, the library FAULT_DRIVER, and lets a call fail: the FAULT_AT-th (from 1), and
 * with FAULT_ALL all after it, as when a device is lost. They return FAULT_ERROR. FAULT_LOG names a file that the name of
 * each call is written to. A program under test finds this library in LD_LIBRARY_PATH. The header functions.h, which
 * run.py makes, has FUNCTION(name) for each function of the driver that Pogo calls. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static void *driver;
static FILE *names;
static long calls, fault_at;
static int fault_all, fault_error;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULT_DRIVER"), *at = getenv("FAULT_AT"), *error = getenv("FAULT_ERROR"), *log = getenv("FAULT_LOG");
    driver = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    names = log ? fopen(log, "w") : NULL;
    fault_at = at ? atol(at) : 0;
    fault_all = getenv("FAULT_ALL") != NULL;
    fault_error = error ? atoi(error) : 2;
}

__attribute__((destructor)) static void end(void) {
    if (names) fclose(names);
}

/* Whether this call is to fail. */
static int fails(const char *name) {
    pthread_mutex_lock(&turn);
    long n = ++calls;
    if (names) fprintf(names, "%s\n", name);
    pthread_mutex_unlock(&turn);
    return fault_at > 0 && (n == fault_at || (n > fault_at && fault_all));
}

/* No function has more arguments than these words, also where a structure is among them. A word too many is not read. */
#define WORDS long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l, long m, long n, long o
typedef int Call(WORDS);

#define FUNCTION(NAME)                                                                                                  \
    int NAME(WORDS) {                                                                                                   \
        Call *real = driver ? (Call *)dlsym(driver, #NAME) : NULL;                                                      \
        if (!real || fails(#NAME)) return real ? fault_error : 999;                                                     \
        return real(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);                                                       \
    }
#include "functions.h"

/* The words for an error always come. */
int cuGetErrorString(int error, const char **string) {
    int (*real)(int, const char **) = driver ? dlsym(driver, "cuGetErrorString") : NULL;
    return real ? real(error, string) : 999;
}
