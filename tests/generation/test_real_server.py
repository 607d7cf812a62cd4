"""`bashboard generate` against the server of llama.cpp, with a model of random weights.

The replies are noise. So a reply whose first word is a utility proves that the server holds the model to the grammar.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.generation.grammar import keeps_grammar
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.known_utilities import utilities_of_suites
from evaluator.pipeline.submissions.repository import check_folders
from tests.command_runner import CommandRunner
from tests.generation.generation_harness import commands
from tests.generation.llama_server import CONTEXT, KEY, ROOT, LlamaServer
from tests.generation.tiny_model import write_tiny_model

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(
        find_spec("xllamacpp") is None or find_spec("gguf") is None,
        reason="no llama.cpp here: `make soak` installs it if there is a wheel for this machine",
    ),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    """A server with the tiny model."""
    folder = tmp_path_factory.mktemp("llama")
    write_tiny_model(folder / "tiny.gguf")
    with LlamaServer(folder / "tiny.gguf", folder / "log.txt") as running:
        yield running


@pytest.fixture(autouse=True)
def checkout(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the suite the utilities of the suite core, and run commands in its checkout."""
    shutil.copy(ROOT / "fixtures" / "core" / "utilities.txt", project.root / "fixtures" / "tiny")
    monkeypatch.chdir(project.root)
    monkeypatch.setenv("MY_KEY", KEY)


def generated(server: LlamaServer, *options: str, limit: int, reply_tokens: int, parallel: int = 1) -> Result:
    """Run the command. The temperature is 1, so that replies differ between seeds."""
    arguments = ["generate", "my-model", "--model", "tiny", "--suite", "tiny", "--author", "A. Uthor"]
    arguments += ["--base-url", server.url, "--key-env", "MY_KEY", "--parallel", str(parallel), "--temperature", "1"]
    arguments += ["--limit", str(limit), "--reply-tokens", str(reply_tokens)]
    return CommandRunner().invoke(app, [*arguments, *options])


def lines(project: Project) -> list[dict[str, Any]]:
    text = (project.root / "submissions" / "my-model" / "tiny.jsonl").read_text()
    return list(map(json.loads, text.splitlines()))


def names(project: Project) -> list[str]:
    return utilities_of_suites([project.suite("tiny")])


def check_is_clean(project: Project) -> None:
    """Assert that the written submission passes `bashboard check`, which also tells that other tasks have no answer."""
    problems = check_folders(project, [project.root / "submissions" / "my-model"])
    assert [problem.message for problem in problems if "without a line" not in problem.message] == []


def test_a_plain_run_is_complete_and_its_tokens_are_counted(project: Project, server: LlamaServer) -> None:
    done = generated(server, limit=6, reply_tokens=16, parallel=2)
    assert done.exit_code == 0, done.output
    answers = lines(project)
    assert len(answers) == 6
    for line in answers:
        assert 500 < line["input_tokens"] < CONTEXT
        assert 0 < line["output_tokens"] <= 16
        assert line["latency_s"] > 0
    check_is_clean(project)


def test_equal_seeds_give_equal_replies_and_other_runs_give_others(project: Project, server: LlamaServer) -> None:
    def replies(run: int) -> dict[str, list[str]]:
        shutil.rmtree(project.root / ".bashboard", ignore_errors=True)
        done = generated(server, "--run", str(run), "--runs", "2", "--replace", limit=2, reply_tokens=16)
        assert done.exit_code == 0, done.output
        return commands(project)

    first = replies(1)
    assert replies(1) == first
    assert replies(2) != first


@pytest.mark.parametrize(("grammar", "reply_tokens"), [("llama.cpp", 40), ("json-schema", 400)])
def test_a_grammar_holds_noise_to_utilities(
    project: Project, server: LlamaServer, grammar: str, reply_tokens: int
) -> None:
    """Each run has other seeds. The first words differ between runs, so the model chooses them."""
    held: list[str] = []
    for run in range(1, 5):
        options = ["--method", "constrained", "--grammar", grammar, "--run", str(run), "--runs", "4", "--replace"]
        done = generated(server, *options, limit=2, reply_tokens=reply_tokens)
        assert done.exit_code == 0, done.output
        held += [command for candidates in commands(project).values() for command in candidates]
        check_is_clean(project)
    assert len(held) == 8
    assert all(keeps_grammar(command, names(project)) for command in held), held
    assert len({re.split(r"[ \n;|&]", command)[0] for command in held}) > 2
    assert any(command not in names(project) for command in held), "no reply has more than a name"


def test_json_that_is_cut_off_is_not_taken_for_an_ignored_grammar(project: Project, server: LlamaServer) -> None:
    """The server answers 500 or with a part of the JSON. In both cases the task has no command."""
    done = generated(server, "--method", "constrained", "--grammar", "json-schema", limit=2, reply_tokens=16)
    assert "the server" not in done.output, done.output
    assert not any(commands(project).values())


@pytest.mark.parametrize("grammar", ["vllm", "vllm-guided"])
def test_a_grammar_that_the_server_ignores_is_an_error(project: Project, server: LlamaServer, grammar: str) -> None:
    done = generated(server, "--method", "constrained", "--grammar", grammar, limit=4, reply_tokens=16)
    assert done.exit_code == 1
    assert "the server ignores the grammar: it answered" in done.output
    assert "choose another form with --grammar" in done.output
    assert lines(project) == []


def test_a_prompt_that_is_too_long_is_refused_by_itself(project: Project, server: LlamaServer) -> None:
    """The refusal of the server names its context, so it does not count as a refusal of the grammar."""
    done = generated(
        server, "--method", "few-shot", "--method", "constrained", "--shots", "40", limit=2, reply_tokens=16
    )
    assert done.exit_code == 1
    assert "files-001: tiny: it answers 400" in done.output
    assert "grammar" not in done.output


def test_a_wrong_key_ends_the_run(server: LlamaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "another-key")
    done = generated(server, limit=2, reply_tokens=16)
    assert done.exit_code == 1
    assert "is MY_KEY right?" in done.output
    assert "another-key" not in done.output
