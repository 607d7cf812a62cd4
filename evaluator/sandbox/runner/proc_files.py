"""The texts of the fixed files in /proc. On every host, they describe the same machine, which started 1,000 s ago.

The folder of process 1 is fixed too. Process 1 of a job is a part of the jail and holds its privileges. So the kernel
would refuse its files, such as the list of its descriptors, even to the job's root. A program that reads all of /proc
would then fail, as it does not in an ordinary container. A job with root rights must not reach the real files either,
because process 1 writes the report on the job.
"""

from __future__ import annotations

from collections.abc import Mapping

UPTIME_S = 1000
HERTZ = 100

_MEMINFO = """\
MemTotal:        4194304 kB
MemFree:         3145728 kB
MemAvailable:    3670016 kB
Buffers:           65536 kB
Cached:           524288 kB
SwapCached:            0 kB
Active:           393216 kB
Inactive:         393216 kB
SwapTotal:       1048576 kB
SwapFree:        1048576 kB
Dirty:                 0 kB
Writeback:             0 kB
AnonPages:        196608 kB
Mapped:            98304 kB
Shmem:             16384 kB
KReclaimable:      32768 kB
Slab:              65536 kB
SReclaimable:      32768 kB
SUnreclaim:        32768 kB
KernelStack:        2048 kB
PageTables:         4096 kB
CommitLimit:     3145728 kB
Committed_AS:     524288 kB
VmallocTotal:   34359738367 kB
VmallocUsed:       16384 kB
VmallocChunk:          0 kB
HugePages_Total:       0
HugePages_Free:        0
Hugepagesize:       2048 kB
"""
_CPUINFO = """\
processor\t: 0
vendor_id\t: Bashboard
model name\t: Bashboard Virtual CPU
cpu MHz\t\t: 2000.000
cache size\t: 4096 KB
physical id\t: 0
siblings\t: 1
core id\t\t: 0
cpu cores\t: 1
flags\t\t: fpu
bogomips\t: 4000.00
address sizes\t: 39 bits physical, 48 bits virtual

"""
_VMSTAT = """\
nr_free_pages 786432
nr_anon_pages 49152
nr_file_pages 147456
nr_dirty 0
nr_writeback 0
pgpgin 524288
pgpgout 131072
pswpin 0
pswpout 0
pgfault 1048576
pgmajfault 1024
"""


_DISKSTATS = "1000 0 64000 500 500 0 32000 400 0 600 900 0 0 0 0 0 0"
_STATUS = """\
Name:\tinit
Umask:\t0022
State:\tS (sleeping)
Tgid:\t1
Ngid:\t0
Pid:\t1
PPid:\t0
TracerPid:\t0
Uid:\t0\t0\t0\t0
Gid:\t0\t0\t0\t0
FDSize:\t64
Groups:\t0
NStgid:\t1
NSpid:\t1
NSpgid:\t0
NSsid:\t0
VmPeak:\t    1140 kB
VmSize:\t    1140 kB
VmLck:\t       0 kB
VmPin:\t       0 kB
VmHWM:\t     452 kB
VmRSS:\t     452 kB
RssAnon:\t      60 kB
RssFile:\t     392 kB
RssShmem:\t       0 kB
VmData:\t     300 kB
VmStk:\t     132 kB
VmExe:\t     488 kB
VmLib:\t       8 kB
VmPTE:\t      40 kB
VmSwap:\t       0 kB
Threads:\t1
SigQ:\t0/1024
SigPnd:\t0000000000000000
ShdPnd:\t0000000000000000
SigBlk:\t0000000000000000
SigIgn:\t0000000000000000
SigCgt:\t0000000000000000
CapInh:\t0000000000000000
CapPrm:\t00000000000000fb
CapEff:\t00000000000000fb
CapBnd:\t00000000000000fb
CapAmb:\t0000000000000000
NoNewPrivs:\t1
Seccomp:\t2
Cpus_allowed:\t1
Cpus_allowed_list:\t0
Mems_allowed:\t1
Mems_allowed_list:\t0
voluntary_ctxt_switches:\t1
nonvoluntary_ctxt_switches:\t0
"""
_LIMITS = (
    ("cpu time", "unlimited", "unlimited", "seconds"),
    ("file size", "unlimited", "unlimited", "bytes"),
    ("data size", "unlimited", "unlimited", "bytes"),
    ("stack size", "8388608", "unlimited", "bytes"),
    ("core file size", "1", "1", "bytes"),
    ("resident set", "unlimited", "unlimited", "bytes"),
    ("processes", "4096", "4096", "processes"),
    ("open files", "1024", "4096", "files"),
    ("locked memory", "65536", "65536", "bytes"),
    ("address space", "unlimited", "unlimited", "bytes"),
    ("file locks", "unlimited", "unlimited", "locks"),
    ("pending signals", "1024", "1024", "signals"),
    ("msgqueue size", "0", "0", "bytes"),
    ("nice priority", "0", "0", ""),
    ("realtime priority", "0", "0", ""),
    ("realtime timeout", "unlimited", "unlimited", "us"),
)
_EMPTY = ("maps", "numa_maps", "smaps", "smaps_rollup", "timers")
_PRIVATE_FILES = ("auxv", "environ", "io", "pagemap", "personality", "stack", "syscall")
_PRIVATE_FOLDERS = ("fd/", "fdinfo/", "map_files/")
PRIVATE = frozenset((*_PRIVATE_FILES, *_PRIVATE_FOLDERS))
"""The names in the folder of process 1 that only root may read."""


def process_1() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the fixed files and links of process 1: two mappings from names to contents and from names to targets.

    The names are relative to the folder of process 1. A name that ends in a slash is an empty folder.
    """
    limit = "{:<26}{:<21}{:<21}{:<10}\n"
    rows = [(f"Max {name}", *values) for name, *values in _LIMITS]
    files = {
        "stat": f"1 (init) S 0 0 0 0 -1 4194624 14 0 0 0 0 0 0 0 20 0 1 0 {UPTIME_S * HERTZ} 1167360 113 "
        "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
        "statm": "285 113 98 122 0 108 0\n",
        "status": _STATUS,
        "cmdline": "init\0",
        "comm": "init\n",
        "cgroup": "0::/\n",
        "cpuset": "/\n",
        "limits": "".join(limit.format(*row) for row in (("Limit", "Soft Limit", "Hard Limit", "Units"), *rows)),
        "loginuid": "4294967295",
        "sessionid": "4294967295",
        "oom_score": "0\n",
        "oom_score_adj": "0\n",
        "oom_adj": "0\n",
        "schedstat": "1000000 0 1\n",
        "setgroups": "allow\n",
        "uid_map": f"{0:>10} {0:>10} {(1 << 32) - 1:>10}\n",
        "gid_map": f"{0:>10} {0:>10} {(1 << 32) - 1:>10}\n",
        "wchan": "0",
        "children": "2 \n",
        "attr/current": "unconfined\n",
        **dict.fromkeys((*_PRIVATE_FILES, *_PRIVATE_FOLDERS, *_EMPTY), ""),
    }
    thread = {f"task/1/{name}": text for name, text in files.items() if name != "map_files/"}
    own = {name: text for name, text in files.items() if name != "children"}
    links = {"cwd": "/", "root": "/", "exe": "/sbin/init"}
    links |= {name: f"../self/{name}" for name in ("mountinfo", "mounts", "net", "ns")}
    return {**own, **thread}, links


def proc_contents(clock_s: int) -> Mapping[str, str]:
    """Return a mapping from the names of the fixed files directly in /proc to their contents.

    The described machine started 1,000 s before `clock_s`.
    """
    cpu = "6000 0 4000 90000 0 0 0 0 0 0"
    return {
        "uptime": f"{UPTIME_S}.00 {UPTIME_S * 9 // 10}.00\n",
        "loadavg": "0.00 0.00 0.00 1/64 2\n",
        "meminfo": _MEMINFO,
        "stat": f"cpu  {cpu}\ncpu0 {cpu}\nintr 0\nctxt 100000\nbtime {clock_s - UPTIME_S}\n"
        "processes 1000\nprocs_running 1\nprocs_blocked 0\n",
        "cpuinfo": _CPUINFO,
        "version": "Linux version 6.12.0 (bashboard) #1 SMP\n",
        "vmstat": _VMSTAT,
        "cgroups": "#subsys_name\thierarchy\tnum_cgroups\tenabled\n",
        "swaps": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
        "filesystems": "nodev\tproc\nnodev\ttmpfs\nnodev\toverlay\n",
        "devices": "Character devices:\n  1 mem\n  5 /dev/tty\n\nBlock devices:\n254 virtblk\n",
        "partitions": "major minor  #blocks  name\n\n 254        0   10485760 vda\n 254        1   10484736 vda1\n",
        "diskstats": f" 254       0 vda {_DISKSTATS}\n 254       1 vda1 {_DISKSTATS}\n",
    }
