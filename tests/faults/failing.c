/* Lets a call of the C library fail: the FAULT_AT-th of those that change files (from 1), and with FAULT_ALL all after it.
 * They fail with FAULT_ERROR. FAULT_COUNT names a file that the number of such calls is written to at the end. A program
 * under test is started with this library in LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;
static long fault_at;
static int fault_all, fault_error;

__attribute__((constructor)) static void begin(void) {
    const char *at = getenv("FAULT_AT"), *error = getenv("FAULT_ERROR");
    fault_at = at ? atol(at) : 0;
    fault_all = getenv("FAULT_ALL") != NULL;
    fault_error = error ? atoi(error) : ENOSPC;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FAULT_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", atomic_load(&calls));
        fclose(file);
    }
}

/* Whether this call is to fail. */
static int fails(void) {
    long n = atomic_fetch_add(&calls, 1) + 1;
    if (fault_at == 0 || n < fault_at || (n > fault_at && !fault_all)) return 0;
    errno = fault_error;
    return 1;
}

static int is_file(int fd) {
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t n) {
    return is_file(fd) && fails() ? -1 : NEXT(write)(fd, bytes, n);
}
ssize_t writev(int fd, const struct iovec *parts, int n) {
    return is_file(fd) && fails() ? -1 : NEXT(writev)(fd, parts, n);
}
ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) {
    return is_file(fd) && fails() ? -1 : NEXT(pwrite64)(fd, bytes, n, at);
}
int ftruncate64(int fd, off64_t n) { return fails() ? -1 : NEXT(ftruncate64)(fd, n); }
int fsync(int fd) { return is_file(fd) && fails() ? -1 : NEXT(fsync)(fd); }
int fdatasync(int fd) { return is_file(fd) && fails() ? -1 : NEXT(fdatasync)(fd); }
int rename(const char *from, const char *to) { return fails() ? -1 : NEXT(rename)(from, to); }
int mkdir(const char *path, mode_t mode) { return fails() ? -1 : NEXT(mkdir)(path, mode); }

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return flags & O_CREAT && fails() ? -1 : NEXT(open64)(path, flags, mode);
}
