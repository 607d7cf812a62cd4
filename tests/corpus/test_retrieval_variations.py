"""`bashboard baseline tfidf-retrieval --step`: each variation is a valid submission with the same bytes every time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.corpus.retrieval_steps import first_pairs
from evaluator.corpus.retrieval_variations import VARIATIONS, retrieval_variation, variation_slug
from evaluator.records import SuiteManifest
from evaluator.submissions import SuiteInfo, check_submission
from evaluator.submissions.baselines import BASELINES, files_of, read_pairs
from evaluator.suites.load import load_suite
from evaluator.testing.checkouts import copy_checkout, small_task
from tests.command_runner import CommandRunner

ROOT: Final = Path(__file__).parents[2]
TRAINING: Final = ROOT / "fixtures" / "train" / "pairs.jsonl"
PAIRS: Final = read_pairs(TRAINING.read_bytes())
FEW_PAIRS: Final = PAIRS[::8]
TASKS: Final = [
    small_task(f"files-{number}", nl=instruction)
    for number, instruction in enumerate(
        ("Count the lines of /var/log/syslog", "List all .conf files under /etc larger than 10 kB", "Sing a song")
    )
]


@pytest.fixture(scope="module")
def manifest() -> SuiteManifest:
    return load_suite(ROOT / "fixtures" / "core").manifest


def baseline(*arguments: str) -> Result:
    return CommandRunner().invoke(app, ["baseline", *arguments])


def test_a_third_of_the_pairs_are_the_first_ones_and_none_is_in_both_parts() -> None:
    first, further = first_pairs(PAIRS)
    assert len(first) / len(PAIRS) == pytest.approx(1 / 3, abs=0.04)
    assert sorted([*first, *further], key=lambda pair: pair.nl) == list(PAIRS)
    assert first_pairs(PAIRS[::2])[0] == [pair for pair in PAIRS[::2] if pair in first]


@pytest.mark.parametrize("variation", VARIATIONS)
def test_a_variation_is_a_sound_submission(tmp_path: Path, manifest: SuiteManifest, variation: str) -> None:
    folder = tmp_path / variation_slug(variation)
    folder.mkdir()
    for file, data in files_of(retrieval_variation(variation), [(manifest, TASKS)], FEW_PAIRS).items():
        (folder / file).write_bytes(data)
    assert check_submission(folder, {"core": SuiteInfo.of(manifest, TASKS)}) == []


def test_each_variation_adds_something_but_cleaning_finds_nothing_in_the_projects_pairs() -> None:
    answers = {variation: retrieval_variation(variation).predict(TASKS, FEW_PAIRS) for variation in VARIATIONS}
    assert answers["raw"] == answers["cleaned"]
    others = [answers[variation] for variation in VARIATIONS if variation != "raw"]
    assert all(one != other for number, one in enumerate(others) for other in others[:number])


def test_the_commands_of_the_step_literals_are_those_of_the_committed_baseline() -> None:
    literals = retrieval_variation("literals").predict(TASKS, PAIRS)
    committed = BASELINES["tfidf-retrieval"].predict(TASKS, PAIRS)
    assert [[each.command for each in found.candidates or ()] for found in literals] == [
        [each.command for each in found.candidates or ()] for found in committed
    ]
    assert {each.confidence for found in literals for each in found.candidates or ()} == {1.0}
    assert len({each.confidence for found in committed for each in found.candidates or ()}) > 5


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the checkout with the tasks of one file alone."""
    root = copy_checkout(ROOT, tmp_path, keep=lambda task: task["id"].startswith("files-00")).root
    monkeypatch.chdir(root)
    return root


@pytest.mark.slow
def test_the_command_writes_a_submission_that_another_process_finds_equal(checkout: Path) -> None:
    written = baseline("tfidf-retrieval", "--step", "literals")
    folder = checkout / "submissions" / "local-tfidf-retrieval-literals"
    names = [str((folder / name).relative_to(checkout)) for name in ("submission.toml", "core.jsonl")]
    assert written.stdout.split() == names
    check = ["baseline", "tfidf-retrieval", "--step", "literals", "--check"]
    program = [sys.executable, "-P", "-m", "evaluator.cli"]  # -P: import this package and not that of the copy
    environment = {"PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT)}
    assert subprocess.run([*program, *check], cwd=checkout, env=environment, check=False).returncode == 0
    (folder / "core.jsonl").write_text("")
    ended = baseline("tfidf-retrieval", "--step", "literals", "--check")
    assert (ended.exit_code, "run: bashboard baseline tfidf-retrieval --step literals" in ended.stdout) == (1, True)


@pytest.mark.parametrize("arguments", [("rules", "--step", "raw"), ("tfidf-retrieval", "--step", "x"), ("--step", "x")])
def test_a_step_is_refused_where_there_is_none(checkout: Path, arguments: tuple[str, ...]) -> None:
    ended = baseline(*arguments)
    assert (ended.exit_code, "--step" in ended.stderr) == (2, True), ended.stderr
