"""The head of a submission's page tells its place, its topics, its failures and its cost."""

from __future__ import annotations

from datetime import date
from urllib.parse import parse_qs, urlsplit

import pytest

from evaluator.leaderboard.board import index_board
from evaluator.leaderboard.formats import dollars, quantity, size
from evaluator.leaderboard.submission_page import render_submission
from evaluator.leaderboard.submission_summary import cost_note, failures, neighbours, tie_words, topic_shares
from evaluator.records import Method, ModelPrices, Outcome, Standing
from evaluator.testing.boards import drawn_board
from tests.doubles.hostile_boards import ATTACKS, hostile_board

BOARD = drawn_board(8, 40, candidates=2)
INDEX = index_board(BOARD)


def page(standing: Standing) -> str:
    return render_submission(INDEX, standing)


@pytest.mark.parametrize("place", range(len(INDEX.ranked)))
def test_the_sentence_names_accuracy_interval_rank_and_tie(place: int) -> None:
    row = INDEX.ranked[place]
    sentence = page(row).split('class="lead summary">')[1].split("</p>")[0]
    assert (
        f"<b>{100 * row.accuracy:.1f} %</b> accuracy ({100 * row.accuracy_low:.1f}–{100 * row.accuracy_high:.1f})"
        in sentence
    )
    assert f"of {len(INDEX.ranked)}</b>" in sentence
    assert tie_words(row, INDEX.ranked) in sentence
    assert f'added <time datetime="{row.added}">' in sentence
    assert ("parameters" in sentence) == (row.parameters is not None)
    assert ("for 1,000 tasks" in sentence) == (row.usd_per_task is not None)


def test_the_leader_and_the_groups_below_are_told_in_plain_words() -> None:
    first, *others = INDEX.ranked
    group = sum(row.tie_group == 1 for row in INDEX.ranked)
    assert tie_words(first, INDEX.ranked) == (
        f"the leader, tied with {group - 1} other{'s' if group != 2 else ''}" if group > 1 else "the leader"
    )
    for row in others:
        expected = "tied with the leader" if row.tie_group == 1 else f"not tied with the leader: group {row.tie_group}"
        assert tie_words(row, INDEX.ranked) == expected
    assert tie_words(first.model_copy(update={"ranked": False}), INDEX.ranked) == "not ranked"


def test_topics_stand_beside_the_best_of_the_leaders_group() -> None:
    last = INDEX.ranked[-1]
    tied = [row for row in INDEX.ranked if row.tie_group == 1]
    for share in topic_shares(last, INDEX.best_by_topic):
        best = max(row.topics[share.topic].passed / row.topics[share.topic].asked for row in tied)
        assert share.best == best
        assert share.share == last.topics[share.topic].passed / last.topics[share.topic].asked
    assert page(last).count('class="strip-bar"') == len(last.topics)


def test_a_row_is_beside_the_leader_and_its_neighbours_once() -> None:
    rows = INDEX.ranked

    def found(place: int) -> list[tuple[str, str]]:
        return [(each.role, each.standing.submission) for each in neighbours(rows[place], rows)]

    slugs = [row.submission for row in rows]
    assert found(0) == [("the row below", slugs[1])]
    assert found(1) == [("the leader and the row above", slugs[0]), ("the row below", slugs[2])]
    assert found(3) == [("the leader", slugs[0]), ("the row above", slugs[2]), ("the row below", slugs[4])]
    assert found(len(rows) - 1) == [("the leader", slugs[0]), ("the row above", slugs[-2])]
    assert f"compare/?a={slugs[3]}&amp;b={slugs[0]}" in page(rows[3])


def test_failures_are_counted_by_step_and_lead_to_their_verdicts() -> None:
    row = INDEX.ranked[-1]
    answers = INDEX.answers[row.submission]
    found = failures(answers)
    assert sum(each.count for each in found) == row.failed > 0
    assert [each.count for each in found] == sorted((each.count for each in found), reverse=True)
    for each in found:
        wanted = {key: values[0] for key, values in parse_qs(urlsplit(each.filter).query).items()}
        assert wanted == {"tasks.verdict": "fail", "tasks.step": each.name}
        firsts = [results[0].finding for results in answers.values()]
        steps = [one.step.value for one in firsts if one.outcome is Outcome.FAIL and one.step]
        assert steps.count(each.name) == each.count


def test_a_row_has_an_anchor_a_link_to_itself_and_the_instruction_first() -> None:
    text = page(INDEX.ranked[0])
    for task in BOARD.tasks:
        row = text.split(f'<tr id="{task.id}">')[1].split("</tr>")[0]
        assert f'href="#{task.id}"' in row
        instruction = task.nl.replace("'", "&#x27;")
        assert row.index(instruction) < row.index(f"../../tasks/{task.id}/") < row.index('class="verdict')


def test_the_verdicts_come_before_the_folded_figures() -> None:
    text = page(INDEX.ranked[0])
    assert text.index('id="topics"') < text.index('id="verdicts"') < text.index('id="figures"')
    assert text.count('<details class="fold">') >= 6
    assert '<details class="fold" open' not in text


def test_a_cost_has_its_tokens_prices_and_date_and_a_missing_one_is_a_dash() -> None:
    priced = next(row for row in INDEX.ranked if row.usd_per_task is not None)
    manifest = BOARD.submissions[priced.submission]
    prices = ModelPrices(input_usd=2.5, output_usd=10, date=date(2025, 3, 1))
    note = cost_note(priced, manifest.model_copy(update={"prices": prices}))
    assert note.endswith("$2.50 in and $10.00 out per million on 2025-03-01")
    assert cost_note(priced, manifest.model_copy(update={"prices": None})).endswith("no prices given")
    free = next(row for row in INDEX.ranked if row.method in {Method.RETRIEVAL, Method.RULES})
    assert cost_note(free, BOARD.submissions[free.submission]) == "no tokens reported"
    assert "<dt>Cost of 1,000 tasks</dt><dd>–" in page(free)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (size(32_000_000_000), "32 B"),
        (size(405_000_000_000), "405 B"),
        (size(1_540_000_000), "1.54 B"),
        (size(999_600_000), "1 B"),
        (size(600_000_000), "600 M"),
        (size(2_000), "2,000"),
        (quantity(14_530.0), "14,530"),
        (quantity(308.5), "308.5"),
        (quantity(0.0123456, " s"), "0.01235 s"),
        (dollars(0.0), "$0"),
        (dollars(9.514), "$9.51"),
        (dollars(0.000123), "$0.00012"),
    ],
)
def test_numbers_have_no_exponent_and_no_needless_digits(shown: str, expected: str) -> None:
    assert shown == expected


def test_hostile_names_and_licences_are_text() -> None:
    board = hostile_board()
    index = index_board(board)
    for row in board.standings[: len(ATTACKS)]:
        manifest = board.submissions[row.submission].model_copy(update={"licence": "<b>x", "models": ("<i>y",)})
        changed = index_board(
            type(board)(
                **{
                    **{name: getattr(board, name) for name in board.__slots__},
                    "submissions": {**board.submissions, row.submission: manifest},
                }
            )
        )
        text = render_submission(changed, row)
        assert "<b>x" not in text
        assert "<i>y" not in text
        assert "<script" not in text
        assert "onerror=alert(1)>" not in text.replace("&gt;", "")
    assert index.ranked
