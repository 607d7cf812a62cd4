"""Tests of processes that a command leaves running.

They are listed if the task observes them, even if they are hidden, and are ended afterwards.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.sandbox_harness import TESS, TINY, SandboxHarness

pytestmark = pytest.mark.engine

SLEEP = (b"sleep\x001000", 0, "running")

LEFT: dict[str, list[tuple[bytes, int, str]]] = {
    "true": [],
    "sleep 0.1 & wait": [],
    "sleep 1000 &": [SLEEP],
    "sleep 1000 & sleep 1000 & disown -a": [SLEEP, SLEEP],
    "setsid -f sleep 1000": [SLEEP],
    "nohup sleep 1000 >/dev/null 2>&1 &": [SLEEP],
    "(sleep 1000 &)": [SLEEP],
    "((sleep 1000 &) &)": [SLEEP],
    "sleep 1000 & sleep 0.2; kill -STOP $!": [(b"sleep\x001000", 0, "stopped")],
    "sleep 1000 & sleep 0.1; kill $!; wait": [],
    "sleep 1000 & exec true": [SLEEP],
    "sleep 1000 & kill -9 $$": [SLEEP],
    "trap '' HUP TERM; sleep 1000 & kill -HUP $! $$; exit": [SLEEP],
    "perl -e 'exit if fork; setpgrp; exit if fork; exec qw(sleep 1000)'": [SLEEP],
    "exec -a $'odd\\nname\\xff' sleep 1000 &": [(b"odd\nname\xff\x001000", 0, "running")],
    "sudo -u tess sleep 1000 & sleep 0.3; pkill sudo; sleep 0.2": [],
    "setpriv --reuid 1500 --clear-groups sleep 1000 &": [(b"sleep\x001000", 1500, "running")],
    "perl -e 'for (1..3) { fork or exit } sleep 1000' &": [
        (b"perl\0-e\0for (1..3) { fork or exit } sleep 1000", 0, "running")
    ],
    "sleep 1000 >&- 2>&- <&- &": [SLEEP],
    "perl -e '$0 = \"renamed\"; sleep 1000' & sleep 0.2": [(b"renamed", 0, "running")],
}


@pytest.mark.parametrize("command", LEFT)
def test_what_is_left_running_is_listed(sandbox: SandboxHarness, command: str) -> None:
    """The list of processes has arguments, user and state, sorted by process number.

    It does not contain dead processes and our own processes.
    """
    evidence = sandbox.run(command, observe=["processes"])
    processes = [(process.arguments.rstrip(b"\0"), process.uid, process.state) for process in evidence.processes or ()]
    assert processes == LEFT[command]


def test_a_users_processes_are_the_users(sandbox: SandboxHarness) -> None:
    """A process that a world's user leaves is listed with the user's number."""
    evidence = sandbox.run("sleep 1000 &", world=TESS, observe=["processes"])
    assert [process.uid for process in evidence.processes or ()] == [1500]


def test_processes_that_come_and_go_are_waited_for(sandbox: SandboxHarness) -> None:
    """The list of processes contains no ending process, because it is read after 0.1 s without changes."""
    command = "for i in 1 2 3 4 5 6 7 8; do sleep 0.0$i & done; sleep 1000 &"
    assert len(sandbox.run(command, observe=["processes"]).processes or ()) == 1


def test_what_is_still_starting_is_waited_for(sandbox: SandboxHarness) -> None:
    """A program that is still starting is listed. On a busy CPU, its start may take longer than the time without
    changes.
    """
    command = "perl -e '1 while 1' & chrt --idle 0 sleep 1000 &"
    processes = sandbox.run(command, observe=["processes"]).processes or ()
    assert [process.arguments.rstrip(b"\0") for process in processes] == [b"perl\0-e\x001 while 1", b"sleep\x001000"]


def test_what_never_stands_still_is_listed_all_the_same(sandbox: SandboxHarness) -> None:
    """The wait for a list without changes has a limit, so processes that always change do not block the job."""
    shown = sandbox.show("(while :; do sleep 0.03; done) &", observe=["processes"])
    assert shown.evidence.ending == "exited"
    assert shown.evidence.wall_ms < 6000


@pytest.mark.parametrize("command", [command for command in LEFT if LEFT[command]])
def test_nothing_is_left_for_the_next_command(sandbox: SandboxHarness, command: str) -> None:
    """The next command finds no processes of an earlier command."""
    sandbox.run(command)
    assert sandbox.run("echo /proc/[0-9]*").stdout.data == b"/proc/1 /proc/2\n"


@pytest.mark.parametrize("observe", [(), ("processes",)])
def test_output_of_what_is_left_is_not_waited_for(sandbox: SandboxHarness, observe: tuple[str, ...]) -> None:
    """A process that is left running and keeps the output streams open does not delay the end of the command."""
    shown = sandbox.show("sleep 1000 & echo done", observe=observe)
    assert shown.evidence.stdout.data == b"done\n"
    assert shown.evidence.wall_ms < 2000


def test_a_world_with_a_start_script_always_lists_its_processes(sandbox: SandboxHarness) -> None:
    """The list shows that a command ended a process of the world, also if the task does not observe processes."""
    world = replace(TINY, name="served", start=b"setsid -f sleep 1000")
    kept, ended, plain = (
        sandbox.run(command, world=in_world).processes
        for command, in_world in (("true", world), ("kill -9 -1", world), ("true", TINY))
    )
    assert [process.arguments for process in kept or ()] == [b"sleep\x001000"]
    assert ended == ()
    assert plain is None
