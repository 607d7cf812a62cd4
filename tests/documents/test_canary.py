"""Tests of the canary: the identifier stands wherever the tasks are shown, and in nothing that a system answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.create import suite_prompts

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def canary() -> str:
    """Return the canary of the suite core."""
    found = Project(ROOT).suite("core").manifest.canary
    assert found is not None
    return found


@pytest.mark.parametrize("path", ["fixtures/core/README.md", "site/llms.txt"])
def test_the_files_beside_the_tasks_carry_the_canary(path: str, canary: str) -> None:
    assert canary in (ROOT / path).read_text()


def test_no_prompt_has_the_canary(canary: str) -> None:
    """A system that repeats the canary knows it from its training data, and not from a prompt."""
    assert not [line for line in suite_prompts(Project(ROOT), "core") if canary in line]


def test_trainers_are_asked_to_leave_out_the_pages_of_tasks() -> None:
    """The crawlers of trainers are asked to leave out the tasks and the answers. Search engines may read everything."""
    groups = (ROOT / "site" / "robots.txt").read_text().split("\n\n")
    trainers, others = groups
    for page in ("board/core/tasks", "board/core/submissions/", "search/search_index.json"):
        assert f"Disallow: /*{page}\n" in f"{trainers}\n"
        assert page in (ROOT / "site" / "llms.txt").read_text()
    assert others == "User-agent: *\nAllow: /\n"
