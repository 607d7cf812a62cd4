"""The fixed /proc files of all jobs. On every host, they describe the same small machine, which started 1,000 s ago."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from evaluator.sandbox.runner import kernel

UPTIME_S = 1000

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


def proc_contents(clock_s: int) -> Mapping[str, str]:
    """Return a mapping from the names of the fixed /proc files to their contents.

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
        "osrelease": "6.12.0\n",
        "uuid": "4b1d0a52-7c3e-4f60-9a8b-2d1e6f3c5a70\n",
        "boot_id": "9e2c7b14-58a6-4d03-b1f7-6c0d8e4a2f35\n",
        "cgroups": "#subsys_name\thierarchy\tnum_cgroups\tenabled\n",
        "swaps": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
        "filesystems": "nodev\tproc\nnodev\ttmpfs\nnodev\toverlay\n",
        "devices": "Character devices:\n  1 mem\n  5 /dev/tty\n\nBlock devices:\n",
        "nr": "0\n",
        "file-nr": "1024\t0\t65536\n",
        "inode-nr": "16384\t1024\n",
        "inode-state": "16384\t1024\t0\t0\t0\t0\t0\n",
        "dentry-state": "16384\t8192\t45\t0\t1024\t0\n",
        "aio-nr": "0\n",
        "empty": "",
    }


def write_proc_files(run: Path, clock_s: int) -> None:
    """Make the runner's folders below `run`, and the files that the jail mounts over the real /proc files.

    The files are on a separate file system, which is made read-only after they are written. Otherwise a job with root
    rights could change the files for later jobs. The file system reports size 0, so that `df` does not list it.
    """
    for name in ("layers", "proc"):
        (run / name).mkdir()
    target, flags = str(run / "proc"), kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount("figures", target, "tmpfs", flags, "size=0,nr_inodes=0,mode=755")
    for name, text in proc_contents(clock_s).items():
        file = run / "proc" / name
        file.write_text(text)
        file.chmod(0o444)
        os.utime(file, (clock_s, clock_s))
    folder = run / "proc" / "folder"
    folder.mkdir(mode=0o555)
    os.utime(folder, (clock_s, clock_s))
    kernel.mount("figures", target, "tmpfs", flags | kernel.MS_REMOUNT | kernel.MS_RDONLY, "size=0,nr_inodes=0")
