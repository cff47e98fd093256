/* Sees every call of a process that changes files under DISK_ROOT, SQLite's own among them.
 *
 * With DISK_LOG it appends each call that succeeded to that file, with its bytes, so that a test can build the
 * disk that a power cut at any moment could leave. disk_fail(n, error) makes the n-th call from now on, and all
 * after it, fail with an error number, as a full or broken disk does; disk_fail(0, 0) mends it. disk_calls() tells
 * how many calls there were since. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static long calls, fail_at;
static int fail_with, log_file = -1;

void disk_fail(long n, int error) { calls = 0; fail_at = n; fail_with = error; }
long disk_calls(void) { return calls; }

static int watched(const char *path) {
    const char *root = getenv("DISK_ROOT");
    size_t n = root ? strlen(root) : 0;
    if (!n || strncmp(path, root, n) || (path[n] != '/' && path[n])) return 0;
    n = strlen(path);
    return n < 4 || strcmp(path + n - 4, "-shm");  /* shared memory, made anew after a crash */
}

static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, 4095);
    if (n < 0) return 0;
    path[n] = 0;
    return watched(path);
}

static int refused(void) {
    if (++calls < fail_at || !fail_at) return 0;
    errno = fail_with;
    return 1;
}

static void put(const void *bytes, size_t n) {
    if (syscall(SYS_write, log_file, bytes, n) != (long)n) abort();
}

/* One line: operation, inode, offset, length, path, other path; then `length` bytes. Paths hold no spaces here. */
static void note(const char *operation, unsigned long inode, long offset, const void *bytes, size_t length,
                 const char *path, const char *other) {
    const char *name = getenv("DISK_LOG");
    char line[9000];
    if (!name) return;
    if (log_file < 0) log_file = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int n = snprintf(line, sizeof line, "%s %lu %ld %zu %s %s\n", operation, inode, offset, length, path, other);
    put(line, n);
    if (length) put(bytes, length);
}

static unsigned long inode_of(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : found.st_ino;
}

#define REAL(name, type, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, #name)

static int opened(int (*real)(const char *, int, ...), const char *path, int flags, int mode) {
    int changes = watched(path) && (flags & (O_CREAT | O_TRUNC));
    int existed = changes && !access(path, F_OK);
    if (changes && (!existed || flags & O_TRUNC) && refused()) return -1;
    int fd = real(path, flags, mode);
    if (fd >= 0 && changes && !existed) note("create", inode_of(fd), 0, 0, 0, path, "-");
    if (fd >= 0 && changes && existed && flags & O_TRUNC) note("truncate", inode_of(fd), 0, 0, 0, path, "-");
    return fd;
}
#define OPEN(name)                                                                   \
    int name(const char *path, int flags, ...) {                                     \
        REAL(name, int, const char *, int, ...);                                     \
        va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest); \
        return opened(real, path, flags, mode);                                      \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int fd, const void *bytes, size_t n) {
    REAL(write, ssize_t, int, const void *, size_t);
    char path[4096];
    if (!path_of(fd, path)) return real(fd, bytes, n);
    if (refused()) return -1;
    ssize_t done = real(fd, bytes, n);
    if (done > 0) note("write", inode_of(fd), lseek(fd, 0, SEEK_CUR) - done, bytes, done, path, "-");
    return done;
}
#define PWRITE(name)                                                                 \
    ssize_t name(int fd, const void *bytes, size_t n, off_t offset) {                \
        REAL(name, ssize_t, int, const void *, size_t, off_t);                       \
        char path[4096];                                                             \
        if (!path_of(fd, path)) return real(fd, bytes, n, offset);                   \
        if (refused()) return -1;                                                    \
        ssize_t done = real(fd, bytes, n, offset);                                   \
        if (done > 0) note("write", inode_of(fd), offset, bytes, done, path, "-");   \
        return done;                                                                 \
    }
PWRITE(pwrite)
PWRITE(pwrite64)
#define ON_DESCRIPTOR(name, kind)                                                    \
    int name(int fd) {                                                               \
        REAL(name, int, int);                                                        \
        char path[4096];                                                             \
        if (!path_of(fd, path)) return real(fd);                                     \
        if (refused()) return -1;                                                    \
        int failed = real(fd);                                                       \
        if (!failed) note(kind, inode_of(fd), 0, 0, 0, path, "-");                   \
        return failed;                                                               \
    }
ON_DESCRIPTOR(fsync, "sync")
ON_DESCRIPTOR(fdatasync, "sync")
#define FTRUNCATE(name)                                                              \
    int name(int fd, off_t length) {                                                 \
        REAL(name, int, int, off_t);                                                 \
        char path[4096];                                                             \
        if (!path_of(fd, path)) return real(fd, length);                             \
        if (refused()) return -1;                                                    \
        int failed = real(fd, length);                                               \
        if (!failed) note("truncate", inode_of(fd), length, 0, 0, path, "-");        \
        return failed;                                                               \
    }
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)

int rename(const char *from, const char *to) {
    REAL(rename, int, const char *, const char *);
    if (!watched(from)) return real(from, to);
    if (refused()) return -1;
    int failed = real(from, to);
    if (!failed) note("rename", 0, 0, 0, 0, from, to);
    return failed;
}

int unlink(const char *path) {
    REAL(unlink, int, const char *);
    if (!watched(path)) return real(path);
    if (refused()) return -1;
    int failed = real(path);
    if (!failed) note("unlink", 0, 0, 0, 0, path, "-");
    return failed;
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir, int, const char *, mode_t);
    if (!watched(path)) return real(path, mode);
    if (refused()) return -1;
    int failed = real(path, mode);
    if (!failed) note("mkdir", 0, 0, 0, 0, path, "-");
    return failed;
}
