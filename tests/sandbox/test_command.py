"""Tests of the command's text and environment.

A command reaches bash byte for byte, as with `bash -c`, in the environment that the suite defines.
"""

from __future__ import annotations

import shlex

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties import examples
from tests.sandbox_harness import TESS, SandboxHarness

pytestmark = pytest.mark.engine

ECHO = b"printf %s \"$BASH_EXECUTION_STRING\"\n: <<'END'\n"
"""The start of a command that prints its own text. The here-document after it may have any content."""


def echo(payload: bytes) -> bytes:
    return ECHO + payload + b"\nEND\n"


@pytest.mark.parametrize(
    "payload",
    [
        b"plain",
        b"'single' \"double\" `back` $(sub) ${var} $'ansi'",
        b"back\\slash \\\\ \\n \\",
        b"two\nlines\n\n\nand blank ones",
        b"\ttab\rreturn\x0bvertical\x7fdelete\x1b[31mescape",
        b"\xff\xfe not UTF-8 \x80\xc3",
        "naïve – 漢字 🐚".encode(),
        b"!history !! ~ * ? [a-z] {1..3} & ; | < > #",
        b"%s %n %d \\x41",
        b"bash -c :",
    ],
)
def test_the_text_is_the_one_given(sandbox: SandboxHarness, payload: bytes) -> None:
    """bash receives the exact bytes of a command, with quotes, backslashes, newlines and bytes that are not text."""
    assert sandbox.run(echo(payload)).stdout.data == echo(payload)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(payload=st.binary(max_size=200).map(lambda data: data.replace(b"\0", b"")))
def test_any_bytes_arrive(sandbox: SandboxHarness, payload: bytes) -> None:
    """A command may contain any bytes except NUL, which would end the command."""
    if b"END" not in payload:
        assert sandbox.run(echo(payload)).stdout.data == echo(payload)


@pytest.mark.parametrize("size", [131_071, 131_072, 1 << 20])
def test_a_command_may_be_longer_than_an_argument(sandbox: SandboxHarness, size: int) -> None:
    """The kernel limits an argument to 131,071 bytes, but a command can have any length."""
    command = b"echo ${#BASH_EXECUTION_STRING} #"
    assert sandbox.run(command.ljust(size, b"x")).stdout.data == b"%d\n" % size


@pytest.mark.parametrize(
    "command",
    [
        'echo "$0 $- $# $$ $PPID"',
        "echo $BASH_EXECUTION_STRING",
        "echo )",
        "if true; then",
        "echo 'open",
        "case x in",
        "true \\\n",
        "true \\",
        "cat <<END\nunended",
        "echo $LINENO\necho $LINENO",
        "no-such-command --here",
        "/srv",
        "./built",
        "${bad substitution}",
        "echo ${unset?gone}",
        "set -u; echo $nothing",
        "set -e; false; echo not reached",
        "return 3",
        "declare -p BASH_ARGV0 BASH_SUBSHELL BASHPID",
        "shopt; set +o",
        "trap 'echo bye $?' EXIT; exit 7",
        "#!/bin/sh\necho script",
        "\n\n",
        "f() { echo $FUNCNAME; }; f",
        "exec echo replaced",
        "kill -TERM $$",
        "kill -9 $BASHPID",
        "(exit 5)",
        "! true",
        "echo {1..3} $((6*7)) ~root *",
    ],
)
def test_it_is_what_bash_c_shows(sandbox: SandboxHarness, command: str) -> None:
    """The output, error texts and status of a command are those of `bash -c` with the same text."""
    evidence, plain = sandbox.run(command), sandbox.run(f"exec bash -c {shlex.quote(command)}")
    assert (evidence.stdout, evidence.stderr, evidence.status) == (plain.stdout, plain.stderr, plain.status)


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("true", 0),
        ("false", 1),
        ("exit 255", 255),
        ("exit 256", 0),
        ("exit -1", 255),
        ("/srv", 126),
        ("nothing-of-that-name", 127),
        ("if", 2),
        ("kill -INT $$", 130),
        ("kill -QUIT $$", 0),  # bash always ignores this signal
        ("kill -ABRT $$", 134),
        ("kill -KILL $$", 137),
        ("kill -SEGV $$", 139),
        ("kill -PIPE $$", 141),
        ("kill -TERM $$", 143),
        ("sh -c 'kill -USR1 $$'", 138),
        ("exec true", 0),
        ("yes | head -1 >/dev/null; exit ${PIPESTATUS[0]}", 141),
    ],
)
def test_the_status_is_bashs(sandbox: SandboxHarness, command: str, status: int) -> None:
    """The status of a command is its exit status, or 128 plus the number of the signal that ended it."""
    evidence = sandbox.run(command)
    assert (evidence.ending.value, evidence.status) == ("exited", status)


FACTS = {
    "standard input is /dev/null": ("readlink /proc/self/fd/0; cat; read; echo $?", "/dev/null\n1\n"),
    "it stands in the world's folder": ("pwd; echo $PWD", "/srv/tiny\n/srv/tiny\n"),
    "it is root": ("id; whoami", "uid=0(root) gid=0(root) groups=0(root)\nroot\n"),
    "its process number": ("echo $$ $PPID $BASHPID", "2 1 2\n"),
    "files are made as root makes them": ("umask; touch /tmp/x; stat -c '%a %u %g' /tmp/x", "0022\n644 0 0\n"),
    "no signal is ignored or blocked": (
        "grep -E 'Sig(Blk|Ign)' /proc/self/status",
        "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n",
    ),
    "it leads a session of its own": ("cut -d' ' -f6 /proc/$$/stat; tty", "2\nnot a tty\n"),
}


@pytest.mark.parametrize("fact", FACTS)
def test_where_bash_stands(sandbox: SandboxHarness, fact: str) -> None:
    """A command has exactly the descriptors, folder, user, umask, signals and session that the suite defines."""
    command, output = FACTS[fact]
    assert sandbox.run(command).stdout.data.decode() == output


@pytest.mark.parametrize("observe", [(), ("processes",), ("shell",), ("shell", "processes", "mtime")])
def test_no_descriptor_of_ours_is_open(sandbox: SandboxHarness, observe: tuple[str, ...]) -> None:
    """A program has only the descriptors 0, 1 and 2, with any observation. Descriptor 3 is opened by `ls` itself."""
    assert sandbox.run("ls /proc/self/fd", observe=observe).stdout.data == b"0\n1\n2\n3\n"


def test_the_environment_is_the_suites(sandbox: SandboxHarness) -> None:
    """`env` prints only the suite's variables and the variables that bash sets itself."""
    lines = sandbox.run("env").stdout.data.decode().splitlines()
    bash = {"PWD=/srv/tiny", "SHLVL=0", "_=/usr/bin/env"}
    assert set(lines) == bash | {f"{name}={value}" for name, value in sandbox.plan.manifest.environment.items()}


def test_a_world_may_name_a_user(sandbox: SandboxHarness) -> None:
    """The user of a world has its own uid and groups and no capability, and cannot write root's files."""
    evidence = sandbox.run("id; pwd; grep CapEff /proc/self/status; echo > /srv/x; echo $?; touch mine", world=TESS)
    assert evidence.stdout.data.decode().splitlines() == [
        "uid=1500(tess) gid=1600(tess) groups=1600(tess),1700(crew)",
        "/home/tess",
        "CapEff:\t0000000000000000",
        "1",
    ]
    assert [(change.path, change.uid, change.gid) for change in evidence.changes] == [(b"/home/tess/mine", 1500, 1600)]


def test_sudo_is_there_and_works_for_root(sandbox: SandboxHarness) -> None:
    """A command may contain sudo, which writes nothing to standard error."""
    evidence = sandbox.run("sudo id -un; sudo -u tess id -un")
    assert (evidence.stdout.data, evidence.stderr.data) == (b"root\ntess\n", b"")
