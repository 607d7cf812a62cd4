"""The output that a study shows, the grading of participants' commands, and the checks before a study starts."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evaluator.errors import InfraError, UsageError
from evaluator.judges import find_judge
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.maintenance.human_study import (
    MAX_SHOWN_CHARACTERS,
    GraderExaminer,
    StudyPlan,
    copy_reference_evidence,
    serve_study,
    visible_output,
)
from evaluator.progress import NullProgress
from evaluator.records import Evidence
from evaluator.store import Store
from evaluator.testing.checkouts import small_checkout, small_suite, small_task
from evaluator.testing.executor import FINGERPRINT, FakeExecutor, Shows, fake_boards

PLAYED: dict[str, Shows] = {
    "right": "right",
    "right too": "right",
    "wrong": "wrong",
    "broken": InfraError("the engine went away"),
}


def evidence(stdout: bytes = b"", stderr: bytes = b"", status: int = 0) -> Evidence:
    streams = {name: {"data": data, "size": len(data)} for name, data in (("stdout", stdout), ("stderr", stderr))}
    return Evidence.model_validate({"ending": "exited", "status": status, **streams})


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (evidence(), ""),
        (evidence(b"a\nb"), "a\nb"),
        (evidence(b"a", b"no such file\n", 2), "a\nno such file\n(exit status 2)"),
        (evidence(b"a\tb\n"), "a        b"),
        (evidence(b"\x1b[31m\x07\r"), "\\x1b[31m\\x07\\r"),
        (evidence("\u202eabc".encode() + b"\xff"), "\\u202eabc\ufffd"),
        (evidence(b"x" * (MAX_SHOWN_CHARACTERS + 1)), "x" * MAX_SHOWN_CHARACTERS + "\n… (more was printed)"),
    ],
)
def test_what_a_command_printed_is_plainly_visible(shown: Evidence, text: str) -> None:
    """Control characters are escaped, and output that is too long is cut with a note."""
    assert visible_output(shown) == text


@pytest.fixture
def examiner(tmp_path: Path) -> Iterator[GraderExaminer]:
    """An examiner of a suite with one task. It has its own thread and store, and a fake executor."""
    suite = small_suite(tmp_path, [small_task("files-1")])
    with ThreadPoolExecutor(1) as thread:
        store = thread.submit(Store, tmp_path / "store.sqlite").result()
        execution = FakeExecutor(PLAYED)
        grader = Grader(suite, find_judge("consensus"), store, FINGERPRINT, execution, NullProgress(), spacing_s=0.01)
        yield GraderExaminer(grader, thread)
        thread.submit(store.close).result()


def test_everybody_gets_the_answer_to_their_own_command(examiner: GraderExaminer) -> None:
    """Each of several concurrent requests gets the result of its own command.

    An infrastructure failure is raised only to the request with the affected command.
    """

    def ask(command: str) -> bool | str:
        try:
            return examiner.examine("files-1", command.encode()).passed
        except InfraError as error:
            return str(error)

    asked = ["right", "wrong", "broken", "right too", "wrong", "right"] * 4
    with ThreadPoolExecutor(8) as crowd:
        answers = list(crowd.map(ask, asked))
    expected = {"right": True, "right too": True, "wrong": False, "broken": "the engine went away"}
    assert answers == [expected[command] for command in asked]


def test_a_defect_reaches_everybody_who_waits(examiner: GraderExaminer) -> None:
    """An unexpected error is raised to the waiting request, and the next request is answered."""
    with pytest.raises(KeyError, match="files-9"):
        examiner.examine("files-9", b"right")
    assert examiner.examine("files-1", b"right").output == "right"


def test_references_are_lent_and_nothing_is_given_back(tmp_path: Path) -> None:
    """A study reuses the project's evidence of the references and writes nothing to the project's store."""
    tasks = [small_task("files-1")]
    project = small_checkout(tmp_path, tasks, {"system": {"files-1": ["right"]}})
    fake_boards(project, PLAYED, everything=True)
    before = Store(project.store_path)
    rows = before.evidence({(key, run) for key in stored_keys(before) for run in (0, 1)})
    execution, store = FakeExecutor(PLAYED), Store(tmp_path / "study.sqlite")
    grader = Grader(
        project.suite("tiny"), find_judge("consensus"), store, FINGERPRINT, execution, NullProgress(), spacing_s=0
    )
    copy_reference_evidence(project, grader, tasks)
    grader.ensure_evidence([GradingItem("files-1", None)])
    assert execution.calls == []
    grader.grade([GradingItem("files-1", b"wrong")])
    assert execution.commands == {"wrong"}
    assert stored_keys(before) == {key for key, _ in rows}
    before.close()
    store.close()


def stored_keys(store: Store) -> set[str]:
    with contextlib.closing(sqlite3.connect(store.path)) as database:
        return {key for (key,) in database.execute("SELECT key FROM evidence")}


@pytest.mark.parametrize("host", ["0.0.0.0", "study.example", "::1", ""])  # noqa: S104 - a study refuses this host
def test_a_study_is_held_at_one_address_in_numbers(tmp_path: Path, host: str) -> None:
    """A study refuses a host that is not one numeric IPv4 address of this machine, and writes no file."""
    project = small_checkout(tmp_path, [small_task("files-1")], {})
    plan = StudyPlan(tmp_path / "m.jsonl", host=host)
    with (
        pytest.raises(UsageError, match="expected one IPv4 address of this machine"),
        serve_study(project, project.suite("tiny"), plan, NullProgress()),
    ):
        raise AssertionError("it was served")
    assert not (tmp_path / "m.jsonl").exists()


def test_a_task_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """A study refuses an unknown task before it executes any command."""
    project = small_checkout(tmp_path, [small_task("files-1")], {})
    plan = StudyPlan(tmp_path / "m.jsonl", tasks=("files-2",))
    with (
        pytest.raises(UsageError, match="has no task 'files-2'; did you mean files-1"),
        serve_study(project, project.suite("tiny"), plan, NullProgress()),
    ):
        raise AssertionError("it was served")
