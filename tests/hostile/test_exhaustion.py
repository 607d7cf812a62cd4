"""Attacks that exhaust a resource: processes, memory, CPU, disk, inodes, output."""

from __future__ import annotations

import pytest

from tests.attacks import QUICK_S, WALL_S, Attack, Hold, hangs, times_out

pytestmark = pytest.mark.engine

ANY = ("exited", "timeout", "memory", "disk", "crash")

FORKS = [
    Attack(":(){ :|:& };:", endings=ANY),
    Attack("f() { f & f & }; f; wait", endings=ANY),
    times_out("perl -e 'while (1) { fork }'"),
    times_out("perl -e '$SIG{CHLD} = \"IGNORE\"; while (1) { fork or exit }'"),
    Attack("perl -e 'while (1) { fork // last; setpgrp }'", endings=ANY),
    Attack("while :; do setsid sleep 100 & done", endings=ANY, within_s=WALL_S),
    Attack("for i in {1..500}; do sleep 100 & done; wait", endings=ANY, within_s=WALL_S),
    Attack("ulimit -u unlimited; for i in {1..300}; do sleep 9 & done; echo $?", endings=ANY, within_s=WALL_S),
    Attack("for i in {1..300}; do (sleep 9 &) 2>/dev/null; done; kill -9 -1", endings=ANY),
    Attack('bash -c \'exec bash -c "$0" "$0"\' \'echo $$ >> /tmp/n; exec bash -c "$0" "$0"\'', endings=ANY),
    Attack("x() { bash -c x; }; export -f x; x", endings=("timeout", "exited")),  # bash gives up after 15 s
    Attack("sleep 9 | " * 200 + "true", endings=ANY, within_s=WALL_S),
    Attack("perl -e 'for (1..400) { vfork() } ' ; perl -e 'fork for 1..9; sleep 9'", endings=ANY, within_s=WALL_S),
    Attack("yes $'fork() { fork | fork & }; fork' | head -100 | bash", endings=ANY, within_s=WALL_S),
]

MEMORY = [
    Attack("perl -e '$x .= \"x\" x 1e6 while 1'", endings=("memory", "timeout")),
    Attack("perl -e 'push @x, [1 .. 1000] while 1'", endings=("memory", "timeout")),
    Attack("x=$(head -c 2G /dev/zero | tr '\\0' x)", endings=("memory", "timeout", "exited")),
    Attack("tail /dev/zero", endings=("memory", "timeout", "exited")),
    Attack("head -c 3G /dev/zero | sort", endings=ANY),
    Attack("a=x; while :; do a=$a$a; done", endings=("memory", "timeout", "exited")),
    Attack("printf '%*s' 2000000000 x >/dev/null", endings=("memory", "timeout", "exited")),
    Attack("awk 'BEGIN { while (1) a[i++] = i }'", endings=("memory", "timeout")),
    Attack(
        "for i in {1..20}; do perl -e '$x = \"x\" x 30e6; sleep 9' & done; wait",
        endings=ANY,
        within_s=WALL_S,
    ),
    Attack(
        "echo 0 > /proc/self/oom_score_adj; perl -e '$x .= \"x\" x 1e6 while 1'",
        endings=("memory", "timeout"),
    ),
    Attack("exec perl -e '$x = \"x\" x 4e9'", endings=("memory", "exited", "timeout")),
    Attack("f() { f; }; f", endings=("exited", "timeout", "memory")),
    Attack("perl -e '$_ = \"a\" x 1e5; /(a*)*b/; $y = $y->{a} = {} while 1'", endings=ANY),
    Attack(
        "head -c 31m /dev/zero > /dev/shm/a; perl -e '$x .= \"x\" x 1e6 while 1'",
        endings=("memory", "timeout"),
    ),
    Attack("perl -e 'for (1..90) { fork or do { $x = \"x\" x 9e6; sleep 5; exit } } sleep 1'", endings=ANY),
    Attack(
        'perl -e \'open F, ">/proc/self/oom_score_adj"; print F 0; close F;'
        ' for (1 .. 90) { fork or do { $x = "x" x 9e6; sleep 5; exit } } sleep 3\'',
        endings=("memory", "timeout", "exited"),
    ),
    Attack("mapfile -t lines < <(yes)", endings=("memory", "timeout")),
]

TIME = [
    times_out("while :; do :; done"),
    times_out("trap '' TERM INT HUP QUIT XCPU; while :; do :; done"),
    times_out("ulimit -t unlimited; while :; do :; done"),
    times_out("while :; do :; done & while :; do :; done"),
    times_out("perl -e '$_ = \"a\" x 40; /(a|aa)+$b/' ; while :; do :; done"),
    times_out("seq inf | sha256sum"),
    times_out("setsid bash -c 'while :; do :; done' & setsid bash -c 'while :; do :; done'; wait"),
    times_out("exec -a init bash -c 'while :; do :; done'"),
    times_out("timeout 1000 bash -c 'trap \"\" TERM; while :; do :; done'"),
    times_out("find / -exec cat {} + >/dev/null 2>&1; while :; do find / >/dev/null 2>&1; done"),
    hangs("sleep 1000"),
    hangs("kill -STOP $$"),
    hangs("cat /srv/tiny/pipe"),
    hangs("read < <(sleep 1000)"),
    Attack("setsid -f sleep 1000; exit 0"),
    Attack("while :; do :; done & disown; exit 0"),
    Attack("at now <<< true; echo 'sleep 1; touch /tmp/later' | setsid bash &", status=0),
    Attack("nohup bash -c 'sleep 2; rm -rf /srv' >/dev/null 2>&1 & exit 0"),
]

DISK = [
    Attack("head -c 1G /dev/zero > big", endings=("disk",)),
    Attack("yes > a & yes > b & wait", endings=ANY),
    Attack("seq 20000 | xargs touch", endings=ANY),
    Attack("perl -e 'mkdir $_ for 1 .. 20000'", endings=("disk", "timeout")),
    Attack("perl -e 'symlink \"x\" x 4000, $_ for 1 .. 20000'", endings=ANY),
    Attack('perl -e \'open F, ">f"; link "f", $_ for 1 .. 20000\'', endings=ANY),
    Attack("cp -r / /tmp/copy", endings=ANY),
    Attack("cp -r /usr /tmp/copy", endings=ANY),
    Attack("fallocate -l 1G big", endings=ANY),
    Attack("truncate -s 8E huge; ls -l huge; cp --sparse=always huge other", endings=("exited", "timeout")),
    Attack("dd if=/dev/zero of=/dev/shm/x bs=1M", endings=("disk",)),
    Attack("for i in {1..40}; do head -c 1m /dev/zero > $i; done; rm -f *", endings=("exited", "timeout")),
    Attack("exec 3<>gone; rm gone; head -c 1G /dev/zero >&3", endings=ANY),
    Attack(
        "cat /proc/kcore /proc/kmsg > x; find /usr -type f -exec chmod a+x {} +", endings=("disk", "exited", "timeout")
    ),
    Attack('perl -e \'for (1 .. 9000) { mkdir "d"; chdir "d" }\' ; echo deep', prints="deep"),
]

OUTPUT = [
    times_out("yes"),
    times_out("cat /dev/zero"),
    times_out("cat /dev/zero >&2"),
    times_out("yes & yes >&2 & wait"),
    Attack("head -c 20m /dev/zero"),
    Attack("head -c 10m /dev/urandom; head -c 10m /dev/urandom >&2", endings=("exited", "timeout")),
    Attack("seq 10000000", endings=("exited", "timeout")),
    Attack("yes $'\\xff\\xfe\\0' | head -c 5m"),
    Attack(
        "printf '\\e]0;title\\a\\e[2J\\e[8mhidden\\e[0m\\r\\b'",
        prints="\x1b]0;title\x07\x1b[2J\x1b[8mhidden\x1b[0m\r\x08",
    ),
    Attack("printf '\\ud800' ; printf '\\xed\\xa0\\x80'"),
    Attack("perl -e 'print \"[\" x 60000'"),
    Attack('perl -e \'print "{\\"a\\":" x 12000\''),
    Attack("yes '' | head -c 3m"),
    Attack("setsid -f yes; exit 0"),
]


@pytest.mark.parametrize("attack", FORKS, ids=str)
def test_forks(hold: Hold, attack: Attack) -> None:
    """A command may start as many processes as the suite allows, and none remains."""
    hold(attack)


@pytest.mark.parametrize("attack", MEMORY, ids=str)
def test_memory(hold: Hold, attack: Attack) -> None:
    """A command that takes too much memory is ended and charged, even if it ends the container."""
    hold(attack)


@pytest.mark.parametrize("attack", TIME, ids=str)
def test_time(hold: Hold, attack: Attack) -> None:
    """The CPU limit applies, the wall-clock limit ends waiting commands, and nothing runs after the end."""
    hold(attack)


@pytest.mark.parametrize("attack", DISK, ids=str)
def test_disk(hold: Hold, attack: Attack) -> None:
    """A command's files are on a disk of their own that is removed with the job."""
    hold(attack)


@pytest.mark.parametrize("attack", OUTPUT, ids=str)
def test_output(hold: Hold, attack: Attack) -> None:
    """Output of any size and any bytes is read to the end and never stored completely."""
    assert attack.within_s == QUICK_S
    hold(attack)
