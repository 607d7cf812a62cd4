"""The comment on a broken, a valid and a contested submission, and its maximum length."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.errors import Problem
from evaluator.github.comment.body import COMMON_FAULTS, FILES, MARKER, PROBLEMS, PullRequestContext, render_comment
from evaluator.github.comment.preview_sections import NAMES
from evaluator.github.comment.sections import LENGTH
from evaluator.records import Preview
from tests.github.preview_examples import TASKS, contested, pieces, preview, problems, rival, spans, warning

APPEAL = "https://github.com/org/board/issues/new?template=appeal.yml"
FIRST_TIME = PullRequestContext(first_time=True)


def headings(markdown: str) -> list[str]:
    """Return the headings of a text."""
    lines = (line for line in markdown.splitlines() if line.startswith("##"))
    return [line.lstrip("# ").replace("`", "") for line in lines]


def cells(markdown: str) -> list[list[str]]:
    """Return the rows of a text's table."""
    rows: list[list[str]] = []
    for each in pieces(markdown):
        if each.kind == "tr_open":
            rows.append([])
        elif each.kind in ("th_open", "td_open"):
            rows[-1].append("")
        elif each.kind == "table_close":
            break
        elif each.kind in ("text", "code_inline") and rows:
            rows[-1][-1] += each.content
    return rows


def commands(markdown: str) -> list[str]:
    """Return the commands in a text's code blocks."""
    return [line for each in pieces(markdown) if each.kind == "fence" for line in each.content.splitlines()]


EVERY: list[tuple[list[Problem], Preview | None]] = [
    (problems(2), None),
    ([], preview()),
    ([warning()], preview()),
    ([], contested()),
    ([], None),
]


@pytest.mark.parametrize(("found", "record"), EVERY)
def test_the_marker_stands_first_and_once(found: list[Problem], record: Preview | None) -> None:
    text = render_comment("my-system", found, record)
    assert text.startswith(f"{MARKER}\n")
    assert text.count(MARKER) == 1


@pytest.mark.parametrize(("found", "record"), EVERY)
def test_the_check_is_said_as_it_is_typed(found: list[Problem], record: Preview | None) -> None:
    assert commands(render_comment("my-system", found, record))[0] == "bashboard check submissions/my-system"


# -- a broken submission


def test_a_broken_one_is_told_every_problem_in_the_words_of_check() -> None:
    found = [*problems(2), warning()]
    text = render_comment("my-system", found)
    assert [each for each in spans(text) if ".jsonl:" in each] == list(map(str, found))
    assert headings(text) == ["my-system: 2 errors to fix", "The same on your machine"]
    assert "push to this branch" in text


def test_errors_come_before_warnings() -> None:
    shown = spans(render_comment("my-system", [warning(), *problems(1)]))
    assert shown.index(str(problems(1)[0])) < shown.index(str(warning()))


def test_of_many_problems_the_first_are_shown_and_the_rest_counted() -> None:
    text = render_comment("my-system", problems(PROBLEMS + 3))
    assert len([each for each in spans(text) if "jsonl:" in each]) == PROBLEMS
    assert "- … and 3 more problems in this file" in text
    assert "more problem" not in render_comment("my-system", problems(PROBLEMS))


def test_of_many_files_the_first_are_shown_and_the_rest_counted() -> None:
    found = [each for number in range(FILES + 2) for each in problems(3, f"submissions/my-system/s{number}.jsonl")]
    assert "… and 6 problems in 2 more files." in render_comment("my-system", found)


def test_a_broken_one_has_no_numbers() -> None:
    with pytest.raises(ValueError, match="with 1 errors"):
        render_comment("my-system", problems(1), preview())


def test_a_name_that_is_none_is_not_to_be_typed() -> None:
    """No command for a reader's shell contains untrusted text."""
    for slug in ("My System", "x; reboot", "x\n", "a`b", "", "../x", "ⅸ"):
        text = render_comment(slug, problems(1))
        assert commands(text) == ["bashboard check submissions/your-system"]


# -- a valid submission


def test_a_sound_one_sees_accuracy_interval_and_denominator() -> None:
    text = render_comment("my-system", [], preview())
    assert "**Execution accuracy 60.0 %** (24 of 40 tasks, 95 % interval 44.6-73.7 %) on `core` `2.0.0`" in text
    assert "The other 16: 12 failed, 1 over a time limit, 1 invalid, 2 unanswered." in text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "**a rank from 2 to 4** of 9 (tie group 2: "),
        ({"rank_high": 2}, "**rank 2** of 9 (tie group 2: "),
        ({"ranked": 1, "rank_low": 1, "rank_high": 1, "tie_group": 1, "rivals": []}, "the first ranked submission"),
    ],
)
def test_a_sound_one_sees_the_ranks_it_would_take(fields: dict[str, object], words: str) -> None:
    assert words in render_comment("my-system", [], preview(**fields))


@pytest.mark.parametrize(
    ("why", "words"), [("not-asked", "earlier version"), ("control", "a control"), ("infra-errors", "no rank yet")]
)
def test_what_is_not_ranked_says_why(why: str, words: str) -> None:
    record = preview(unranked=why, ranked=8, rank_low=None, rank_high=None, tie_group=None)
    assert words in render_comment("my-system", [], record)


def test_topics_stand_beside_the_leader_and_the_neighbours() -> None:
    assert cells(render_comment("my-system", [], preview())) == [
        ["Topic", "this", "leader best", "next above better", "next below worse"],
        ["files", "8 of 10", "10 of 10", "10 of 10", "10 of 10"],
        ["text", "16 of 30", "25 of 30", "16 of 30", "10 of 30"],
        ["all", "24 of 40", "35 of 40", "26 of 40", "20 of 40"],
    ]


def test_a_rival_of_two_roles_stands_once() -> None:
    record = preview(rivals=[rival("best", "leader", "better", passed=35, gained=1, lost=12)])
    assert cells(render_comment("my-system", [], record))[0] == ["Topic", "this", "leader, next above best"]


def test_tasks_gained_and_missed_are_named_and_the_rest_counted() -> None:
    text = render_comment(
        "my-system", [], preview(rivals=[rival("best", "leader", passed=35, gained=2, lost=NAMES + 3)])
    )
    assert "Newly passed, and by no other ranked submission: 1 (`text-001`)" in text
    assert "newly passed 2 (`text-001`, `text-002`); missed 15 (`text-021`" in text
    assert f"`{TASKS[20 + NAMES - 1]}` and 3 more)" in text
    assert TASKS[20 + NAMES] not in text


def test_tasks_that_were_just_named_are_not_named_again() -> None:
    record = preview(
        alone={"total": 2, "tasks": TASKS[:2]}, rivals=[rival("last", "worse", passed=20, gained=2, lost=0)]
    )
    text = render_comment("my-system", [], record)
    assert "Newly passed, and by no other ranked submission: 2 (`text-001`, `text-002`)\n" in text
    assert "Compared with `last` (next below): newly passed the same 2; missed 0." in text


def test_a_difference_has_its_interval_and_p_value() -> None:
    text = render_comment("my-system", [], preview())
    assert "Difference -27.5 points (95 % interval -50.0 to +50.0, McNemar p = 0.041)." in text


def test_the_first_on_a_board_is_beside_nobody() -> None:
    text = render_comment("my-system", [], preview(rivals=[]))
    assert cells(text) == []
    assert headings(text)[1:] == ["What happens next", "The same on your machine"]


def test_a_sound_one_knows_that_the_numbers_are_a_preview_and_what_is_next() -> None:
    text = render_comment("my-system", [], preview())
    assert "These numbers are a preview from this pull request's own run." in text
    assert "There is nothing more for you to do." in text
    assert commands(text) == [
        "bashboard check submissions/my-system",
        "bashboard score my-system --suite core",
        "bashboard preview my-system --suite core",
    ]


def test_a_sound_one_without_numbers_says_why() -> None:
    text = render_comment("my-system", [], None, PullRequestContext(missing="the run was cancelled"))
    assert "There are no numbers to show yet: `the run was cancelled`." in text


def test_a_failure_of_ours_is_said_to_be_ours() -> None:
    record = preview(
        infra_errors=2, failed=10, unranked="infra-errors", ranked=8, rank_low=None, rank_high=None, tie_group=None
    )
    assert "2 tasks could not be executed because of an error on the board's side." in render_comment(
        "my-system", [], record
    )


# -- a contested submission


def test_a_contested_one_sees_which_verdicts_are_open_and_why() -> None:
    text = render_comment("my-system", [], contested())
    assert headings(text)[0] == "my-system: no errors, 24 of 40 tasks passed, 3 verdicts open"
    assert "3 undecided, waiting for adjudication. If all were passes, accuracy would be 67.5 %." in text
    assert "- 2: `prints fields that no reference shows: '4096'` (variant `crowded`): `text-031`, `text-032`" in text
    assert "- 1: `neither shows anything`: `text-033`" in text


def test_a_contested_one_knows_who_rules_and_how_to_appeal() -> None:
    text = render_comment("my-system", [], contested(), PullRequestContext(appeal=APPEAL))
    assert "then to a maintainer, who rules with `bashboard adjudicate`" in text
    assert f"[the appeal form]({APPEAL})" in text
    assert "bashboard explain my-system TASK --suite core" in spans(text)


def test_nobody_is_sent_to_an_address_that_is_none() -> None:
    for address in ("javascript:alert(1)", "https://x)[y](z", "https://x y", "", "https://x\n"):
        with pytest.raises(ValueError, match="no address"):
            render_comment("my-system", [], preview(), PullRequestContext(appeal=address))


def test_collateral_names_tasks_and_paths() -> None:
    text = render_comment("my-system", [], contested())
    assert "2 commands changed, created or deleted files that no reference touches:" in text
    assert "- `files-002`: `/srv/a`, `/srv/b` and 5 more\n- `files-003`\n" in text


def test_a_verifiers_message_is_shown_with_its_task_and_the_rest_is_counted() -> None:
    rejections = [{"task": f"a-{number}", "reason": f"rejects: '`|{number}'"} for number in range(12)]
    text = render_comment("my-system", [], preview(rejections=rejections))
    assert "### Rejected by the tasks' verifiers\n\n- `a-0`: ``rejects: '`|0'``\n- `a-1`: " in text
    record = preview(failed=16, timeout=0, invalid=0, unanswered=0, rejections=[*rejections, *rejections[:4]])
    many = record.model_copy(update={"rejections": record.rejections * 2})
    assert "- … and 12 more tasks\n" in render_comment("my-system", [], many)


# -- all submissions


def test_only_a_first_time_contributor_is_welcomed() -> None:
    assert all(fault in render_comment("my-system", [], preview(), FIRST_TIME) for fault in COMMON_FAULTS)
    assert "Welcome" not in render_comment("my-system", [], preview())
    assert COMMON_FAULTS[0] not in render_comment("my-system", [], preview())
    assert len(COMMON_FAULTS) == 3


@pytest.mark.parametrize(("found", "record"), EVERY)
def test_what_is_so_stands_before_what_most_often_goes_wrong(found: list[Problem], record: Preview | None) -> None:
    assert headings(render_comment("my-system", found, record, FIRST_TIME))[-2:] == [
        "Common mistakes in a first submission",
        "The same on your machine",
    ]


def test_a_warning_alone_is_told_as_nothing_to_mend() -> None:
    said = "There are no errors. Worth a look:"
    assert said in render_comment("my-system", [warning()], preview())
    assert said not in render_comment("my-system", [warning(), *problems(1)])


def test_a_preview_of_another_submission_is_not_shown() -> None:
    with pytest.raises(ValueError, match="preview of 'my-system'"):
        render_comment("other", [], preview())


def test_the_longest_there_can_be_fits_whole_sections_only() -> None:
    """Six files of the longest problems do not fit. The longest sections are left out and named."""
    found = [
        problem
        for number in range(FILES)
        for problem in problems(PROBLEMS, f"submissions/my-system/{number}.jsonl", "字`" * 3000)
    ]
    text = render_comment("my-system", found, None, FIRST_TIME)
    assert LENGTH / 2 < len(text.encode()) <= LENGTH
    assert "_Left out, because GitHub accepts no longer text: problems of " in text
    assert headings(text)[-1] == "The same on your machine"


def test_the_longest_preview_fits() -> None:
    name, words = "t" * 64, "\u202e`|" * 166
    record = preview(
        judge=words,
        alone={"total": 24, "tasks": [name] * 24},
        failed=0,
        timeout=0,
        invalid=0,
        unanswered=0,
        undecided=16,
        accuracy_upper=1.0,
        collateral=40,
        touched=[{"task": name, "total": 9, "paths": [words] * 5}] * 40,
        open_verdicts=[{"task": name, "step": "output", "reason": words, "variant": words}] * 16,
    )
    text = render_comment("my-system", [], record, PullRequestContext(first_time=True, appeal=APPEAL))
    assert len(text.encode()) <= LENGTH
    assert "What happens next" in headings(text)


@pytest.mark.parametrize("limit", [8000, 3000, 2600])
def test_what_is_left_out_is_named(limit: int) -> None:
    whole = render_comment("my-system", [], contested())
    text = render_comment("my-system", [], contested(), limit=limit)
    assert len(text.encode()) <= limit
    gone = set(headings(whole)) - set(headings(text))
    assert bool(gone) == ("_Left out" in text) == (limit < len(whole.encode()))


def test_what_can_never_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="expected at most 100"):
        render_comment("my-system", [], preview(), limit=100)


def test_problems_of_paths_with_any_name_are_shown() -> None:
    found = [Problem(Path("submissions/my-system/a b\n`c`|d"), 0, "x")]
    assert "submissions/my-system/a b\\n`c`|d: x" in spans(render_comment("my-system", found))
