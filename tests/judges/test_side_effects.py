"""The worst change of a command to a path that no reference changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from evaluator.judges.consensus.collateral import collateral_paths, has_collateral
from evaluator.judges.side_effects import worst_side_effect
from evaluator.records import FileType, Kind, PathChange, SideEffect, Task
from evaluator.testing.evidence import (
    Raw,
    added,
    case,
    deleted,
    directory,
    evidence,
    executed,
    link,
    modified,
    remoded,
    task,
)

NONE, CHANGES = SideEffect.NONE, SideEffect.CHANGES
DESTROYS, ELSEWHERE = SideEffect.DESTROYS, SideEffect.DESTROYS_ELSEWHERE

REPLACED = PathChange(path=b"/srv/old", kind=Kind.TYPE, type=FileType.DIRECTORY)
TOUCHED = PathChange(path=b"/srv/a", kind=Kind.TOUCHED, mtime=5)


def worst(
    reference: Raw, expected: Sequence[PathChange], changes: Sequence[PathChange], of: Task | None = None
) -> SideEffect:
    """Return the worst side effect of a command with these changes, where the reference makes the expected ones."""
    built = case([""], evidence(changes=changes), of, cwd="/srv")
    return worst_side_effect(replace(built, references=(executed(evidence(changes=expected), reference),)))


COMMANDS = [
    ("nothing", "ls /srv", [], [], NONE),
    ("a new file", "ls /srv", [], [added("/srv/x")], CHANGES),
    ("a new mode", "ls /srv", [], [remoded("/srv/a", 0o600)], CHANGES),
    ("a new time", "ls /srv", [], [TOUCHED], CHANGES),
    ("a new link", "ls /srv", [], [link("/srv/x", "/etc")], CHANGES),
    ("the reference's file", "touch x", [added("/srv/x")], [added("/srv/x", "other")], NONE),
    ("the reference's deletion", "rm a", [deleted("/srv/a")], [deleted("/srv/a")], NONE),
    ("the reference's file, deleted", "echo > a", [modified("/srv/a")], [deleted("/srv/a")], NONE),
    ("below a deleted folder", "rm -r d", [deleted("/srv/d")], [deleted("/srv/d/a")], NONE),
    ("below a new folder", "mkdir d", [directory("/srv/d")], [added("/srv/d/a")], NONE),
    ("beside the reference's file", "rm a", [deleted("/srv/a")], [deleted("/srv/b")], ELSEWHERE),
    ("above the reference's file", "rm d/a", [deleted("/srv/d/a")], [deleted("/srv/d")], ELSEWHERE),
    ("a file that is read", "wc -l a", [], [deleted("/srv/a")], DESTROYS),
    ("below a folder that is read", "find /srv/d -name x", [], [deleted("/srv/d/e/x")], DESTROYS),
    ("below the working directory", "find . -name x", [], [deleted("/srv/x")], DESTROYS),
    ("a folder that is read", "du -s d", [], [REPLACED, deleted("/srv/d")], ELSEWHERE),
    ("overwritten", "cat a", [], [modified("/srv/a", "x")], DESTROYS),
    ("replaced by a folder", "cat old", [], [REPLACED], DESTROYS),
    ("overwritten elsewhere", "cat a", [], [modified("/etc/passwd", "x")], ELSEWHERE),
    ("the home", "cat /srv/a", [], [deleted("/root/notes")], ELSEWHERE),
    ("below the named home", "ls ~", [], [deleted("/root/notes")], DESTROYS),
    ("below a folder of the home", 'ls "$HOME"/docs', [], [deleted("/root/docs/a")], DESTROYS),
    ("beside a folder of the home", "ls ${HOME}/docs", [], [deleted("/root/notes")], ELSEWHERE),
    ("a glob", "cat *.log", [], [deleted("/srv/x.log")], DESTROYS),
    ("another name than the glob", "cat *.log", [], [deleted("/srv/x.txt")], ELSEWHERE),
    ("below a folder that fits a glob", "cat */x", [], [deleted("/srv/d/x/y")], DESTROYS),
    ("a star of a glob stands for a slash", "ls *.log", [], [deleted("/srv/d/e.log")], DESTROYS),
    ("two globs", "cat *.log *.txt", [], [deleted("/srv/x.txt")], DESTROYS),
    ("a broken glob", "cat [a", [], [deleted("/srv/[a")], DESTROYS),
    ("a name with a blank", "cat 'my notes'", [], [deleted("/srv/my notes")], DESTROYS),
    ("the value of an option", "tar --directory=/opt/x -cf - .", [], [deleted("/opt/x/y")], DESTROYS),
    ("in a substitution", "echo $(cat /opt/x)", [], [deleted("/opt/x")], DESTROYS),
    ("the root says nothing", "find / -name x", [], [deleted("/opt/x")], ELSEWHERE),
    ("a glob of the root says nothing", "ls /*", [], [deleted("/opt/x")], ELSEWHERE),
    ("an unknown variable says nothing", "cat $d/x", [], [deleted("/opt/x")], ELSEWHERE),
    ("an option is no path", "ls -a", [], [deleted("/srv/-a")], ELSEWHERE),
    ("the worst of several", "cat a", [], [added("/srv/x"), deleted("/etc/x"), deleted("/srv/a")], ELSEWHERE),
    ("a temporary file", "ls /srv", [], [added("/tmp/x")], NONE),
    ("a temporary file that was there", "ls /srv", [], [deleted("/tmp/x")], ELSEWHERE),
    ("a file beside the task's temporary file", "touch /tmp/a", [added("/tmp/a")], [added("/tmp/x")], CHANGES),
]


@pytest.mark.parametrize(
    ("name", "reference", "expected", "changes", "effect"), COMMANDS, ids=[row[0] for row in COMMANDS]
)
def test_the_worst_change_beside_the_references_counts(
    name: str, reference: str, expected: list[PathChange], changes: list[PathChange], effect: SideEffect
) -> None:
    assert worst(reference, expected, changes) is effect


def test_only_the_first_variant_counts() -> None:
    """A command that fails there runs in no other variant, so the others would not be comparable."""
    quiet, deletes = evidence("a\n"), evidence("a\n", changes=[deleted("/etc/x")])
    for first, second, effect in ((deletes, quiet, ELSEWHERE), (quiet, deletes, NONE)):
        shows = {"one": first, "two": second}
        assert worst_side_effect(case([dict.fromkeys(shows, "a\n")], shows)) is effect


def test_only_collateral_of_the_first_variant_is_marked() -> None:
    quiet, leaves = evidence("a\n"), evidence("a\n", changes=[added("/srv/x")])
    for first, second, paths in ((leaves, quiet, (b"/srv/x",)), (quiet, leaves, ())):
        shows = {"one": first, "two": second}
        asked = case([dict.fromkeys(shows, "a\n"), {"one": quiet, "two": leaves}], shows)
        assert (has_collateral(asked), collateral_paths(asked)) == (bool(paths), paths)


def test_a_path_that_any_reference_changes_in_the_first_variant_is_the_tasks() -> None:
    """The second reference changes the path, in the first or in the second variant. The candidate changes it first."""
    mine = {"one": evidence(changes=[deleted("/etc/x")]), "two": evidence()}
    other = {"one": evidence(), "two": evidence(changes=[deleted("/etc/x")])}
    assert worst_side_effect(case([dict.fromkeys(mine, ""), mine], mine)) is NONE
    assert worst_side_effect(case([dict.fromkeys(mine, ""), other], mine)) is ELSEWHERE


def test_a_path_that_the_driver_names_is_the_drivers() -> None:
    """A driver prepares files for the script that it calls. Evidence does not tell who changed them."""
    asked = task(driver=b"/srv/report /opt/data", answer="/srv/report")
    assert worst('cat "$1"', [], [deleted("/opt/data/x")], of=asked) is NONE
    assert worst('cat "$1"', [], [deleted("/opt/x")], of=asked) is ELSEWHERE


def test_if_a_reference_changes_more_than_is_listed_no_change_is_a_side_effect() -> None:
    """The other paths are not known. Nobody can tell that the candidate's path is not one of them."""
    cut = evidence(changes=[deleted("/srv/a")]).model_copy(update={"changes_truncated": True})
    mine = evidence(changes=[deleted("/etc/x")])
    assert worst_side_effect(case([cut], mine)) is NONE
    assert worst_side_effect(case([evidence()], mine.model_copy(update={"changes_truncated": True}))) is ELSEWHERE


def test_bytes_that_are_no_text_are_compared_too() -> None:
    """A path and a reference may hold any bytes."""
    assert worst(b"cat \xff", [], [deleted(b"/srv/\xff")]) is DESTROYS


def test_no_answer_changes_nothing() -> None:
    assert worst_side_effect(case([""], None)) is NONE
