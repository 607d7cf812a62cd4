"""Tests of hidden paths: commands do not see them, and build scripts do."""

from __future__ import annotations

from dataclasses import replace

from evaluator.sandbox.requests import layer_digest
from tests.sandbox_harness import BUILD, TINY, SandboxHarness

PATHS = ("/usr/bin/perl", "/etc/hostname")
HIDING = replace(
    TINY,
    name="hiding",
    build=BUILD + b"perl -e 'print qq(built\\n)' > /srv/tiny/by-perl; cat /etc/hostname > /srv/tiny/host\n",
    hidden=PATHS,
)
"""A world that hides a program and a file."""


def test_a_command_does_not_see_what_is_hidden(sandbox: SandboxHarness) -> None:
    """A hidden program is not found, and no listing has it. Other programs of its folder are there."""
    look = (
        "perl -e 1; echo $?; type -P perl awk; ls /usr/bin | grep -cx -e perl -e awk; [ -e /etc/hostname ] || echo gone"
    )
    shown = sandbox.run(look, world=HIDING)
    assert shown.stdout.data.decode().splitlines() == ["127", "/usr/bin/awk", "1", "gone"]


def test_a_build_script_sees_everything(sandbox: SandboxHarness) -> None:
    """The files that a build made with a hidden program are in the world."""
    assert sandbox.run("cat by-perl host", world=HIDING).stdout.data == b"built\nbox\n"


def test_a_folder_with_a_hidden_path_looks_as_before(sandbox: SandboxHarness) -> None:
    """Mode, owner and times of such a folder are those of the base image."""
    look = "stat -c '%n %a %u %g %Y' / /usr /usr/bin /etc; find / -xdev -newermt 2025-03-14 -path '/[ue]*'"
    assert sandbox.run(look, world=HIDING).stdout.data == sandbox.run(look).stdout.data


def test_a_command_may_put_its_own_file_there(sandbox: SandboxHarness) -> None:
    """A hidden path is free. A file that a command writes there is a new file."""
    shown = sandbox.run("echo mine > /etc/hostname; cat /etc/hostname", world=HIDING)
    assert shown.stdout.data == b"mine\n"
    assert [(change.path, change.kind.value) for change in shown.changes] == [(b"/etc/hostname", "added")]


def test_a_verifier_sees_as_much_as_the_command(sandbox: SandboxHarness) -> None:
    assert sandbox.run("true", world=HIDING, verify=b"! type -P perl && [ ! -e /etc/hostname ]").verifier == 0


def test_hidden_paths_are_inputs_of_evidence() -> None:
    """A world that hides another path is another world. The order of the paths does not count."""
    assert len({layer_digest(replace(HIDING, hidden=hidden)) for hidden in ((), PATHS, PATHS[:1])}) == 3
    assert layer_digest(replace(HIDING, hidden=PATHS[::-1])) == layer_digest(HIDING)
