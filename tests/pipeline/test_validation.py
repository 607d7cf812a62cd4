"""Tests of judge validation: the pairs from suites and files, and the metrics in the validation file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluator.errors import FormatError, UsageError
from evaluator.judges import find_judge
from evaluator.pipeline.boards.scored_boards import read_validation
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.maintenance.annotator_agreement import compare_with_people
from evaluator.pipeline.maintenance.judge_metrics_file import save_metrics
from evaluator.pipeline.maintenance.judge_validation import Results, describe_judges, validate_judges
from evaluator.pipeline.maintenance.pair_sources import pairs_of_suite, read_labelled
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.records import PairKind, Validation, command_digest
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import Store
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.executor import FINGERPRINT, FakeExecutor, Shows

TASKS = [
    small_task("files-1", references=("ls a", "echo a"), near_misses=("ls b",)),
    small_task("files-2", references=("cat b", "echo b"), near_misses=("cat a",)),
]
SHOWN: dict[str, Shows] = {
    **dict.fromkeys(("ls a", "echo a", "cat a"), "alpha\n"),
    **dict.fromkeys(("cat b", "echo b"), "beta\n"),
    "ls b": "alpha\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A checkout whose store has the evidence of every pair of its suite."""
    made = small_checkout(tmp_path, TASKS, {})
    suite = made.suite("tiny")
    store = Store(made.store_path)
    store.set_fingerprint(image_reference(suite.manifest), FINGERPRINT)
    grader = Grader(
        suite, find_judge("consensus"), store, FINGERPRINT, FakeExecutor(SHOWN), NullProgress(), spacing_s=0
    )
    pairs = [
        pair for chosen in pairs_of_suite(made, suite, NullProgress(), mutants=False).pairs.values() for pair in chosen
    ]
    grader.ensure_evidence(GradingItem(pair.task, pair.command, pair.without) for pair in pairs)
    store.close()
    return made


def validated(project: Project, *judges: str) -> Results:
    sets = [pairs_of_suite(project, project.suite("tiny"), NullProgress(), mutants=False)]
    return validate_judges(project, sets, NullProgress(), judges=judges)


def test_a_suite_gives_table_4_and_its_near_misses(project: Project) -> None:
    pairs = pairs_of_suite(project, project.suite("tiny"), NullProgress(), mutants=False).pairs
    # The wrong command of a pair is from the task ten places later. With two tasks, that is the same task.
    assert {kind: len(chosen) for kind, chosen in pairs.items()} == {PairKind.TABLE_4: 2, PairKind.NEAR_MISSES: 2}


def test_mutants_are_pairs_where_they_are_asked_for(project: Project) -> None:
    pairs = pairs_of_suite(project, project.suite("tiny"), NullProgress(), mutants=True).pairs[PairKind.MUTANTS]
    assert pairs
    assert not any(pair.equivalent for pair in pairs)


def test_mutants_that_were_labelled_are_pairs(project: Project) -> None:
    (first, *_), folder = (
        pairs_of_suite(project, project.suite("tiny"), NullProgress(), mutants=True).pairs[PairKind.MUTANTS],
        project.root / "fixtures" / "overrides" / "tiny",
    )
    folder.mkdir(parents=True)
    label = {"format": 1, "task": first.task, "command_digest": command_digest(first.command), "label": True}
    lost = {**label, "command_digest": "0" * 64}
    lines = [json.dumps({**each, "because": "another spelling of it"}) for each in (label, lost)]
    (folder / "labels.jsonl").write_text("\n".join(lines))
    found = pairs_of_suite(project, project.suite("tiny"), NullProgress(), mutants=False).pairs[PairKind.LABELLED]
    assert found == [first._replace(equivalent=True)]


def test_every_judge_is_measured_and_its_mistakes_are_told(project: Project) -> None:
    found = validated(project, "consensus", "tfidf")
    counts = {(each.judge, each.kind): (each.equivalent_passed, each.wrong_passed) for each in found.figures}
    assert counts["consensus", PairKind.TABLE_4] == (2, 0)
    assert counts["consensus", PairKind.NEAR_MISSES] == (0, 1)
    mistakes = [each for each in found.mistakes if each.judge == "consensus"]
    assert [(each.task, each.command, each.equivalent) for each in mistakes] == [("files-1", b"ls b", False)]
    assert {each.judge for each in found.mistakes} == {"consensus", "tfidf"}


def test_without_a_panel_models_are_left_out(project: Project) -> None:
    judges = {each.judge for each in validated(project).figures}
    assert {"exact", "bleu", "nl2cmd", "tfidf", "exec-tfidf", "consensus"} <= judges
    assert judges.isdisjoint({"llm", "exec-llm", "embed", "exec-embed"})


def test_a_model_that_is_asked_for_by_name_needs_a_panel(project: Project) -> None:
    with pytest.raises(UsageError, match="panel"):
        validated(project, "llm")


def labels(project: Project, *lines: object) -> Path:
    path = project.root / "labels.jsonl"
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def test_labelled_pairs_are_judged_by_all_references(project: Project) -> None:
    path = labels(
        project,
        {"suite": "tiny", "task": "files-1", "command": "ls b", "label": True},
        {"suite": "tiny", "task": "files-2", "command": "cat a", "label": False},
    )
    found = validate_judges(project, read_labelled(project, path), NullProgress(), judges=["consensus"])
    (one,) = found.figures
    assert (one.kind, one.equivalent_passed, one.wrong_failed) == (PairKind.LABELLED, 1, 1)


def test_every_bad_line_of_labels_is_named(project: Project) -> None:
    good = {"suite": "tiny", "task": "files-1", "command": "ls", "label": True}
    path = labels(
        project, good, "{", {**good, "task": "files-9"}, {**good, "suite": "huge"}, {**good, "label": "perhaps"}
    )
    with pytest.raises(FormatError) as caught:
        read_labelled(project, path)
    assert [problem.line for problem in caught.value.problems] == [2, 3, 4, 5]


def test_labels_that_are_not_there_are_wrong_use(project: Project) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.jsonl"):
        read_labelled(project, project.root / "nowhere.jsonl")


def test_figures_of_other_sets_stay_in_the_file(project: Project) -> None:
    first, second = validated(project, "bleu"), validated(project, "tfidf")
    for each in (first, second, first):
        path = save_metrics(project, Validation(format=1, figures=tuple(each.figures)), publish=False)
    kept = read_validation(path)
    assert [(each.judge, each.kind.value) for each in kept.figures] == [
        ("bleu", "table-4"),
        ("tfidf", "table-4"),
        ("bleu", "near-misses"),
        ("tfidf", "near-misses"),
    ]


def test_published_figures_are_the_sites(project: Project) -> None:
    path = save_metrics(project, Validation(format=1), publish=True)
    assert path.relative_to(project.root) == Path("site/assets/judges.json")


def test_a_file_that_holds_no_figures_is_refused(tmp_path: Path) -> None:
    (tmp_path / "judges.json").write_text('{"format": 7}')
    with pytest.raises(FormatError, match="a file of judges' metrics"):
        read_validation(tmp_path / "judges.json")


def test_every_judge_says_in_one_line_what_it_is() -> None:
    assert all(each.description.endswith(".") and len(each.description) < 120 for each in describe_judges())


@pytest.mark.parametrize(
    ("csv", "problem"),
    [
        ("a,b\n1,2\n", "no column 'description'"),
        ("description,prediction,correct command\nlist,ls,maybe\n", "expected y or n, found 'maybe'"),
        ("description,prediction,correct command\nfly,ls,y\n", "no reference command for 'fly'"),
    ],
)
def test_judgements_that_do_not_read_are_named(tmp_path: Path, csv: str, problem: str) -> None:
    for name, text in (("all.nl", "list\n"), ("all.cm", "ls\n"), ("people.csv", csv)):
        (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=problem):
        compare_with_people(tmp_path / "people.csv", (tmp_path / "all.nl", tmp_path / "all.cm"), NullProgress())


def test_only_judges_of_texts_are_compared_with_people(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="consensus does not score texts; these judges do: bleu"):
        compare_with_people(tmp_path, (tmp_path, tmp_path), NullProgress(), ["consensus"])
