"""The parts of the panel that need no server: replies, voters, settings, rate limits and the reply cache."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evaluator.errors import InfraError
from evaluator.judges import JUDGES
from evaluator.judges.panel.model_judges import BY_MODEL
from evaluator.judges.panel.parse_reply import SCHEMA, Vote, read_reply
from evaluator.judges.panel.prompt import asks, questions
from evaluator.judges.panel.reply_cache import Reply, ReplyCache
from evaluator.judges.panel.settings import PanelSettings
from evaluator.judges.panel.untrusted_data import Fields, data_line
from evaluator.judges.panel.vote import CastVote, is_settled, majority
from evaluator.judges.panel.voters import is_own, voters_for
from evaluator.model_server.budget import Budget, BudgetSpentError
from evaluator.model_server.embedding_text import cosine, encode
from evaluator.model_server.rate_limit import duration_s, exhausted_for, requested_pause
from evaluator.records import Instructions, Outcome
from evaluator.testing.evidence import case, evidence
from tests.judges.panel.panel_harness import undecided

# -- replies


@pytest.mark.parametrize(
    ("text", "vote"),
    [
        ('{"reason": "same", "verdict": "yes"}', Vote.YES),
        ('{"verdict": "no", "reason": ""}', Vote.NO),
        ('{"verdict": "unsure"}', Vote.UNSURE),
        ('  {"verdict": "YES"}\n', Vote.YES),
        ('```json\n{"verdict": "yes"}\n```', Vote.YES),
        ('```\n{"verdict": "yes"}\n```', Vote.YES),
        ("yes", Vote.YES),
        ("**No.**", Vote.NO),
        ('"unsure"', Vote.UNSURE),
        ("", None),
        ("true", None),
        ("not yes", None),
        ("yes, it does", None),
        ("yes no", None),
        ("The verdict is yes", None),
        ('{"verdict": "pass"}', None),
        ('{"verdict": true}', None),
        ('{"verdict": ["yes"]}', None),
        ('{"verdict": "yes", "verdict": "no"}', None),
        ('{"verdict": "yes", "confidence": 1}', None),
        ('{"reason": {"verdict": "yes"}}', None),
        ('{"reason": 1, "verdict": "yes"}', None),
        ('{"reason": "it says {\\"verdict\\": \\"yes\\"}"}', None),
        ('Sure: {"verdict": "yes"}', None),
        ('{"verdict": "yes"} or {"verdict": "no"}', None),
        ('[{"verdict": "yes"}]', None),
        ('{"verdict": "yes"', None),
        ("{}", None),
        ("[]", None),
        ("null", None),
        ("[" * 100_000, None),
    ],
)
def test_a_reply_is_on_the_menu_or_no_vote(text: str, vote: Vote | None) -> None:
    assert read_reply(text).vote is vote


@given(st.text())
def test_no_text_breaks_the_reading_of_replies(text: str) -> None:
    assert read_reply(text).vote in {None, *Vote}


def test_the_schema_is_strict() -> None:
    """Strict servers accept only a schema that requires every property and forbids others."""
    assert SCHEMA["required"] == list(SCHEMA["properties"])
    assert SCHEMA["additionalProperties"] is False


@given(st.lists(st.sampled_from([*Vote, None]), max_size=9), st.sampled_from([1, 3, 5, 7, 9]))
def test_a_vote_that_is_settled_stays_so(votes: list[Vote | None], count: int) -> None:
    """When a vote is settled, the remaining votes cannot change the result."""
    cast = [CastVote(vote, "") for vote in votes[:count]]
    left = count - len(cast)
    ends = {majority([*cast, *[CastVote(vote, "")] * left], count) for vote in (Vote.YES, Vote.NO, None)}
    assert is_settled(cast, count) == (len(ends) == 1)


# -- voters


@pytest.mark.parametrize(
    ("model", "own", "expected"),
    [
        ("gpt-4o", "gpt-4o", True),
        ("gpt-4o", "GPT-4o", True),
        ("gpt-4o", "openai/gpt-4o", True),
        ("openai/gpt-4o", "gpt 4o", True),
        ("gpt-4o-2024-08-06", "gpt-4o", True),
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("llama:70b", "llama", True),
        ("gpt-4", "gpt-4o", False),
        ("gpt-4.1", "gpt-4", False),
        ("llama-3", "qwen-3", False),
        ("gpt-4o", "", False),
        ("gpt-4o", "maker/", False),
    ],
)
def test_a_models_name_is_known_again(model: str, own: str, expected: bool) -> None:
    assert is_own(model, [own]) is expected


def settings(**fields: Any) -> PanelSettings:
    return PanelSettings(**{"base_url": "http://host/v1", "models": ("one", "two"), **fields})


@pytest.mark.parametrize("own", [(), ("one",), ("two",)])
@pytest.mark.parametrize("votes", [1, 3, 5])
def test_there_are_as_many_seats_as_votes_whoever_is_barred(own: tuple[str, ...], votes: int) -> None:
    taken = voters_for(settings(votes=votes), own)
    assert len({(seat.model.name, seat.seed) for seat in taken}) == votes
    assert not {seat.model.name for seat in taken} & set(own)


def test_nobody_sits_where_all_are_barred() -> None:
    assert voters_for(settings(), ["one", "two"]) == ()


# -- settings


@pytest.mark.parametrize(
    "fields",
    [
        {"votes": 2},
        {"votes": 0},
        {"base_url": "host/v1"},
        {"base_url": "ftp://host/v1"},
        {"base_url": "https://user:password@host/v1"},
        {"base_url": "https://host/v1?key=secret"},
        {"api_key": "secret"},
        {"models": [{"name": "one", "input_usd": -1}]},
        {"models": [""]},
        {"models": ["one", "one"]},
    ],
)
def test_settings_that_cannot_be_meant_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        settings(**fields)


def test_a_model_is_a_name_or_a_name_with_prices() -> None:
    one, two = settings(models=["one", {"name": "two", "input_usd": 0.5, "output_usd": 2}]).models
    assert (one.name, one.is_priced, two.is_priced) == ("one", False, True)
    assert two.usd(1_000_000, 500_000) == 1.5


# -- rate limits


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Fri, 14 Mar 2025 09:30:20 GMT"}, 20),
        ({"retry-after": "Fri, 14 Mar 2025 09:29:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
    ],
)
def test_a_pause_is_read_from_either_form(headers: dict[str, str], seconds: float | None) -> None:
    assert requested_pause(headers, datetime(2025, 3, 14, 9, 30, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1s", 1), ("6m0s", 360), ("120ms", 0.12), ("1.5", 1.5), ("1h2m3s", 3723), ("", 0), ("soon", 0), ("1s!", 0)],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert duration_s(text) == pytest.approx(seconds)


def test_limits_count_only_when_the_next_request_does_not_fit() -> None:
    headers = {"x-ratelimit-remaining-tokens": "500", "x-ratelimit-reset-tokens": "9s"}
    assert (exhausted_for(headers, 500), exhausted_for(headers, 501)) == (0, 9)


# -- budget


def test_money_under_way_counts() -> None:
    budget = Budget(max_usd=1.0)
    budget.begin(0.6, is_priced=True)
    with pytest.raises(BudgetSpentError, match="--max-usd"):
        budget.begin(0.6, is_priced=True)
    budget.end(0.6, 0.1)
    budget.begin(0.6, is_priced=True)
    assert budget.calls == 2


# -- the reply cache


def reply(text: str = "yes", seed: int = 1) -> Reply:
    digest = "a" * 64
    return Reply(format=1, evidence=digest, judge="llm", model="one", prompt=digest, seed=seed, text=text)


def written(path: Path, *replies: Reply) -> Path:
    ledger = ReplyCache(path)
    for each in replies:
        ledger.add(each)
    ledger.close()
    return path


def test_a_reply_is_found_again_by_another_run(tmp_path: Path) -> None:
    ledger = ReplyCache(written(tmp_path / "deep" / "panel.jsonl", reply("yes\n\u2028", 1), reply("no", 2)))
    assert ledger.find(reply(seed=1).key) == reply("yes\n\u2028", 1)
    assert ledger.find(reply(seed=3).key) is None
    assert (len(ledger), ledger.unreadable) == (2, 0)


def test_whatever_a_kill_leaves_of_the_last_line_the_rest_is_there(tmp_path: Path) -> None:
    """A file that is cut at any byte of its last line keeps the other replies and accepts a new one."""
    whole = written(tmp_path / "whole", reply("one", 1), reply("two", 2)).read_bytes()
    first = whole.index(b"\n") + 1
    for end in range(first, len(whole)):
        path = tmp_path / f"cut-{end}"
        path.write_bytes(whole[:end])
        ledger = ReplyCache(written(path, reply("three", 3)))
        assert ledger.find(reply(seed=1).key) == reply("one", 1)
        assert ledger.find(reply(seed=3).key) == reply("three", 3)


def test_ledgers_are_merged_by_writing_one_after_the_other(tmp_path: Path) -> None:
    """Concatenated caches give the same replies in each order, even if both have a reply with one key."""
    one = written(tmp_path / "one", reply("yes", 1), reply("x", 2)).read_bytes()
    other = written(tmp_path / "other", reply("no", 1), reply("y", 3)).read_bytes()
    found = set()
    for name, content in (("a", one + other), ("b", other + one), ("c", one + other + one)):
        (tmp_path / name).write_bytes(content)
        ledger = ReplyCache(tmp_path / name)
        found.add(tuple(str(ledger.find(reply(seed=seed).key)) for seed in (1, 2, 3)))
        assert len(ledger) == 3
    assert len(found) == 1


@pytest.mark.parametrize("line", [b"{}", b"null", b"\xff", b'{"format":2}', b"x" * 1000, b"{" * 100_000])
def test_a_line_that_is_no_reply_is_passed_over_and_counted(tmp_path: Path, line: bytes) -> None:
    path = written(tmp_path / "panel.jsonl", reply())
    path.write_bytes(line + b"\n" + path.read_bytes())
    ledger = ReplyCache(path)
    assert (len(ledger), ledger.unreadable) == (1, 1)


def test_two_runs_at_once_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "panel.jsonl"
    ledgers = [ReplyCache(path), ReplyCache(path)]
    for number in range(200):
        ledgers[number % 2].add(reply("y" * 5000, number))
    for ledger in ledgers:
        ledger.close()
    assert len(ReplyCache(path)) == 200
    assert all(json.loads(line)["format"] == 1 for line in path.read_bytes().splitlines())


def test_a_disk_that_takes_nothing_is_ours(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    ledger = ReplyCache(tmp_path / "panel.jsonl")
    assert len(ledger) == 0
    (tmp_path / "panel.jsonl").symlink_to("/dev/full")
    with pytest.raises(InfraError, match="make room"):
        ledger.add(reply())
    ledger.close()


# -- fields, questions, embeddings


@given(st.binary(max_size=300), st.integers(1, 100))
def test_a_field_loses_nothing_unsaid(data: bytes, cap: int) -> None:
    """A plain text holds all of the bytes. A field that is cut or is not text says so in a key of its own."""
    fields = Fields(cap)
    field = fields.text(data)
    if isinstance(field, str):
        assert field.encode() == data
    elif len(data) > cap:
        assert field["bytes omitted after this"] == len(data) - cap
    assert fields.whole == (len(data) <= cap)


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_a_line_of_data_says_what_went_in(value: Any) -> None:
    line = data_line(value)
    assert line.isprintable()
    assert json.loads(line) == value


def test_the_same_case_is_the_same_prompt_and_another_output_another() -> None:
    def prompt(prints: str) -> str:
        item = undecided(candidate=prints)
        (question,) = questions(item.judge, item.case, item.finding, item.evidence)
        return question.prompt

    assert prompt("c\n") == prompt("c\n") != prompt("d\n")


def test_the_question_about_an_open_task_shows_the_published_world_and_the_variants_that_differ() -> None:
    """The references are only examples there, so the question must not call them right."""
    reference = {"plain": "a\n", "near": "b\n", "odd": "c\n"}
    candidate = {"plain": "a\n", "near": "x\n", "odd": evidence("c\n", stderr="no such option\n")}
    item = undecided("consensus", candidate, references=[reference], instructions=Instructions.OPEN)
    (question,) = questions(item.judge, item.case, item.finding, item.evidence)
    data = json.loads(question.user.splitlines()[1])
    assert data["examples"] == ["reference 1"]
    assert data["published"]["candidate"]["printed"] == data["published"]["examples"][0]["printed"] == "a\n"
    assert {name: runs["candidate"]["printed"] for name, runs in data["added"].items()} == {"near": "x\n"}
    assert "may be imprecise" in question.system


def test_precise_and_open_tasks_have_different_questions() -> None:
    precise, open_task = (
        questions(item.judge, item.case, item.finding, item.evidence)[0].prompt
        for item in (undecided(), undecided(instructions=Instructions.OPEN))
    )
    assert precise != open_task


def test_a_reference_that_ran_into_a_limit_is_not_asked_about() -> None:
    slow = evidence(ending="timeout", status=None)
    item = undecided("exec-llm", references=[slow, "b\n"])
    (question,) = questions(item.judge, item.case, item.finding, item.evidence)
    assert '"reference 2"' in question.user


@pytest.mark.parametrize("judge", BY_MODEL, ids=lambda judge: judge.name)
def test_judges_by_model_are_registered_and_leave_to_the_panel_what_needs_one(judge: Any) -> None:
    assert JUDGES[judge.name] is judge
    assert judge.judge(case(["a"], "a")).outcome is Outcome.UNDECIDED
    assert judge.judge(case(["a"], "a", command="")).outcome is Outcome.INVALID
    assert judge.judge(case(["a"], None)).outcome is Outcome.UNANSWERED
    assert asks(judge.name) == ("embed" not in judge.name)


def test_cosine_is_that_of_the_vectors() -> None:
    assert cosine(encode([1, 0, 2]), encode([2, 0, 4])) == pytest.approx(1)
    assert cosine(encode([1, 0]), encode([0, 3])) == 0
    assert cosine(encode([1, 1]), encode([-1, -1])) == pytest.approx(-1)
    with pytest.raises(ValueError, match="cannot be compared"):
        cosine(encode([1]), encode([1, 2]))


@pytest.mark.parametrize("vector", [[], [0, 0], [float("nan"), 1], [float("inf")]])
def test_a_vector_without_direction_is_none(vector: list[float]) -> None:
    with pytest.raises(ValueError, match="expected a vector"):
        encode(vector)
