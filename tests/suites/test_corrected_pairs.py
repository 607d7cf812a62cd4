"""Corrections of a suite are found by comparing it with the corrected edition."""

from __future__ import annotations

import json
from pathlib import Path

from evaluator.pipeline.maintenance.import_suite import add_suite
from evaluator.pipeline.maintenance.suite_corrections import suite_corrections
from evaluator.progress import NullProgress
from evaluator.records import OutputMode, Task, Topic
from evaluator.suites.corrected_pairs import CorrectionClass, corrected_pairs, correction_counts
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.declared_suites import declare_suite
from tests.suites import foreign_trees as trees


def task(name: str, nl: str, *references: str, world: str = "fs1") -> Task:
    return Task(
        id=name,
        nl=nl,
        references=tuple(map(str.encode, references)),
        world=world,
        output=OutputMode.SET,
        topic=Topic.SEARCH,
        difficulty=1,
    )


FIRST = [
    task("a", "List the files in /srv/owls", "ls /srv/owls"),
    task("b", "Count the lines of owls.txt", "wc -l owls.txt"),
    task("c", "Count the lines of owls.txt in total", "cat owls.txt | wc -l"),
    task("d", "Print the size of /srv/owls", "du /srv/owls"),
    task("e", "Ping the neighbouring machine at night", "ping -c 1 neighbour"),
    task("f", "Remove the empty directories below /srv", "find /srv -type d -empty -exec rm {} +"),
    task("g", "Sort owls.txt", "sort owls.txt"),
]
CORRECTED = [
    task("1", "list the files in /srv/owls.", "ls -1 /srv/owls", "ls /srv/owls"),
    task("2", "Count the lines of owls.txt", "wc -l < owls.txt", "grep -c '' owls.txt"),
    task("3", "Print the size of /srv/owls in kilobytes", "du /srv/owls", "du -k /srv/owls"),
    task("4", "Remove empty directories below /srv/owls", "find /srv/owls -type d -empty -delete", "rmdir /srv/owls/*"),
    task("5", "Sort owls.txt", "sort owls.txt", "cat owls.txt | sort"),
    task("6", "Another new task", "uname -a", "uname --all"),
]


def test_each_task_has_the_classes_of_its_changes() -> None:
    found = {pair.task: (pair.partner, pair.classes) for pair in corrected_pairs(FIRST, CORRECTED)}
    prompt, command = CorrectionClass.PROMPT, CorrectionClass.COMMAND
    assert found == {
        "a": ("1", ()),
        "b": ("2", (command,)),
        "c": (None, (CorrectionClass.DUPLICATE,)),
        "d": ("3", (prompt,)),
        "e": (None, (CorrectionClass.REMOVED,)),
        "f": ("4", (prompt, command)),
        "g": ("5", ()),
    }


def test_combinations_are_counted_apart() -> None:
    assert correction_counts(corrected_pairs(FIRST, CORRECTED)) == {
        "duplicate": 1,
        "removed": 1,
        "prompt": 1,
        "command": 1,
        "prompt and command": 1,
        "unchanged": 2,
    }


def test_partners_are_in_the_same_world_and_in_the_same_order() -> None:
    elsewhere = [task("x", "Sort owls.txt", "sort owls.txt", world="fs2")]
    assert [pair.partner for pair in corrected_pairs(elsewhere, CORRECTED)] == [None]
    swapped = [FIRST[6].model_copy(update={"id": "a"}), FIRST[0].model_copy(update={"id": "b"})]
    assert [pair.partner for pair in corrected_pairs(swapped, CORRECTED)].count(None) == 1
    assert corrected_pairs(FIRST[::-1], CORRECTED[::-1]) == corrected_pairs(FIRST, CORRECTED)


def test_imported_suites_are_compared(tmp_path: Path) -> None:
    project = small_checkout(tmp_path / "checkout", [small_task("files-1")], {})
    for name in ("nl2sh-alfa", "intercode"):
        tree = trees.intercode_tree(tmp_path / name)
        tasks = trees.TASKS if name == "nl2sh-alfa" else [{**trees.TASKS[0], "gold": "wc owls"}, *trees.TASKS[1:]]
        (tree / "data/nl2bash/nl2bash_fs_1.json").write_text(json.dumps(tasks))
        declare_suite(project, name, tree)
        add_suite(project, name, tree, NullProgress())
    found = suite_corrections(project, "nl2sh-alfa", ["intercode"])
    shown = [(row["suite"], row["task"], row["partner"], row["classes"]) for row in found["tasks"]]
    assert shown[0] == ("intercode", "fs1-000", "fs1-000", ["command"])
    assert (found["counts"]["unchanged"], found["published"]) == (3, {})
    assert suite_corrections(project, "nl2sh-alfa", ["intercode", "intercode"])["counts"] == found["counts"]
