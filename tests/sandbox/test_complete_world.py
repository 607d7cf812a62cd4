"""Tests that a job sees the world that a command expects: all of /proc and /sys, times, inode numbers and loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from evaluator.sandbox.container import WorkerPlan
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.image import ensure_image
from tests.sandbox_harness import BUILD, TESS, TINY, SandboxHarness, planned

pytestmark = pytest.mark.engine

DENIED_TO_A_USER = """
/etc/credstore
/etc/credstore.encrypted
/proc/1/fd
/proc/1/fdinfo
/proc/1/map_files
/proc/1/task/1/fd
/proc/1/task/1/fdinfo
/root
/var/cache/apt/archives/partial
/var/cache/ldconfig
/var/cache/private
/var/lib/private
/var/spool/cron/crontabs
"""
"""The folders that a container of the base image shows to root only."""

OLD = replace(TINY, build=BUILD + b"touch -d 2025-01-02 file full/one; touch -a -d 2025-01-03 full/two\n")


@pytest.fixture(scope="module")
def second_worker(engine: Engine, sandbox: SandboxHarness) -> Iterator[SandboxHarness]:
    """A worker that has built other worlds before the first job in TINY."""
    with closing(SandboxHarness(engine, sandbox.plan)) as harness:
        for seed in (11, 12):
            harness.run("true", world=replace(TINY, seed=seed))
        yield harness


def test_root_reads_the_whole_world(sandbox: SandboxHarness) -> None:
    """A search of all folders and a read of all files of process 1 and of /sys succeed, as in a container."""
    for command in (
        "find / -name passwd",
        "find / > /dev/null",
        "grep -r 'no such text' /sys /proc/1 /proc/sys; [ $? = 1 ]",
    ):
        evidence = sandbox.run(command)
        assert (evidence.status, evidence.stderr.data) == (0, b""), command


def test_another_user_sees_what_a_container_shows(sandbox: SandboxHarness) -> None:
    """A user who is not root cannot open root's folders and the private folders of process 1, and all others."""
    evidence = sandbox.run("find / 2>&1 >/dev/null | grep -o '/[^:’]*' | sort", world=TESS)
    assert evidence.stdout.data.decode() == DENIED_TO_A_USER.lstrip()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("find . -cmin -60 -name one; find . -ctime -1 -name one; find . -cnewer full/two -name one", ""),
        ("stat -c '%z %w' full/one", " ".join(["2025-01-02 00:00:00.000000000 +0000"] * 2)),
        ("ls -lc --time-style=+%F full/one | cut -d' ' -f6", "2025-01-02"),
        ("perl -e 'print +(stat \"full/one\")[10]'", "1735776000"),
        ("find . -amin -60 -name two; stat -c %x full/two", "2025-01-03 00:00:00.000000000 +0000"),
        ("chmod 600 full/one; find . -cmin -1 -name one", "./full/one"),
        ("find / -xdev -newerat 2025-03-14T09:30:01; ls -lu --time-style=+%F -d /usr | cut -d' ' -f6", "2025-03-13"),
    ],
)
def test_the_first_job_in_a_world_sees_old_times(sandbox: SandboxHarness, command: str, expected: str) -> None:
    """The times of status change, birth and access of a world's files do not depend on the time of the build.

    Each seed is a new world. The worker builds it immediately before the job.
    """
    for seed in range(4):
        evidence = sandbox.run(command, world=replace(OLD, seed=seed))
        assert (evidence.stdout.data.decode().strip(), evidence.stderr.data) == (expected, b"")


SLOW_BUILD = b"""
date +%s.%N > /srv/before; touch /srv/first; stat -c '%X %Y %Z %W' /srv/first > /srv/times
sleep 1.2
date +%s.%N > /srv/after; touch /srv/first; stat -c '%X %Y %Z %W' /srv/first >> /srv/times
echo $EPOCHSECONDS >> /srv/after; printf '%(%s)T\\n' -1 >> /srv/after
tar cf /srv/archive.tar /srv/first
"""


def test_the_clock_stands_still_during_a_build(sandbox: SandboxHarness) -> None:
    """A machine that needs a second longer for a build makes the same world. The job's clock runs."""
    world = replace(TINY, build=BUILD + SLOW_BUILD)
    look = "cd /srv; cat before after times; tar tvf archive.tar"
    runs = "first=$(date +%s); sleep 1.1; [ $(date +%s) -gt $first ] && echo runs"
    evidence = sandbox.run(f"{look}; {runs}", world=world)
    clock = "1741944600"
    member = "-rw-r--r-- root/root         0 2025-03-14 09:30 srv/first"
    times = [f"{clock}.500000000"] * 2 + [clock] * 2 + [" ".join([clock] * 4)] * 2
    assert evidence.stdout.data.decode().splitlines() == [*times, member, "runs"]


NUMBERS = [
    "stat -t / /etc /etc/passwd /bin/ls /srv/tiny /srv/tiny/file /dev/null /proc /sys/kernel",
    "ls -iaU / /etc /srv/tiny; ls -di /etc /srv; find / -xdev -printf '%i %D %p\\n' | sort | sha256sum",
    "touch new; mkdir folder; touch folder/new; ls -iR . ; stat file new folder",
    "sysctl --all; find /proc/sys /sys -type f ! -name inode_numbers -exec sha256sum {} + | sha256sum; ls -lR /sys",
    "stat -f / /proc /sys; df -a; df -i .; perl -e 'print join q( ), stat q(file)'",
]


@pytest.mark.parametrize("command", NUMBERS)
def test_numbers_do_not_depend_on_the_worker(
    sandbox: SandboxHarness, second_worker: SandboxHarness, command: str
) -> None:
    """Inode and device numbers and the kernel's settings are the same on a worker with other worlds."""
    first, second = sandbox.run(command), second_worker.run(command)
    assert (first.status, first.stderr.data) == (0, b"")
    assert second.stdout.data == first.stdout.data


SAME_FILES = {
    "find . -samefile full/one | sort": "./full/one\n./hard",
    "[ full/one -ef hard ] && [ ! full/one -ef full/two ] && echo same": "same",
    "touch new; ln new other; [ new -ef other ] && stat -c %h other": "2",
    "find / -xdev -links 1 -printf '%i\\n' | sort | uniq -d": "",
    "tar cf t.tar full/one hard; tar tvf t.tar | grep -c 'link to'": "1",
    "rsync -aH full hard /tmp/copy/ && [ /tmp/copy/hard -ef /tmp/copy/full/one ] && echo linked": "linked",
    "du -a full/one hard | wc -l": "1",
    "for d in . full /etc /usr/bin; do diff <(ls -AiU1 $d | awk '{ print $1, $2 }' | sort) "
    "<(find $d -mindepth 1 -maxdepth 1 -printf '%i %f\\n' | sort) > /dev/null && echo equal; done": "equal\n" * 3
    + "equal",
    "find / -xdev -name proc; mountpoint -q /proc && mountpoint -q /sys && ! mountpoint -q /etc && echo mounts": (
        "/proc\nmounts"
    ),
    "df --output=target . /etc/passwd /proc | tail -n +2": "/\n/\n/proc",
    "git init -q 2>/dev/null; cmp file link && cp -u file other && mv other third && cat third": "alpha\nbeta",
}


@pytest.mark.parametrize("command", SAME_FILES)
def test_programs_that_compare_numbers_still_work(sandbox: SandboxHarness, command: str) -> None:
    """Hard links share a number, other files do not, and folders of other file systems are recognized."""
    assert sandbox.run(command).stdout.data.decode().rstrip("\n") == SAME_FILES[command]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("lscpu | grep -c -e '^CPU(s): *1$' -e 'Bashboard Virtual CPU' -e '^L2 cache: *4 MiB'", "3"),
        ("lsmem -b -r -o RANGE,SIZE,STATE -n", "0x0000000000000000-0x00000000ffffffff 4294967296 online"),
        ("lsblk -n -l -o NAME,SIZE,TYPE", "vda    10G disk\nvda1   10G part"),
        ("cat /proc/partitions | awk 'NR > 2 { print $4 }'; vmstat -d | awk 'NR > 2 { print $1 }'", "vda\nvda1\nvda"),
        ("ls /sys/class/net; cat /sys/class/net/lo/{mtu,operstate}", "lo\n65536\nunknown"),
        ("cat /sys/devices/system/cpu/online /sys/class/block/vda1/size", "0\n20969472"),
        ("sysctl -n kernel.hostname kernel.osrelease fs.file-max", "box\n6.12.0\n65536"),
        ("sysctl -a | wc -l; find /sys -xtype l", "365"),
    ],
)
def test_the_machine_has_devices(sandbox: SandboxHarness, command: str, expected: str) -> None:
    """/sys and /proc/sys describe one small machine to the programs that list its devices and settings."""
    evidence = sandbox.run(command)
    assert (evidence.stdout.data.decode().rstrip("\n"), evidence.stderr.data) == (expected, b"")


@pytest.mark.parametrize("path", ["/sys/class/net/lo/mtu", "/sys/kernel/inode_numbers", "/proc/sys/kernel/hostname"])
def test_no_job_changes_the_machine(sandbox: SandboxHarness, path: str) -> None:
    """The fixed files cannot be written, replaced or unmounted."""
    before = sandbox.run(f"sha256sum {path}").stdout.data
    assert before
    attack = f"echo 1 > {path}; rm -f {path}; chmod 666 {path}; umount /sys; umount /proc/sys; mv /sys /other"
    assert sandbox.run(attack).status != 0
    assert sandbox.run(f"sha256sum {path}").stdout.data == before


VERIFIER = b"""
test "$(stat -c '%i %h' new file full/one hard /etc/passwd /bin/ls)" = "$(< /tmp/numbers)"
test -n "$(find new -mmin -1 -newer file)" && test "$(stat -c %Y new)" -le "$(date +%s)"
touch mine && test mine -nt file && ! test mine -ef new && test "$(date +%F)" = 2025-03-14
"""


def test_a_verifier_sees_the_numbers_and_times_of_the_command(sandbox: SandboxHarness) -> None:
    """The verifier's clock continues the command's, and files keep their inode numbers."""
    old = replace(TINY, build=BUILD + b"touch -d '10 days ago' file\n")
    command = "touch new; ln new other; stat -c '%i %h' new file full/one hard /etc/passwd /bin/ls > /tmp/numbers; "
    for pause in ("", "sleep 0.1", "sleep 1.1"):
        evidence = sandbox.run(command + pause, world=old, verify=b"set -eu\n" + VERIFIER)
        assert (evidence.status, evidence.verifier, evidence.stderr.data) == (0, 0, b"")
    assert sandbox.run("touch new; echo none > /tmp/numbers", world=old, verify=VERIFIER).verifier == 0
    assert sandbox.run("touch new; echo none > /tmp/numbers", world=old, verify=b"set -e\n" + VERIFIER).verifier == 1


ECHO = r"""
perl -MSocket -e '
socket(my $s, PF_INET, SOCK_DGRAM, 1) or die "socket: $!";
send($s, pack("CCnnna*", 8, 0, 0xf7fe, 0, 1, ""), 0, sockaddr_in(0, inet_aton("127.0.0.1"))) or die "send: $!";
recv($s, my $reply, 99, 0);
print unpack("C", $reply), "\n"'
awk '$1 == "Icmp:" && $2 != "InMsgs" { print $2 }' /proc/net/snmp
"""


@pytest.mark.parametrize("world", [TINY, TESS])
def test_loopback_answers_an_echo_request(sandbox: SandboxHarness, world: object) -> None:
    """Every user may send an echo request, and a job does not see the packets of an earlier job."""
    for _ in range(2):
        evidence = sandbox.run(ECHO, world=world)
        assert (evidence.stdout.data, evidence.stderr.data) == (b"0\n2\n", b"")


def test_no_user_opens_a_raw_socket(sandbox: SandboxHarness) -> None:
    """The right to send echo requests gives no raw socket."""
    evidence = sandbox.run("perl -MSocket -e 'socket(my $s, PF_INET, SOCK_RAW, 1) or die $!'")
    assert b"Operation not permitted" in evidence.stderr.data


@pytest.mark.soak
def test_ping_shows_the_same_times_in_every_run(engine: Engine, plan: WorkerPlan) -> None:
    """The program `ping` subtracts the time of the kernel from its own, and both are the suite's clock."""
    base = plan.manifest.base
    packages = (*base.packages, "iputils-ping")
    manifest = plan.manifest.model_copy(update={"name": "ping", "base": base.model_copy(update={"packages": packages})})
    image = ensure_image(engine, manifest, print)
    with closing(SandboxHarness(engine, planned(replace(plan, image=image, manifest=manifest), cpu_s=1.0))) as harness:
        evidence = harness.run("ping -c 1 localhost")
        assert (evidence.status, evidence.stderr.data) == (0, b"")
        assert b"icmp_seq=1 ttl=64 time=0.000 ms" in evidence.stdout.data
        assert harness.run("ping -c 1 localhost").digest == evidence.digest
        assert b"unreachable" in harness.run("ping -c 1 192.0.2.1").stderr.data
