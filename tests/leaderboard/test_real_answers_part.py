"""The tables of results on real answers, and of audits, show every known number and escape every name."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from evaluator.leaderboard.audits_part import render_audits
from evaluator.leaderboard.real_answers_part import render_real_answers
from evaluator.leaderboard.write import write_pages
from evaluator.metrics.answer_shares import JudgedAnswer, answer_figures
from evaluator.records import AnswerSet, Audit, AuditStratum, Finding, Outcome, Part, Step, Validation

ROOT = Path(__file__).parents[2]
NUMBERS = AnswerSet(suite="open", suite_version="1.0.0", label_set=3, right=2, wrong=1, left_out=5, unavailable=1)
ANSWERS = [
    JudgedAnswer("a", True, Finding(outcome=Outcome.PASS, step=Step.EQUAL)),
    JudgedAnswer("b", False, Finding(outcome=Outcome.UNDECIDED, step=Step.OUTPUT)),
]


def validation(judge: str = "consensus") -> Validation:
    parts = (Part.WRITTEN_FROM, Part.HELD_BACK)
    rows = tuple(answer_figures(judge, 9, NUMBERS, part, ANSWERS) for part in parts)
    return Validation(format=2, answer_sets=(NUMBERS,), answers=rows)


def audit(**fields: object) -> Audit:
    values: dict[str, object] = {
        "format": 1,
        "day": date(2026, 1, 2),
        "suite": "open",
        "suite_version": "1.0.0",
        "judge": "consensus",
        "judge_version": 9,
        "seed": "one",
        "models": ("a-model",),
        "votes": 3,
        "passes": AuditStratum(verdicts=90, sampled=10, decided=10, disagreed=1),
        "fails": AuditStratum(verdicts=10, sampled=10, decided=8, disagreed=4),
    }
    return Audit.model_validate(values | fields)


def test_what_is_not_measured_is_said() -> None:
    assert render_real_answers(Validation(format=2)) == "<p>No judge has been measured on real answers yet.</p>\n"
    assert render_audits([]) == "<p>No verdict has been audited yet.</p>\n"


def test_both_parts_stand_in_the_table_with_intervals() -> None:
    found = render_real_answers(validation())
    assert found.count("<table") == 2
    assert "held back" in found
    assert ">seen<" in found
    assert '1.000 <small class="note">0.21–1.00</small>' in found  # the only pass is right
    assert "3 labelled answers: 2 right, 1 wrong. 5 unclear or disputed answers left out." in found
    assert "1 command not available when the judges were measured." in found


def test_the_confusion_has_a_row_for_each_outcome_and_step() -> None:
    found = render_real_answers(validation()).partition('id="steps-open"')[2]
    assert found.count("<tr>") == 1 + 4
    assert 'data-value="equal"' in found
    assert 'data-value="undecided"' in found


def test_an_audit_has_its_rate_weighted_by_the_numbers_of_verdicts() -> None:
    """The rates are 0.1 of 90 passes, and 0.5 of 10 fails."""
    assert audit().rate == 0.9 * 0.1 + 0.1 * 0.5
    assert ">0.140<" in render_audits([audit()])


def test_a_rate_needs_decisions_on_passes_and_on_fails() -> None:
    silent = AuditStratum(verdicts=10, sampled=2, decided=0, disagreed=0)
    none = AuditStratum(verdicts=0, sampled=0, decided=0, disagreed=0)
    assert audit(fails=silent).rate is None
    assert audit(fails=none).rate == 0.1
    assert "\N{EN DASH}" in render_audits([audit(fails=silent)])


def test_the_latest_audit_comes_first() -> None:
    found = render_audits([audit(), audit(day=date(2026, 3, 4))])
    assert 0 < found.index("2026-03-04") < found.index("2026-01-02")


def test_names_are_escaped() -> None:
    assert "<b>x" not in render_real_answers(validation("<b>x"))
    assert "<b>x" not in render_audits([audit(judge="<b>x", models=("<b>x",))])


def test_the_parts_are_written_and_the_page_shows_real_answers_first(tmp_path: Path) -> None:
    write_pages([], tmp_path / "board", validation(), [audit()])
    parts = tmp_path / "board" / ".parts"
    assert (parts / "_real_answers.html").read_text() == render_real_answers(validation())
    assert (parts / "_audits.html").read_text() == render_audits([audit()])
    page = (ROOT / "site" / "judges.md").read_text()
    markers = [page.index(f'data-part="{name}"') for name in ("_real_answers", "_judges", "_audits")]
    assert markers == sorted(markers)
