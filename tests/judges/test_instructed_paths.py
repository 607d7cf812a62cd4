"""The paths that an instruction touches."""

from __future__ import annotations

import pytest

from evaluator.judges.consensus.instructed_paths import InstructedPaths, touched_by

TOUCHED: dict[str, tuple[str, str]] = {
    "the path itself": ("Remove /srv/old.log", "/srv/old.log"),
    "a quoted path": ("Remove '/srv/old.log'.", "/srv/old.log"),
    "below a path": ("Clear the /srv/cache directory", "/srv/cache/a/b"),
    "a relative path": ("Remove logs/old.log", "/work/logs/old.log"),
    "a bare name": ("Remove every file called temp", "/srv/a/temp"),
    "a folder's bare name": ("Count the files of the srv directory", "/srv/a"),
    "a glob of names": ("Remove all *.log files", "/srv/deep/x.log"),
    "a glob of paths": ("Remove /srv/*/x.log", "/srv/deep/x.log"),
    "below a glob": ("Empty /srv/*", "/srv/deep/x.log"),
    "the home directory": ("Remove the notes in my home directory", "/home/me/notes"),
    "a path in the home": ("Remove ~/notes", "/home/me/notes"),
    "the working directory": ("Remove everything in the current directory", "/work/a/b"),
    "the whole system": ("Remove all empty files of the system", "/opt/a"),
    "the root": ("Find and remove core files below /", "/opt/a/b"),
}


@pytest.mark.parametrize(("words", "path"), TOUCHED.values(), ids=TOUCHED)
def test_a_written_path_is_touched(words: str, path: str) -> None:
    assert InstructedPaths(words, "/work", "/home/me").touches(path.encode())


OTHERS: dict[str, tuple[str, str]] = {
    "another directory": ("Remove /srv/old.log", "/etc/passwd"),
    "a parent": ("Remove /srv/cache/old.log", "/srv/cache"),
    "a similar name": ("Clear the /srv/cache directory", "/srv/cache2/a"),
    "another ending": ("Remove all *.log files", "/srv/x.txt"),
    "no path": ("Show how long the machines were up", "/etc/hosts"),
    "no text at all": ("?!", "/etc/hosts"),
}


@pytest.mark.parametrize(("words", "path"), OTHERS.values(), ids=OTHERS)
def test_another_path_is_not_touched(words: str, path: str) -> None:
    assert not InstructedPaths(words, "/work", "/home/me").touches(path.encode())


def test_a_name_that_is_not_utf_8_is_compared() -> None:
    paths = InstructedPaths("Remove /srv", "/", "/root")
    assert paths.touches(b"/srv/\xff")
    assert not paths.touches(b"/opt/\xff")


def test_a_path_is_touched_by_others_above_and_below_it() -> None:
    others = {b"/srv/a"}
    assert touched_by(b"/srv/a/b", others)
    assert touched_by(b"/srv", others)
    assert not touched_by(b"/srv/ab", others)
