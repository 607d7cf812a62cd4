"""Tests of the machine that a job can observe: it is small, the same everywhere, and has no traces of the sandbox.

The kernel or the loader makes these traces visible:

* `/etc/ld.so.preload` and its library, in `ldd` and in the maps;
* the overlay's folders and the mounts over parts of /proc, in the list of mounts;
* `bash -c :` as the command's own line in the process list;
* the profile of the host's security module;
* the table of inode numbers, in /sys/kernel;
* machine-wide numbers of the kernel, for mounts, pipes and namespaces.
"""

from __future__ import annotations

import pytest

from tests.sandbox_harness import SandboxHarness

pytestmark = pytest.mark.engine

SHOWN = {
    "hostname; uname -n; cat /etc/hostname /proc/sys/kernel/hostname; echo $HOSTNAME": "box\nbox\nbox\nbox\nbox",
    "uname -srv": "Linux 6.12.0 #1 SMP",
    "cat /proc/sys/kernel/osrelease": "6.12.0",
    "cat /etc/hosts": "127.0.0.1\tlocalhost\n127.0.1.1\tbox",
    "cat /etc/resolv.conf; ls /run; echo /sys/* | tr -d /": (
        "lock\nsysblock sysbus sysclass sysdev sysdevices sysfirmware sysfs syskernel sysmodule syspower"
    ),
    "nproc; nproc --all; getconf _NPROCESSORS_ONLN; taskset -p $$": "1\n1\n1\npid 2's current affinity mask: 1",
    "grep -c ^processor /proc/cpuinfo; grep 'model name' /proc/cpuinfo": "1\nmodel name\t: Bashboard Virtual CPU",
    "free -m | awk 'NR == 2 { print $2 }'": "4096",
    "getconf _PHYS_PAGES; getconf _AVPHYS_PAGES; getconf -a | grep -c 'CACHE.* [1-9]'": "1048576\n786432\n0",
    "cat /proc/loadavg /proc/uptime": "0.00 0.00 0.00 1/64 2\n1000.00 900.00",
    "locale -a | head -1; locale | head -1; date +%A": "C\nLANG=C.UTF-8\nFriday",
    "df --output=source,target": "Filesystem     Mounted on\noverlay        /",
    "stat -c %h /proc": "2",
    "ulimit -c; ulimit -n; ulimit -u; ulimit -i; ulimit -l": "0\n1024\n4096\n1024\n64",
    "ps -e -o pid=,args=": "      1 init\n      2 ps -e -o pid=,args=",
    "ps -e -o pid=,comm=; true": "      1 init\n      2 bash\n      3 ps",
    "tr '\\0' ' ' < /proc/1/cmdline; echo; cat /proc/1/comm": "init \ninit",
    "cat /proc/self/loginuid": "4294967295",
    "cat /proc/self/attr/current 2>/dev/null | grep -v unconfined": "",
    "who; users; id -Gn": "root",
    "ls /proc/self/fd /proc/self/task": "/proc/self/fd:\n0\n1\n2\n3\n\n/proc/self/task:\n2",
    "cat /proc/cmdline /proc/kallsyms /proc/interrupts /proc/keys /proc/iomem": "",
    "cut -d: -f3 /proc/self/cgroup | sort -u": "/",
    "ls /opt /home /root /mnt /srv": "/home:\ntess\n\n/mnt:\n\n/opt:\n\n/root:\n\n/srv:\ntiny",
    "type python3 gcc docker 2>/dev/null | wc -l": "0",
    "find / -xdev -name '*bashboard*' -o -xdev -name 'docker*' | head": "",
    "ls /dev": "fd\nfull\nnull\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero",
}


@pytest.mark.parametrize("command", SHOWN)
def test_the_machine_is_the_same_everywhere(sandbox: SandboxHarness, command: str) -> None:
    """The name, kernel, CPU, memory, disk, limits, processes and devices of the machine are fixed."""
    assert sandbox.run(command).stdout.data.decode().rstrip("\n\0 ") == SHOWN[command]


@pytest.mark.parametrize(
    "command",
    ["env", "ps auxwwe", "cat /proc/*/environ", "cat /proc/*/cmdline", "set", "cat /proc/*/comm", "ls -l /proc/*/cwd"],
)
def test_nothing_of_the_machinery_is_named(sandbox: SandboxHarness, command: str) -> None:
    """No output contains the name of the runner, the engine, the loader's library or one of our paths."""
    evidence = sandbox.run(command)
    shown = (evidence.stdout.data + evidence.stderr.data).lower()
    assert not [word for word in (b"bashboard", b"docker", b"python", b"libpin", b"jail", b"/base") if word in shown]


def test_the_mounts_are_the_documented_ones(sandbox: SandboxHarness) -> None:
    """The list of mounts has an overlay, /proc, the mounts over parts of it, and /sys, without paths of the host."""
    mounts = [line.split() for line in sandbox.run("cat /proc/mounts").stdout.data.decode().splitlines()]
    assert [mount[1] for mount in mounts[:2]] == ["/", "/proc"]
    assert "ro" in mounts[1][3].split(",")
    assert {mount[2] for mount in mounts[2:]} == {"tmpfs"}
    assert [mount[1] for mount in mounts[2:] if not mount[1].startswith("/proc/")] == ["/sys"]
    assert "/var/lib" not in str(mounts)


def test_the_command_is_not_in_the_process_list(sandbox: SandboxHarness) -> None:
    """A command that searches for its own words with `pgrep -f` does not find itself."""
    assert sandbox.run("pgrep -f rare-word; echo $?").stdout.data == b"1\n"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        *((name, "") for name in ("environ", "maps", "auxv", "io", "stack", "fd", "fdinfo", "map_files", "task/1/fd")),
        *(("cwd", "/"), ("root", "/"), ("exe", "/sbin/init"), ("mem", None), ("fd/0", None), ("fd/4", None)),
    ],
)
def test_process_1_shows_only_fixed_files(sandbox: SandboxHarness, path: str, shown: str | None) -> None:
    """Root in a job sees nothing of the jail in process 1, which reports the job's end. None stands for a failure."""
    reader = f"if [ -L {path} ]; then readlink {path}; elif [ -d {path} ]; then ls -A {path}; else cat {path}; fi"
    evidence = sandbox.run(f"cd /proc/1; {reader}")
    assert evidence.status == (1 if shown is None else 0)
    assert evidence.stdout.data.decode().rstrip("\n") == (shown or "")


def test_the_network_is_a_new_loopback(sandbox: SandboxHarness) -> None:
    """A server and its client can connect. The next command finds no traces of them.

    Counts of the whole machine are left out.
    """
    files = "/proc/net/{dev,snmp,netstat,tcp,tcp6,udp,unix,sockstat}"
    look = f"cat {files} | sed 's/orphan [0-9]*//; s/alloc .*//; s/mem .*//'"
    before = sandbox.run(look)
    script = (
        "socket S,2,1,0; setsockopt S,1,2,1; bind S,sockaddr_in(8080,INADDR_LOOPBACK) or die $!; listen S,5;"
        "socket C,2,1,0; connect C,sockaddr_in(8080,INADDR_LOOPBACK) or die $!; accept A,S; close A; print qq(met\\n)"
    )
    server = f"perl -MSocket -e '{script}'"
    assert sandbox.run(server).stdout.data == b"met\n"
    assert sandbox.run(look).digest == before.digest
    assert sandbox.run(server).stdout.data == b"met\n"
    assert sandbox.run("exec 3<>/dev/tcp/127.0.0.1/8080").status == 1
