"""The owner of a submission's name: the registered account, or the one that the history of merges shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.errors import FormatError
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.ownership import (
    NOBODY,
    OWNERS_BYTES,
    Owner,
    OwnerKind,
    owner_of,
    owners_bytes,
    owners_path,
    parse_owners,
    read_owners,
    register,
)
from evaluator.pipeline.submissions.repository import check_folders
from evaluator.records import Owners
from tests.github.report_harness import ReportHarness

ROOT = Path(__file__).parents[2]


def written(**owners: int | None) -> bytes:
    return owners_bytes(Owners(format=1, owners=owners))


def test_the_repositorys_own_submissions_are_the_projects() -> None:
    registered = read_owners(Project(ROOT)).owners
    assert {name for name, account in registered.items() if account is None} >= {"always-true", "rules"}


def test_what_is_written_is_read_and_sorted_a_line_a_name() -> None:
    data = written(b=2, a=None)
    assert data == b'{\n  "format": 1,\n  "owners": {\n    "a": null,\n    "b": 2\n  }\n}\n'
    assert parse_owners(data, Path("owners.json")).owners == {"a": None, "b": 2}


def test_the_file_is_as_it_is_written() -> None:
    data = (ROOT / "submissions" / "owners.json").read_bytes()
    assert owners_bytes(parse_owners(data, Path("owners.json"))) == data


BROKEN: list[tuple[bytes, int, str]] = [
    (b"", 1, "broken JSON"),
    (b'{\n "format": 1,\n "owners": {]\n}', 3, "broken JSON"),
    (b"\xff", 0, "utf-8"),
    (b"[]", 0, "valid dictionary"),
    (b'{"format": 2, "owners": {}}', 0, "upgrade bashboard"),
    (b'{"format": 1}', 0, "owners: Field required"),
    (b'{"format": 1, "owners": {}, "x": 1}', 0, "x: Extra inputs"),
    (b'{"format": 1, "owners": {"a": 1, "a": 2}}', 0, "given more than once"),
    (b'{"format": 1,\n"owners": {\n"a": 1,\n"B": 2}}', 4, "owners.B"),
    (b'{"format": 1,\n"owners": {\n"../x": 1}}', 3, "owners.../x"),
    (b'{"format": 1,\n"owners": {\n"a": "7"}}', 3, "owners.a: Input should be a valid integer"),
    (b'{"format": 1,\n"owners": {\n"a": true}}', 3, "owners.a"),
    (b'{"format": 1,\n"owners": {\n"a": 0}}', 3, "owners.a"),
    (b'{"format": 1,\n"owners": {\n"a": 1.0}}', 3, "owners.a"),
    (b'{"format": 1, "owners": {"\\u202e": 1}}', 1, "\\\\u202e"),
    (b'{"format": 1, "owners": {"a": {"b": {}}}}', 0, "nested"),
    (b" " * (OWNERS_BYTES + 1), 0, "it is not read"),
]


@pytest.mark.parametrize(("data", "line", "words"), BROKEN, ids=range(len(BROKEN)))
def test_what_is_no_file_of_owners_is_refused_at_its_line(data: bytes, line: int, words: str) -> None:
    with pytest.raises(FormatError, match=words) as caught:
        parse_owners(data, Path("owners.json"))
    assert caught.value.problems[0].line == line
    assert str(caught.value).replace("\n", "").isprintable()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "submissions").mkdir()
    (tmp_path / "elsewhere").write_bytes(written())
    owners_path(Project(tmp_path)).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FormatError, match="expected a regular file"):
        read_owners(Project(tmp_path))


def test_without_a_file_nothing_is_registered(tmp_path: Path) -> None:
    assert read_owners(Project(tmp_path)).owners == {}


def test_the_file_is_no_submission(board: ReportHarness) -> None:
    assert "owners.json" not in {path.name for path in board.project.submission_folders()}
    assert check_folders(board.project, []) == []


def test_who_is_registered_owns_and_a_name_that_nobody_used_is_nobodys(board: ReportHarness) -> None:
    connection = board.harness.connect()
    found = {slug: owner_of(board.project, connection, slug) for slug in ("always", "old", "once", "new")}
    assert found["always"] == Owner(OwnerKind.PROJECT)
    assert found["old"] == Owner(OwnerKind.ACCOUNT, board.harness.stranger.id)
    assert found["once"] == Owner(OwnerKind.ACCOUNT, board.other.id)
    assert found["new"] == NOBODY
    assert board.harness.asked() == []


def test_what_is_merged_and_not_registered_yet_is_whose_pull_request_it_was(board: ReportHarness) -> None:
    """Before registration, a merged submission belongs to its pull request's author. Pushed ones are the project's."""
    board.github.merge(board.harness.board, board.offer(board.submission()))
    board.harness.board.git.commit("main", board.submission("pushed"))
    for path, data in {**board.submission(), **board.submission("pushed")}.items():
        (board.project.root / path).parent.mkdir(exist_ok=True)
        (board.project.root / path).write_bytes(data)
    connection = board.harness.connect()
    assert owner_of(board.project, connection, "mine") == Owner(OwnerKind.ACCOUNT, board.harness.stranger.id)
    assert owner_of(board.project, connection, "pushed") == Owner(OwnerKind.PROJECT)
    before = read_owners(board.project).owners
    assert register(board.project, connection).owners == {**before, "mine": board.harness.stranger.id, "pushed": None}
