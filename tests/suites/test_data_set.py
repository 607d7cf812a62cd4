"""The published table of NL2SH-ALFA as a source of the suite."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest

from evaluator.errors import FormatError, MissingError
from evaluator.pipeline.maintenance.import_suite import add_suite
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.suites.importers.data_set import read_data_set
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.declared_suites import commit_tree, declare_suite
from tests.suites import foreign_trees as trees

Rows = Sequence[Mapping[str, object]]
ROWS: Rows = [
    {"nl": task["query"], "bash": task["gold"], "bash2": task["gold2"], "difficulty": task["difficulty"]}
    for task in trees.TASKS
]


def as_json(path: Path, rows: Rows) -> None:
    path.write_text(json.dumps(rows))


def as_lines(path: Path, rows: Rows) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def as_csv(path: Path, rows: Rows) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["nl", "bash", "bash2", "difficulty"])
        writer.writeheader()
        writer.writerows(rows)


def as_parquet(path: Path, rows: Rows) -> None:
    pl.DataFrame(rows).write_parquet(path)


FORMS = [("test.json", as_json), ("test.jsonl", as_lines), ("test.csv", as_csv), ("test.parquet", as_parquet)]
forms = pytest.mark.parametrize(("name", "write"), FORMS, ids=[name for name, _ in FORMS])


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a checkout that declares NL2SH-ALFA and InterCode with sources that answer."""
    made = small_checkout(tmp_path / "checkout", [small_task("files-1")], {})
    for name in ("nl2sh-alfa", "intercode"):
        tree = trees.intercode_tree(tmp_path / name)
        (tree / "data/nl2bash/nl2bash_fs_1.json").write_text(json.dumps(trees.TASKS))
        declare_suite(made, name, tree, f"file://{tree}/.git", commit_tree(tree))
    return made


@forms
def test_each_form_of_the_table_gives_the_suite(
    project: Project, tmp_path: Path, name: str, write: Callable[[Path, Rows], None]
) -> None:
    write(tmp_path / name, ROWS)
    suite = add_suite(project, "nl2sh-alfa", tmp_path / name, NullProgress()).suite
    assert [task.nl for task in suite.tasks] != []
    assert suite.tasks == add_suite(project, "nl2sh-alfa", None, NullProgress()).suite.tasks


@forms
def test_a_table_is_never_read_as_another_suite(
    project: Project, tmp_path: Path, name: str, write: Callable[[Path, Rows], None]
) -> None:
    write(tmp_path / name, ROWS)
    with pytest.raises(FormatError, match="is a copy of nl2sh-alfa, not of intercode; type: bashboard suite add nl2sh"):
        add_suite(project, "intercode", tmp_path / name, NullProgress())
    assert not (project.fixtures / "intercode").exists()


def test_a_table_with_other_tasks_is_refused_with_the_rows(project: Project, tmp_path: Path) -> None:
    path = tmp_path / "test.json"
    as_json(path, [{**ROWS[0], "bash": "ls"}, *ROWS[1:], ROWS[0]])
    with pytest.raises(FormatError) as raised:
        add_suite(project, "nl2sh-alfa", path, NullProgress())
    assert [problem.message for problem in raised.value.problems] == [
        "expected 4 rows, found 5",
        "row 1: another text in bash than the declared source has",
    ]
    assert not (project.fixtures / "nl2sh-alfa").exists()


def test_without_the_declared_source_a_table_is_not_enough(project: Project, tmp_path: Path) -> None:
    declare_suite(project, "nl2sh-alfa", tmp_path / "nl2sh-alfa")
    as_json(tmp_path / "test.json", ROWS)
    with pytest.raises(MissingError, match="nl2sh-alfa could not be fetched"):
        add_suite(project, "nl2sh-alfa", tmp_path / "test.json", NullProgress())


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.json", b"[", "does not read as JSON"),
        ("a.json", b"[]", "expected the rows of a data set, found none"),
        ("a.json", b'[{"query": "x", "gold": "ls"}]', "row 1: expected the texts nl, bash, bash2, found query, gold"),
        ("a.jsonl", b"3\n", "row 1: expected the texts nl, bash, bash2, found int"),
        ("a.csv", b"nl,bash\nx,ls\n", "row 1: expected the texts nl, bash, bash2, found nl, bash"),
        ("a.csv", b"\xff\xfe", "does not read as CSV"),
        ("a.parquet", b"PAR1", "does not read as PARQUET"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_with_the_reason(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError) as raised:
        read_data_set(tmp_path / name)
    assert message in str(raised.value)
