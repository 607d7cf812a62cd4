/* numbers.c: the part of libpin that makes the numbers of inodes, devices and file systems the same in every run.
 *
 * Inodes: the runner writes the file TABLE, with the kernel's numbers of the files that a job starts with and the
 * numbers that the job sees. In both, hard links share a number and other files do not. A number that is not in the
 * table stays: it belongs to a file that the job made, or to another file system.
 *
 * Devices: the kernel numbers file systems in the order of their mounting on the whole machine. The root, /proc and
 * /sys have fixed numbers instead, and all other file systems without a disk share one.
 *
 * Not covered: numbers that the kernel writes as text, in /proc/self/maps and mountinfo, and the numbers of pipes.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "numbers.h"

#define TABLE "/sys/kernel/inode_numbers"
#define FIRST_DEVICE 40
#define NEW_IN_VERIFIER (1ULL << 40) /* marks the files that a verifier makes */

/* The table. A verifier's overlay has EXTRA more file systems than a job's, with numbers from 1. CLOCK is the time at
 * which commands of the world start, in seconds since 1970. */
enum { EXTRA, SIZE, CLOCK, KEYS };
static const uint64_t *table; /* EXTRA, SIZE, CLOCK, the kernel's numbers in ascending order, the numbers that the job sees */

static void open_table(void) {
    static const uint64_t none[KEYS];
    struct stat st;
    table = none;
    int fd = syscall(SYS_openat, AT_FDCWD, TABLE, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (syscall(SYS_fstat, fd, &st) == 0 && st.st_size >= KEYS * 8) {
        void *mapped = mmap(0, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (mapped != MAP_FAILED) table = mapped;
    }
    syscall(SYS_close, fd);
}

uint64_t pinned_inode(uint64_t inode) {
    if (!table) open_table();
    uint64_t disk = inode >> FILE_SYSTEM_SHIFT, extra = table[EXTRA], size = table[SIZE];
    if (disk == JOB) return extra ? inode | NEW_IN_VERIFIER : inode;
    if (disk <= extra) return inode & ~(disk << FILE_SYSTEM_SHIFT);
    uint64_t key = inode - (extra << FILE_SYSTEM_SHIFT), low = 0, high = size;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (table[KEYS + middle] < key) low = middle + 1;
        else high = middle;
    }
    return low < size && table[KEYS + low] == key ? table[KEYS + size + low] : inode;
}

int64_t world_clock(void) {
    if (!table) open_table();
    return table[CLOCK];
}

int is_of_base(uint64_t inode) {
    if (!table) open_table();
    return inode >> FILE_SYSTEM_SHIFT == BASE + table[EXTRA];
}

dev_t pinned_device(dev_t device) {
    static const char *const places[] = {"/", "/proc", "/sys"};
    enum { PLACES = sizeof places / sizeof *places };
    static dev_t known[PLACES];
    if (!known[0])
        for (int i = 0; i < PLACES; i++) {
            struct stat st;
            if (syscall(SYS_newfstatat, AT_FDCWD, places[i], &st, 0) == 0) known[i] = st.st_dev;
        }
    if (major(device)) return device;
    for (int i = 0; i < PLACES; i++)
        if (known[i] == device) return makedev(0, FIRST_DEVICE + i);
    return makedev(0, FIRST_DEVICE + PLACES);
}

/* libc's own functions. A libc without `dlsym` has another library for it, which a program may not load. */
extern void *dlsym(void *restrict, const char *restrict) __attribute__((weak));

static void *libc_function(const char *name) { return dlsym ? dlsym((void *)-1L /* RTLD_NEXT */, name) : 0; }

struct dirent *readdir(DIR *folder) {
    static struct dirent *(*next)(DIR *);
    if (!next) next = (struct dirent * (*)(DIR *)) libc_function("readdir");
    struct dirent *entry = next ? next(folder) : 0;
    if (entry) entry->d_ino = pinned_inode(entry->d_ino);
    return entry;
}
struct dirent64 *readdir64(DIR *) __attribute__((alias("readdir")));

/* The kernel draws a random identifier for each file system in memory. */
static int pin_identifier(long result, struct statfs *fs) {
    if (result == 0) memset(&fs->f_fsid, 0, sizeof fs->f_fsid);
    return result;
}

int statvfs(const char *restrict path, struct statvfs *restrict fs) {
    static int (*next)(const char *, struct statvfs *);
    if (!next) next = (int (*)(const char *, struct statvfs *))libc_function("statvfs");
    int result = next ? next(path, fs) : -1;
    if (result == 0) fs->f_fsid = 0;
    return result;
}
int fstatvfs(int fd, struct statvfs *fs) {
    static int (*next)(int, struct statvfs *);
    if (!next) next = (int (*)(int, struct statvfs *))libc_function("fstatvfs");
    int result = next ? next(fd, fs) : -1;
    if (result == 0) fs->f_fsid = 0;
    return result;
}
int statvfs64(const char *restrict, struct statvfs64 *restrict) __attribute__((alias("statvfs")));
int fstatvfs64(int, struct statvfs64 *) __attribute__((alias("fstatvfs")));
int statfs(const char *path, struct statfs *fs) { return pin_identifier(syscall(SYS_statfs, path, fs), fs); }
int fstatfs(int fd, struct statfs *fs) { return pin_identifier(syscall(SYS_fstatfs, fd, fs), fs); }
int statfs64(const char *, struct statfs64 *) __attribute__((alias("statfs")));
int fstatfs64(int, struct statfs64 *) __attribute__((alias("fstatfs")));
