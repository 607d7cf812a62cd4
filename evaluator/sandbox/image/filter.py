"""Write the two seccomp filters of all jobs, as raw BPF, to the folder in the first argument.

A job is one command in its container. The filters allow all system calls except those that reach out of the job or into
the kernel: namespaces, mounts, tracing, kernel keys, BPF programs, kernel modules, clocks and asynchronous I/O. The
build of the sandbox image runs this file with libseccomp's Python binding.

To load a filter, the kernel compiles it and checks it for every system call. So the long one, `filter.bpf`, is loaded
only once, by the jail program, and each job inherits it. It allows the calls with which the jail program makes a job.
The short one, `job.bpf`, refuses these calls too. Each job loads it before its command starts.

The allowed sockets are those that a shell's programs use: local sockets, internet sockets, and sockets of the netlink
protocol that lists addresses and routes. A socket of another kind would make the host load a kernel module. For the
same reason, the filter refuses pairs of sockets other than local ones, and requests for bridges and virtual networks.
The netlink protocol that lists sockets loads a module for each family that a program asks for. Without this protocol,
`ss` reads the lists in /proc. The filter also refuses some options of sockets. The effect of such an option lasts after
the socket is closed, or the option uses a resource that all jobs of the machine share. Secret memory is refused because
it keeps the machine from hibernating.
"""

import sys
from pathlib import Path

import seccomp

REFUSED = """
    acct add_key adjtimex bpf chroot clock_adjtime clock_settime create_module delete_module fanotify_init
    finit_module fsconfig fsmount fsopen fspick get_kernel_syms init_module io_setup io_uring_enter
    io_uring_register io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie memfd_secret
    mount_setattr move_mount name_to_handle_at nfsservctl open_by_handle_at open_tree perf_event_open
    process_madvise process_vm_readv process_vm_writev ptrace query_module quotactl quotactl_fd reboot request_key
    setdomainname settimeofday stime swapoff swapon syslog sysfs umount userfaultfd uselib ustat vhangup vm86
    vm86old
"""
OF_THE_JAIL = "mount pivot_root sethostname setns umount2 unshare"
"""The refused system calls with which the jail program makes a job."""

NAMESPACE_FLAGS = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
BRIDGES, VIRTUAL_NETWORKS = (0x8940, 0x8941, 0x89A0, 0x89A1), (0x8982, 0x8983)
REFUSED_REQUESTS = (TIOCSTI, TIOCLINUX, *BRIDGES, *VIRTUAL_NETWORKS)
BINARY_TREE = 2
"""The filters' layout. The kernel checks a filter for every system call when it is loaded, and a list takes longer
than a tree."""

NEWEST_KNOWN, NEWEST_REFUSED = 462, 511
"""System calls after the first number, up to the second, belong to future kernels. The filter answers ENOSYS."""
UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
NETLINK_ROUTE = 0
LAST_PROTOCOL = 58
REFUSED_PROTOCOLS = (
    (~1, 2),
    (~1, 4),
    (~0, 7),
    (~7, 8),
    (~0, 16),
    (~1, 18),
    (~3, 20),
    (~7, 24),
    (~15, 32),
    (~7, 48),
    (~1, 56),
)
"""Masks and values that match the internet protocols below 58, except 0 (default), 1 (ICMP), 6 (TCP) and 17 (UDP). 58
is ICMP for IPv6. A mask matches a whole range with one rule."""

SOCKET, IP, TCP, IPV6 = 1, 0, 6, 41
REFUSED_OPTIONS = {
    SOCKET: (26, 51),  # filters, whose compiled programs have one limit for the whole machine
    IP: (35, 39, 42, 46),  # multicast groups: the kernel sends reports after the end of the job
    IPV6: (20, 42, 46, 32),  # multicast groups; flow labels, which stay for minutes
    TCP: (14, 32, 38, 23, 33, 31),  # signatures and protocols, which load modules; fast open, whose key stays
}
"""The refused options of sockets, by their level."""

HUGE_PAGES = {"mmap": (3, 0x40000), "memfd_create": (1, 0x4), "shmget": (2, 0x800)}
"""The flag for huge pages, which all jobs of the machine share, and its argument, by system call."""

CORE_SIZE = 4
"""The limit on the size of a core dump. A job has 1 byte. Only with this limit does the kernel start no program of the
host for a dump. So a job can set no other limit, and the filter answers such a call with success."""

EVERY_BIT = 0xFFFFFFFFFFFFFFFF
INT = 0xFFFFFFFF
"""The bits of an argument that the kernel reads as an `int`. A program can set the others as it likes."""

NO_MEMORY, UNSUPPORTED_OPTION, UNSUPPORTED_PROTOCOL, UNSUPPORTED_FAMILY = 12, 92, 93, 97


def _restrict_sockets(rules: seccomp.SyscallFilter) -> None:
    families = set(range(NETLINK)) - {0, UNIX, INET, INET6}
    for family in families:
        rules.add_rule(seccomp.ERRNO(UNSUPPORTED_FAMILY), "socket", seccomp.Arg(0, seccomp.EQ, family))
    rules.add_rule(seccomp.ERRNO(UNSUPPORTED_FAMILY), "socket", seccomp.Arg(0, seccomp.GT, NETLINK))
    rules.add_rule(seccomp.ERRNO(UNSUPPORTED_FAMILY), "socketpair", seccomp.Arg(0, seccomp.NE, UNIX))
    for family in (INET, INET6):
        internet = seccomp.Arg(0, seccomp.EQ, family)
        for mask, value in REFUSED_PROTOCOLS:
            refused = seccomp.Arg(2, seccomp.MASKED_EQ, mask & EVERY_BIT, value)
            rules.add_rule(seccomp.ERRNO(UNSUPPORTED_PROTOCOL), "socket", internet, refused)
        beyond = seccomp.Arg(2, seccomp.GT, LAST_PROTOCOL)
        rules.add_rule(seccomp.ERRNO(UNSUPPORTED_PROTOCOL), "socket", internet, beyond)
    # sudo is silent on a kernel without audit, but complains if the kernel refuses the socket with EPERM
    netlink, beyond = seccomp.Arg(0, seccomp.EQ, NETLINK), seccomp.Arg(2, seccomp.GT, NETLINK_ROUTE)
    rules.add_rule(seccomp.ERRNO(UNSUPPORTED_PROTOCOL), "socket", netlink, beyond)


def _restrict_arguments(rules: seccomp.SyscallFilter) -> None:
    """Refuse some system calls only if they have certain arguments, such as a certain flag."""
    for request in REFUSED_REQUESTS:
        rules.add_rule(seccomp.ERRNO(1), "ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, INT, request))
    for level, options in REFUSED_OPTIONS.items():
        at_level = seccomp.Arg(1, seccomp.MASKED_EQ, INT, level)
        for option in options:
            refused = seccomp.Arg(2, seccomp.MASKED_EQ, INT, option)
            rules.add_rule(seccomp.ERRNO(UNSUPPORTED_OPTION), "setsockopt", at_level, refused)
    for name, (position, flag) in HUGE_PAGES.items():
        rules.add_rule(seccomp.ERRNO(NO_MEMORY), name, seccomp.Arg(position, seccomp.MASKED_EQ, flag, flag))
    rules.add_rule(seccomp.ERRNO(0), "setrlimit", seccomp.Arg(0, seccomp.MASKED_EQ, INT, CORE_SIZE))
    core = seccomp.Arg(1, seccomp.MASKED_EQ, INT, CORE_SIZE)
    rules.add_rule(seccomp.ERRNO(0), "prlimit64", core, seccomp.Arg(2, seccomp.NE, 0))


def _refuse(calls: str) -> seccomp.SyscallFilter:
    """Return a filter that refuses the system calls in `calls` and kills programs of another architecture.

    It allows all other system calls.
    """
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    rules.set_attr(seccomp.Attr.ACT_BADARCH, seccomp.KILL_PROCESS)
    rules.set_attr(seccomp.Attr.CTL_OPTIMIZE, BINARY_TREE)
    for name in calls.split():
        try:
            rules.add_rule(seccomp.ERRNO(1), name)
        except (RuntimeError, ValueError):  # this libseccomp or architecture does not know the call
            continue
    return rules


def inherited_filter() -> seccomp.SyscallFilter:
    """Return the filter that the jail program and all jobs have."""
    rules = _refuse(REFUSED)
    rules.add_rule(seccomp.ERRNO(38), "clone3")  # BPF cannot read its flags in memory; libc falls back to clone
    for number in range(NEWEST_KNOWN + 1, NEWEST_REFUSED + 1):
        rules.add_rule(seccomp.ERRNO(38), number)
    _restrict_sockets(rules)
    _restrict_arguments(rules)
    return rules


def job_filter() -> seccomp.SyscallFilter:
    """Return the further filter of jobs, which refuses the system calls of the jail program."""
    rules = _refuse(OF_THE_JAIL)
    for flag in NAMESPACE_FLAGS:
        rules.add_rule(seccomp.ERRNO(1), "clone", seccomp.Arg(0, seccomp.MASKED_EQ, flag, flag))
    return rules


if __name__ == "__main__":
    for filter_name, rules in {"filter": inherited_filter(), "job": job_filter()}.items():
        with Path(sys.argv[1], f"{filter_name}.bpf").open("wb") as file:
            rules.export_bpf(file)
