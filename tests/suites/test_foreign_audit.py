"""An audit reports the defects of a foreign suite by class, and does not fail because of them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.maintenance.audit_suite import audit_suite, count_sound_drivers
from evaluator.pipeline.maintenance.select_variants import order_suite
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.records import Evidence, Finding, Outcome, OutputMode, Step, SuiteManifest, Task
from evaluator.sandbox.image import SuiteImage
from evaluator.shell import utilities_of
from evaluator.suites.audit_report import AuditFault, finding_note, has_order, reference_notes, text_notes, world_notes
from evaluator.suites.importers import IMPORTERS, Draft, write_draft
from evaluator.suites.load import Suite, load_suite
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.evidence import evidence
from tests.suites import foreign_trees as trees


def given(name: str = "a", nl: str = "print the three lines", **fields: Any) -> Task:
    return small_task(name, **{"references": ("ls", "ls ."), **fields}).model_copy(update={"nl": nl})


TEXTS: dict[str, tuple[list[Task], list[tuple[str, str]]]] = {
    "nothing": ([given(), given("b", "show what is here", references=("dir",))], []),
    "one instruction twice": (
        [given(), given("b", "Print  the three lines.", references=("dir",))],
        [("b", "same instruction")],
    ),
    "one instruction in two worlds": ([given(), given("b", world="other")], []),
    "one answer to two instructions": (
        [given(), given("b", "show what is here", references=("ls .", "ls"))],
        [("b", "same references")],
    ),
    "one command twice": ([given(references=("ls", "ls"))], [("a", "one reference twice")]),
    "two words": ([given(nl="list files")], [("a", "hardly says anything")]),
    "an invisible character": ([given(nl="print the\u200b three lines")], [("a", "odd characters")]),
    "a number of its own": (
        [given(nl="show lines under 20 letters", references=("awk 'length < 40' f",))],
        [("a", "number")],
    ),
    "a number that a reference has": ([given(nl="print the first 5 lines", references=("head -5 f",))], []),
    "a path of its own": ([given(nl="count lines of /etc/passwd", references=("wc -l /etc/group",))], [("a", "path")]),
    "a path that a reference has": ([given(nl="go through the /etc/ directory", references=("ls /etc",))], []),
}


@pytest.mark.parametrize(("tasks", "expected"), TEXTS.values(), ids=TEXTS)
def test_texts_are_read_for_what_does_not_hold(tasks: list[Task], expected: list[tuple[str, str]]) -> None:
    assert [(note.place, note.kind) for note in text_notes(tasks)] == expected


RUNS: dict[str, tuple[str, Evidence, list[str]]] = {
    "well": ("ls", evidence("a\n"), []),
    "another status": ("ls", evidence("a\n", status=2), ["fails"]),
    "a command that is not there": ("lsof", evidence("", status=127), ["is not found", "shows nothing"]),
    "silence": ("ls", evidence(""), ["shows nothing"]),
    "another machine": ("curl example.org", evidence("", status=6), ["needs the network", "fails", "shows nothing"]),
    "an option's question to another machine": ("dig -x 127.0.0.1", evidence("x"), ["needs the network"]),
    "its own version": ("curl --version", evidence("8.1\n"), []),
}


@pytest.mark.parametrize(("command", "shown", "kinds"), RUNS.values(), ids=RUNS)
def test_a_reference_is_noted_for_what_its_run_shows(command: str, shown: Evidence, kinds: list[str]) -> None:
    task = given(references=(command, "ls"))
    notes = list(reference_notes(task, 1, {"plain": [shown]}, utilities_of))
    assert [note.kind for note in notes] == kinds
    assert {(note.fault, note.reference) for note in notes} <= {(AuditFault.COMMAND, 1)}


@pytest.mark.parametrize(
    ("number", "outcome", "kind"),
    [
        (1, Outcome.PASS, None),
        (1, Outcome.FAIL, "references disagree"),
        (1, Outcome.UNDECIDED, "undecided"),
        (None, Outcome.FAIL, None),
        (None, Outcome.PASS, "doing nothing passes"),
    ],
)
def test_what_the_judge_says_of_a_reference_is_noted(number: int | None, outcome: Outcome, kind: str | None) -> None:
    note = finding_note(given(), number, Finding(outcome=outcome, step=Step.OUTPUT, reason="so"))
    assert (note.kind if note else None) == kind


def test_chatter_of_a_set_up_is_no_complaint() -> None:
    lines = ["2+0 records in", "4096 bytes (4.1 kB) copied, 0.1 s", "touch: invalid date format 'x'"]
    assert [note.reason for note in world_notes("w", "plain", lines)] == ["touch: invalid date format 'x'"]


ORDERS = {
    "asked for and shown": ("print the names sorted", (b"a\nb\n", b"a\nb\n"), True),
    "asked for and shown in two ways": ("print the names sorted", (b"a\nb\n", b"1 a\n2 b\n"), False),
    "not asked for": ("print the names", (b"a\nb\n", b"a\nb\n"), False),
    "the first few": ("print the first 2 names", (b"a\nb\n", b"a\nb\n"), True),
    "a file's own": ("print the contents of notes.txt", (b"b\na\n", b"b\na\n"), True),
    "of one line": ("print the largest", (b"a\n", b"a\n"), False),
}


@pytest.mark.parametrize(("nl", "outputs", "expected"), ORDERS.values(), ids=ORDERS)
def test_an_order_counts_where_it_is_asked_for_and_shown(nl: str, outputs: tuple[bytes, ...], expected: bool) -> None:
    task = given(nl=nl, output=OutputMode.SET)
    assert has_order(task, {"plain": outputs}) is expected


@pytest.mark.parametrize(("command", "expected"), [("ls | sort", True), ("ls -lS", True), ("find .", False)])
def test_one_command_given_twice_has_an_order_where_a_stage_of_it_makes_one(command: str, expected: bool) -> None:
    task = given(nl="list the names sorted", output=OutputMode.SET, references=(command, command))
    assert has_order(task, {"plain": [b"a\nb\n"] * 2}) is expected


@pytest.fixture
def foreign(tmp_path: Path, manifest: SuiteManifest) -> tuple[Project, Suite]:
    """A small foreign suite with the name and the base of core, so that it uses core's image."""
    project = small_checkout(tmp_path / "checkout", [small_task("files-1")], {})
    files = IMPORTERS["intercode"](utilities_of, trees.intercode_tree(tmp_path / "tree"))
    tests = IMPORTERS["nl2bash-eabench"](utilities_of, trees.eabench_tree(tmp_path / "tests"))
    tasks = [*files.tasks, *(task for task in tests.tasks if task.id.startswith("bash_2"))]
    worlds = {**files.worlds, **{task.world: tests.worlds[task.world] for task in tasks if task.verify}}
    about = files.manifest.model_copy(update={"base": manifest.base, "clock": manifest.clock, "name": "core"})
    return project, load_suite(write_draft(Draft(about, worlds, tasks, {}), project.root / "fixtures"))


@pytest.mark.engine
def test_a_foreign_suite_is_executed_and_audited(foreign: tuple[Project, Suite], image: SuiteImage) -> None:
    """An audit with real executions reports exactly the defects of the suite.

    The verifiers of tasks with a driver accept their references and refuse wrong scripts.
    """
    project, suite = foreign
    names = ["bash_2-test002", "bash_2-test006", *(task.id for task in suite.tasks if task.driver is None)]
    notes = audit_suite(project, suite, NullProgress(), workers=1, tasks=names)
    assert sorted((note.place, note.kind) for note in notes) == [
        ("fs1-001", "fails"),
        ("fs1-001", "shows nothing"),
        ("fs1-002", "hardly says anything"),
        ("fs1-002", "is not found"),
        ("fs1-002", "needs the network"),
        ("fs1-002", "shows nothing"),
        ("fs1-003", "number"),
        ("fs1/plain", "set-up complains"),  # core's base image has no wtmpdb
        ("fs1/plain", "set-up complains"),  # the set-up script has an invalid date
    ]
    assert count_sound_drivers(suite, names, notes) == (2, 2)


@pytest.mark.soak
@pytest.mark.engine
def test_every_driver_of_theirs_is_run_as_they_do(foreign: tuple[Project, Suite], image: SuiteImage) -> None:
    """Drivers call their answers several times, with arguments, as another user, and in another folder."""
    project, suite = foreign
    names = [task.id for task in suite.tasks if task.driver is not None]
    notes = audit_suite(project, suite, NullProgress(), workers=1, tasks=names)
    assert (count_sound_drivers(suite, names, notes), notes) == ((8, 8), [])


WRONG = {
    "nothing": (1, "true", "'found after: leaf'"),
    "an error is printed": (2, "echo 3; echo 4 >&2", "complained: 4"),
    "what the test needs is deleted": (2, "rm -rf /home/test/*", "complained: "),
    "only one of two calls is right": (3, "echo $((1 + 2))", "found 3"),
    "sourced, it ends the driver": (3, "echo $(($1 + $2)); exit", "found 3"),
    "a stray file in the system": (1, "wc -l < lines.txt; touch /etc/stray", "spurious: A /etc/stray"),
    "a stray file in a new folder": (1, "wc -l < lines.txt; mkdir -p /opt/a; touch /opt/a/b", "A /opt/a"),
    "a stray file in the home folder": (6, "touch made other", "spurious: A home/test/other"),
    "a stray file below the home folder": (6, "mkdir made; touch made/x", "spurious: A home/test/made/x"),
    "a program of the test is changed": (6, "touch made; echo >> post_test.sh", "C home/test/post_test.sh"),
    "too slow": (8, "sleep 12; echo done", "the test timed out"),
    "aborted": (8, "exit 9", "the test aborted with status 9"),
    "hostile words": (8, "printf '\\033[31m<b>`id`\\342\\200\\256\\n\\377'", r"found \x1b[31m<b>`id`\u202e \\xff"),
}


@pytest.mark.soak
@pytest.mark.engine
def test_what_a_test_of_theirs_refuses_fails(foreign: tuple[Project, Suite], image: SuiteImage) -> None:
    """A foreign task's own verifier refuses wrong scripts, and its message is part of the verdict's reason."""
    items = {name: GradingItem(f"bash_2-test00{number}", text.encode()) for name, (number, text, _) in WRONG.items()}
    with open_grader(*foreign, NullProgress(), workers=1) as grader:
        findings = grader.grade(items.values())
    assert {(finding.outcome, finding.step) for finding in findings.values()} == {(Outcome.FAIL, Step.VERIFIER)}
    reasons = {name: findings[item].reason for name, item in items.items()}
    assert {name: reason for name, reason in reasons.items() if WRONG[name][2] not in reason} == {}
    assert all(reason.isprintable() for reason in reasons.values())


@pytest.mark.soak
@pytest.mark.engine
def test_lines_are_compared_in_order_where_the_references_agree_on_one(tmp_path: Path, manifest: SuiteManifest) -> None:
    """A task compares lines in order if its executed references print the same order.

    The other tasks stay unchanged.
    """
    project = small_checkout(tmp_path / "checkout", [small_task("files-1")], {})
    asked = {"query": "print the names in /testbed sorted", "gold": "ls /testbed", "gold2": "ls /testbed | sort"}
    spread = {"query": "print the largest 2", "gold": "ls -S /testbed", "gold2": "ls -lS /testbed"}
    tree = trees.write_files(
        trees.intercode_tree(tmp_path / "tree"), {"data/nl2bash/nl2bash_fs_1.json": json.dumps([asked, spread])}
    )
    draft = IMPORTERS["intercode"](utilities_of, tree)
    about = draft.manifest.model_copy(update={"base": manifest.base, "clock": manifest.clock, "name": "core"})
    folder = write_draft(dataclasses.replace(draft, manifest=about), project.root / "fixtures")
    suite = order_suite(project, load_suite(folder), NullProgress(), workers=1)
    assert {task.id: task.output for task in suite.tasks} == {"fs1-000": OutputMode.LINES, "fs1-001": OutputMode.SET}
