"""The worlds that are made for the commands of NL2Bash."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from evaluator.records import Task
from evaluator.shell import utilities_of
from evaluator.suites.audit_report import FAILS, SHOWS_NOTHING, reference_notes
from evaluator.suites.importers.draft import Draft
from evaluator.suites.importers.nl2bash import draft_nl2bash
from evaluator.testing.checkouts import small_task
from evaluator.testing.evidence import evidence


def drafted(folder: Path, *commands: str) -> Draft:
    (folder / "all.cm").write_text("".join(f"{command}\n" for command in commands))
    (folder / "all.nl").write_text("".join(f"do {number}\n" for number, _ in enumerate(commands)))
    return draft_nl2bash(utilities_of, folder)


def worlds_of(draft: Draft) -> list[str]:
    return [task.world for task in draft.tasks]


def test_a_pattern_without_quotes_has_no_file_in_the_current_folder(tmp_path: Path) -> None:
    """Bash would replace `*.c` by the names of two files, and `find` would refuse the second name."""
    draft = drafted(tmp_path, "find . -name *.c", "ls *.c")
    assert worlds_of(draft) == ["w001", "w002"]
    scripts = [draft.worlds[world].build for world in worlds_of(draft)]
    assert not re.search(r"/home/user/[^/ ]*\.c\b", scripts[0])
    assert "object f ./t10/m10.c" in scripts[0]
    assert "/home/user/x.c" in scripts[1]


def test_objects_that_hinder_other_commands_have_worlds_of_their_own(tmp_path: Path) -> None:
    commands = ("grep -r word .", "find . -size +700M", "find . -type l -xtype l", "find . -size +5k")
    assert worlds_of(drafted(tmp_path, *commands)) == ["w001", "w002", "w002", "w001"]


@pytest.mark.parametrize("command", ["comm -12 a.txt b.txt", "join a.txt b.txt"])
def test_files_of_commands_with_sorted_input_are_sorted_and_share_a_line(tmp_path: Path, command: str) -> None:
    """The commands print something, and report no disorder."""
    build = drafted(tmp_path, command, "grep zebra a.txt").worlds["w001"].build
    texts = re.findall(r"^file /home/user/([ab].txt) .*<<'\.'\n((?:.*\n)*?)\.$", build, re.MULTILINE)
    for name, text in texts:
        (tmp_path / name).write_text(text)
    ran = subprocess.run(command.split(), cwd=tmp_path, capture_output=True, text=True, check=True, env={"LC_ALL": "C"})
    assert (ran.stdout != "", ran.stderr) == (True, "")


def test_users_that_commands_name_exist(tmp_path: Path) -> None:
    build = drafted(tmp_path, "groups ann", "find . -user bob -group staff").worlds["w001"].build
    assert all(f"{line} 2>/dev/null" in build for line in ("useradd -M ann", "useradd -M bob", "groupadd staff"))


def test_every_script_is_valid_bash(tmp_path: Path) -> None:
    draft = drafted(tmp_path, "find . -name \"it's *\" -user o'x", "grep -r \"it's\" 'a b'", "find 'a;b' -perm -u=x")
    for world in draft.worlds.values():
        subprocess.run(["bash", "-n"], input=world.build, text=True, check=True)


def noted(task: Task, shown: str, *, status: int, stderr: str = "") -> list[str]:
    notes = reference_notes(task, 1, {"plain": [evidence(shown, stderr=stderr, status=status)]}, utilities_of)
    return [note.kind for note in notes]


def test_a_status_that_answers_is_no_failure() -> None:
    """`diff` ends with status 1 if the files differ."""
    task = small_task("files-1", ["diff a b", "diff b a"])
    assert noted(task, "< a\n", status=1) == []
    assert noted(task, "< a\n", status=1, stderr="diff: c: No such file\n") == [FAILS]
    assert noted(task, "< a\n", status=2) == [FAILS]
    assert noted(task, "", status=1) == [FAILS, SHOWS_NOTHING]
    own = (
        "find: ‘/proc/2/task/2/fd/6’: No such file or directory\nfind: ‘/proc/2/fdinfo/5’: No such file or directory\n"
    )
    assert noted(task, "/a\n", status=1, stderr=own) == []
    assert noted(task, "/a\n", status=1, stderr=f"{own}find: ‘/a’: Permission denied\n") == [FAILS]
