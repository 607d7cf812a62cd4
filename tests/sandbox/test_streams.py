"""Tests of standard output and error: both are stored up to the cap, and counted and digested to their end."""

from __future__ import annotations

import hashlib

import pytest

from tests.sandbox_harness import SandboxHarness

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("command", "output", "error"),
    [
        ("printf ''", b"", b""),
        ("printf 'no newline'", b"no newline", b""),
        ("echo out; echo err >&2", b"out\n", b"err\n"),
        (r"printf '\0\377\200x\r\n'", b"\0\xff\x80x\r\n", b""),
        ("echo late >&2; exec 2>&-; echo lost >&2", b"", b"late\n"),
        ("exec 1>&-; echo lost", b"", b"bash: line 1: echo: write error: Bad file descriptor\n"),
        ("exec 2>&1; echo both; echo both >&2", b"both\nboth\n", b""),
        ("(sleep 0.1; echo after) & wait", b"after\n", b""),
        ("(sleep 0.05; echo unheard) &", b"", b""),
    ],
)
def test_both_streams_are_kept_apart_and_unaltered(
    sandbox: SandboxHarness, command: str, output: bytes, error: bytes
) -> None:
    """The evidence has each stream separately and byte for byte, with all output until bash ends."""
    evidence = sandbox.run(command)
    assert (evidence.stdout.data, evidence.stderr.data) == (output, error)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("extra", [-1, 0, 1, 3_000_000])
def test_a_long_stream_is_kept_up_to_the_cap(sandbox: SandboxHarness, stream: str, extra: int) -> None:
    """Bytes of a stream beyond the cap are dropped, and the stream is marked as truncated.

    Size and digest are those of the complete stream.
    """
    cap = sandbox.plan.manifest.limits.output_kb * 1024
    size = cap + extra
    redirect = ">&2" if stream == "stderr" else ""
    output = getattr(sandbox.run(f"head -c {size} /dev/zero | tr '\\0' x {redirect}"), stream)
    assert (len(output.data), output.size, output.truncated) == (min(size, cap), size, extra > 0)
    assert output.digest == hashlib.sha256(b"x" * size).hexdigest()


def test_endless_output_ends_at_the_cpu_limit(sandbox: SandboxHarness) -> None:
    """A command with endless output ends at its CPU limit and does not fill the runner's memory."""
    shown = sandbox.show("yes")
    assert (shown.evidence.ending.value, shown.by_wall, shown.evidence.stdout.truncated) == ("timeout", False, True)


@pytest.mark.parametrize(
    ("command", "ending", "by_wall"),
    [
        ("while :; do :; done", "timeout", False),
        ("trap '' TERM INT HUP; while :; do :; done", "timeout", False),
        ("perl -e '$x .= \"x\" x 1e6 while 1'", "memory", False),
        ("head -c 100m /dev/zero > big", "disk", False),
        ("seq 32000 | xargs touch 2>/dev/null", "disk", False),
        ("head -c 100m /dev/zero > big; rm big", "exited", False),
    ],
)
def test_how_a_command_ends(sandbox: SandboxHarness, command: str, ending: str, by_wall: bool) -> None:
    """A command ends by itself, or at its limit of time, memory or disk."""
    shown = sandbox.show(command)
    assert (shown.evidence.ending.value, shown.by_wall) == (ending, by_wall)


@pytest.mark.parametrize(
    ("command", "wall_s"),
    [("exec sleep 1000", None), ("kill -STOP $$", 0.5), ("cat pipe", 0.5), ("read < <(sleep 1000)", 0.5)],
)
def test_what_waits_for_ever_is_ended_by_the_wall_clock(
    hasty_sandbox: SandboxHarness, command: str, wall_s: float | None
) -> None:
    """A command that waits forever ends at the wall-clock limit of its job or of the suite.

    This differs from a CPU timeout in the result, because a busy machine may be the cause. This machine shows how much
    time a job lost, so one run decides.
    """
    shown = hasty_sandbox.show(command, wall_s=wall_s)
    assert (shown.evidence.ending.value, shown.by_wall, shown.lost_time_known) == ("timeout", True, True)


def test_times_are_told(sandbox: SandboxHarness) -> None:
    """CPU and wall-clock milliseconds are in the evidence, but not in its digest."""
    busy, idle = sandbox.run("i=0; while ((i++ < 100000)); do :; done"), sandbox.run("sleep 0.3")
    assert busy.cpu_ms > idle.cpu_ms
    assert 300 < idle.wall_ms < 3000
    assert idle.model_copy(update={"cpu_ms": 1, "wall_ms": 2}).digest == idle.digest
