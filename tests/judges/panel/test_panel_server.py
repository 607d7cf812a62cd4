"""The panel over real HTTP: its requests, and all ways in which a server can fail."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluator.model_server.budget import Budget
from evaluator.records import Outcome, Step
from tests.doubles.model_server import (
    Act,
    JudgeServer,
    completion,
    embeds,
    half_closes,
    knows_no_schema,
    refuses,
    replies,
    says,
    sends,
    stalls,
    vote,
)
from tests.judges.panel.panel_harness import KEY, PanelHarness, undecided


def many(count: int) -> list[Any]:
    return [undecided(command=f"candidate {number}") for number in range(count)]


def test_a_vote_is_asked_for_with_schema_seed_and_without_temperature(harness: PanelHarness) -> None:
    with JudgeServer(says("yes")) as server:
        (finding,) = harness.decide(server.url, [undecided()])
    body = dict(server.asked[0].body)
    assert (finding.outcome, finding.step) == (Outcome.PASS, Step.PANEL)
    assert [each["role"] for each in body.pop("messages")] == ["system", "user"]
    assert body.pop("response_format")["json_schema"]["strict"] is True
    assert body == {"model": "one", "temperature": 0, "seed": 123, "max_tokens": 400}
    assert server.asked[0].path == "/v1/chat/completions"
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("verdict", "outcome"), [("yes", Outcome.PASS), ("no", Outcome.FAIL), ("unsure", Outcome.UNDECIDED)]
)
def test_a_verdict_becomes_an_outcome(harness: PanelHarness, verdict: str, outcome: Outcome) -> None:
    with JudgeServer(says(verdict)) as server:
        assert harness.decide(server.url, [undecided()])[0].outcome is outcome


def test_what_else_the_judge_found_stays(harness: PanelHarness) -> None:
    finding = undecided().finding.model_copy(update={"collateral": True})
    with JudgeServer(says("yes")) as server:
        assert harness.decide(server.url, [undecided(finding=finding)])[0].collateral


def by_seat(verdicts: dict[tuple[str, int], str]) -> Act:
    return lambda asked: completion(vote(verdicts[asked.body["model"], asked.body["seed"]]))


@pytest.mark.parametrize(
    ("verdicts", "outcome", "calls"),
    [
        (("yes", "yes", "no"), Outcome.PASS, 2),
        (("yes", "no", "yes"), Outcome.PASS, 3),
        (("yes", "no", "no"), Outcome.FAIL, 3),
        (("no", "no", "yes"), Outcome.FAIL, 2),
        (("yes", "unsure", "no"), Outcome.UNDECIDED, 3),
        (("unsure", "unsure", "yes"), Outcome.UNDECIDED, 2),
        (("yes", "perhaps", "yes"), Outcome.PASS, 3),
        (("perhaps", "perhaps", "perhaps"), Outcome.UNDECIDED, 2),
    ],
)
def test_more_than_half_of_all_seats_decide_and_no_vote_is_bought_in_vain(
    harness: PanelHarness, verdicts: tuple[str, ...], outcome: Outcome, calls: int
) -> None:
    """The first of two models also casts the third vote, with another seed. A majority ends the votes."""
    seats = dict(zip((("one", 123), ("two", 123), ("one", 124)), verdicts, strict=True))
    with JudgeServer(by_seat(seats)) as server:
        (finding,) = harness.decide(server.url, [undecided()], models=("one", "two"), votes=3)
    assert (finding.outcome, len(server.asked)) == (outcome, calls)


def test_a_model_that_the_submission_names_does_not_vote_on_it(harness: PanelHarness) -> None:
    with JudgeServer(says("yes")) as server:
        harness.decide(server.url, [undecided(own=("Maker/One",))], models=("one", "two"), votes=3)
    assert {(asked.body["model"], asked.body["seed"]) for asked in server.asked} == {("two", 123), ("two", 124)}


@pytest.mark.parametrize("judge", ["consensus", "llm", "embed"])
def test_where_only_own_models_are_left_nobody_votes(harness: PanelHarness, judge: str) -> None:
    with JudgeServer(says("yes")) as server:
        (finding,) = harness.decide(server.url, [undecided(judge, own=("one", "vectors"))])
    assert (finding.outcome, server.asked) == (Outcome.UNDECIDED, [])
    assert "own" in finding.reason


FAILURES = {
    "a full house": refuses(429),
    "a full house with a time": refuses(429, {"Retry-After": "0.2"}),
    "an error of the server": refuses(500),
    "an overload": refuses(503),
    "a stall": stalls(),
    "half an answer": half_closes(),
    "no answer": sends(b""),
    "garbage": sends(b"<html>busy</html>", headers={"Content-Type": "text/html"}),
    "garbage that says it is JSON": sends(b"\xff\xfe{"),
    "another object": sends(b'{"object": "list", "data": []}'),
    "no choices": sends(b'{"choices": []}'),
    "a choice without message": sends(b'{"choices": [{}]}'),
    "null": sends(b"null"),
}


def patience_s(name: str, short: float) -> float:
    """Return a short time-out for servers that never finish. Other servers get enough time on a busy machine."""
    return short if name in ("a stall", "half an answer") else 30


@pytest.mark.parametrize("name", FAILURES)
def test_what_fails_on_the_way_is_asked_again(harness: PanelHarness, name: str) -> None:
    with JudgeServer(says("yes"), script=[FAILURES[name]]) as server:
        (finding,) = harness.decide(server.url, [undecided()], timeout_s=patience_s(name, 0.4))
    assert (finding.outcome, len(server.asked), len(harness.lines)) == (Outcome.PASS, 2, 1)


@pytest.mark.parametrize("name", FAILURES)
def test_what_fails_for_ever_leaves_the_finding_undecided(harness: PanelHarness, name: str) -> None:
    with JudgeServer(FAILURES[name]) as server:
        (finding,) = harness.decide(server.url, [undecided()], timeout_s=patience_s(name, 0.1), attempts=2)
    calls = 4 if name == "an error of the server" else 2  # after a 500 the panel also tries without a schema
    assert (finding.outcome, len(server.asked), harness.lines) == (Outcome.UNDECIDED, calls, [])
    assert finding.reason.startswith("references do not align; one did not answer: ")


def test_nobody_asks_before_the_time_a_full_server_names(harness: PanelHarness) -> None:
    script = [refuses(429, {"Retry-After": "1"})]
    with JudgeServer(says("yes", after_s=0.3), script=script) as server:
        findings = harness.decide(server.url, many(6), concurrency=2)
    first = server.asked[0].at
    later = [asked.at - first for asked in server.asked[2:]]  # the second request was already sent
    assert {each.outcome for each in findings} == {Outcome.PASS}
    assert min(later) >= 0.9


@pytest.mark.parametrize(
    "headers",
    [
        {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "600ms"},
        {"x-ratelimit-remaining-tokens": "12", "x-ratelimit-reset-tokens": "0.6s"},
    ],
)
def test_a_limit_that_an_answer_tells_is_kept(harness: PanelHarness, headers: dict[str, str]) -> None:
    with JudgeServer(says("yes"), script=[says("yes", headers=headers)]) as server:
        harness.decide(server.url, many(3), concurrency=1)
    times = [asked.at for asked in server.asked]
    assert times[1] - times[0] >= 0.5


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (refuses(401, message=f"Incorrect API key provided: {KEY}"), "is BASHBOARD_PANEL_KEY right?"),
        (refuses(404, message="no such model"), "no such model"),
        (refuses(402), "answers 402"),
        (refuses(429, code="insufficient_quota"), "answers 429"),
        (refuses(429, {"Retry-After": "86400"}), "asks to come back in 86400 s"),
    ],
)
def test_what_no_patience_mends_stops_the_run_at_once(harness: PanelHarness, act: Act, words: str) -> None:
    with JudgeServer(act) as server:
        findings = harness.decide(server.url, many(20), concurrency=2)
    assert len(server.asked) <= 2
    assert {each.outcome for each in findings} == {Outcome.UNDECIDED}
    assert words in harness.panel.stopped
    assert harness.panel.failed


def test_the_key_is_in_no_message_and_no_file(harness: PanelHarness) -> None:
    """The key appears in no message and no file, even if the server's error quotes it."""
    with JudgeServer(says("yes"), script=[says("yes"), refuses(401, message=f"bad key {KEY}")]) as server:
        findings = harness.decide(server.url, many(2), concurrency=1)
    assert KEY not in "".join(each.reason for each in findings) + harness.panel.stopped
    assert KEY.encode() not in harness.path.read_bytes()


def test_a_server_that_is_gone_is_given_up(harness: PanelHarness) -> None:
    with JudgeServer(says("yes")) as server:
        pass
    findings = harness.decide(server.url, many(50), attempts=2, concurrency=2)
    assert {each.outcome for each in findings} == {Outcome.UNDECIDED}
    assert "does not answer" in harness.panel.stopped


def test_one_question_that_is_refused_spoils_no_other(harness: PanelHarness) -> None:
    def picky(asked: Any) -> Any:
        too_long = refuses(400, message="maximum context length exceeded")
        return too_long(asked) if '"candidate 1"' in asked.messages[1]["content"] else says("yes")(asked)

    with JudgeServer(picky) as server:
        findings = harness.decide(server.url, many(4))
    assert [each.outcome.value for each in findings] == ["pass", "undecided", "pass", "pass"]
    assert "maximum context length" in findings[1].reason
    assert not harness.panel.stopped


def test_a_server_that_breaks_on_its_own_schema_is_asked_in_plain_text(harness: PanelHarness) -> None:
    """llama.cpp answers 500 if a model stops inside the schema. The panel then asks without a schema."""
    broken = refuses(500, message="The model produced output that does not match the expected format")
    with JudgeServer(lambda asked: (broken if "response_format" in asked.body else says("yes"))(asked)) as server:
        (finding,) = harness.decide(server.url, [undecided()], attempts=2)
    assert (finding.outcome, len(server.asked)) == (Outcome.PASS, 3)


@pytest.mark.parametrize("text", [vote("yes"), "yes", "Yes.", f"```json\n{vote('yes')}\n```"])
def test_a_server_without_schemas_is_asked_in_plain_text(harness: PanelHarness, text: str) -> None:
    with JudgeServer(knows_no_schema(replies(text))) as server:
        findings = harness.decide(server.url, many(3), concurrency=1)
    assert {each.outcome for each in findings} == {Outcome.PASS}
    assert ["response_format" in asked.body for asked in server.asked] == [True, False, False, False]
    assert all(json.loads(line)["plain"] for line in harness.lines)


@pytest.mark.parametrize("text", ["", None, "perhaps", "not yes", '{"verdict": "pass"}', "x" * 900_000])
def test_a_reply_off_the_menu_is_undecided_and_not_asked_for_again(harness: PanelHarness, text: str | None) -> None:
    with JudgeServer(replies(text)) as server:
        for _ in range(2):
            (finding,) = harness.decide(server.url, [undecided()])
    assert (finding.outcome, len(server.asked)) == (Outcome.UNDECIDED, 1)
    assert "off the menu" in finding.reason


def test_without_a_key_nothing_is_asked(harness: PanelHarness) -> None:
    with JudgeServer(says("yes")) as server:
        (finding,) = harness.decide(server.url, [undecided()], key=None)
    assert (finding.outcome, server.asked) == (Outcome.UNDECIDED, [])


@pytest.mark.parametrize("judge", ["llm", "exec-llm"])
def test_a_judge_of_pairs_asks_about_each_reference_until_one_is_met(harness: PanelHarness, judge: str) -> None:
    def second(asked: Any) -> Any:
        return says("yes" if '"reference 2"' in asked.messages[1]["content"] else "no")(asked)

    with JudgeServer(second) as server:
        (finding,) = harness.decide(server.url, [undecided(judge, references=["a\n", "b\n", "c\n"])])
    assert (finding.outcome, len(server.asked)) == (Outcome.PASS, 2)
    with JudgeServer(says("no")) as server:
        (finding,) = harness.decide(server.url, [undecided(judge, command="other")])
    assert (finding.outcome, len(server.asked)) == (Outcome.FAIL, 2)


@pytest.mark.parametrize(
    ("judge", "command", "prints", "outcome"),
    [
        ("embed", "reference 10", "nothing alike", Outcome.PASS),
        ("embed", "zzz", "a\n", Outcome.FAIL),
        ("exec-embed", "zzz", "one two three four\n", Outcome.PASS),
        ("exec-embed", "reference 1", "5\n", Outcome.FAIL),
        ("exec-embed", "reference 1", "", Outcome.FAIL),
    ],
)
def test_embeddings_are_compared_by_their_cosine(
    harness: PanelHarness, judge: str, command: str, prints: str, outcome: Outcome
) -> None:
    item = undecided(judge, prints, command=command, references=["one two three five\n", "6\n"])
    with JudgeServer(says("yes")) as server:
        assert harness.decide(server.url, [item])[0].outcome is outcome
    assert {asked.path for asked in server.asked} <= {"/v1/embeddings"}


def test_a_text_is_embedded_once(harness: PanelHarness) -> None:
    items = [undecided("embed", command=f"{number}", evidence=str(number) * 64) for number in (1, 2, 3)]
    with JudgeServer(embeds) as server:
        harness.decide(server.url, items)
        harness.decide(server.url, items)
    assert sorted(asked.body["input"] for asked in server.asked) == ["1", "2", "3", "reference 1", "reference 2"]


def test_embeddings_may_live_elsewhere(harness: PanelHarness) -> None:
    """A server of embeddings at another address does not get the panel's key."""
    with JudgeServer(says("yes")) as chats, JudgeServer(embeds) as vectors:
        harness.decide(chats.url, [undecided("embed")], embeddings={"name": "vectors", "base_url": vectors.url})
    assert chats.asked == []
    assert {asked.headers["authorization"] for asked in vectors.asked} == {"Bearer none"}


# -- budget

PRICED: dict[str, Any] = {"models": ({"name": "one", "input_usd": 1.0, "output_usd": 2.0},)}


def test_calls_stop_where_they_may_be_no_more_and_all_replies_are_kept(harness: PanelHarness) -> None:
    with JudgeServer(says("yes")) as server:
        findings = harness.decide(server.url, many(10), budget=Budget(max_calls=4))
        assert [each.outcome for each in findings].count(Outcome.PASS) == len(server.asked) == len(harness.lines) == 4
        assert "--max-calls" in harness.panel.stopped
        assert not harness.panel.failed
        findings = harness.decide(server.url, many(10))
    assert {each.outcome for each in findings} == {Outcome.PASS}
    assert len(server.asked) == 10


def test_what_is_asked_first_is_decided_first_where_money_ends(harness: PanelHarness) -> None:
    with JudgeServer(says("yes")) as server:
        findings = harness.decide(server.url, many(6), budget=Budget(max_calls=2), concurrency=1)
    assert [each.outcome.value for each in findings] == ["pass"] * 2 + ["undecided"] * 4


def test_repeated_requests_count(harness: PanelHarness) -> None:
    with JudgeServer(refuses(500)) as server:
        harness.decide(server.url, many(10), budget=Budget(max_calls=3))
    assert len(server.asked) == 3


def test_money_is_never_more_than_allowed(harness: PanelHarness) -> None:
    """100 tokens in and 10 out cost US$ 0.00012. The largest possible cost is reserved before each call."""
    with JudgeServer(says("yes")) as server:
        harness.decide(server.url, many(50), budget=Budget(max_usd=0.01), concurrency=8, **PRICED)
    assert 0 < len(server.asked) < 50
    assert harness.budget.usd == pytest.approx(0.00012 * len(server.asked))
    assert harness.budget.usd <= 0.01
    assert "--max-usd" in harness.panel.stopped


def test_an_answer_that_is_lost_is_paid_for(harness: PanelHarness) -> None:
    with JudgeServer(says("yes"), script=[half_closes()]) as server:
        harness.decide(server.url, many(1), **PRICED)
    assert harness.budget.usd > 0.00012


def test_a_refusal_costs_nothing(harness: PanelHarness) -> None:
    with JudgeServer(says("yes"), script=[refuses(429), refuses(500)]) as server:
        harness.decide(server.url, many(1), **PRICED)
    assert len(server.asked) == 3
    assert harness.budget.usd == pytest.approx(0.00012)


def test_a_server_that_does_not_count_is_taken_to_have_cost_the_most(harness: PanelHarness) -> None:
    with JudgeServer(replies(vote("yes"), usage=False)) as server:
        harness.decide(server.url, many(1), **PRICED)
    assert harness.budget.usd > 0.00012
    assert len(server.asked) == 1
