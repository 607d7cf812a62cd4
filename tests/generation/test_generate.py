"""`bashboard generate` against a model server: methods, limits and failures of the server."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from typing import Any

import pytest

from evaluator.errors import UsageError
from evaluator.pipeline.generation.dry_run import dry_run_of
from evaluator.pipeline.generation.generate_submission import generate
from evaluator.pipeline.generation.recipe import endpoint_of, recipe_of
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import check_folders
from evaluator.progress import NullProgress
from tests.doubles.model_server import Act, JudgeServer, refuses, replies, sends
from tests.generation.generation_harness import TASKS, bashboard, commands, echoes, made_by, options_for


def test_a_submission_is_complete_and_passes_the_check(project: Project) -> None:
    made = made_by(project, echoes, "parser")
    assert (made.answered, made.unanswered, made.requested, made.stopped) == (TASKS, 0, TASKS, "")
    assert commands(project)["files-007"] == ["echo 7 123"]
    manifest = tomllib.loads((project.root / "submissions" / "my-model" / "submission.toml").read_text())
    assert manifest["generation"]["methods"] == ["parser"]
    assert manifest["models"] == ["a-model"]
    faults = [problem.message for problem in check_folders(project, [project.root / "submissions" / "my-model"])]
    assert faults == ["authors: still the text of `submit init`: replace it"]
    line = json.loads((project.root / "submissions" / "my-model" / "tiny.jsonl").read_text().splitlines()[0])
    assert (line["input_tokens"], line["output_tokens"]) == (100, 10)
    assert line["latency_s"] > 0


def test_without_the_parser_the_whole_reply_is_the_command(project: Project) -> None:
    made_by(project, replies("  Use `ls`. \n"), "baseline", limit=1)
    assert commands(project) == {"files-000": ["Use `ls`."]}


def test_the_same_command_again_asks_nothing(project: Project) -> None:
    with JudgeServer(echoes) as server:
        generate(project, options_for(server, "parser"), NullProgress())
        first = (project.root / "submissions" / "my-model" / "tiny.jsonl").read_bytes()
        again = generate(project, options_for(server, "parser"), NullProgress())
        assert len(server.asked) == TASKS
    assert again.requested == 0
    assert (project.root / "submissions" / "my-model" / "tiny.jsonl").read_bytes() == first


def test_another_recipe_does_not_replace_a_submission(project: Project) -> None:
    made_by(project, echoes, "parser", limit=1)
    with pytest.raises(UsageError, match=r"made in another way.*--replace"):
        made_by(project, echoes, "icl", limit=1)
    made_by(project, echoes, "icl", limit=1, replace=True)


@pytest.mark.parametrize(("methods", "shots"), [(["few-shot"], 5), (["icl"], 25), (["baseline"], 0)])
def test_examples_stand_before_the_question_as_turns(project: Project, methods: list[str], shots: int) -> None:
    with JudgeServer(echoes) as server:
        generate(project, options_for(server, *methods, limit=2), NullProgress())
        for asked in server.asked:
            roles = [message["role"] for message in asked.messages]
            assert roles == ["system", *["user", "assistant"] * shots, "user"]
            assert asked.messages[-1]["content"].startswith("Print the word")


def test_nearest_examples_differ_by_task_and_clusters_do_not(project: Project) -> None:
    def shown(rule: str) -> list[list[str]]:
        with JudgeServer(echoes) as server:
            generate(project, options_for(server, "icl", examples=rule, shots=3, limit=3, replace=True), NullProgress())
            return [[message["content"] for message in asked.messages[1:-1]] for asked in server.asked]

    clusters = shown("clusters")
    assert all(each == clusters[0] for each in clusters)
    assert len({tuple(each) for each in shown("nearest")}) > 1


def test_a_question_has_a_mark_for_the_answer(project: Project) -> None:
    with JudgeServer(echoes) as server:
        generate(project, options_for(server, style="question", limit=1), NullProgress())
        (asked,) = server.asked
    assert asked.messages[-1]["content"].startswith("Question: ")
    assert asked.messages[-1]["content"].endswith("Answer:")


def test_the_parser_asks_once_again_with_the_message_of_bash(project: Project) -> None:
    with JudgeServer(replies("echo fine"), [replies("echo 'broken")]) as server:
        generate(project, options_for(server, "parser", limit=1), NullProgress())
        first, second = server.asked
    assert "matching" in second.messages[-1]["content"]
    assert [dict(message) for message in second.messages[:-2]] == [dict(message) for message in first.messages]
    assert commands(project) == {"files-000": ["echo fine"]}
    line = json.loads((project.root / "submissions" / "my-model" / "tiny.jsonl").read_text())
    assert line["input_tokens"] == 200


def test_a_reply_that_bash_refuses_twice_has_no_candidate(project: Project) -> None:
    with JudgeServer(replies("echo 'broken")) as server:
        generate(project, options_for(server, "parser", limit=1), NullProgress())
        assert len(server.asked) == 2
    assert commands(project) == {"files-000": []}


GRAMMARS = {
    "llama.cpp": "grammar",
    "vllm": "structured_outputs",
    "vllm-guided": "guided_grammar",
    "json-schema": "response_format",
}


@pytest.mark.parametrize(("grammar", "field"), GRAMMARS.items())
def test_a_grammar_is_in_the_field_of_the_server(project: Project, grammar: str, field: str) -> None:
    text = '{"utility": "ls", "arguments": "-la"}' if grammar == "json-schema" else "ls -la"
    with JudgeServer(replies(text)) as server:
        generate(project, options_for(server, "constrained", grammar=grammar, limit=1), NullProgress())
        (asked,) = server.asked
    assert field in asked.body
    assert commands(project) == {"files-000": ["ls -la"]}


def test_a_server_that_ignores_the_grammar_is_an_error(project: Project) -> None:
    made = made_by(project, replies("Sure! `ls -la`"), "constrained", parallel=1)
    assert made.stopped.startswith("the server ignores the grammar: it answered 'Sure! `ls -la`'")
    assert "--grammar" in made.stopped
    assert (made.answered, made.unanswered, made.requested) == (0, TASKS, 1)


def test_a_server_that_refuses_the_grammar_is_an_error(project: Project) -> None:
    made = made_by(project, refuses(400, message="unknown field grammar"), "constrained", parallel=1)
    assert made.stopped.startswith("the server refuses the grammar: ")


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (401, "bad key", "is MY_KEY right?"),
        (404, "no such model", "no such model"),
        (429, "slow down", "does not answer"),
    ],
)
def test_a_server_that_refuses_everything_ends_the_run(
    project: Project, status: int, message: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluator.model_server.client.LONGEST_PAUSE_S", 0.001)
    made = made_by(project, refuses(status, message=message), parallel=1)
    assert expected in made.stopped
    assert made.answered == 0
    assert "key" not in made.stopped.replace("MY_KEY", "").replace("bad key", "")


@pytest.mark.parametrize("key", [None, "", " \n"])
def test_no_key_is_an_error_before_any_request(project: Project, key: str | None) -> None:
    with JudgeServer(echoes) as server:
        with pytest.raises(UsageError, match="no key: set MY_KEY"):
            generate(project, options_for(server, key=key), NullProgress())
        assert server.asked == []


def test_a_line_end_after_the_key_is_not_sent(project: Project) -> None:
    with JudgeServer(echoes) as server:
        generate(project, options_for(server, key="secret\n", limit=1), NullProgress())
        assert server.asked[0].headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize("key", ["a-secret\nof-two-lines", "a-secret-with-ä"])
def test_a_key_that_fits_in_no_header_is_not_shown(project: Project, key: str) -> None:
    with JudgeServer(echoes) as server:
        made = generate(project, options_for(server, key=key, parallel=1), NullProgress())
        assert server.asked == []
    assert made.stopped == "MY_KEY: expected a key of ASCII characters, without spaces"


def test_a_run_without_an_answer_changes_no_file(project: Project) -> None:
    made_by(project, echoes, "parser")
    folder = project.root / "submissions" / "my-model"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (project.root / ".bashboard" / "generate" / "my-model.jsonl").unlink()
    made = made_by(project, refuses(401), "parser", replace=True)
    assert (made.answered, made.files) == (0, ())
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_wrong_author_is_an_error_before_any_request(project: Project) -> None:
    with JudgeServer(echoes) as server:
        with pytest.raises(UsageError, match="--system or --author: name: "):
            generate(project, replace(options_for(server), author="x" * 201), NullProgress())
        assert server.asked == []


@pytest.mark.parametrize("base_url", ["http://host:99999/v1", "http://host:0/v1", "http://[::1/v1", "host/v1"])
def test_a_wrong_address_is_an_error(base_url: str) -> None:
    with pytest.raises(UsageError, match=r"--base-url .*host|--base-url .*::1"):
        endpoint_of(base_url, "a-model", key_variable="MY_KEY")


@pytest.mark.parametrize("rule", ["nearest", "clusters"])
def test_vectors_of_the_server_choose_the_examples(project: Project, rule: str) -> None:
    """The server gives the vectors first and then answers, and both are kept."""
    with JudgeServer(echoes) as server:
        options = options_for(server, "icl", shots=3, limit=2, examples=rule, embeddings="vectors")
        endpoint = endpoint_of(server.url, "a-model", key_variable="MY_KEY", embeddings="vectors")
        options = replace(options, endpoint=endpoint)
        made = generate(project, options, NullProgress())
        requests = len(server.asked)
        generate(project, options, NullProgress())
        assert len(server.asked) == requests
    assert (made.answered, made.stopped) == (2, "")
    assert [len(asked.messages) for asked in server.asked if asked.path.endswith("/chat/completions")] == [8, 8]


def test_a_dry_run_counts_the_second_question_of_the_parser(project: Project) -> None:
    with JudgeServer(echoes) as server:
        assert "at most 40 requests" in dry_run_of(project, options_for(server, "baseline")).summary
        assert "at most 80 requests" in dry_run_of(project, options_for(server, "parser")).summary
        assert server.asked == []


def test_a_refused_task_stays_unanswered_and_the_others_go_on(project: Project) -> None:
    made = made_by(project, echoes, "parser", script=[refuses(422, message="content filter")], parallel=1)
    assert (made.answered, made.unanswered) == (TASKS - 1, 1)
    assert "content filter" in made.refused["files-000"]


@pytest.mark.parametrize(
    "act",
    [
        replies(None),
        replies("x" * 1_000_000),
        replies("echo a\0b"),
        replies("echo a\ud800b"),
        sends(b'{"choices": []}'),
        sends(b'{"choices": [{"message": {"content": "ls"', sent=20),
    ],
)
def test_a_strange_reply_loses_no_other_answer(project: Project, act: Act, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.model_server.client.LONGEST_PAUSE_S", 0.001)
    made = made_by(project, echoes, "parser", script=[echoes, act], parallel=1)
    assert made.answered >= TASKS - 1
    assert commands(project)["files-007"] == ["echo 7 123"]
    assert all("\0" not in command for each in commands(project).values() for command in each)


def test_the_limit_of_cost_keeps_what_is_paid(project: Project) -> None:
    prices: dict[str, Any] = {"input_usd": 1000.0, "output_usd": 1000.0, "reply_tokens": 16}
    with JudgeServer(echoes) as server:
        made = generate(project, options_for(server, "parser", max_usd=2.0, parallel=1, **prices), NullProgress())
        paid = len(server.asked)
        assert 0 < made.answered == paid < TASKS
        assert "--max-usd" in made.stopped
        generate(project, options_for(server, "parser", **prices), NullProgress())
        assert len(server.asked) == TASKS


def test_a_limit_of_cost_without_prices_is_an_error(project: Project) -> None:
    with JudgeServer(echoes) as server:
        with pytest.raises(UsageError, match="--max-usd: the price of a-model is unknown: add --input-usd"):
            generate(project, options_for(server, max_usd=2.0), NullProgress())
        assert server.asked == []


def test_runs_have_seeds_of_their_own(project: Project) -> None:
    with JudgeServer(echoes) as server:
        for run in (1, 2, 3):
            generate(project, options_for(server, "parser", run=run, runs=3, limit=1, replace=True), NullProgress())
        assert [asked.body["seed"] for asked in server.asked] == [123, 124, 125]


@pytest.mark.parametrize(
    ("methods", "options", "message"),
    [
        (["baseline", "parser"], {}, "baseline means"),
        (["few-shot", "icl"], {}, "one of few-shot and icl"),
        ([], {"shots": 3}, "--shots belongs to the method few-shot or icl"),
        (["parser"], {"samples": 3}, "--samples belongs to the method self-consistency"),
        (["self-consistency"], {"temperature": 0.0}, "--temperature 0"),
        (["wrong"], {}, "--method wrong: expected one of baseline"),
        (["parser"], {"run": 3, "runs": 2}, "at most 2"),
        (["parser"], {"omit": ["temperature"], "temperature": 0.0}, "--omit temperature contradicts --temperature 0"),
        (["parser"], {"omit": ["top_p"]}, "--omit top_p: expected one of temperature, seed"),
        (["parser"], {"omit": ["seed"], "seed": 123}, "--omit seed contradicts --seed 123"),
    ],
)
def test_options_that_do_not_fit_are_refused(methods: list[str], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        recipe_of("a-model", methods, **options)


@pytest.mark.parametrize("option", ["--max-usd", "--input-usd", "--output-usd", "--temperature", "--top-p"])
@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_a_number_that_is_not_finite_is_refused_by_its_option(project: Project, option: str, number: str) -> None:
    with JudgeServer(echoes) as server:
        place = ["--suite", "tiny", "--base-url", server.url, "--key-env", "MY_KEY"]
        prices = ["--input-usd", "1", "--output-usd", "1"]
        done = bashboard(project, "generate", "my-model", "--model", "a-model", *place, *prices, option, number)
        assert server.asked == []
    assert done.exit_code == 2
    assert f"invalid value for '{option}'" in done.stderr
