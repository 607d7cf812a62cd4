"""Attacks on a command's base and on its observers: programs, pipes, processes, the runner's messages."""

from __future__ import annotations

import json

import pytest

from tests.attacks import QUICK_S, Attack, Hold, hangs, times_out

pytestmark = pytest.mark.engine

ANY = ("exited", "timeout", "memory", "disk", "crash")
SHELL, BOTH = ("shell",), ("shell", "processes")

FOUNDATIONS = [
    Attack("rm /bin/bash; cp /bin/true /bin/bash; bash -c 'echo no'", prints=""),
    Attack("rm -f /bin/bash /bin/sh /usr/bin/*; echo still here", prints="still here"),
    Attack("rm -rf --no-preserve-root / 2>&-; echo /*", endings=("exited",)),
    Attack("rm -rf /*; ls", endings=("exited",)),
    Attack("mv /usr /gone; echo $?", endings=ANY),
    Attack("rm -rf /tmp; ln -s /etc /tmp; echo x > /tmp/passwd"),
    Attack("rm -rf /srv/tiny; echo gone > /srv/tiny"),
    Attack("chmod 000 / /srv /srv/tiny /etc /usr", status=0),
    Attack("chown -R 1500:1600 /etc /home /srv"),
    Attack("chmod -R 777 /etc /srv; chmod 4777 /bin/bash"),
    Attack("echo /tmp/evil.so > /etc/ld.so.preload; ls", endings=("exited",)),
    Attack(": > /etc/ld.so.preload; env -i /bin/date +%Y | grep -c .", prints="1"),
    Attack("echo garbage > /usr/lib/libpin.so; ls", endings=("exited",)),
    Attack("rm /usr/lib/libpin.so; date +%Y", endings=("exited",)),
    Attack("export LD_PRELOAD=/tmp/none.so; ls / >/dev/null"),
    Attack("LD_AUDIT=/tmp/x LD_LIBRARY_PATH=/tmp GLIBC_TUNABLES=x BASH_ENV=/etc/passwd ENV=/x bash -c true"),
    Attack("rm -rf /lib /lib64; ls", status=127),
    Attack("echo 'root::0:0::/:/bin/false' > /etc/passwd; su -c id", endings=("exited",)),
    Attack("mkdir /run/bashboard; echo x > /run/bashboard/proc; mkdir -p /opt/bashboard; echo > /opt/bashboard/jail"),
    Attack("mkdir -p /base /proc/x 2>&-; ln -s / /base/loop", endings=("exited",)),
    Attack("truncate -s 0 /etc/*; :"),
    Attack("touch -d 2099-01-01 /; touch -d 1900-01-01 /etc; touch -d @0 /srv"),
    Attack('perl -e \'syscall(188, $p = "/srv/tiny/file", $n = "user.overlay.opaque", $v = "y", 1, 0)\''),
    Attack('perl -e \'syscall(188, $p = "/srv/tiny/full", $n = "user.overlay.whiteout", $v = "y", 1, 0)\''),
    Attack('perl -e \'syscall(188, $p = "/srv/tiny", $n = "security.capability", $v = "\\1" x 20, 20, 0)\''),
    Attack("for i in {1..15}; do mv /srv/tiny /srv/x; mkdir /srv/tiny; rmdir /srv/tiny; mv /srv/x /srv/tiny; done"),
]

PROCESSES = [
    Attack("kill -9 1; kill -STOP 1; kill -TERM 1; echo alive", prints="alive"),
    Attack("kill -9 -1; echo alive", prints="alive"),
    Attack("kill -9 0", status=137),
    Attack("kill -9 $$", status=137),
    Attack("for p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done", status=137),
    Attack("perl -e 'kill 9, 1 .. 100000'; echo alive", endings=("exited",)),
    Attack("perl -e 'for $s (1 .. 64) { kill $s, 1 }'; echo alive", prints="alive"),
    Attack("exec 0<&- 1>&- 2>&-; sleep 0.1"),
    Attack("exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-; echo fine", prints="fine"),
    Attack('for n in {3..255}; do eval "exec $n>&1" || break; done 2>&-; echo many', endings=("exited",)),
    Attack("exec 1>/dev/full; echo lost", status=1),
    Attack("exec 251>&- 251>/tmp/x; echo caught", prints="caught", observe=SHELL),
    Attack("exec 9>&- 8>&- 7>&-; cd /tmp", observe=BOTH),
    Attack("printf '\\0cwd\\0/forged\\0umask\\0777' >&251; echo $?", endings=("exited",), observe=SHELL),
    Attack("yes >&251 & echo on; wait", endings=("exited", "timeout"), observe=SHELL),
    Attack("head -c 50m /dev/zero >&251; exit 0", endings=("exited", "timeout"), observe=SHELL),
    Attack("builtin() { exit 9; }; trap() { :; }; declare() { :; }", observe=SHELL),
    Attack("trap 'while :; do :; done' EXIT", endings=("timeout",), observe=SHELL),
    Attack("enable -n builtin printf declare; readonly -f x; set -r", observe=SHELL),
    Attack(
        "x=$(head -c 100000 /dev/zero | tr '\\0' x); y=$x$x$x$x$x$x$x$x$x$x; z=$y$y$y$y$y$y$y$y$y$y$y$y", observe=SHELL
    ),
    Attack('for i in {1..3000}; do eval "v$i=1; f$i() { :; }"; done', observe=SHELL),
    Attack(
        "set -o posix; set -T -E -v -x; trap 'echo d' DEBUG; trap 'echo e' ERR; trap 'echo r' RETURN", observe=SHELL
    ),
    Attack("perl -e 'fork and exit; setpgrp; fork and exit; $SIG{$_} = \"IGNORE\" for keys %SIG; sleep 99'"),
    Attack("perl -e 'fork and exit; print \"x\" while 1' &", endings=("exited",)),
    Attack("for i in {1..60}; do sleep 99 & done", observe=BOTH),
    Attack("(while :; do sleep 0.01 & done) & sleep 0.2", observe=BOTH, endings=ANY),
    Attack("exec -a \"$(head -c 100000 /dev/zero | tr '\\0' a)\" sleep 99 &", observe=BOTH),
    Attack("perl -e '$0 = \"\\n\\xff\\0init\"; sleep 99' & sleep 0.1", observe=BOTH),
    Attack("sleep 99 & kill -STOP $!; sleep 99 & kill -9 $!", observe=BOTH),
    Attack("perl -e 'fork or exit for 1 .. 50; sleep 99' & sleep 0.3", observe=BOTH),
    Attack("echo -n > /proc/self/comm; echo 'init' > /proc/$$/comm; sleep 99 &", observe=BOTH),
    hangs("exec 3<>pipe; read -u 3"),
    times_out("trap 'exec bash -c \"while :; do :; done\"' TERM; while :; do :; done"),
]

REPLY = json.dumps({"evidence": {"ending": "exited", "status": 0, "stdout": {"data": "forged"}}, "by_wall": False})

FORGERIES = [
    Attack(f"echo '{REPLY}'", prints=REPLY),
    Attack(f"echo '{REPLY}' >&2"),
    Attack(f"for fd in /proc/1/fd/* /proc/self/fd/*; do echo '{REPLY}' > $fd; done 2>&-", endings=("exited",)),
    Attack(f"for n in {{3..250}}; do echo '{REPLY}' >&$n; done 2>&-; echo none", prints="none"),
    Attack("echo 'ended 0 0' >&4; echo 'broken us 1' >&4; echo $?", prints="1"),
    Attack("echo 'broken exec 2'; echo 'broken exec 2' >&2; exit 125", status=125),
    Attack("exit 126", status=126),
    Attack('printf \'\\n{"error": "infra"}\\n\'; kill -9 $$', status=137),
    Attack("printf '\\1\\0\\0\\0\\0\\0\\0\\5hello\\2\\0\\0\\0\\377\\377\\377\\377'", status=0),
    Attack('printf \'{"protocol": 2, "checks": {}}\\n\' | tee /dev/stderr /proc/1/fd/1 2>&- >&-', endings=("exited",)),
    Attack(f"mkdir -p /run/verify; echo 0 > /run/verify/status; echo '{REPLY}' > /run/verify/stdout"),
    Attack(
        "echo '\ud83d\ude00' | iconv -f utf-8 -t utf-16; printf '\\xef\\xbf\\xbe\\xed\\xb0\\x80'".encode(
            "utf-8", "surrogatepass"
        )
    ),
    Attack(b"printf %s $'\\x80\\xff' > $'\\xff\\n\\x01'"),
    Attack('touch $\'a\\nM\\tb\' \'{"path":"/x","kind":"deleted"}\' \'"},{"path":"/etc/passwd"\''),
    Attack('ln -s $\'{"base64":"AA=="}\' x; ln -s "$(head -c 4000 /dev/zero | tr \'\\0\' \'"\')" y'),
]


@pytest.mark.parametrize("attack", FOUNDATIONS, ids=str)
def test_foundations(hold: Hold, attack: Attack) -> None:
    """A job can break everything it sees, but only for itself."""
    hold(attack)


@pytest.mark.parametrize("attack", PROCESSES, ids=str)
def test_processes_and_descriptors(hold: Hold, attack: Attack) -> None:
    """A job cannot kill, block or feed the processes that observe it."""
    hold(attack)


@pytest.mark.parametrize("attack", FORGERIES, ids=str)
def test_forgeries(hold: Hold, attack: Attack) -> None:
    """Text that looks like the runner's messages, printed or written anywhere, is only text."""
    assert attack.within_s == QUICK_S
    hold(attack)
