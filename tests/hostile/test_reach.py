"""Attacks that reach out of the job: to the kernel's files, devices, the runner, other worlds, the network."""

from __future__ import annotations

import pytest

from tests.attacks import WALL_S, Attack, Hold

pytestmark = pytest.mark.engine

ANY = ("exited", "timeout", "memory", "disk", "crash")


def no_write(path: str, text: str = "1") -> Attack:
    """Return an attack that tries to write to a path, which must fail for every user."""
    return Attack(f"chmod u+w {path} 2>/dev/null; (echo {text} > {path}) 2>/dev/null; echo $?", prints="1")


def nothing_at(path: str) -> Attack:
    """Return an attack that reads a path, which must be missing or empty."""
    return Attack(f"cat {path} 2>/dev/null | head -c 100")


KERNEL = [
    no_write("/proc/sys/kernel/core_pattern"),
    no_write("/proc/sys/kernel/hostname"),
    no_write("/proc/sys/kernel/domainname"),
    no_write("/proc/sys/kernel/modprobe", "/tmp/x"),
    no_write("/proc/sys/kernel/sysrq"),
    no_write("/proc/sys/kernel/ns_last_pid", "100"),
    no_write("/proc/sys/kernel/panic"),
    no_write("/proc/sys/vm/drop_caches", "3"),
    no_write("/proc/sys/vm/overcommit_memory"),
    no_write("/proc/sys/fs/binfmt_misc/register"),
    no_write("/proc/sys/fs/file-max"),
    no_write("/proc/sys/net/ipv4/ip_forward"),
    no_write("/proc/sys/net/ipv4/ip_local_port_range", "1 2"),
    no_write("/proc/sys/kernel/random/uuid"),
    no_write("/proc/sysrq-trigger", "b"),
    no_write("/proc/irq/default_smp_affinity"),
    no_write("/proc/bus/pci/00"),
    no_write("/proc/fs/ext4/x"),
    no_write("/proc/uptime"),
    no_write("/proc/meminfo"),
    no_write("/proc/stat"),
    no_write("/proc/keys"),
    no_write("/proc/version"),
    no_write("/proc/sys/kernel/osrelease"),
    no_write("/proc/1/mem"),
    no_write("/proc/1/uid_map", "0 0 1"),
    no_write("/proc/self/uid_map", "0 0 1"),
    no_write("/proc/1/timens_offsets", "monotonic 0 0"),
    no_write("/proc/self/timens_offsets", "monotonic 99 0"),
    no_write("/proc/kpagecount"),
    no_write("/proc/mtrr", "disable=0"),
    no_write("/proc/self/oom_score_adj", "-1000"),
    no_write("/proc/self/oom_score_adj", "0"),
    no_write("/proc/$$/oom_adj", "0"),
    Attack("echo 1000 > /proc/1/oom_score_adj; echo on", prints="on"),
    Attack("rm -rf /proc/* /proc/sys/* 2>&-; chmod -R 777 /proc 2>&-; cat /proc/uptime", prints="1000.00 900.00"),
    Attack("mv /proc/uptime /tmp 2>&-; ln -sf /etc/passwd /proc/meminfo 2>&-; wc -l < /proc/meminfo", prints="29"),
    Attack("for f in /proc/* /proc/sys/*/* /proc/1/*; do echo 1 > $f; done 2>&-; hostname", prints="box"),
    Attack("find /proc -type f -exec sh -c 'echo 1 > \"$1\"' _ {} \\; 2>&-", within_s=WALL_S, endings=ANY),
    Attack("find /proc /sys /dev -type f -exec head -c 4096 {} + >&- 2>&-", within_s=WALL_S, endings=ANY),
    Attack("mkdir /sys/fs; echo x > /sys/x; ls /sys/fs/cgroup 2>/dev/null | wc -l", prints="0"),
    Attack("mkdir -p /sys/fs/cgroup/x; mount -t cgroup none /sys/fs/cgroup/x 2>/dev/null; echo $?", prints="32"),
]

MACHINE = ("misc", "crypto", "consoles", "schedstat", "dma")
"""Files of /proc that show the machine and that no program of a shell needs."""

SECRETS = [
    nothing_at("/proc/1/environ"),
    nothing_at("/proc/1/maps"),
    nothing_at("/proc/1/root/etc/shadow"),
    nothing_at("/proc/1/cwd/etc/shadow"),
    nothing_at("/proc/1/fd/0"),
    nothing_at("/proc/1/fd/4"),
    nothing_at("/proc/1/mem"),
    nothing_at("/proc/1/stack"),
    nothing_at("/proc/1/task/1/environ"),
    nothing_at("/proc/kcore"),
    nothing_at("/proc/kmsg"),
    nothing_at("/proc/kallsyms"),
    nothing_at("/proc/kpageflags"),
    nothing_at("/proc/iomem"),
    nothing_at("/proc/cmdline"),
    nothing_at("/proc/keys"),
    nothing_at("/proc/config.gz"),
    Attack(f"cat {' '.join(f'/proc/{name}' for name in MACHINE)} 2>/dev/null", prints=""),
    Attack("find /proc/pressure /proc/tty -type f", prints=""),
    Attack("tail -n +2 /proc/swaps /proc/cgroups 2>/dev/null | grep -v '^==>'", prints=""),
    Attack("cat /proc/sys/fs/{file,inode,aio}-nr /proc/sys/kernel/pty/nr", prints="1024\t0\t65536\n16384\t1024\n0\n0"),
    Attack("cat /proc/sys/fs/{inode,dentry}-state | cut -f1,2", prints="16384\t1024\n16384\t8192"),
    Attack("cat /proc/filesystems", prints="nodev\tproc\nnodev\ttmpfs\nnodev\toverlay"),
    Attack("grep -c : /proc/devices", prints="2"),
    nothing_at("/dev/mem /dev/kmem /dev/kmsg /dev/port"),
    nothing_at("/dev/sda /dev/vda /dev/nvme0n1 /dev/loop0 /dev/dm-0"),
    nothing_at("/dev/console"),
    nothing_at("/run/docker.sock /var/run/docker.sock /run/podman/podman.sock"),
    nothing_at("/run/secrets/* /run/bashboard/* /run/bashboard/layers/*"),
    nothing_at("/opt/bashboard/* /base/etc/passwd /.dockerenv"),
    nothing_at("/.bashboard/* /work/* /fixtures/core/tasks/*"),
    Attack("ls /run/bashboard /opt/bashboard /base /proc/1/root 2>/dev/null"),
    Attack("find / -xdev \\( -name '*.jsonl' -o -name 'build.sh' -o -name suite.toml -o -name '*.bpf' \\)", prints=""),
    Attack("cat ../../../../../../../../run/bashboard/layers/devices/dev/null", status=1),
    Attack("cd /; for i in {1..50}; do cd ..; done; ls -d base 2>/dev/null", prints=""),
    Attack("exec 5</; cd /proc/self/fd/5/../../..; ls -d base 2>/dev/null", prints=""),
    Attack("grep -rl near_misses /proc/[0-9]*/environ /etc /srv /root /run /opt /var 2>/dev/null", prints=""),
    Attack("strings /proc/self/mem 2>/dev/null; cat /proc/self/maps | grep -c runner", prints="0"),
    Attack("ls /proc/[0-9]*/fd/ | sort -u | tail -1", endings=("exited",)),
    Attack('perl -e \'for (3 .. 4096) { open F, "<&=$_" and print "$_\\n" }\'', prints=""),
    Attack(
        'perl -e \'for (3 .. 300) { open F, "<&=$_" and print "$_\\n" }\'', prints="", observe=("shell", "processes")
    ),
]

DEVICES = [
    Attack("mknod /tmp/d b 8 0; mknod /tmp/c c 1 1; mknod /tmp/w c 0 0; ls /tmp | wc -l", prints="0"),
    Attack("cp -a /dev/zero /tmp/z; ls /tmp | wc -l", prints="0"),
    Attack("rm /dev/null; echo text > /dev/null; cat /dev/null", prints="text"),
    Attack("rm -rf /dev; mkdir /dev; ls /dev | wc -l", prints="0"),
    Attack("mv /dev/zero /dev/null; head -c 3 /dev/null | wc -c", endings=("exited",)),
    Attack("chmod 000 /dev/null; chown tess /dev/null; echo > /dev/null; echo $?", prints="0"),
    Attack("echo x > /dev/tty; cat < /dev/tty", status=1),
    Attack("exec 3<>/dev/ptmx", status=None),
    Attack("cat /dev/full | head -c 10 | wc -c", prints="10"),
    Attack("script -qc true /dev/null; echo $?"),
    Attack("losetup -f /srv/tiny/file; echo $?", endings=("exited",)),
    Attack("dd if=/dev/zero of=/dev/urandom count=1 2>/dev/null; head -c 8 /dev/urandom | xxd -p", prints="0" * 16),
]

PERL = "perl -MSocket -e"
MEET = f"""{PERL} 'for (1 .. 30) {{ socket S,2,1,0; setsockopt S,1,2,1; bind S,sockaddr_in(9000,INADDR_LOOPBACK) or die;
listen S,9; socket C,2,1,0; connect C,sockaddr_in(9000,INADDR_LOOPBACK) or die; accept A,S; close A; close C; close S }}
print 30'"""
"""Leaves thirty connections that are to be waited for."""

NETWORK = [
    Attack("exec 3<>/dev/tcp/1.1.1.1/80", status=1),
    Attack("exec 3<>/dev/udp/1.1.1.1/53 && echo x >&3", status=1),
    Attack("exec 3<>/dev/tcp/127.0.0.1/22", status=1),
    Attack("exec 3<>/dev/tcp/localhost/2375", status=1),
    Attack("exec 3<>/dev/tcp/172.17.0.1/22", status=1),
    Attack("exec 3<>/dev/tcp/169.254.169.254/80", status=1),
    Attack("exec 3<>/dev/tcp/::1/80", status=1),
    Attack("getent hosts example.com; echo $?", prints="2"),
    Attack("apt-get update >&- 2>&-; apt-get install -y hello >&- 2>&-; echo $?", prints="100"),
    Attack(f'{PERL} \'socket S,1,1,0; connect S, sockaddr_un("/run/docker.sock") or print "no"\'', prints="no"),
    Attack(f"{PERL} 'socket S,1,1,0; bind S, sockaddr_un(\"\\0left\") or die; listen S,1; fork and exit; sleep 99'"),
    Attack(f'{PERL} \'socket S,1,1,0; bind S, sockaddr_un("\\0left") or die; print "free"\'', prints="free"),
    Attack(f"{PERL} 'socket S,2,1,0; bind S, sockaddr_in(80,INADDR_ANY) or print \"no\"'", prints="no"),
    Attack(MEET, prints="30"),
    Attack(MEET, prints="30", observe=("shell",)),
    Attack(f"{PERL} 'for (1..900) {{ socket $_,2,1,0; bind $_,sockaddr_in(0,INADDR_ANY); listen $_,9 }} print 900'"),
    Attack("ip link set lo down 2>/dev/null; cat /proc/net/dev | wc -l", prints="3"),
]


@pytest.mark.parametrize("attack", KERNEL, ids=str)
def test_the_kernels_files(hold: Hold, attack: Attack) -> None:
    """The kernel's files in /proc are read-only, and the fixed ones cannot be changed."""
    hold(attack)


@pytest.mark.parametrize("attack", SECRETS, ids=str)
def test_secrets(hold: Hold, attack: Attack) -> None:
    """The runner, its descriptors, other worlds, references and the host's files are not visible."""
    hold(attack)


@pytest.mark.parametrize("attack", DEVICES, ids=str)
def test_devices(hold: Hold, attack: Attack) -> None:
    """A job has the harmless devices, can break its own ones, and can make none."""
    hold(attack)


@pytest.mark.parametrize("attack", NETWORK, ids=str)
def test_the_network(hold: Hold, attack: Attack) -> None:
    """A job has its own loopback and no other network."""
    hold(attack)
