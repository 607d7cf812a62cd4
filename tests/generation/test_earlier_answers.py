"""A later run of `bashboard generate` loses no answer of an earlier run."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import UsageError
from evaluator.pipeline.generation.generate_submission import generate
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.testing.checkouts import small_task, write_suite
from tests.doubles.model_server import JudgeServer, refuses
from tests.generation.generation_harness import TASKS, commands, echoes, made_by, options_for


def folder_of(project: Project) -> Path:
    return project.root / "submissions" / "my-model"


def log_of(project: Project) -> Path:
    return project.root / ".bashboard" / "generate" / "my-model.jsonl"


def declared(project: Project) -> dict[str, str]:
    suites: dict[str, str] = tomllib.loads((folder_of(project) / "submission.toml").read_text())["suites"]
    return suites


def answer_other_suite(project: Project, **options: Any) -> None:
    """Answer the two tasks of another suite."""
    write_suite(project.root, [small_task(f"more-{number}") for number in range(2)], name="other")
    with JudgeServer(echoes) as server:
        generate(project, replace(options_for(server, **options), suites=("other",)), NullProgress())


@pytest.mark.parametrize("again", [False, True], ids=["the same recipe", "the same recipe with --replace"])
def test_a_second_suite_leaves_the_first_in_the_manifest(project: Project, again: bool) -> None:
    made_by(project, echoes)
    answer_other_suite(project, replace=again)
    assert declared(project) == {"tiny": "1.0.0", "other": "1.0.0"}
    assert len(commands(project)) == TASKS


def test_a_suite_without_its_file_leaves_the_manifest(project: Project) -> None:
    made_by(project, echoes)
    (folder_of(project) / "tiny.jsonl").unlink()
    answer_other_suite(project)
    assert declared(project) == {"other": "1.0.0"}


def test_a_suite_that_another_recipe_answered_leaves_the_manifest(project: Project) -> None:
    made_by(project, echoes)
    answer_other_suite(project, style="question", replace=True)
    assert declared(project) == {"other": "1.0.0"}


def test_other_training_pairs_are_another_recipe(project: Project) -> None:
    made_by(project, echoes, "few-shot")
    pairs = project.root / "fixtures" / "train" / "pairs.jsonl"
    pairs.write_text(pairs.read_text() + json.dumps({"nl": "list all", "command": "ls -a"}) + "\n")
    with pytest.raises(UsageError, match=r"made in another way \(pairs\)"):
        made_by(project, echoes, "few-shot")


def test_a_smaller_limit_does_not_shrink_a_file(project: Project) -> None:
    with JudgeServer(echoes) as server:
        generate(project, options_for(server), NullProgress())
        before = (folder_of(project) / "tiny.jsonl").read_bytes()
        assert generate(project, options_for(server, limit=3), NullProgress()).answered == 3
    assert (folder_of(project) / "tiny.jsonl").read_bytes() == before


def test_a_run_that_stops_early_keeps_the_answers_that_it_did_not_reach(project: Project) -> None:
    """The server has another address, so its replies are not in the log, and it refuses the key after one answer."""
    made_by(project, echoes)
    before = commands(project)
    made = made_by(project, refuses(401), script=[echoes], parallel=1)
    assert made.stopped
    assert commands(project) == before


def test_answers_without_their_log_are_refused_before_the_first_request(project: Project) -> None:
    made_by(project, echoes)
    before = (folder_of(project) / "tiny.jsonl").read_bytes()
    log_of(project).unlink()
    with JudgeServer(echoes) as server:
        with pytest.raises(UsageError, match=r"my-model has 40 answers, but .*no reply: restore .*--replace to ask"):
            generate(project, options_for(server, limit=3), NullProgress())
        assert server.asked == []
        assert (folder_of(project) / "tiny.jsonl").read_bytes() == before
        generate(project, options_for(server, limit=3, replace=True), NullProgress())
    assert len(commands(project)) == 3


def test_answers_to_another_version_of_a_suite_are_not_kept(project: Project) -> None:
    made_by(project, echoes)
    suite = project.root / "fixtures" / "tiny" / "suite.toml"
    suite.write_text(suite.read_text().replace('version = "1.0.0"', 'version = "1.1.0"'))
    made_by(project, echoes, limit=3)
    assert len(commands(project)) == 3
    assert declared(project) == {"tiny": "1.1.0"}


def test_a_broken_file_of_answers_is_an_error_that_names_it(project: Project) -> None:
    made_by(project, echoes)
    (folder_of(project) / "tiny.jsonl").write_text("{\n")
    with pytest.raises(UsageError, match=r"tiny\.jsonl: expected the answers of an earlier run: .*--replace"):
        made_by(project, echoes)
