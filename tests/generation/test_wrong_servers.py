"""`bashboard generate` against servers that answer with an error inside, count wrongly, refuse, or are none at all."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from evaluator.errors import UsageError
from evaluator.pipeline.generation.generate_submission import generate
from evaluator.pipeline.generation.recipe import endpoint_of
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.records import SubmissionManifest
from evaluator.reply_forms import Unanswered
from tests.doubles.model_server import Act, JudgeServer, ReceivedRequest, Said, completion, refuses, replies, sends
from tests.generation.generation_harness import TASKS, bashboard, commands, echoes, made_by, options_for

ADDRESS: Final = "is the address complete? it usually ends with /v1"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait only a moment between attempts."""
    monkeypatch.setattr("evaluator.model_server.client.LONGEST_PAUSE_S", 0.001)


def inside(error: object, **fields: Any) -> Act:
    """Answer with status 200 and an error, as gateways do."""
    return sends(json.dumps({"choices": None, "error": error, **fields}).encode())


def message(**fields: Any) -> Act:
    """Answer with a message that has these fields."""
    finish = fields.pop("finish_reason", "stop")
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **fields}}
    usage = {"prompt_tokens": 7, "completion_tokens": 1024}
    return sends(json.dumps({"choices": [choice], "usage": usage}).encode())


# -- an error inside of a response with status 200


@pytest.mark.parametrize(
    "error",
    [
        {"message": "slow down", "code": 429},
        {"message": "slow down", "code": "429"},
        {"message": "slow down", "code": "rate_limit_exceeded"},
        {"message": "overloaded", "type": "overloaded_error"},
        {"message": "upstream", "code": 502, "metadata": {"raw": "no worker"}},
        "the model crashed",
    ],
)
def test_an_error_inside_that_may_pass_is_asked_again(project: Project, error: object) -> None:
    with JudgeServer(echoes, script=[echoes, inside(error)]) as server:
        made = generate(project, options_for(server, parallel=1, limit=2), NullProgress())
        assert len(server.asked) == 3
    assert (made.answered, made.stopped) == (2, "")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            {"message": "Insufficient credits. Add more.", "code": 402},
            "it answers 402: 'Insufficient credits. Add more.'",
        ),
        ({"message": "No auth credentials found", "code": 401}, "is MY_KEY right?"),
        ({"message": "quota", "code": "insufficient_quota"}, "'quota'"),
        ({"message": "no such model", "code": 404}, ADDRESS),
    ],
)
def test_a_fatal_error_inside_ends_the_run_after_one_request(project: Project, error: object, words: str) -> None:
    with JudgeServer(inside(error)) as server:
        made = generate(project, options_for(server, parallel=1), NullProgress())
        assert len(server.asked) == 1
    assert words in made.stopped


@pytest.mark.parametrize(
    "act",
    [
        inside({"message": "flagged by safety", "code": 403}),
        inside(None, object="error", message="content filter", code=400),
        sends(b'{"choices": [{"error": {"message": "moderation", "code": 400}, "finish_reason": "error"}]}'),
    ],
)
def test_a_refusal_inside_costs_one_task(project: Project, act: Act) -> None:
    made = made_by(project, echoes, script=[echoes, act], parallel=1, limit=3)
    assert (made.answered, made.unanswered, made.stopped) == (2, 1, "")
    assert "files-001" in made.refused


def test_a_long_pause_that_comes_with_an_error_inside_ends_the_run(project: Project) -> None:
    pause = sends(b'{"error": {"message": "busy", "code": 429}}', headers={"Retry-After": "200"})
    with JudgeServer(echoes, script=[pause]) as server:
        made = generate(project, options_for(server, parallel=1), NullProgress())
        assert len(server.asked) == 1
    assert made.stopped.endswith("asks to come back in 200 s")


# -- numbers of tokens that are none


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": -1, "completion_tokens": -1},
        "none",
    ],
)
def test_a_reply_without_a_count_is_kept(project: Project, usage: object) -> None:
    choices = [{"message": {"content": "ls"}, "finish_reason": "stop"}]
    with JudgeServer(sends(json.dumps({"choices": choices, "usage": usage}).encode())) as server:
        made = generate(project, options_for(server, limit=2), NullProgress())
        assert len(server.asked) == 2
    assert (made.answered, made.stopped) == (2, "")
    lines = (project.root / "submissions" / "my-model" / "tiny.jsonl").read_text().splitlines()
    assert all("input_tokens" not in json.loads(line) for line in lines)


# -- replies without an answer


NO_ANSWERS: dict[str, tuple[Act, Unanswered]] = {
    "a refusal": (message(content=None, refusal="I can't help with that."), Unanswered.REFUSED),
    "a filter": (message(content="ls", finish_reason="content_filter"), Unanswered.BLOCKED),
    "half a command": (message(content="find . -na", finish_reason="length"), Unanswered.CUT_OFF),
    "half a block": (message(content="```bash\nfind . -na", finish_reason="length"), Unanswered.CUT_OFF),
    "a call": (message(content=None, tool_calls=[{"id": "1"}], finish_reason="tool_calls"), Unanswered.TOOL_CALL),
    "reasoning": (message(content=None, reasoning_content="hm"), Unanswered.REASONING),
    "reasoning in the text": (message(content="<think>I could use `ls`"), Unanswered.REASONING),
    "nothing": (message(content=""), Unanswered.EMPTY),
    "half a character": (message(content="echo \ud83d"), Unanswered.BROKEN),
}


@pytest.mark.parametrize("method", ["parser", "baseline"])
@pytest.mark.parametrize("name", NO_ANSWERS)
def test_a_reply_without_an_answer_is_counted_by_its_reason(project: Project, name: str, method: str) -> None:
    act, reason = NO_ANSWERS[name]
    script = [act, act] if name == "nothing" and method == "parser" else [act]  # the parser asks again
    made = made_by(project, echoes, method, script=script, parallel=1, limit=2)
    assert (made.answered, made.unanswered, made.stopped) == (1, 1, "")
    assert made.no_answer == {"files-000": reason}
    assert commands(project)["files-000"] == []


def test_a_closed_block_before_the_limit_is_an_answer(project: Project) -> None:
    made = made_by(project, message(content="```bash\nls\n```\nThis li", finish_reason="length"), limit=1)
    assert made.answered == 1
    assert commands(project) == {"files-000": ["ls"]}


def test_the_reasons_are_the_same_from_the_log(project: Project) -> None:
    with JudgeServer(message(content=None, refusal="no")) as server:
        first = generate(project, options_for(server, limit=3), NullProgress())
        again = generate(project, options_for(server, limit=3), NullProgress())
        assert len(server.asked) == 3
    assert again.no_answer == first.no_answer == {f"files-00{n}": Unanswered.REFUSED for n in range(3)}


def run(project: Project, server: JudgeServer, *options: str) -> tuple[int, str]:
    arguments = ["--model", "a-model", "--suite", "tiny", "--base-url", server.url, "--key-env", "MY_KEY", *options]
    done = bashboard(project, "generate", "my-model", *arguments)
    return done.exit_code, done.output


def test_the_command_names_reasons_and_options(project: Project) -> None:
    script = [act for act, _ in NO_ANSWERS.values()]
    with JudgeServer(replies("ls"), script) as server:
        status, output = run(project, server, "--method", "baseline", "--parallel", "1", "--limit", "12")
    assert status == 1
    assert (
        "2 tasks unanswered, cut off at the limit of tokens: files-002, files-003; raise the limit (--reply-t" in output
    )
    assert "2 tasks unanswered, reasoning without an answer" in output
    assert "1 task unanswered, refused by the model: files-000\n" in output


def test_fenced_replies_are_read_by_default_and_named_by_the_baseline(project: Project) -> None:
    with JudgeServer(replies("Here it is:\n```bash\nls -la\n```\n")) as server:
        assert run(project, server, "--limit", "2")[0] == 0
        assert commands(project) == {"files-000": ["ls -la"], "files-001": ["ls -la"]}
        status, output = run(project, server, "--limit", "2", "--method", "baseline", "--replace")
    assert "2 commands of 2 with a fenced block, which bash would execute as it stands: add --method parser" in output
    manifest = tomllib.loads((project.root / "submissions" / "my-model" / "submission.toml").read_text())
    assert (status, manifest["generation"]["methods"]) == (0, ["baseline"])


def thinks(asked: ReceivedRequest) -> Said:
    """Spend all tokens on reasoning, unless the request asks for less of it."""
    if asked.body.get("reasoning_effort") == "low":
        return completion("ls")
    return message(content=None, reasoning_content="hm" * 500, finish_reason="length")(asked)


@pytest.mark.parametrize("parallel", [1, 4])
def test_ten_replies_of_reasoning_alone_end_the_run(project: Project, parallel: int) -> None:
    with JudgeServer(thinks) as server:
        status, output = run(project, server, "--parallel", str(parallel))
        assert 10 <= len(server.asked) < 10 + parallel
        assert status == 1
        assert "ended before their answer, at 1,024 tokens: raise --reply-tokens, or add --reasoning-effort" in output
        assert not (project.root / "submissions" / "my-model").exists()
        assert run(project, server, "--reasoning-effort", "low", "--reply-tokens", "2048")[0] == 0
    text = (project.root / "submissions" / "my-model" / "submission.toml").read_text()
    manifest = tomllib.loads(text)
    assert manifest["format"] == 4
    decoding = manifest["generation"]["decoding"]
    assert (decoding["reasoning_effort"], decoding["reply_tokens"]) == ("low", 2048)


def test_ten_replies_that_are_cut_off_end_the_run(project: Project) -> None:
    """A server without a parser of reasoning sends it as a text, often without its opening mark."""
    made = made_by(project, message(content="Okay, the user wants", finish_reason="length"), parallel=1)
    assert (made.requested, len(made.no_answer)) == (10, 10)
    assert made.stopped.startswith("10 replies in a row ended before their answer")


def test_a_command_that_bash_cannot_read_twice_is_no_answer(project: Project) -> None:
    made = made_by(project, echoes, script=[replies("I can't")] * 2, parallel=1, limit=2)
    assert (made.answered, made.unanswered) == (1, 1)
    assert made.no_answer == {"files-000": Unanswered.UNREADABLE}


def test_an_answer_between_them_lets_the_run_go_on(project: Project) -> None:
    script: list[Act] = [*[thinks] * 9, echoes] * 3
    made = made_by(project, echoes, script=script, parallel=1)
    assert (made.answered, made.unanswered, made.stopped) == (TASKS - 27, 27, "")


def test_the_effort_needs_format_4() -> None:
    values = {
        "system": "A",
        "authors": [{"name": "B"}],
        "open_weights": True,
        "method": "prompted",
        "suites": {"tiny": "1.0.0"},
        "generation": {
            "base_model": "m",
            "methods": ["parser"],
            "prompt": "imperative",
            "decoding": {"reasoning_effort": "low"},
        },
    }
    read: Callable[[int], SubmissionManifest] = lambda number: SubmissionManifest.model_validate_json(  # noqa: E731
        json.dumps({**values, "format": number})
    )
    assert read(4).format == 4
    with pytest.raises(ValueError, match="reasoning_effort: expected format = 4, found 3"):
        read(3)


def test_a_refused_effort_names_its_option(project: Project) -> None:
    made = made_by(project, refuses(400, message="Unknown parameter: reasoning_effort"), reasoning_effort="low")
    assert "choose another value with --reasoning-effort" in made.stopped


# -- no model server at the address


@pytest.mark.parametrize(
    "act",
    [
        sends(b"<!DOCTYPE html><html>Welcome</html>", headers={"Content-Type": "text/html"}),
        sends(b"{}"),
        sends(b""),
        sends(b"ok"),
        sends(b'{"choices": []}'),
        sends(b'{"models": ["a"]}'),
        inside("Unexpected endpoint or method. (POST /chat/completions)"),
        refuses(404, message="Not Found"),
        refuses(405, message="Method Not Allowed"),
    ],
)
def test_an_answer_without_a_completion_ends_the_first_request(project: Project, act: Act) -> None:
    with JudgeServer(act) as server:
        made = generate(project, options_for(server, parallel=1), NullProgress())
        assert len(server.asked) == 1
    assert made.stopped.endswith(ADDRESS)


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:9/v1", "http://no-such-host.invalid/v1"])
def test_no_server_ends_the_first_request(project: Project, base_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[int] = []

    def no_pause(_: object, attempt: int) -> float:
        attempts.append(attempt)
        return 0.0

    monkeypatch.setattr("evaluator.model_server.client.ModelClient._backoff", no_pause)
    with JudgeServer(echoes) as server:
        options = options_for(server)
    endpoint = endpoint_of(base_url, "a-model", key_variable="MY_KEY", parallel=1)
    made = generate(project, replace(options, endpoint=endpoint), NullProgress())
    assert made.stopped.endswith(ADDRESS)
    assert attempts == [0]


def test_after_a_reply_the_same_answers_are_asked_again(project: Project) -> None:
    made = made_by(project, echoes, script=[echoes, sends(b"<html>busy</html>"), sends(b"{}")], parallel=1, limit=3)
    assert (made.answered, made.stopped) == (3, "")


def test_a_wrong_model_is_told_with_the_names_of_the_server(project: Project) -> None:
    missing = refuses(404, message="The model `a-model` does not exist")
    with JudgeServer(missing, models=["stub-1", "stub-2"]) as server:
        made = generate(project, options_for(server, parallel=1), NullProgress())
    assert made.stopped.endswith("; is --model right? GET /models lists: 'stub-1', 'stub-2'")


def test_the_end_of_a_refusal_of_the_key_is_shown(project: Project) -> None:
    words = "Incorrect API key provided: abc. " + "x" * 200 + " You can find your key at https://example.com/keys."
    made = made_by(project, refuses(401, message=words), parallel=1)
    assert words in made.stopped


def test_an_address_without_a_scheme_is_told_in_plain_words() -> None:
    with pytest.raises(UsageError) as caught:
        endpoint_of("localhost:8080/v1", "m", key_variable="K")
    assert str(caught.value).startswith("--base-url localhost:8080/v1: expected http(s)://host/path")
