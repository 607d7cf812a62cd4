"""Tests of the layers below a command and of the verifier after it: variants, set-up, start scripts and verifiers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evaluator.pipeline.grading.cache_keys import worlds_of_suite
from evaluator.sandbox.requests import Request
from evaluator.suites.load import Suite
from tests.sandbox_harness import TESS, TINY, SandboxHarness

pytestmark = pytest.mark.engine


def error(harness: SandboxHarness, request: Request) -> str:
    answer = harness.ask(request)
    assert set(answer) == {"error"}
    return str(answer["error"])


@pytest.mark.parametrize(("variant", "seed"), [("plain", 7), ("other", 8)])
def test_a_variant_is_built_with_its_name_and_seed(sandbox: SandboxHarness, variant: str, seed: int) -> None:
    """`build.sh` gets the name and the seed of a variant, so one script can build every variant."""
    world = replace(TINY, variant=variant, seed=seed)
    assert sandbox.run("cat built", world=world).stdout.data == f"{variant} {seed}\n".encode()


def test_setup_lies_below_the_commands_changes(sandbox: SandboxHarness) -> None:
    """The files of a task's set-up exist before the command and are not among its changes."""
    world = replace(TINY, setup=b"echo prepared > prepared; rm tool")
    evidence = sandbox.run("cat prepared; rm prepared; touch tool", world=world)
    assert evidence.stdout.data == b"prepared\n"
    kinds = [(change.path, change.kind.value) for change in evidence.changes]
    assert kinds == [(b"/srv/tiny/prepared", "deleted"), (b"/srv/tiny/tool", "added")]


def test_setup_runs_as_root_in_the_worlds_folder(sandbox: SandboxHarness) -> None:
    """A task's set-up runs as root in the world's folder, even if the command runs as another user."""
    world = replace(TESS, setup=b"id -un > made; pwd >> made")
    assert sandbox.run("cat made", world=world).stdout.data == b"root\n/home/tess\n"


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (replace(TINY, name="broken", build=b"echo told why >&2; exit 3"), "told why"),
        (replace(TINY, setup=b"no-such-program"), "no-such-program: command not found"),
        (replace(TINY, setup=b"kill -9 $$"), "status 137"),
        (replace(TINY, setup=b"if"), "syntax error"),
        (replace(TINY, user="nobody-here"), "no user 'nobody-here'"),
        (replace(TINY, cwd="/not/there"), "working directory"),
        (replace(TINY, start=b"exit 4"), "start script"),
    ],
)
def test_a_world_that_cannot_be_made_is_our_failure(sandbox: SandboxHarness, broken: object, words: str) -> None:
    """The error for a world that cannot be built has the message of the script. The next command runs normally."""
    assert isinstance(broken, type(TINY))
    before = sandbox.run("ls -la").digest
    assert words in error(sandbox, Request.of(broken, b"true"))
    assert words in error(sandbox, Request.of(broken, b"true"))
    assert sandbox.run("ls -la").digest == before


def test_started_processes_run_beside_the_command(sandbox: SandboxHarness) -> None:
    """`start.sh` runs before the command, in the same world and with the same clock.

    The command can find and kill the processes of `start.sh`.
    """
    world = replace(TINY, start=b"sleep 1000 & sleep 2000 & echo up > /run/up")
    evidence = sandbox.run(
        "pgrep -x sleep | wc -l; pkill -f 'sleep 1000'; cat /run/up", world=world, observe=["processes"]
    )
    assert evidence.stdout.data == b"2\nup\n"
    assert [process.arguments for process in evidence.processes or ()] == [b"sleep\0" + b"2000"]


def test_what_start_says_is_not_the_commands_output(sandbox: SandboxHarness) -> None:
    """The output of the start script is not part of the command's output."""
    evidence = sandbox.run("echo mine", world=replace(TINY, start=b"echo loud; echo louder >&2"))
    assert (evidence.stdout.data, evidence.stderr.data) == (b"mine\n", b"")


def test_start_is_root_though_the_command_is_not(sandbox: SandboxHarness) -> None:
    """`start.sh` runs as root, so its processes cannot be ended by a command of another user."""
    world = replace(TESS, start=b"sleep 1000 &")
    assert sandbox.run("pkill sleep; echo $?; pgrep -u root sleep | wc -l", world=world).stdout.data == b"1\n1\n"


VERIFIERS = {
    "true": 0,
    "false": 1,
    "exit 77": 77,
    "grep -q printed /run/verify/stdout": 0,
    "grep -q complained /run/verify/stderr": 0,
    '[ "$(cat /run/verify/status)" = 5 ]': 0,
    "grep -qx left /srv/tiny/left": 0,
    "[ ! -e /srv/tiny/file ]": 0,
    "[ $(pwd) = /srv/tiny ] && [ $(id -u) = 0 ] && touch /srv/tiny/mine": 0,
    "kill -9 $$": 137,
    "if": 2,
}


@pytest.mark.parametrize("script", VERIFIERS)
def test_a_verifier_sees_all_and_its_status_is_told(sandbox: SandboxHarness, script: str) -> None:
    """A verifier runs on the files that the command left, and can read the command's output and status.

    Its own status is recorded, and the rest of the evidence does not change.
    """
    command = "echo printed; echo complained >&2; echo left > left; rm file; exit 5"
    plain, verified = sandbox.run(command), sandbox.run(command, verify=script.encode())
    assert verified.verifier == VERIFIERS[script]
    assert verified.model_copy(update={"verifier": None, "verifier_message": b""}).digest == plain.digest


@pytest.mark.parametrize(
    "command",
    [
        "head -c 62m /dev/zero > big; head -c 3m /dev/zero > more",
        "head -c 67100000 /dev/zero > big",
        "perl -e 'open F, \">$_\" for 1..29970'",
    ],
)
def test_a_full_disk_is_not_the_verifiers(sandbox: SandboxHarness, command: str) -> None:
    """A command that fills the disk is verified, or has the ending `disk`. It never causes an infrastructure error."""
    evidence = sandbox.run(command, verify=b"head -c 1m /dev/zero > /tmp/room && touch /tmp/{1..99}")
    assert (evidence.ending.value, evidence.verifier) in {("exited", 0), ("disk", None)}


@pytest.mark.parametrize("command", ["rm -r /srv/tiny", "rm /bin/bash", "rm /dev/null; mkdir /dev/null"])
def test_a_world_that_cannot_be_entered_any_more_is_refused(sandbox: SandboxHarness, command: str) -> None:
    """A command fails verification if it removes a file that the verifier needs to start.

    This is not an infrastructure error, and the next command is verified normally.
    """
    assert sandbox.run(command, verify=b"true").verifier == 1
    assert sandbox.run("true", verify=b"true").verifier == 0


@pytest.mark.parametrize("command", ["while :; do :; done", "exec sleep 1000"])
def test_what_did_not_end_is_not_verified(hasty_sandbox: SandboxHarness, command: str) -> None:
    """A command that a limit ended is not verified, because it has no exit status."""
    assert hasty_sandbox.run(command, verify=b"true", wall_s=1).verifier is None


def test_processes_do_not_outlive_the_command_into_the_verifier(sandbox: SandboxHarness) -> None:
    """The command's processes are ended before the verifier starts, so they cannot change files during verification."""
    command = "setsid sh -c 'while :; do date >> /tmp/log; done' & sleep 0.2"
    assert sandbox.run(command, verify=b"a=$(wc -l </tmp/log); sleep 0.3; [ $(wc -l </tmp/log) = $a ]").verifier == 0


@pytest.mark.soak
def test_a_world_does_not_show_how_long_its_build_took(core: Suite, sandbox: SandboxHarness) -> None:
    """A variant has the same files if its build script runs a second later, as it does on a slow machine."""
    places = "/etc /home /opt /root /srv /usr/local /var"
    times, contents = (
        f"find {places} -printf '%p %y %m %U %G %T@ %l\\n'",
        f"find {places} -type f -exec sha256sum {{}} +",
    )
    show = f"{times} | sort; {contents} | sort"
    differ = []
    for name in core.worlds:
        for world in worlds_of_suite(core, name, None).values():
            late = replace(world, build=b"sleep 1\n" + world.build)
            one, other = (sandbox.run(show, world=replace(each, user="root")).stdout for each in (world, late))
            assert one.data
            if one.digest != other.digest:
                differ.append(f"{name} {world.variant}")
    assert differ == []
