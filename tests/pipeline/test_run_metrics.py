"""Tests of run metrics: they are computed from evidence once, and are absent for commands that did not run."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import sqlite3
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.grading.run_metrics import NOTHING_RUN, run_metrics_of
from evaluator.pipeline.project import Project
from evaluator.records import Ending, Evidence, Kind, PathChange, Result, RunMetrics, Task
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.evidence import case, evidence
from evaluator.testing.executor import Shows, fake_boards

TASKS = [small_task("files-1", references=("ls a", "echo a")), small_task("files-2", references=("ls a", "echo a"))]
NOT_FOUND = evidence(status=127, stderr="bash: line 1: lss: command not found\n", wall_ms=9)
SHOWN: dict[str, Shows] = {
    **dict.fromkeys(("ls a", "echo a"), evidence("a\n", wall_ms=4)),
    "lss a": NOT_FOUND,
}
SYNTAX = "bash: -c: line 1: unexpected EOF while looking for matching `''\n"
MISSING = "bash: line 1: lss: command not found\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return small_checkout(tmp_path, TASKS, {"one": {"files-1": ["lss a", "ls a"], "files-2": ["", " "]}})


def metrics_of(
    command: bytes, runs: Sequence[Evidence], expected: Sequence[Evidence] = (evidence("a\n"),), of: Task = TASKS[0]
) -> RunMetrics:
    """Return the run metrics of a command with one run per variant. Each reference shows the same in all variants."""
    names = [f"variant {number}" for number in range(len(runs))]
    references = [dict.fromkeys(names, each) for each in expected]
    return run_metrics_of(case(references, dict(zip(names, runs, strict=True)), of, command=command))


def results(boards: Sequence[SuiteBoard]) -> list[Result]:
    return [each for board in boards for each in board.results]


@pytest.mark.parametrize(
    ("runs", "flags"),
    [
        ([evidence("a\n"), evidence("b\n")], (True, True, True, True)),
        ([evidence(status=1), evidence("a\n")], (True, True, False, True)),
        ([evidence(stderr="ls: cannot access 'x'\n"), evidence("a\n")], (True, True, True, False)),
        ([evidence(status=2, stderr=SYNTAX), evidence("a\n")], (False, False, False, False)),
        ([evidence("a\n"), evidence(status=2, stderr=SYNTAX)], (True, True, True, True)),
        ([evidence(status=127, stderr=MISSING)], (True, False, False, False)),
        ([evidence(status=126)], (True, False, False, True)),
        ([evidence("0\n", stderr=MISSING)], (True, False, True, False)),
        ([evidence(stderr="grep: bash: command not found in the log\n")], (True, True, True, False)),
        ([evidence(status=None, ending=Ending.TIMEOUT)], (True, True, False, True)),
    ],
    ids=[
        "fine",
        "exits with 1",
        "complains",
        "syntax",
        "fine in the first variant",
        "not found",
        "not executable",
        "in a pipe",
        "says so",
        "timeout",
    ],
)
def test_a_command_is_what_it_is_in_the_first_variant(runs: list[Evidence], flags: tuple[bool, ...]) -> None:
    """The other variants do not count, because a command that fails in the first one does not run there.

    The flags are: valid, runnable, ended with 0, wrote nothing to standard error.
    """
    found = metrics_of(b"ls", runs)
    assert (found.valid, found.runnable, found.exit_zero, found.clean_stderr) == flags


def test_the_wall_time_goes_into_no_file() -> None:
    """No published record has the wall time, because it differs from run to run."""
    found = metrics_of(b"ls", [evidence(wall_ms=wall) for wall in (5.0, 900.0, 4.0)])
    assert found.wall_ms == 5
    assert "wall" not in found.to_json()
    assert "wall" not in found.model_dump()


def test_what_no_shell_can_be_given_has_not_run(project: Project) -> None:
    """An empty command has none of the four flags and needs no evidence."""
    found = [each.run for each in results(fake_boards(project, SHOWN))]
    assert found[:2] == [
        metrics_of(b"lss a", [NOT_FOUND], [evidence("a\n")]),
        metrics_of(b"ls a", [evidence("a\n", wall_ms=4)], [evidence("a\n")]),
    ]
    assert found[2:] == [NOTHING_RUN] * 2


def test_nothing_is_said_where_texts_alone_are_judged(project: Project) -> None:
    """Run metrics are absent if the judge compares only texts, because no command was executed.

    An absent metric differs from a metric that is 0.
    """
    (board,) = fake_boards(project, {}, judge="bleu")
    assert {each.run for each in board.results} == {None}
    figures = board.standings[0].figures
    assert (figures.valid, figures.runnable, figures.measured) == (None, None, 0)


def test_a_board_whose_verdicts_are_known_needs_no_evidence(project: Project) -> None:
    """A board with stored verdicts needs no evidence.

    Run metrics are stored under the evidence keys, so they remain after the evidence is deleted.
    """
    before = results(fake_boards(project, SHOWN))
    with sqlite3.connect(project.store_path) as database:
        database.execute("DELETE FROM evidence")
    assert results(fake_boards(project, {})) == before


def test_another_comparison_gives_other_metrics(tmp_path: Path) -> None:
    """Evidence does not depend on the comparison that a task asks for. Stored metrics do."""
    references = ("ls", "ls .", "ls ./")
    shown: dict[str, Shows] = {**dict.fromkeys(references, "a\nb\n"), "ls -r": "b\na\n"}
    found = []
    for mode in ("exact", "set", "exact"):
        tasks = [small_task("files-1", references=references, output=mode)]
        board, *_ = fake_boards(small_checkout(tmp_path, tasks, {"one": {"files-1": ["ls -r"]}}), shown)
        found += [each.run.same_effect for each in board.results if each.run]
    assert found == [False, True, False]


FRUIT = "apple\npear\nplum\nquince\n"


@pytest.mark.parametrize(
    ("command", "stored"),
    [
        ("printf '%s\\n' apple pear plum quince", True),
        ("cat <<'E'\napple\npear\nplum\nquince\nE", True),
        (f"echo {base64.b64encode(FRUIT.encode()).decode()} | base64 -d", True),
        (f"echo {base64.b64encode(gzip.compress(FRUIT.encode())).decode()} | base64 -d | gunzip", True),
        (f"xxd -r -p <<< {FRUIT.encode().hex()}", True),
        ("printf 'apple\\npear\\nplum\\n' | sort", False),
        ("sort fruit.txt", False),
        ("echo ls; grep -v apple fruit.txt", False),
    ],
    ids=["words", "here-document", "base64", "compressed", "hexadecimal", "a part", "computed", "one word"],
)
def test_a_command_that_holds_the_expected_output_is_marked(command: str, stored: bool) -> None:
    """A command is marked if it has all lines of an output that a reference prints, also in an encoded form."""
    found = metrics_of(command.encode(), [evidence("")], [evidence(FRUIT), evidence("other\n")])
    assert found.stored_output is stored


def test_the_contents_of_a_file_are_found_in_an_archive() -> None:
    """A command is marked if it holds an archive with a file that a reference writes."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        member = tarfile.TarInfo("fruit.txt")
        member.size = len(FRUIT)
        archive.addfile(member, io.BytesIO(FRUIT.encode()))
    command = b"base64 -d <<< " + base64.b64encode(stream.getvalue()) + b" | tar xz"
    digest = hashlib.sha256(FRUIT.encode()).hexdigest()
    written = PathChange(path=b"/srv/fruit.txt", kind=Kind.ADDED, content=digest)
    expected = evidence("").model_copy(update={"changes": (written,)})
    assert metrics_of(command, [evidence("")], [expected]).stored_output
    assert not metrics_of(b"sort > fruit.txt", [evidence("")], [expected]).stored_output


def test_what_the_instruction_says_is_not_stored() -> None:
    """The lines of the instruction and of references do not count, because each answer may repeat them."""
    task = small_task("files-1", nl=f"Print these lines:\n{FRUIT}")
    answer = b"printf '%s\\n' apple pear plum quince"
    assert not metrics_of(answer, [evidence("")], [evidence(FRUIT)], task).stored_output
