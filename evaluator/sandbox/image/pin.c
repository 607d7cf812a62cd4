/* pin.c: a library that /etc/ld.so.preload loads into every program of a job. It makes time, random numbers, the
 * kernel's version and the size of the machine the same in every run.
 *
 * Clock: the world's clock plus the whole seconds that the job has run. A world without a clock has EPOCH, the suite's
 * clock in seconds. The job has a time namespace with a monotonic clock that begins at ORIGIN, so every process knows
 * the job's age from its own clock.
 * The current time has half a second and file times have none, because `ls -l` prints the year of a file that is not
 * older than now. Times of files written during the job are mapped to this clock when a program reads them. Older
 * times, and times that a command sets itself, stay unchanged. For a file older than the job, the times of birth and
 * of status change are the build's real time, which no program can set. The time of modification replaces them. It also
 * replaces the time of access of a file of the base image if this time is later than the suite's clock.
 *
 * While a script builds a world, the clock stands still. Otherwise, a slow machine would build a world with later times,
 * for example in an archive. The job's monotonic clock then begins at FROZEN before ORIGIN.
 *
 * Random numbers: getrandom and similar functions use a counter-mode mixer with the process number as its key.
 *
 * Command: bash is started as `bash -c :`, with the command's bytes in a sealed memory file at COMMAND_FD. The
 * constructor replaces `:` with these bytes before main runs. So a command can have any length, bash sees it
 * exactly as with `bash -c TEXT`, and it is not in the process list, where `pkill -f` would find it.
 *
 * Not covered: statically linked programs, and calls inside libc itself (such as mktemp's names).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "numbers.h"

#ifndef EPOCH
#error "EPOCH, the suite's clock in seconds, must be defined"
#endif
#define ORIGIN 1000LL
#define COMMAND_FD 3
#define STATE_FD 251 /* bash reports its state here; its children do not inherit it */
#define PROC_ROOT_INODE 1
#define RAM (4LL << 30) /* as in the fixed /proc/meminfo */
#define FREE_RAM (3LL << 30)
#define SECOND 1000000000LL
#define FROZEN (900 * SECOND)
#define HALF 500000000L
/* File times come from the kernel's coarse clock, which is late by one tick of at most 10 ms. */
#define TICK 20000000LL

static int64_t raw(clockid_t id) {
    struct timespec ts;
    syscall(SYS_clock_gettime, id, &ts);
    return ts.tv_sec * SECOND + ts.tv_nsec;
}

/* Return the time that the clock has run, or a negative number if it stands still. */
static int64_t age(void) { return raw(CLOCK_MONOTONIC) - ORIGIN * SECOND; }

/* Return the time on the world's clock at this age of the job. */
static time_t at(int64_t age) {
    int64_t start = world_clock();
    return (start ? start : EPOCH) + (age > 0 ? age / SECOND : 0);
}

static time_t now(void) { return at(age()); }

static int is_wall(clockid_t id) {
    return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_TAI;
}

int clock_gettime(clockid_t id, struct timespec *ts) {
    if (!is_wall(id)) return syscall(SYS_clock_gettime, id, ts);
    ts->tv_sec = now();
    ts->tv_nsec = HALF;
    return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
    *tv = (struct timeval){now(), HALF / 1000};
    if (zone) memset(zone, 0, sizeof(struct timezone));
    return 0;
}

time_t time(time_t *out) {
    time_t t = now();
    if (out) *out = t;
    return t;
}

int timespec_get(struct timespec *ts, int base) {
    if (base != TIME_UTC) return 0;
    clock_gettime(CLOCK_REALTIME, ts);
    return base;
}

/* Sleep. If the caller sleeps until a wall-clock time, sleep for the time that remains until then. */
int clock_nanosleep(clockid_t id, int flags, const struct timespec *until, struct timespec *left) {
    struct timespec rest;
    if (is_wall(id) && (flags & TIMER_ABSTIME)) {
        int64_t ns = (until->tv_sec - now()) * SECOND + until->tv_nsec - HALF;
        if (ns <= 0) return 0;
        rest = (struct timespec){ns / SECOND, ns % SECOND};
        until = &rest, flags = 0, id = CLOCK_MONOTONIC;
    }
    long result = syscall(SYS_clock_nanosleep, id, flags, until, left);
    extern int *__errno_location(void);
    return result < 0 ? *__errno_location() : 0;
}

/* Map a raw file time to the job's clock if it lies within the job. Return whether it does. */
static int map_time(int64_t *sec, int64_t *nsec) {
    int64_t real = raw(CLOCK_REALTIME), zero = real - age(), t = *sec * SECOND + *nsec;
    int64_t start = zero > real ? zero - FROZEN : zero;
    if (t < start - TICK || t > real + TICK) return 0;
    *sec = at(t - zero);
    *nsec = 0;
    return 1;
}

static int map_spec(struct timespec *ts) {
    int64_t sec = ts->tv_sec, nsec = ts->tv_nsec;
    int mapped = map_time(&sec, &nsec);
    *ts = (struct timespec){sec, nsec};
    return mapped;
}

/* Return whether a time of access is that of a program of this machine, which read the base image before the job. */
static int is_of_machine(uint64_t inode, int64_t sec) { return sec > EPOCH && is_of_base(inode); }

static int map_stat(long result, struct stat *st) {
    if (result == 0) {
        map_spec(&st->st_mtim);
        if (!map_spec(&st->st_atim) && is_of_machine(st->st_ino, st->st_atim.tv_sec)) st->st_atim = st->st_mtim;
        if (!map_spec(&st->st_ctim)) st->st_ctim = st->st_mtim;
        /* the kernel counts each process of the machine as a link of /proc */
        if (st->st_ino == PROC_ROOT_INODE && st->st_nlink > 2 && !st->st_size) st->st_nlink = 2;
        st->st_ino = pinned_inode(st->st_ino);
        st->st_dev = pinned_device(st->st_dev);
    }
    return result;
}

static int map_timestamp(struct statx_timestamp *time) {
    int64_t sec = time->tv_sec, nsec = time->tv_nsec;
    int mapped = map_time(&sec, &nsec);
    time->tv_sec = sec;
    time->tv_nsec = nsec;
    return mapped;
}

int fstatat(int fd, const char *restrict path, struct stat *restrict st, int flags) {
    return map_stat(syscall(SYS_newfstatat, fd, path, st, flags), st);
}
int stat(const char *restrict path, struct stat *restrict st) { return fstatat(AT_FDCWD, path, st, 0); }
int lstat(const char *restrict path, struct stat *restrict st) {
    return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}
int fstat(int fd, struct stat *st) { return map_stat(syscall(SYS_fstat, fd, st), st); }

/* The same functions under the names that large-file builds and older programs call. */
int stat64(const char *restrict, struct stat64 *restrict) __attribute__((alias("stat")));
int lstat64(const char *restrict, struct stat64 *restrict) __attribute__((alias("lstat")));
int fstat64(int, struct stat64 *) __attribute__((alias("fstat")));
int fstatat64(int, const char *restrict, struct stat64 *restrict, int) __attribute__((alias("fstatat")));
int __xstat(int v, const char *path, struct stat *st) { return (void)v, stat(path, st); }
int __lxstat(int v, const char *path, struct stat *st) { return (void)v, lstat(path, st); }
int __fxstat(int v, int fd, struct stat *st) { return (void)v, fstat(fd, st); }
int __fxstatat(int v, int fd, const char *path, struct stat *st, int flags) {
    return (void)v, fstatat(fd, path, st, flags);
}

#define STATX_TIMES (STATX_ATIME | STATX_CTIME | STATX_BTIME)

int statx(int fd, const char *restrict path, int flags, unsigned mask, struct statx *restrict st) {
    long result = syscall(SYS_statx, fd, path, flags, mask | (mask & STATX_TIMES ? STATX_MTIME | STATX_INO : 0), st);
    if (result == 0) {
        map_timestamp(&st->stx_mtime);
        if (!map_timestamp(&st->stx_atime) && is_of_machine(st->stx_ino, st->stx_atime.tv_sec))
            st->stx_atime = st->stx_mtime;
        if (!map_timestamp(&st->stx_ctime)) st->stx_ctime = st->stx_mtime;
        if (!map_timestamp(&st->stx_btime)) st->stx_btime = st->stx_mtime;
        if (st->stx_ino == PROC_ROOT_INODE && st->stx_nlink > 2 && !st->stx_size) st->stx_nlink = 2;
        dev_t device = pinned_device(makedev(st->stx_dev_major, st->stx_dev_minor));
        st->stx_ino = pinned_inode(st->stx_ino);
        st->stx_dev_major = major(device);
        st->stx_dev_minor = minor(device);
    }
    return result;
}

/* Replace the times at which the kernel received a packet, which `ping` subtracts from the current time. */
ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    ssize_t size = syscall(SYS_recvmsg, fd, message, flags);
    char *next = message->msg_control, *end = next + (size < 0 || !next ? 0 : message->msg_controllen);
    while (end - next >= (ssize_t)sizeof(struct cmsghdr)) {
        struct cmsghdr *header = (struct cmsghdr *)next;
        struct timeval time = {now(), HALF / 1000};
        char *data = (char *)CMSG_DATA(header);
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SO_TIMESTAMP && end - data >= (ssize_t)sizeof time)
            memcpy(data, &time, sizeof time);
        if (header->cmsg_len < sizeof *header) break;
        next += CMSG_ALIGN(header->cmsg_len);
    }
    return size;
}

static uint64_t draw(void) {
    static uint64_t counter;
    uint64_t z = (++counter + ((uint64_t)syscall(SYS_getpid) << 32)) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
    (void)flags;
    for (size_t i = 0; i < length; i++) ((unsigned char *)buffer)[i] = draw();
    return length;
}
int getentropy(void *buffer, size_t length) { return getrandom(buffer, length, 0), 0; }
void arc4random_buf(void *buffer, size_t length) { getrandom(buffer, length, 0); }
uint32_t arc4random(void) { return draw(); }
uint32_t arc4random_uniform(uint32_t bound) { return bound ? draw() % bound : 0; }

int uname(struct utsname *name) {
    long result = syscall(SYS_uname, name);
    if (result == 0) {
        strcpy(name->release, "6.12.0");
        strcpy(name->version, "#1 SMP");
    }
    return result;
}

int sysinfo(struct sysinfo *info) {
    long result = syscall(SYS_sysinfo, info);
    if (result == 0) {
        info->uptime = ORIGIN;
        info->totalram = info->totalswap = 0;
        info->freeram = info->sharedram = info->bufferram = info->freeswap = 0;
        info->procs = 1;
        memset(info->loads, 0, sizeof info->loads);
        info->mem_unit = 1;
        info->totalram = RAM;
        info->freeram = FREE_RAM;
    }
    return result;
}

/* glibc's own function, which asks the kernel itself and not `sysinfo` above. musl has it only as `sysconf`. */
long __sysconf(int name) __attribute__((weak));
void *dlsym(void *handle, const char *name);

static long real_sysconf(int name) {
    static long (*found)(int);
    if (!found) found = __sysconf ? __sysconf : (long (*)(int))dlsym((void *)-1L /* RTLD_NEXT */, "sysconf");
    return found(name);
}

/* The memory is the one of `sysinfo`, and the caches of the processor are unknown. */
long sysconf(int name) {
    if (name == _SC_PHYS_PAGES) return RAM / real_sysconf(_SC_PAGESIZE);
    if (name == _SC_AVPHYS_PAGES) return FREE_RAM / real_sysconf(_SC_PAGESIZE);
    if (name >= _SC_LEVEL1_ICACHE_SIZE && name <= _SC_LEVEL4_CACHE_LINESIZE) return 0;
    return real_sysconf(name);
}

/* Hide the CPU that the worker is pinned to: a job sees one CPU, number 0. */
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
    if (syscall(SYS_sched_getaffinity, pid, size, set) < 0) return -1;
    memset(set, 0, size);
    ((unsigned char *)set)[0] = 1;
    return 0;
}

extern char **environ;
const char *gnu_get_libc_version(void) __attribute__((weak));

__attribute__((constructor)) static void hand_over_command(int argc, char **argv) {
    if (!gnu_get_libc_version) { /* musl passes no arguments. The environment stands behind `argc` and `argv`. */
        if (environ[-1] || (long)environ[-5] != 3) return;
        argc = 3, argv = environ - 4;
    }
    if (argc != 3 || strcmp(argv[1], "-c") || strcmp(argv[2], ":")) return;
    int seals = syscall(SYS_fcntl, COMMAND_FD, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_WRITE)) return;
    struct stat st;
    if (syscall(SYS_fstat, COMMAND_FD, &st) == 0 && st.st_size > 0) {
        char *text = mmap(0, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, COMMAND_FD, 0);
        if (text != MAP_FAILED) argv[2] = text;
    }
    close(COMMAND_FD);
    syscall(SYS_fcntl, STATE_FD, F_SETFD, FD_CLOEXEC);
}
