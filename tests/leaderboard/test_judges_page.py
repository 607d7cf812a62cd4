"""The page about the judges shows every known figure and marks each unknown one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evaluator.judges import JUDGES
from evaluator.leaderboard.chart_groups import draw_judges
from evaluator.leaderboard.charts import judges_chart
from evaluator.leaderboard.held_back_errors import most_pairs
from evaluator.leaderboard.judges_page import render_judges, render_judges_summary
from evaluator.leaderboard.write import write_pages
from evaluator.pipeline.boards.scored_boards import JUDGE_METRICS, read_validation
from evaluator.records import AnnotatorAgreement, JudgeFigures, PairKind, Part, Validation

ROOT = Path(__file__).parents[2]


def figures(**fields: object) -> JudgeFigures:
    values: dict[str, object] = {
        "judge": "consensus",
        "version": 2,
        "suite": "core",
        "suite_version": "1.0.0",
        "kind": PairKind.TABLE_4,
        "part": Part.HELD_BACK,
        "equivalent_passed": 90,
        "equivalent_failed": 4,
        "equivalent_undecided": 6,
        "wrong_passed": 3,
        "wrong_failed": 95,
        "wrong_undecided": 2,
        "infra_errors": 0,
        "seconds": 1.5,
        "usd": 0.0,
    }
    return JudgeFigures.model_validate(values | fields)


def part(*found: JudgeFigures, agreements: tuple[AnnotatorAgreement, ...] = ()) -> str:
    return render_judges(Validation(format=1, figures=found, agreements=agreements))


def test_where_nothing_is_measured_the_page_says_so() -> None:
    assert part() == "<p>No judge has been measured yet.</p>\n"


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        ("false passes", ">3<"),
        ("false fails", ">4<"),
        ("undecided", ">8<"),
        ("accuracy", ">0.935<"),
        ("decided", ">0.964<"),
    ],
)
def test_errors_and_rates_are_shown(column: str, shown: str) -> None:
    assert shown in part(figures()), column


def test_a_rate_of_nothing_is_a_dash_and_sorts_as_nothing() -> None:
    found = part(figures(equivalent_passed=0, equivalent_failed=0, equivalent_undecided=0, wrong_passed=0))
    assert found.count('<td class="number">\N{EN DASH}</td>') == 3


def test_every_suite_and_kind_has_a_table_of_its_own() -> None:
    found = part(figures(), figures(kind=PairKind.MUTANTS), figures(suite="other"))
    assert found.count("<table") == 3
    assert 'id="core-mutants"' in found
    assert 'id="other-table-4"' in found


def test_what_rules_were_written_from_is_told_apart() -> None:
    found = part(figures(), figures(part=Part.WRITTEN_FROM))
    assert "held back" in found
    assert ">seen<" in found


def test_the_judge_that_ranks_is_marked() -> None:
    found = part(figures(), figures(judge="bleu"))
    assert found.count('class="ranks"') == 1
    assert found.count(">ranks<") == 1


def test_the_summary_adds_the_held_back_pairs_of_the_judge_that_ranks() -> None:
    """The numbers are those of all kinds of pairs of one suite. Pairs that rules were written from do not count."""
    validation = Validation(
        format=1,
        figures=(
            figures(),
            figures(kind=PairKind.LABELLED),
            figures(part=Part.WRITTEN_FROM, wrong_passed=50),
            figures(judge="bleu", wrong_passed=90),
        ),
    )
    found = render_judges_summary(validation, draw_judges(validation), "vega.js")
    assert "<b>6 of 200</b> wrong commands" in found
    assert "<b>8 of 200</b> right ones" in found
    assert "left 16 of 400 undecided" in found
    assert '<td class="number" data-value="0.03">6 of 200</td>' in found
    assert 'data-chart="../board/judges.themed.json"' in found
    labels = set(re.findall(r'"counts": "(\d+ of \d+)"', json.dumps(judges_chart(most_pairs(validation)).to_dict())))
    assert {"6 of 200", "90 of 187"} <= labels


def test_without_held_back_pairs_there_is_no_summary() -> None:
    validation = Validation(format=1, figures=(figures(part=Part.ALL),))
    assert draw_judges(validation) is None
    assert render_judges_summary(validation, None, "vega.js") == ""


def test_names_are_escaped() -> None:
    found = part(
        figures(judge="<b>x"),
        agreements=(AnnotatorAgreement(measure="<i>y", rows_of="all", rows=1, raw=1.0, kappa=None, auc=None),),
    )
    assert "<b>x" not in found
    assert "<i>y" not in found


def test_the_page_is_written_with_the_boards(tmp_path: Path) -> None:
    write_pages([], tmp_path / "board", Validation(format=1, figures=(figures(),)))
    assert (tmp_path / "board" / ".parts" / "_judges.html").read_text() == part(figures())


def test_the_published_figures_are_of_the_judges_there_are() -> None:
    """A judge with changed rules needs new figures: bashboard judges validate --publish.

    Labelled answers of real systems may be of an earlier version, because judging them again needs the recorded answers
    of these systems. The page names the version.
    """
    validation = read_validation(ROOT / JUDGE_METRICS)
    found = validation.figures
    versions = {(each.judge.removesuffix(" with panel"), each.version) for each in found}
    today = {judge.name: judge.version for judge in JUDGES.values()}
    assert versions <= set(today.items())
    assert all(each.version <= today[each.judge.removesuffix(" with panel")] for each in validation.answers)
    assert {each.judge for each in found} >= {"exact", "bleu", "nl2cmd", "tfidf", "exec-tfidf", "consensus"}
