"""`bashboard generate` against servers that know other fields, and grammars whose reply is cut off or refused."""

from __future__ import annotations

import gzip
import json
import tomllib
from typing import Any

import pytest

from evaluator.generation.grammar import GrammarField, command_of, is_beginning, keeps_grammar
from evaluator.model_server.model_connection import MAX_RESPONSE
from evaluator.pipeline.generation.generate_submission import generate
from evaluator.pipeline.generation.recipe import OMITTABLE
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.reply_forms import Unanswered
from tests.doubles.model_server import Act, JudgeServer, ReceivedRequest, Said, refuses, replies, sends
from tests.generation.generation_harness import (
    TASKS,
    RecordedProgress,
    bashboard,
    commands,
    echoes,
    made_by,
    options_for,
)

NO_MAX_TOKENS = refuses(
    400,
    message="Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead.",
    code="unsupported_parameter",
)
BROKEN_JSON = refuses(500, message="The model produced output that does not match the expected peg-native format")
NAMES = ["ls", "ssh-keygen", "[", "!", "7z"]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait only a moment between attempts."""
    monkeypatch.setattr("evaluator.model_server.client.LONGEST_PAUSE_S", 0.001)


def of_new_models(brain: Act) -> Act:
    """Refuse `max_tokens`, as the reasoning models of OpenAI do. `brain` answers other requests."""
    return lambda asked: (NO_MAX_TOKENS if "max_tokens" in asked.body else brain)(asked)


@pytest.mark.parametrize("methods", [["baseline"], ["parser"]])
def test_without_counts_of_the_server_the_answers_have_no_tokens(project: Project, methods: list[str]) -> None:
    """An absent count is not zero tokens. The limit of cost counts the longest reply instead."""
    told = RecordedProgress()
    prices: dict[str, Any] = {"input_usd": 0.0, "output_usd": 1000.0}
    with JudgeServer(replies("ls", usage=False)) as server:
        made = generate(project, options_for(server, *methods, parallel=1, max_usd=3.5, **prices), told)
        assert len(server.asked) == 3
    assert "--max-usd" in made.stopped
    lines = (project.root / "submissions" / "my-model" / "tiny.jsonl").read_text().splitlines()
    assert len(lines) == 3
    for line in map(json.loads, lines):
        assert "input_tokens" not in line
        assert "output_tokens" not in line
    assert any("did not count the tokens of 3 tasks" in text for text in told.said)


def test_one_uncounted_reply_takes_the_tokens_of_its_task_alone(project: Project) -> None:
    """The parser asks again, and only the second reply of the first task is counted."""
    script = [replies("echo 'broken", usage=False)]
    made_by(project, echoes, "parser", script=script, parallel=1, limit=2)
    lines = (project.root / "submissions" / "my-model" / "tiny.jsonl").read_text().splitlines()
    assert ["output_tokens" in json.loads(line) for line in lines] == [False, True]


def cut_off(text: str) -> Act:
    """Answer with a reply that reached the limit of its tokens."""

    def act(asked: ReceivedRequest) -> Said:
        said = replies(text)(asked)
        body = json.loads(said.body)
        body["choices"][0]["finish_reason"] = "length"
        return said._replace(body=json.dumps(body).encode())

    return act


@pytest.mark.parametrize("methods", [["baseline"], ["constrained"]])
def test_the_other_field_for_the_limit_of_tokens_is_found_once(project: Project, methods: list[str]) -> None:
    with JudgeServer(of_new_models(replies("ls"))) as server:
        made = generate(project, options_for(server, *methods, parallel=1), NullProgress())
        fields = [asked.body.keys() & {"max_tokens", "max_completion_tokens"} for asked in server.asked]
        limits = {asked.body.get("max_completion_tokens") for asked in server.asked[1:]}
    assert (made.answered, made.stopped) == (TASKS, "")
    assert fields == [{"max_tokens"}, *[{"max_completion_tokens"}] * TASKS]
    assert limits == {1024}


def test_parallel_requests_all_learn_the_other_field(project: Project) -> None:
    with JudgeServer(of_new_models(echoes)) as server:
        made = generate(project, options_for(server, parallel=8), NullProgress())
        refused = sum("max_tokens" in asked.body for asked in server.asked)
    assert made.answered == TASKS
    assert 1 <= refused <= 8


def error(status: int, body: dict[str, Any]) -> Act:
    return lambda _: Said(status, json.dumps(body).encode())


NO_ZERO = "Unsupported value: 'temperature' does not support 0 with this model."
EXTRA = {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": 123}
PARAMETERS: dict[str, tuple[Act, list[str], str, str]] = {
    "in the message": (refuses(400, message=NO_ZERO), [], "temperature", "--temperature"),
    "in the field param": (
        error(400, {"error": {"message": "no", "param": "temperature"}}),
        ["constrained"],
        "temperature",
        "--temperature",
    ),
    "in a body without a message": (error(422, {"detail": [EXTRA]}), [], "seed", "--seed"),
    "as a text": (refuses(400, message="max_tokens must be at most 512"), [], "max_tokens", "--reply-tokens"),
}


@pytest.mark.parametrize(("act", "methods", "parameter", "option"), PARAMETERS.values(), ids=PARAMETERS)
def test_a_refused_parameter_ends_the_run_at_the_first_answer(
    project: Project, act: Act, methods: list[str], parameter: str, option: str
) -> None:
    with JudgeServer(act) as server:
        made = generate(project, options_for(server, *methods, parallel=1), NullProgress())
        assert len(server.asked) == 1
    assert made.stopped.startswith(f"the server refuses the parameter {parameter}: a-model: it answers 4")
    omission = f", or leave it out with --omit {parameter}" if parameter in OMITTABLE else ""
    assert made.stopped.endswith(f"; choose another value with {option}{omission}")
    assert "\n" not in made.stopped
    assert (made.answered, made.files) == (0, ())


def test_the_command_names_the_option_in_one_line(project: Project) -> None:
    with JudgeServer(refuses(400, message=NO_ZERO)) as server:
        arguments = ["--model", "a-model", "--suite", "tiny", "--base-url", server.url, "--key-env", "MY_KEY"]
        done = bashboard(project, "generate", "my-model", *arguments, "--parallel", "4")
    assert done.exit_code == 1
    assert [line for line in done.output.splitlines() if "temperature" in line] == [done.output.splitlines()[-1]]
    assert done.output.endswith("; choose another value with --temperature, or leave it out with --omit temperature\n")
    assert not (project.root / "submissions" / "my-model").exists()


def refuses_fields(*names: str) -> Act:
    """Refuse requests with one of these fields, whatever its value. `echoes` answers the others."""
    refusal = refuses(400, message=f"Unsupported parameter: {names[0]}")
    return lambda asked: (refusal if asked.body.keys() & set(names) else echoes)(asked)


@pytest.mark.parametrize("omitted", [["temperature"], ["seed"], ["seed", "temperature"]], ids=" ".join)
def test_an_omitted_parameter_is_in_no_request_and_not_in_the_manifest(project: Project, omitted: list[str]) -> None:
    with JudgeServer(refuses_fields(*omitted)) as server:
        arguments = ["--model", "a-model", "--suite", "tiny", "--base-url", server.url, "--key-env", "MY_KEY"]
        arguments += [part for name in omitted for part in ("--omit", name)]
        for _ in range(2):
            done = bashboard(project, "generate", "my-model", *arguments)
            assert (done.exit_code, len(server.asked)) == (0, TASKS)
    manifest = tomllib.loads((project.root / "submissions" / "my-model" / "submission.toml").read_text())
    usual = {"temperature": 0.0, "seed": 123, "reply_tokens": 1024}
    assert manifest["generation"]["decoding"] == {name: usual[name] for name in usual if name not in omitted}


def test_a_refusal_after_an_answer_is_the_refusal_of_one_task(project: Project) -> None:
    made = made_by(project, echoes, script=[echoes, refuses(400, message=NO_ZERO)], parallel=1)
    assert (made.answered, made.unanswered, made.stopped) == (TASKS - 1, 1, "")


def test_a_wrong_model_that_is_told_with_status_400_ends_the_run(project: Project) -> None:
    with JudgeServer(refuses(400, message="a-model is not a valid model ID")) as server:
        made = generate(project, options_for(server, parallel=1), NullProgress())
        assert len(server.asked) == 3
    assert made.stopped.startswith("the server gives no answer to the first 3 tasks: a-model: it answers 400: 'a-m")


def test_a_server_that_refuses_both_fields_is_not_asked_for_ever(project: Project) -> None:
    with JudgeServer(NO_MAX_TOKENS) as server:
        made = generate(project, options_for(server, parallel=1, limit=2), NullProgress())
        assert len(server.asked) == 2
    assert made.unanswered == 2
    assert "Unsupported parameter" in made.stopped


def test_a_reply_that_breaks_its_schema_costs_one_task(project: Project) -> None:
    """The same reply would follow again, so the second equal error of the server is the last one for this task."""
    answer = replies('{"utility": "ls", "arguments": ""}')
    with JudgeServer(answer, [BROKEN_JSON, BROKEN_JSON]) as server:
        made = generate(project, options_for(server, "constrained", grammar="json-schema", parallel=1), NullProgress())
        assert len(server.asked) == TASKS + 1
    assert (made.answered, made.unanswered, made.stopped) == (TASKS - 1, 1, "")
    assert "peg-native" in made.refused["files-000"]


def test_a_server_that_breaks_at_every_schema_ends_the_run(project: Project) -> None:
    with JudgeServer(BROKEN_JSON) as server:
        made = generate(project, options_for(server, "constrained", grammar="json-schema", parallel=1), NullProgress())
        assert len(server.asked) == 6
    assert made.stopped.startswith("the server refuses the grammar: it answers 500")
    assert "--grammar" in made.stopped


@pytest.mark.parametrize(
    "message",
    [
        "request (3716 tokens) exceeds the available context size (2048 tokens), try increasing it",
        "This model's maximum context length is 512 tokens. However, your messages resulted in 900 tokens.",
    ],
)
def test_a_prompt_that_is_too_long_is_no_refusal_of_the_grammar(project: Project, message: str) -> None:
    made = made_by(project, replies("ls"), "constrained", script=[refuses(400, message=message)], parallel=1)
    assert (made.answered, made.stopped) == (TASKS - 1, "")
    assert "it answers 400" in made.refused["files-000"]


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        ("json-schema", '{"utility": "find", "arguments": ". -name '),
        ("json-schema", ""),
        ("llama.cpp", "ssh-key"),
    ],
)
def test_a_reply_that_is_cut_off_has_no_command_and_the_run_goes_on(project: Project, grammar: str, text: str) -> None:
    answer = replies("ls" if grammar == "llama.cpp" else '{"utility": "ls", "arguments": ""}')
    made = made_by(project, answer, "constrained", script=[cut_off(text)], grammar=grammar, limit=2, parallel=1)
    assert (made.answered, made.stopped) == (1, "")
    assert made.no_answer == {"files-000": Unanswered.CUT_OFF if text else Unanswered.REASONING}
    assert commands(project) == {"files-000": [], "files-001": ["ls"]}


@pytest.mark.parametrize(
    ("methods", "grammar", "text"),
    [
        (["constrained"], "llama.cpp", "ls a\0b"),
        (["constrained"], "json-schema", '{"utility": "ls", "arguments": "a\\u0000b"}'),
        (["constrained"], "json-schema", '{"utility": "ls", "arguments": "\\ud800"}'),
    ],
)
def test_a_command_that_bash_cannot_read_is_no_candidate(
    project: Project, methods: list[str], grammar: str | None, text: str
) -> None:
    made_by(project, replies(text), *methods, grammar=grammar, limit=1)
    assert commands(project) == {"files-000": []}


def test_a_command_is_cut_to_the_bytes_that_a_submission_may_hold(project: Project) -> None:
    made_by(project, replies("ls " + "ä" * 20_000), limit=1)
    ((command,),) = commands(project).values()
    assert command.startswith("ls ää")
    assert 16_380 < len(command.encode()) <= 16_384


def test_the_limit_of_a_command_is_that_of_the_checkout(project: Project) -> None:
    with (project.root / "pyproject.toml").open("a") as settings:
        settings.write("\n[tool.bashboard.limits]\ncommand_bytes = 100\n")
    made_by(Project.find(project.root), replies("ls " + "a" * 20_000), limit=1)
    ((command,),) = commands(project).values()
    assert len(command) == 100


@pytest.mark.parametrize("text", ["Sure, here is", "<h1>"])
def test_prose_that_is_cut_off_still_ignores_the_grammar(project: Project, text: str) -> None:
    made = made_by(project, cut_off(text), "constrained", grammar="json-schema", parallel=1)
    assert made.stopped.startswith("the server ignores the grammar")


JSON_REPLIES: list[tuple[Any, str | None]] = [
    ({"utility": "ls", "arguments": "-la"}, "ls -la"),
    ({"utility": "ls", "arguments": ""}, "ls"),
    ({"utility": "ls", "arguments": " -la"}, "ls -la"),
    ({"utility": "ls", "arguments": "| wc -l"}, "ls| wc -l"),
    ({"utility": "ls", "arguments": "\necho 'a b'"}, "ls\necho 'a b'"),
    ({"utility": "ls"}, None),
    ({"utility": 1, "arguments": ""}, None),
    (["ls"], None),
    ("ls", None),
]


@pytest.mark.parametrize(("value", "command"), JSON_REPLIES)
def test_the_two_fields_of_a_reply_make_one_command(value: Any, command: str | None) -> None:
    assert command_of(GrammarField.JSON_SCHEMA, json.dumps(value)) == command


@pytest.mark.parametrize(
    ("command", "keeps"),
    [
        ("ls", True),
        ("ls -la", True),
        ("ls|wc", True),
        ("[ -f a ] && ls", True),
        ("! ls", True),
        ("7z x a.7z", True),
        ("lsx", False),
        ("ls>a", False),
        ("", False),
        (None, False),
        (" ls", False),
        ("rm a", False),
    ],
)
def test_a_command_keeps_the_grammar_if_its_first_word_is_a_name(command: str | None, keeps: bool) -> None:
    assert keeps_grammar(command, NAMES) is keeps


@pytest.mark.parametrize(
    ("field", "text", "expected"),
    [
        (GrammarField.LLAMA_CPP, "ssh-k", True),
        (GrammarField.LLAMA_CPP, "", True),
        (GrammarField.LLAMA_CPP, "ssh-x", False),
        (GrammarField.JSON_SCHEMA, ' {"uti', True),
        (GrammarField.JSON_SCHEMA, "uti", False),
    ],
)
def test_a_reply_that_is_cut_off_begins_an_allowed_one(field: GrammarField, text: str, expected: bool) -> None:
    assert is_beginning(field, text, NAMES) is expected


def content(value: Any) -> Act:
    """Answer with a message whose content is this JSON value."""
    return sends(json.dumps({"choices": [{"message": {"content": value}}]}).encode())


@pytest.mark.parametrize(
    ("value", "command"),
    [
        ([{"type": "text", "text": "ls"}, {"type": "text", "text": " -la"}], "ls -la"),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "ls"}], "ls"),
        ([{"type": "reasoning", "text": "hm"}, {"text": "ls"}, {"type": "image_url", "text": None}], "ls"),
        ([], None),
    ],
)
def test_the_text_parts_of_a_reply_are_joined(project: Project, value: Any, command: str | None) -> None:
    made = made_by(project, content(value), limit=1)
    assert made.answered == (command is not None)
    assert made.no_answer == ({} if command else {"files-000": Unanswered.EMPTY})
    assert commands(project) == {"files-000": [command] if command else []}


def test_a_reply_above_the_limit_of_size_is_refused_once_and_the_run_goes_on(project: Project) -> None:
    script = [echoes, replies("x" * MAX_RESPONSE), echoes]
    with JudgeServer(echoes, script) as server:
        made = generate(project, options_for(server, parallel=1), NullProgress())
        assert len(server.asked) == TASKS
    assert (made.answered, made.unanswered, made.stopped) == (TASKS - 1, 1, "")
    assert made.refused == {"files-001": "the server's reply is longer than 1,000,000 bytes"}


def test_an_error_above_the_limit_of_size_is_not_read_to_its_end(project: Project) -> None:
    made = made_by(project, refuses(500, message="x" * MAX_RESPONSE), limit=1)
    assert made.refused == {"files-000": "the server's reply is longer than 1,000,000 bytes"}


def test_a_compressed_reply_is_neither_requested_nor_read(project: Project) -> None:
    """A body of 20 kB can become 20 MB."""
    bomb = sends(gzip.compress(b" " * 20_000_000), headers={"Content-Encoding": "gzip"})
    with JudgeServer(bomb) as server:
        made = generate(project, options_for(server, limit=1), NullProgress())
        assert [asked.headers["accept-encoding"] for asked in server.asked] == ["identity"]
    assert made.refused == {"files-000": "the server compressed its reply, although the request forbids it"}


MODERATED: dict[str, Act] = {
    "OpenRouter": refuses(403, message="a-model requires moderation and your input was flagged for violence"),
    "Azure": refuses(400, message="The prompt triggered the content management policy", code="content_filter"),
    "OpenAI": refuses(400, message="Your request was rejected by our safety system: the seed is harmful"),
    "a firewall": refuses(403, message="Forbidden"),
}


def refuses_first(count: int, act: Act) -> Act:
    """Refuse the first tasks whenever they are asked about. `echoes` answers the others."""
    refused = {f"Print the word number {number}." for number in range(count)}
    return lambda asked: (act if asked.messages[-1]["content"] in refused else echoes)(asked)


@pytest.mark.parametrize("act", MODERATED.values(), ids=MODERATED)
@pytest.mark.parametrize("methods", [["baseline"], ["parser"]])
def test_a_forbidden_task_stays_unanswered_at_each_resume(project: Project, act: Act, methods: list[str]) -> None:
    with JudgeServer(refuses_first(1, act)) as server:
        for limit in (2, TASKS):
            made = generate(project, options_for(server, *methods, limit=limit, parallel=1), NullProgress())
            assert (made.answered, made.unanswered, made.stopped) == (limit - 1, 1, "")
            assert list(made.refused) == ["files-000"]


def test_any_number_of_moderated_tasks_ends_no_run(project: Project) -> None:
    made = made_by(project, refuses_first(5, MODERATED["OpenRouter"]), parallel=1)
    assert (made.answered, made.unanswered, made.stopped) == (TASKS - 5, 5, "")


def test_the_moderation_of_a_task_is_no_refusal_of_the_grammar(project: Project) -> None:
    script = [MODERATED["Azure"]]
    made = made_by(project, replies("ls"), "constrained", script=script, parallel=1, limit=3)
    assert (made.answered, made.stopped) == (2, "")


@pytest.mark.parametrize("answered", [0, 5])
def test_a_key_that_is_forbidden_for_everything_ends_the_run(project: Project, answered: int) -> None:
    """The texts differ, because each has the number of its request."""
    refused = iter(range(TASKS))
    with JudgeServer(lambda asked: refuses(403, message=f"no {next(refused)}")(asked), [echoes] * answered) as server:
        made = generate(project, options_for(server, parallel=1), NullProgress())
        assert len(server.asked) == answered + 3
    assert made.stopped.endswith("; is MY_KEY right?")
    assert made.answered == answered
