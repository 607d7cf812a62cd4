/* jail.c: run commands, each in its own temporary world. A static program, started once by the runner.
 *
 * Requests arrive one at a time on descriptor RUNNER. Each is one packet with texts that end in NUL and with
 * descriptors that are received at the numbers of the enum below. The texts are the overlay's lower directories, a
 * scratch directory with `upper`, `work` and an empty `root`, the user's number, the groups' numbers (`1000,27`, the
 * primary one first), the working directory, three digits HOLD, START, STATE, the age, and the command's environment.
 * The age is the time in nanoseconds that the world's clock has already run, for a command that follows another one.
 * A negative age makes the clock stand still for that time.
 * HOLD 1: keep the processes that the command left running until RELEASE is closed, so that the runner can list
 * them. START 1: run the world's start script first. STATE 1: bash reads the script at HOOK first and reports its
 * final state to STATE. In bash this is descriptor SHELL_STATE, above the digits that commands use. A descriptor that
 * is not needed is /dev/null. The answer to a request is one byte, sent when all processes of the job are gone.
 * SIGTERM kills the current job.
 *
 * If USERS is open, it is a user namespace that all jobs of the container enter. There, each user number is the number
 * outside. But the kernel's limits per user, such as on inotify instances and timers, count these users apart.
 *
 * The process tree: this program waits outside. For each job it clones process 1 of new pid, mount, ipc, uts,
 * cgroup and time namespaces. Process 1 pivots into the overlay, starts bash as the next process and reaps. When
 * process 1 ends, the kernel ends all its descendants. It dies with its parent, so the runner's death ends the job.
 *
 * The report is one line. `ended WAITSTATUS CPU SETUP RUN` ends with three numbers in microseconds: the command's CPU
 * time, the time until bash was started, the time until bash ended. `broken STEP ERRNO` is a failure of this program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NOTHING, OUT, ERR, COMMAND, REPORT, RELEASE, START, HOOK, STATE, RUNNER, USERS };
#define FILTERS "/opt/bashboard/"
#define ORIGIN 1000
#define SECOND 1000000000LL
#define SHELL_STATE 251 /* pin.c closes it on exec */
#define HOSTNAME "box"
#define MACHINE "/run/bashboard/machine/" /* fixed files, mounted over the machine's own */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* The usual capabilities of a container's root, without those that reach beyond its own files and processes. */
static const int KEPT[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETGID, CAP_SETUID};

static void die(const char *step) {
    dprintf(REPORT, "broken %s %d\n", step, errno);
    _exit(125);
}
#define TRY(step, call) do { if ((call) < 0) die(step); } while (0)

/* Start the job's monotonic and boot clocks at ORIGIN seconds and `age` nanoseconds. */
static void begin_time(long long age) {
    struct timespec mono, boot;
    char line[128];
    TRY("time namespace", unshare(CLONE_NEWTIME));
    clock_gettime(CLOCK_MONOTONIC, &mono);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    long long seconds = ORIGIN + age / SECOND, rest = age % SECOND;
    int n = snprintf(line, sizeof line, "monotonic %lld %lld\nboottime %lld %lld\n",
                     seconds - mono.tv_sec - (rest < mono.tv_nsec), (rest - mono.tv_nsec + SECOND) % SECOND,
                     seconds - boot.tv_sec - (rest < boot.tv_nsec), (rest - boot.tv_nsec + SECOND) % SECOND);
    int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    TRY("time offsets", fd);
    TRY("time offsets", write(fd, line, n));
    close(fd);
}

#define HIDDEN(name) {MACHINE "empty", name}
#define EMPTIED(name) {MACHINE "folder", name}
#define FIXED(name) {MACHINE "proc/" name, name}

/* What is mounted over paths of /proc that would show the machine, and over process 1, which is privileged. The file
 * system of MACHINE is read-only, so the mounted files are too. */
static const struct { const char *with, *path; } COVERS[] = {
    HIDDEN("kcore"), HIDDEN("keys"), HIDDEN("key-users"), HIDDEN("timer_list"), HIDDEN("kallsyms"),
    HIDDEN("interrupts"), HIDDEN("cmdline"), HIDDEN("config.gz"), HIDDEN("kpagecount"), HIDDEN("kpageflags"),
    HIDDEN("kpagecgroup"), HIDDEN("softirqs"), HIDDEN("zoneinfo"), HIDDEN("buddyinfo"), HIDDEN("pagetypeinfo"),
    HIDDEN("slabinfo"), HIDDEN("vmallocinfo"), HIDDEN("iomem"), HIDDEN("ioports"), HIDDEN("locks"), HIDDEN("misc"),
    HIDDEN("crypto"), HIDDEN("consoles"), HIDDEN("schedstat"), HIDDEN("dma"), HIDDEN("modules"), HIDDEN("mdstat"),
    HIDDEN("fb"), HIDDEN("allocinfo"), EMPTIED("pressure"), EMPTIED("tty"), EMPTIED("fs"), EMPTIED("irq"),
    EMPTIED("bus"), EMPTIED("driver"), EMPTIED("acpi"), EMPTIED("scsi"), EMPTIED("asound"), FIXED("uptime"),
    FIXED("loadavg"), FIXED("meminfo"), FIXED("stat"), FIXED("cpuinfo"), FIXED("version"), FIXED("vmstat"),
    FIXED("cgroups"), FIXED("swaps"), FIXED("filesystems"), FIXED("devices"), FIXED("partitions"),
    FIXED("diskstats"), FIXED("sys"), FIXED("1"),
};

/* Mount /proc read-only, because its writable files control the kernel or a process's priority for the memory
 * killer. Cover its paths that this kernel has, and replace /sys. */
static void mount_machine(void) {
    TRY("proc", mount("proc", "proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, 0));
    TRY("proc", chdir("proc"));
    for (size_t i = 0; i < sizeof COVERS / sizeof *COVERS; i++)
        if (mount(COVERS[i].with, COVERS[i].path, 0, MS_BIND, 0) < 0 && errno != ENOENT) die(COVERS[i].path);
    TRY("sys", mount(MACHINE "sys", "../sys", 0, MS_BIND, 0));
    TRY("root", chdir(".."));
}

static void enter_world(const char *lower, const char *scratch) {
    char options[4096], root[256];
    int n = snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s/upper,workdir=%s/work,redirect_dir=off,"
                     "index=off,metacopy=off,xino=on,volatile", lower, scratch, scratch);
    if (n >= (int)sizeof options) { errno = E2BIG; die("overlay options"); }
    snprintf(root, sizeof root, "%s/root", scratch);
    TRY("private mounts", mount(0, "/", 0, MS_REC | MS_PRIVATE, 0));
    TRY("overlay", mount("overlay", root, "overlay", MS_NOSUID, options));
    TRY("root", chdir(root));
    mount_machine();
    TRY("pivot_root", syscall(SYS_pivot_root, ".", "."));
    TRY("old root", umount2(".", MNT_DETACH));
    TRY("host name", sethostname(HOSTNAME, strlen(HOSTNAME)));
}

/* Set a fixed limit, or keep the container's own if that is lower and cannot be raised. */
static void limit(int resource, rlim_t soft, rlim_t hard) {
    struct rlimit value;
    TRY("rlimit", getrlimit(resource, &value));
    if (hard > value.rlim_max) hard = value.rlim_max;
    value = (struct rlimit){soft < hard ? soft : hard, hard};
    TRY("rlimit", setrlimit(resource, &value));
}

/* If memory runs out, the kernel must kill this program or a job, which inherits this, and not the runner. */
static void offer_to_memory_killer(void) {
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    TRY("memory killer", fd);
    TRY("memory killer", write(fd, "1000", 4));
    close(fd);
}

static unsigned long long kept_capabilities(void) {
    unsigned long long mask = 0;
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) mask |= 1ULL << KEPT[i];
    return mask;
}

/* Set every signal to its default, even if the parent process ignored it. This includes the two signals that libc
 * reserves: a program may inherit them ignored, and `signal` refuses to change them. */
static void heed_signals(void) {
    static const unsigned long action[8]; /* the kernel's own structure: no handler, no flags, no mask */
    static const unsigned long none;
    for (int sig = 1; sig < NSIG; sig++) syscall(SYS_rt_sigaction, sig, action, 0, sizeof none);
    TRY("signals", syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof none));
}

/* Remove all capabilities that no job may have from the set that exec can give back. */
static void drop_bounding_set(void) {
    static int count; /* of the capabilities that this kernel knows */
    unsigned long long mask = kept_capabilities();
    while (prctl(PR_CAPBSET_READ, count) >= 0) count++;
    for (int cap = 0; cap < count; cap++)
        if (!(mask >> cap & 1)) TRY("bounding set", prctl(PR_CAPBSET_DROP, cap));
}

/* Read the seccomp filter in `file`. */
static struct sock_fprog read_filter(const char *file) {
    struct stat st;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    TRY("filter", fd);
    TRY("filter", fstat(fd, &st));
    struct sock_fprog filter = {.len = st.st_size / sizeof(struct sock_filter), .filter = malloc(st.st_size)};
    if (!filter.filter || read(fd, filter.filter, st.st_size) != st.st_size) die("filter");
    close(fd);
    return filter;
}

static void load_filter(const struct sock_fprog *filter) {
    TRY("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter));
}

static struct sock_fprog job_filter;

/* Give up all privileges that neither this program nor a job needs. This runs before the first job, and every job
 * inherits it. What only this program needs, a job gives up by itself. */
static void give_up(void) {
    struct sock_fprog filter = read_filter(FILTERS "filter.bpf");
    drop_bounding_set();
    TRY("no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    TRY("address layout", personality(PER_LINUX | ADDR_NO_RANDOMIZE));
    limit(RLIMIT_CORE, 1, 1); /* with 0, the kernel may still start a program of the host for each crash */
    limit(RLIMIT_NOFILE, 1024, 4096);
    limit(RLIMIT_MEMLOCK, 1 << 16, 1 << 16);
    limit(RLIMIT_NPROC, 4096, 4096);
    limit(RLIMIT_SIGPENDING, 1024, 1024);
    limit(RLIMIT_MSGQUEUE, 0, 0); /* the kernel frees the queues of a finished job late, so no job gets one */
    offer_to_memory_killer();
    umask(022);
    job_filter = read_filter(FILTERS "job.bpf");
    load_filter(&filter);
}

struct user { uid_t uid; gid_t gids[64]; int count; };

/* Parse a user. `gids` is a list such as `1000,27` that begins with the primary group. */
static struct user read_user(const char *uid, char *gids) {
    struct user user = {.uid = atoi(uid)};
    for (char *gid = strtok(gids, ","); gid && user.count < 64; gid = strtok(0, ","))
        user.gids[user.count++] = atoi(gid);
    return user;
}

/* Become the job's user. Its root has the capabilities in KEPT, and no others can come back, by exec or otherwise. */
static void drop_privileges(const struct user *user) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    unsigned long long mask = user->uid == 0 ? kept_capabilities() : 0;
    data[0].permitted = data[0].effective = (unsigned)mask;
    data[1].permitted = data[1].effective = (unsigned)(mask >> 32);
    TRY("groups", setgroups(user->count, user->gids));
    TRY("gid", setresgid(user->gids[0], user->gids[0], user->gids[0]));
    TRY("uid", setresuid(user->uid, user->uid, user->uid));
    TRY("capabilities", syscall(SYS_capset, &header, data));
}

/* Enter the container's user namespace, if there is one. The kernel then gives all capabilities in it, for a moment. */
static void enter_users(void) {
    if (fcntl(USERS, F_GETFD) < 0) return;
    TRY("user namespace", setns(USERS, CLONE_NEWUSER));
    drop_bounding_set();
}

/* Move the `count` descriptors of `kept` to the numbers in `places`, and close all others above 2. */
static void keep_descriptors(const int *kept, const int *places, int count) {
    int high[4];
    for (int i = 0; i < count; i++) TRY("descriptors", high[i] = fcntl(kept[i], F_DUPFD_CLOEXEC, 300));
    TRY("descriptors", close_range(3, 299, 0));
    for (int i = 0; i < count; i++)
        TRY("descriptors", dup3(high[i], places[i], places[i] == REPORT ? O_CLOEXEC : 0));
    close_range(300, ~0U, 0);
}

/* Start one process of the job: bash, with descriptor `script` as its command.
 *
 * The new process shares this one's memory until it runs bash, so that no memory is copied. This process waits. */
static pid_t spawn(int script, int state, const struct user *user, const char *cwd, char **environment) {
    static char *const bash[] = {"bash", "-c", ":", 0};
    pid_t pid = vfork();
    if (pid != 0) return pid;
    TRY("session", setsid());
    enter_users();
    int null = open("/dev/null", O_RDWR);
    TRY("/dev/null", null);
    TRY("stdin", dup2(null, 0));
    if (script == START) TRY("start's streams", dup2(null, OUT) | dup2(null, ERR));
    keep_descriptors((int[]){script, REPORT, HOOK, STATE}, (int[]){COMMAND, REPORT, HOOK, SHELL_STATE}, state ? 4 : 2);
    drop_privileges(user);
    TRY("working directory", chdir(cwd));
    load_filter(&job_filter);
    execve("/bin/bash", bash, environment);
    die("exec");
    return 0;
}

static int reap(pid_t wanted, struct rusage *usage) {
    int status;
    for (;;) {
        pid_t pid = wait4(-1, &status, 0, usage);
        if (pid == wanted) return status;
        if (pid < 0 && errno != EINTR) die("wait");
    }
}

/* Return real time in microseconds. It is the only clock that a new time namespace does not change. */
static long long moment(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static volatile pid_t job;

static void kill_job(int sig) {
    (void)sig;
    if (job > 0) kill(job, SIGKILL);
}

struct request {
    char *lower, *scratch, *cwd, *environment[256];
    struct user user;
    int hold, start, state;
    long long age;
};

static char message[1 << 17];

/* Receive the next request. Its descriptors get the lowest free numbers in the order sent, as the enum names them.
 * Return false at the end of the requests. */
static int receive(struct request *request) {
    union { char bytes[CMSG_SPACE(STATE * sizeof(int))]; struct cmsghdr header; } control;
    struct iovec text = {message, sizeof message - 1};
    struct msghdr packet = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = &control,
                            .msg_controllen = sizeof control};
    ssize_t size;
    while ((size = recvmsg(RUNNER, &packet, 0)) < 0 && errno == EINTR) ;
    if (size <= 0) return 0;
    char *texts[7], *next = message, *end = message + size;
    *end = 0;
    for (int i = 0; i < 7; i++, next += strlen(next) + 1) texts[i] = next < end ? next : end;
    *request = (struct request){.lower = texts[0], .scratch = texts[1], .cwd = texts[4], .age = atoll(texts[6])};
    request->user = read_user(texts[2], texts[3]);
    request->hold = texts[5][0] == '1', request->start = texts[5][1] == '1', request->state = texts[5][2] == '1';
    for (int i = 0; next < end && i < 255; i++, next += strlen(next) + 1) request->environment[i] = next;
    return 1;
}

/* Run as process 1 of a job. */
static void run_job(struct request *request, long long began) {
    struct rusage usage;
    struct user root = {.count = 1};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGTERM, SIG_DFL); /* the kernel does not deliver a default SIGTERM to process 1 */
    close(RUNNER);
    enter_world(request->lower, request->scratch);
    if (request->start) {
        int status = reap(spawn(START, 0, &root, "/", request->environment), &usage);
        if (status) { errno = WEXITSTATUS(status); die("start script"); }
    }
    long long started = moment();
    pid_t bash = spawn(COMMAND, request->state, &request->user, request->cwd, request->environment);
    TRY("fork", bash);
    for (int fd = OUT; fd <= STATE; fd++)
        if (fd != REPORT && fd != RELEASE) close(fd);
    int status = reap(bash, &usage);
    long long seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec;
    long long us = seconds * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    dprintf(REPORT, "ended %d %lld %lld %lld\n", status, us, started - began, moment() - started);
    close(REPORT);
    char byte;
    while (request->hold && read(RELEASE, &byte, 1) < 0 && errno == EINTR) ;
    _exit(0);
}

int main(void) {
    int flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    struct sigaction action = {.sa_handler = kill_job};
    static struct request request;
    prctl(PR_SET_NAME, "init");
    heed_signals();
    sigaction(SIGTERM, &action, 0);
    give_up();
    while (receive(&request)) {
        long long began = moment();
        begin_time(request.age);
        pid_t init = syscall(SYS_clone, SIGCHLD | flags, 0, 0, 0, 0);
        TRY("namespaces", init);
        if (init == 0) run_job(&request, began);
        job = init;
        for (int fd = OUT; fd <= STATE; fd++) close(fd);
        while (waitpid(init, 0, 0) < 0 && errno == EINTR) ;
        job = 0;
        if (send(RUNNER, "", 1, MSG_NOSIGNAL) < 0) break;
    }
    return 0;
}
