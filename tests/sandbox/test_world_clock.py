"""Tests of the clock of a variant: commands, builds, drivers and verifiers of one world see its own time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evaluator.sandbox.requests import layer_digest
from tests.sandbox_harness import BUILD, TINY, SandboxHarness

NOON = 1_782_907_200
"""2026-07-01 12:00:00 UTC."""

LATER = replace(TINY, build=BUILD + b"date +%s > /srv/tiny/date\n", clock_s=NOON)


def test_a_world_has_its_own_clock(sandbox: SandboxHarness) -> None:
    """The time of a job, of files that the build and the job wrote, and of the machine's start follow the clock."""
    look = "echo $EPOCHSECONDS; date +%s; cat date; stat -c %Y date; touch new; stat -c %Y new; ls -l --full-time new"
    evidence = sandbox.run(
        f"{look} | cut -d' ' -f6,7; awk '/btime/ {{ print $2 }}' /proc/stat; date -r /etc +%F", world=LATER
    )
    times = [str(NOON)] * 5
    assert evidence.stdout.data.decode().splitlines() == [
        *times,
        "2026-07-01 12:00:00.000000000",
        str(NOON - 1000),
        "2025-03-13",
    ]


def test_the_clock_of_one_world_does_not_reach_another(sandbox: SandboxHarness) -> None:
    """A worker that ran a job in a world with a clock runs the next one at the suite's time."""
    for world, clock in ((LATER, NOON), (TINY, 1_741_944_600), (LATER, NOON)):
        assert sandbox.run("date +%s; awk '/btime/ { print $2 + 1000 }' /proc/stat", world=world).stdout.data == (
            f"{clock}\n{clock}\n".encode()
        )


def test_the_times_of_changed_files_are_on_the_clock(sandbox: SandboxHarness) -> None:
    """The evidence has the time at which a job changed a file, as the job sees it."""
    evidence = sandbox.run("echo more >> file; touch -d @1000000000 tool", world=LATER, observe=["mtime"])
    assert {change.path: change.mtime for change in evidence.changes} == {
        b"/srv/tiny/file": NOON,
        b"/srv/tiny/tool": 1_000_000_000,
    }


def test_a_driver_and_a_verifier_are_on_the_clock(sandbox: SandboxHarness) -> None:
    """An answer's script has the time of the world, and a verifier continues the clock of the driver."""
    evidence = sandbox.run(
        "date +%F",
        world=LATER,
        driver=b"./answer; stat -c %Y answer",
        answer=b"/srv/tiny/answer",
        verify=b'[ "$(date +%F)" = 2026-07-01 ] && [ "$(stat -c %Y /srv/tiny/date)" = 1782907200 ]',
    )
    assert evidence.stdout.data.decode().splitlines() == ["2026-07-01", str(NOON)]
    assert evidence.verifier == 0


def test_a_variant_like_another_has_its_shape_and_its_own_seed(sandbox: SandboxHarness) -> None:
    """The build script gets the name of the variant that the world is like, and the world's seed."""
    assert (
        sandbox.run("cat built", world=replace(TINY, variant="fresh", like="plain", seed=99)).stdout.data
        == b"plain 99\n"
    )


@pytest.mark.parametrize("change", [{"clock_s": NOON}, {"clock_s": NOON + 1}, {"like": "plain"}], ids=str)
def test_the_clock_and_the_shape_are_inputs_of_a_layer(change: dict[str, int]) -> None:
    """Worlds with another clock or shape have other layers. A world without them keeps its digest."""
    assert layer_digest(replace(TINY, **change)) != layer_digest(TINY)  # type: ignore[arg-type]
    assert layer_digest(TINY) == layer_digest(replace(TINY, clock_s=None, like=None))


FUTURE = 2_051_222_400
"""2035-01-01 00:00:00 UTC, later than the real time of any build."""


def test_files_of_a_build_have_the_time_of_a_clock_in_the_future(sandbox: SandboxHarness) -> None:
    """The real time of a build is in no file. A time that the build script sets stays, unless it is after the clock."""
    script = b"mkdir /srv/new; touch -d @1990000000 /srv/set; touch -d @2100000000 /srv/late; ln -s set /srv/link\n"
    world = replace(TINY, build=BUILD + script, clock_s=FUTURE)
    shown = sandbox.run(
        "stat -c '%n %X %Y' /srv/new /srv/tiny/file /srv/set /srv/late /srv/link /etc/passwd", world=world
    )
    times = {"new": FUTURE, "tiny/file": FUTURE, "set": 1_990_000_000, "late": FUTURE, "link": FUTURE}
    lines = [f"/srv/{name} {time} {time}" for name, time in times.items()]
    assert shown.stdout.data.decode().splitlines() == [*lines, f"/etc/passwd {FUTURE} {FUTURE}"]
