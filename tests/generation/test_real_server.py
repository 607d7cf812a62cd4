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

from evaluator.errors import Severity
from evaluator.generation.grammar import keeps_grammar
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.known_utilities import utilities_of_suites
from evaluator.pipeline.submissions.repository import check_folders
from evaluator.sandbox.engine import Engine
from evaluator.submissions.reply_parser import bash_error
from tests.generation.generation_harness import ROOT, bashboard, commands, core_checkout
from tests.generation.llama_server import CONTEXT, KEY, LlamaServer
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
def utilities(project: Project) -> None:
    """Give the suite the utilities of the suite core."""
    shutil.copy(ROOT / "fixtures" / "core" / "utilities.txt", project.root / "fixtures" / "tiny")


def generated(
    project: Project,
    server: LlamaServer,
    *options: str,
    limit: int,
    reply_tokens: int,
    suite: str = "tiny",
    key: str = KEY,
) -> Result:
    """Run the command. The temperature is 1, so that replies differ between seeds."""
    arguments = ["generate", "my-model", "--model", "tiny", "--suite", suite, "--author", "A. Uthor"]
    arguments += ["--base-url", server.url, "--key-env", "MY_KEY", "--parallel", "1", "--temperature", "1"]
    arguments += ["--limit", str(limit), "--reply-tokens", str(reply_tokens)]
    return bashboard(project, *arguments, *options, key=key)


def lines(project: Project, suite: str = "tiny") -> list[dict[str, Any]]:
    text = (project.root / "submissions" / "my-model" / f"{suite}.jsonl").read_text()
    return list(map(json.loads, text.splitlines()))


def names(project: Project, suite: str = "tiny") -> list[str]:
    return utilities_of_suites([project.suite(suite)])


def received(project: Project) -> int:
    """Return the number of replies that the server gave."""
    return len((project.root / ".bashboard" / "generate" / "my-model.jsonl").read_text().splitlines())


def check_is_finished(done: Result) -> None:
    """Assert that the run did not end early. Noise may be an empty reply, which leaves its task unanswered."""
    assert done.exit_code in (0, 1), done.output
    assert "bashboard: " not in done.output, done.output


def check_is_clean(project: Project) -> None:
    """Assert that `bashboard check` finds no error but a lack of candidates. It warns of noise."""
    problems = check_folders(project, [project.root / "submissions" / "my-model"])
    errors = [each.message for each in problems if each.severity is Severity.ERROR]
    assert [text for text in errors if "no line has a candidate" not in text] == []


def test_a_plain_run_is_complete_and_its_tokens_are_counted(project: Project, server: LlamaServer) -> None:
    done = generated(project, server, "--parallel", "2", "--method", "baseline", limit=6, reply_tokens=16)
    check_is_finished(done)
    answers = lines(project)
    assert len(answers) == 6
    for line in answers:
        assert 500 < line["input_tokens"] < CONTEXT
        assert 0 < line["output_tokens"] <= 16
        assert line["latency_s"] > 0
    check_is_clean(project)


@pytest.mark.parametrize(
    ("options", "examples"),
    [
        (["--method", "few-shot"], 5),
        (["--method", "icl"], 25),
        (["--method", "icl", "--examples", "nearest", "--shots", "10"], 10),
    ],
)
def test_examples_reach_the_model(project: Project, server: LlamaServer, options: list[str], examples: int) -> None:
    """A token is a byte, and each pair of the checkout has more than 40 bytes."""
    counts: list[int] = []
    for methods in (["--method", "baseline"], options):
        done = generated(project, server, *methods, "--replace", limit=3, reply_tokens=16)
        check_is_finished(done)
        counts.append(lines(project)[0]["input_tokens"])
    assert 40 * examples < counts[1] - counts[0] < 120 * examples
    check_is_clean(project)


def test_the_parser_asks_again_and_keeps_only_what_bash_can_read(project: Project, server: LlamaServer) -> None:
    """Noise often has a quote without an end. Then the task has two replies."""
    done = generated(project, server, "--method", "parser", limit=12, reply_tokens=48)
    check_is_finished(done)
    assert received(project) > 12
    held = [command for candidates in commands(project).values() for command in candidates]
    assert held
    assert [command for command in held if bash_error(command) is not None] == []
    check_is_clean(project)


def test_equal_seeds_give_equal_replies_and_other_runs_give_others(project: Project, server: LlamaServer) -> None:
    def replies(run: int) -> dict[str, list[str]]:
        shutil.rmtree(project.root / ".bashboard", ignore_errors=True)
        done = generated(
            project,
            server,
            "--method",
            "baseline",
            "--run",
            str(run),
            "--runs",
            "2",
            "--replace",
            limit=2,
            reply_tokens=16,
        )
        check_is_finished(done)
        return commands(project)

    first = replies(1)
    assert replies(1) == first
    assert replies(2) != first


def test_without_a_grammar_noise_begins_with_no_utility(project: Project, server: LlamaServer) -> None:
    """A one-letter utility such as `w` may stand there by chance."""
    done = generated(project, server, "--method", "baseline", limit=8, reply_tokens=40)
    check_is_finished(done)
    free = [command for candidates in commands(project).values() for command in candidates]
    assert len(free) > 4
    assert sum(keeps_grammar(command, names(project)) for command in free) <= 1, free


@pytest.mark.parametrize(("grammar", "reply_tokens"), [("llama.cpp", 40), ("json-schema", 400)])
def test_a_grammar_holds_noise_to_utilities(
    project: Project, server: LlamaServer, grammar: str, reply_tokens: int
) -> None:
    """Each run has other seeds. The first words differ between runs, so the model chooses them."""
    held: list[str] = []
    for run in range(1, 5):
        options = ["--method", "constrained", "--grammar", grammar, "--run", str(run), "--runs", "4", "--replace"]
        done = generated(project, server, *options, limit=2, reply_tokens=reply_tokens)
        assert done.exit_code == 0, done.output
        held += [command for candidates in commands(project).values() for command in candidates]
        check_is_clean(project)
    assert len(held) == 8
    assert all(keeps_grammar(command, names(project)) for command in held), held
    assert len({re.split(r"[ \n;|&]", command)[0] for command in held}) > 2
    assert any(command not in names(project) for command in held), "no reply has more than a name"


def test_json_that_is_cut_off_is_not_taken_for_an_ignored_grammar(project: Project, server: LlamaServer) -> None:
    """The server answers 500 or with a part of the JSON. In both cases the task has no command."""
    done = generated(project, server, "--method", "constrained", "--grammar", "json-schema", limit=2, reply_tokens=16)
    assert "the server" not in done.output, done.output
    assert not any(commands(project).values())


@pytest.mark.parametrize("grammar", ["vllm", "vllm-guided"])
def test_a_grammar_that_the_server_ignores_is_an_error(project: Project, server: LlamaServer, grammar: str) -> None:
    done = generated(project, server, "--method", "constrained", "--grammar", grammar, limit=4, reply_tokens=16)
    assert done.exit_code == 1
    assert "the server ignores the grammar: it answered" in done.output
    assert "choose another form with --grammar" in done.output
    assert not (project.root / "submissions" / "my-model").exists()


def test_a_prompt_that_is_too_long_is_refused_by_itself(project: Project, server: LlamaServer) -> None:
    """The refusal of the server names its context, so it does not count as a refusal of the grammar."""
    pairs = project.root / "long.jsonl"
    pair = {"nl": "Print a long word.", "command": f"echo {'x' * 2000}"}
    pairs.write_text("".join(f"{json.dumps({**pair, 'nl': f'Print a long word {n}.'})}\n" for n in range(9)))
    options = ["--method", "few-shot", "--method", "constrained", "--pairs", str(pairs)]
    done = generated(project, server, *options, limit=2, reply_tokens=16)
    assert done.exit_code == 1
    assert "files-001: tiny: it answers 400" in done.output
    assert "grammar" not in done.output


def test_a_wrong_key_ends_the_run(project: Project, server: LlamaServer) -> None:
    done = generated(project, server, limit=2, reply_tokens=16, key="another-key")
    assert done.exit_code == 1
    assert "is MY_KEY right?" in done.output
    assert "another-key" not in done.output


@pytest.mark.parametrize(
    "options", [["--method", "self-consistency", "--samples", "3"], ["--method", "execute", "--turns", "3"]]
)
def test_methods_that_execute_commands_bring_noise_to_a_scored_row(
    engine: Engine, server: LlamaServer, tmp_path: Path, options: list[str]
) -> None:
    """The grammar makes the noise into commands that run. They are wrong, so their accuracy is 0."""
    project = core_checkout(tmp_path / "core", ["files-003", "files-014"])
    grammar = ["--method", "constrained", "--grammar", "llama.cpp"]
    done = generated(project, server, *options, *grammar, suite="core", limit=2, reply_tokens=24)
    assert done.exit_code == 0, done.output
    assert 2 < received(project) <= 6
    for line in lines(project, "core"):
        assert 0 < line["output_tokens"] <= 3 * 24
        assert line["candidates"]
        assert all(keeps_grammar(each["command"], names(project, "core")) for each in line["candidates"])
    assert bashboard(project, "check", "submissions/my-model").exit_code == 0
    scored = bashboard(project, "score", "--suite", "core", "--json")
    assert scored.exit_code == 0, scored.output
    assert [(row["submission"], row["accuracy"]) for row in json.loads(scored.stdout)] == [("my-model", 0.0)]


@pytest.mark.parametrize("path", ["/nothing", "/v1/chat/completions"])
def test_a_wrong_path_ends_the_first_request(project: Project, server: LlamaServer, path: str) -> None:
    base_url = server.url.removesuffix("/v1") + path
    arguments = ["generate", "my-model", "--model", "tiny", "--suite", "tiny", "--base-url", base_url]
    done = bashboard(project, *arguments, "--key-env", "MY_KEY", "--limit", "1", "--reply-tokens", "16", key=KEY)
    assert done.exit_code == 1
    assert "it answers 404" in done.output
    assert done.output.endswith("is the address complete? it usually ends with /v1\n")


def test_a_limit_of_tokens_is_named(project: Project, server: LlamaServer) -> None:
    """Most noise is longer than 16 tokens, or ends by itself. A cut reply is never a command."""
    done = generated(project, server, "--method", "baseline", limit=12, reply_tokens=16)
    check_is_finished(done)
    log = (project.root / ".bashboard" / "generate" / "my-model.jsonl").read_text().splitlines()
    cut = [line for line in map(json.loads, log) if line["finish"] == "length"]
    assert ("cut off at the limit of tokens" in done.output) is bool(cut)
