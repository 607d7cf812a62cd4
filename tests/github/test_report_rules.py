"""Pull requests of every kind: their classification and the decision on them, without requests."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.errors import Problem, Severity
from evaluator.github.comment.state import LABELS, ChangeKind, Reason, State
from evaluator.github.pulls import ChangedFile, ChangedFiles, PullRequest
from evaluator.pipeline.pull_requests.classify import PullRequestChange, classify_change
from evaluator.pipeline.pull_requests.merge_rules import decide
from evaluator.pipeline.submissions.ownership import NOBODY, Owner, OwnerKind
from tests.properties import examples

ADDRESS = "https://github.example/org/board"
OWN, OTHERS, PROJECTS = Owner(OwnerKind.ACCOUNT, 7), Owner(OwnerKind.ACCOUNT, 8), Owner(OwnerKind.PROJECT)
STANDING = {"old": frozenset({"submission.toml", "core.jsonl", "core.verdicts.jsonl"})}
PULL = PullRequest(
    number=3,
    title="Mine",
    state="open",
    author=7,
    login="stranger",
    head="0" * 40,
    head_branch="mine",
    head_repository=5,
    base="1" * 40,
    base_branch="main",
    created=datetime(2026, 1, 2, tzinfo=UTC),
    labels=frozenset(),
    newcomer=True,
    insider=False,
)


def changed(*rows: str, complete: bool = True) -> ChangedFiles:
    """Build changed files from rows of `status path` or `renamed earlier path`."""
    files = []
    for row in rows:
        status, *paths = row.split(" ")
        files.append(ChangedFile(paths[-1], status, paths[0] if len(paths) > 1 else None))
    return ChangedFiles(tuple(files), complete)


def offer(*rows: str, complete: bool = True) -> PullRequestChange:
    return classify_change(changed(*rows, complete=complete), STANDING)


NEW = ("added submissions/mine/submission.toml", "added submissions/mine/core.jsonl")
GONE = tuple(f"removed submissions/old/{name}" for name in ("submission.toml", "core.jsonl", "core.verdicts.jsonl"))
MOVED = tuple(f"renamed submissions/old/{name} submissions/mine/{name}" for name in ("submission.toml", "core.jsonl"))

CHANGES: list[tuple[tuple[str, ...], ChangeKind, str]] = [
    (("modified README.md",), ChangeKind.NOTHING, ""),
    (("added Submissions/mine/core.jsonl",), ChangeKind.NOTHING, ""),
    ((), ChangeKind.NOTHING, ""),
    (NEW, ChangeKind.ADDS, "mine"),
    ((*NEW, "modified README.md"), ChangeKind.ADDS, "mine"),
    (("copied submissions/mine/core.jsonl",), ChangeKind.ADDS, "mine"),
    (("modified submissions/old/core.jsonl",), ChangeKind.UPDATES, "old"),
    (("added submissions/old/tiny.jsonl",), ChangeKind.UPDATES, "old"),
    (("changed submissions/old/core.jsonl",), ChangeKind.UPDATES, "old"),
    (("removed submissions/old/core.jsonl",), ChangeKind.UPDATES, "old"),
    (("renamed submissions/old/a.jsonl submissions/old/core.jsonl",), ChangeKind.UPDATES, "old"),
    ((*GONE[:1], "added submissions/old/other.jsonl"), ChangeKind.UPDATES, "old"),
    (GONE, ChangeKind.WITHDRAWS, "old"),
    (
        (
            "renamed submissions/old/submission.toml submissions/old/a",
            "renamed submissions/old/a submissions/old/submission.toml",
        ),
        ChangeKind.UPDATES,
        "old",
    ),
    ((*MOVED, *GONE[2:]), ChangeKind.RENAMES, "mine"),
    ((*NEW, *GONE), ChangeKind.RENAMES, "mine"),
    ((*NEW, "modified submissions/old/core.jsonl"), ChangeKind.MIXES, ""),
    ((*NEW, "added submissions/other/core.jsonl", *GONE), ChangeKind.MIXES, ""),
    (("added submissions/mine",), ChangeKind.MIXES, ""),
    (("modified submissions/owners.json",), ChangeKind.MIXES, ""),
    (("modified submissions/quarantine.json",), ChangeKind.MIXES, ""),
]


@pytest.mark.parametrize(("rows", "change", "slug"), CHANGES)
def test_changed_files_tell_what_is_done(rows: tuple[str, ...], change: ChangeKind, slug: str) -> None:
    found = offer(*rows)
    assert (found.change, found.slug) == (change, slug)


def labels_of(found: PullRequestChange, owner: Owner = NOBODY, *told: Any, **fields: Any) -> set[str]:
    return set(decide(found, replace(PULL, **fields), owner, *told, address=ADDRESS).labels)


def words_of(found: PullRequestChange, owner: Owner = NOBODY, *told: Any, **fields: Any) -> str:
    reasons = decide(found, replace(PULL, **fields), owner, *told, address=ADDRESS).reasons
    return "\n".join(line for each in reasons for line in (each.text, *each.commands))


HELD, NEEDS, VALID = {"held"}, {"needs changes"}, {"valid"}
DECISIONS: list[tuple[tuple[str, ...], Owner, dict[str, Any], set[str], str]] = [
    (("modified README.md",), NOBODY, {}, set(), ""),
    (NEW, NOBODY, {}, {"valid", "ready to merge"}, ""),
    (NEW, OWN, {}, {"valid", "ready to merge"}, ""),
    (NEW, OTHERS, {}, HELD, "`mine` belongs to another account"),
    (NEW, PROJECTS, {}, HELD, "`mine` is one of the project's own"),
    (NEW, NOBODY, {"author": None}, HELD, "is gone, so the row would have no owner"),
    (NEW, OTHERS, {"author": None}, HELD, "belongs to another account"),
    (NEW, NOBODY, {"base_branch": "evidence"}, NEEDS, "for the branch `evidence`"),
    (("modified submissions/old/core.jsonl",), OWN, {}, VALID, ""),
    (("modified submissions/old/core.jsonl",), OTHERS, {}, HELD, "`old` belongs to another account"),
    (GONE, OWN, {}, VALID, ""),
    (GONE, OTHERS, {}, HELD, "`old` belongs to another account"),
    (GONE, PROJECTS, {}, HELD, "the project's own"),
    (GONE[:2], OWN, {}, NEEDS, "leaves `submissions/old/core.verdicts.jsonl`"),
    ((*NEW, *GONE), OWN, {}, HELD, "renames the submission `old`"),
    ((*NEW, *GONE), OTHERS, {}, HELD, "`old` belongs to another account"),
    (MOVED, OWN, {}, {*HELD, *NEEDS}, "leaves `submissions/old/core.verdicts.jsonl`"),
    (
        (*MOVED, "renamed submissions/old/core.verdicts.jsonl submissions/mine/core.verdicts.jsonl"),
        OWN,
        {},
        {*HELD, *NEEDS},
        "git rm -- submissions/mine/core.verdicts.jsonl",
    ),
    ((*NEW, "modified evaluator/judges/case.py"), NOBODY, {}, HELD, "Some of these decide how it is judged"),
    ((*NEW, "added .github/workflows/x.yml"), NOBODY, {}, HELD, "Some of these decide how it is judged"),
    ((*NEW, "modified fixtures/core/suite.toml"), NOBODY, {}, HELD, "Some of these decide how it is judged"),
    ((*NEW, "renamed evaluator/a.py b.py"), NOBODY, {}, HELD, "2 files outside of `submissions/`"),
    ((*NEW, "modified README.md"), NOBODY, {}, HELD, "`README.md`. Open two pull requests"),
    ((*NEW, "added submissions/second/core.jsonl"), NOBODY, {}, NEEDS, "2 submissions: `mine`, `second`"),
    ((*NEW, "added submissions/mine/core.verdicts.jsonl"), NOBODY, {}, NEEDS, "Remove it from this pull request"),
    (("modified submissions/old/core.verdicts.jsonl",), OWN, {}, NEEDS, "git merge-base FETCH_HEAD HEAD"),
    (("removed submissions/old/core.verdicts.jsonl",), OWN, {}, NEEDS, "Restore it as it was"),
    ((*NEW, "modified submissions/owners.json"), NOBODY, {}, NEEDS, "-- submissions/owners.json"),
    ((*NEW, "modified submissions/quarantine.json"), NOBODY, {}, NEEDS, "-- submissions/quarantine.json"),
    ((*NEW, "added submissions/notes.md"), NOBODY, {}, NEEDS, "`submissions/notes.md`: not in the folder of a"),
    (("added submissions/mine",), NOBODY, {}, NEEDS, "`submissions/mine`: not in the folder of a submission"),
    ((*NEW, "modified README.md"), NOBODY, {"insider": True}, set(), ""),
    ((*NEW, *GONE), OTHERS, {"insider": True}, set(), ""),
    (("modified submissions/owners.json",), NOBODY, {"insider": True}, set(), ""),
    (("modified submissions/quarantine.json",), NOBODY, {"insider": True}, set(), ""),
    (("modified submissions/old/core.jsonl",), PROJECTS, {"insider": True}, VALID, ""),
    (NEW, NOBODY, {"insider": True, "base_branch": "next"}, {"valid", "ready to merge"}, ""),
]


@pytest.mark.parametrize(("rows", "owner", "fields", "labels", "words"), DECISIONS)
def test_what_is_done_by_whom_decides(
    rows: tuple[str, ...], owner: Owner, fields: dict[str, Any], labels: set[str], words: str
) -> None:
    assert labels_of(offer(*rows), owner, **fields) == labels
    assert words in words_of(offer(*rows), owner, **fields)
    assert bool(words) == bool(words_of(offer(*rows), owner, **fields))


def test_files_that_github_does_not_list_are_held_whatever_the_others_are() -> None:
    """Unlisted files may be of any kind, so the pull request is held even if no submission is listed."""
    for rows in (NEW, ("modified README.md",)):
        assert labels_of(offer(*rows, complete=False)) == HELD
        assert "3,000 files or more" in words_of(offer(*rows, complete=False))


def test_an_error_is_to_be_mended_and_a_warning_is_not() -> None:
    fault = Problem(Path("submissions/mine/core.jsonl"), 1, "x")
    assert labels_of(offer(*NEW), NOBODY, [fault]) == NEEDS
    assert labels_of(offer(*NEW), NOBODY, [fault._replace(severity=Severity.WARNING)]) == {"valid", "ready to merge"}
    assert labels_of(offer(*NEW), OTHERS, [fault]) == {*HELD, *NEEDS}
    assert labels_of(offer(*NEW), NOBODY, [fault], insider=True) == NEEDS


def test_what_exceeds_a_limit_is_held_but_for_maintainers() -> None:
    late = [Reason(State.HELD, "too many")]
    assert labels_of(offer(*NEW), NOBODY, [], late) == HELD
    assert labels_of(offer(*NEW), NOBODY, [], late, insider=True) == {"valid", "ready to merge"}


def test_every_label_that_may_be_wanted_is_one_of_ours() -> None:
    names = {each.name for each in LABELS}
    decision = decide(offer(*NEW), PULL, NOBODY, address=ADDRESS)
    assert decision.contested() < names
    assert {state.value for state in State} < names
    assert all(len(each.description) <= 100 and len(each.color) == 6 for each in LABELS)


NAMES = st.one_of(
    st.sampled_from(["submissions", "mine", "old", "core.jsonl", "submission.toml", "core.verdicts.jsonl", ".."]),
    st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=12),
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
FILES = st.builds(
    ChangedFile,
    PATHS,
    st.sampled_from(["added", "removed", "modified", "renamed", "copied", "changed", "unchanged", "odd"]),
    st.one_of(st.none(), PATHS),
)


@settings(max_examples=examples(200))
@given(st.lists(FILES, max_size=6), st.sampled_from([NOBODY, OWN, OTHERS, PROJECTS]))
def test_only_one_new_submission_and_nothing_else_is_ready(files: list[ChangedFile], owner: Owner) -> None:
    """A pull request is ready only if it adds one new submission and no other file, for all names of files."""
    decision = decide(classify_change(ChangedFiles(tuple(files), True), STANDING), PULL, owner, address=ADDRESS)
    if "ready to merge" in decision.labels:
        parts = [each.path.split("/") for each in files]
        assert {row[0] for row in parts} == {"submissions"}
        assert len({row[1] for row in parts}) == 1
        assert all(len(row) > 2 and not (len(row) == 3 and row[2].endswith(".verdicts.jsonl")) for row in parts)
        assert owner in (NOBODY, OWN)
        assert {row[1] for row in parts} != {"old"}


@settings(max_examples=examples(200))
@given(st.lists(FILES, min_size=1, max_size=6))
def test_no_line_to_type_holds_a_name_that_a_shell_reads_anything_into(files: list[ChangedFile]) -> None:
    decision = decide(classify_change(ChangedFiles(tuple(files), True), STANDING), PULL, OWN, address=ADDRESS)
    plain = set('abcdefghijklmnopqrstuvwxyz0123456789-_./ :@{}"$()ABCDEFGHIJKLMNOPQRSTUVWXYZ&')
    lines = [line for each in decision.reasons for line in each.commands]
    assert [line for line in lines if not set(line) <= plain] == []
