"""Tests of the canary: the identifier stands wherever the tasks are shown, and in nothing that a system answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.create import suite_prompts

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def canaries() -> dict[str, str]:
    """Return the canary of each suite of the repository. No two suites have the same canary."""
    found = {name: Project(ROOT).suite(name).manifest.canary or "" for name in ("core", "programs")}
    assert all(found.values())
    assert len({*found.values()}) == len(found)
    return found


def test_the_files_beside_the_tasks_carry_the_canary(canaries: dict[str, str]) -> None:
    for suite, canary in canaries.items():
        assert canary in (ROOT / "fixtures" / suite / "README.md").read_text()
        assert canary in (ROOT / "site" / "llms.txt").read_text()


def test_no_prompt_has_the_canary(canaries: dict[str, str]) -> None:
    """A system that repeats the canary knows it from its training data, and not from a prompt."""
    for suite, canary in canaries.items():
        assert not [line for line in suite_prompts(Project(ROOT), suite) if canary in line]


def test_trainers_are_asked_to_leave_out_the_pages_of_tasks() -> None:
    """The crawlers of trainers are asked to leave out the tasks and the answers. Search engines may read everything."""
    groups = (ROOT / "site" / "robots.txt").read_text().split("\n\n")
    trainers, others = groups
    boards = [f"board/{suite}/{part}" for suite in ("core", "programs") for part in ("tasks", "submissions/")]
    for page in (*boards, "search/search_index.json"):
        assert f"Disallow: /*{page}\n" in f"{trainers}\n"
        assert page in (ROOT / "site" / "llms.txt").read_text()
    assert others == "User-agent: *\nAllow: /\n"
