"""`bashboard build` shows generated submissions: methods of one model, the spread over runs, and training data."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any, Final

import pytest
from markupsafe import escape

from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.ownership import owners_bytes, owners_path
from evaluator.records import Method, Owners
from evaluator.submissions.manifest_text import manifest_toml
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.executor import fake_boards
from tests.cli.command_runs import run_here
from tests.doubles.method_boards import manifest, recipe
from tests.leaderboard.conftest import ROOT
from tests.leaderboard.test_methods_part import table_of, text_of

pytestmark = pytest.mark.slow

HOSTILE: Final = "</bdi></td><script>alert(1)</script>{{ 7 * 7 }}"
TASKS: Final = [small_task(f"files-{number}", references=(f"cat {number}", f"echo {number}")) for number in range(4)]
RUNS: Final[dict[str, Any]] = {"shots": 5, "examples": "seed", "runs": 2}
OVERLAP: Final = {"version": "1.0.0", "tasks": 4, "same_instruction": 1, "near_tasks": ["files-0"]}
TUNING: Final = {
    "base_model": HOSTILE,
    "data": "our pairs",
    "pairs": "5f3c" * 16,
    "pair_count": 123,
    "contamination": {"tiny": OVERLAP},
}
SUBMISSIONS: Final[dict[str, tuple[dict[str, Any], int, int]]] = {
    "base": ({"generation": recipe(HOSTILE)}, 11, 1),
    "shots-1": ({"generation": recipe(HOSTILE, "few-shot", run=1, **RUNS)}, 11, 2),
    "shots-2": ({"generation": recipe(HOSTILE, "few-shot", run=2, **RUNS)}, 11, 3),
    "stranger": ({"generation": recipe(HOSTILE, "few-shot", run=2, **RUNS)}, 22, 4),
    "tuned": ({"fine_tuning": TUNING, "method": Method.FINE_TUNED}, 11, 4),
}
"""The tables of each submission's manifest, the account of its owner, and the number of tasks that it passes."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the pages of a suite that the command builds from verdicts, without an engine."""
    folder = tmp_path_factory.mktemp("generated")
    answers = {
        slug: {task.id: [f"echo {number}" if number < passed else "true"] for number, task in enumerate(TASKS)}
        for slug, (_, _, passed) in SUBMISSIONS.items()
    }
    project = small_checkout(folder, TASKS, answers)
    for slug, (tables, _, _) in SUBMISSIONS.items():
        declared = manifest(**tables).model_copy(update={"suites": {"tiny": "1.0.0"}})
        (folder / "submissions" / slug / "submission.toml").write_text(manifest_toml(declared))
    owners = Owners(format=1, owners={slug: owner for slug, (_, owner, _) in SUBMISSIONS.items()})
    owners_path(project).write_bytes(owners_bytes(owners))
    fake_boards(project, lambda call: "" if call.command == "true" else f"{call.command.split()[-1]}\n")
    _copy_site(project)
    built = run_here(folder, "build")
    assert built.returncode == 0, built.stderr
    return folder / "build" / "site" / "board" / "tiny"


def _copy_site(project: Project) -> None:
    shutil.copyfile(ROOT / "mkdocs.yml", project.root / "mkdocs.yml")
    shutil.copytree(ROOT / "site", project.root / "site", ignore=shutil.ignore_patterns("board", ".board-*"))
    (project.root / "evaluator").symlink_to(ROOT / "evaluator")


def page(pages: Path, *names: str) -> str:
    """Return the HTML of a page of the board, or the home page, which shows the board."""
    folder = pages if names else pages.parents[1]
    return folder.joinpath(*names, "index.html").read_text("utf-8")


def test_the_methods_of_a_model_are_side_by_side(pages: Path) -> None:
    """The model has a baseline with 1 of 4 tasks, two runs with 2 and 3, the run of another owner, and a tuned one."""
    heads, row = table_of(page(pages), "methods-table")
    assert [head.split(" %")[0] for head in heads] == ["Model", "baseline", "few-shot", "fine-tuned"]
    assert row[0] == escape(HOSTILE)
    assert row[1].startswith("25.0 ")
    assert row[2].endswith(
        " 1 of 2 runs stranger 62.5 21.9–90.8 +37.5 (−23.0 to +72.4) 2 of 2 runs: 50.0–75.0, SD 17.7 shots-1 shots-2"
    )
    assert row[3].startswith("100.0 ")


def test_a_page_shows_the_spread_over_the_runs_of_its_owner_alone(pages: Path) -> None:
    html = page(pages, "submissions", "shots-1")
    assert "Lowest 50.0 % Highest 75.0 % Standard deviation 17.7 points" in text_of(html)
    assert [row[1] for row in table_of(html, "runs-table")[1:]] == ["shots-1", "shots-2"]
    assert [row[1] for row in table_of(page(pages, "submissions", "stranger"), "runs-table")[1:]] == ["stranger"]


def test_a_page_shows_the_training_data(pages: Path) -> None:
    html = page(pages, "submissions", "tuned")
    assert "Fine-tuned on our pairs Pairs 123" in text_of(html)
    assert table_of(html, "near-training")[1][:3] == ["all tasks", "4", "1"]


@pytest.mark.parametrize("names", [(), *(("submissions", slug) for slug in SUBMISSIONS)], ids="/".join)
def test_the_name_of_a_model_is_text_on_every_page(pages: Path, names: tuple[str, ...]) -> None:
    html = page(pages, *names)
    assert "alert(1)" in html
    assert "{{ 7 * 7 }}" in text_of(html)
    assert re.search(r"<script>\s*alert", html) is None
