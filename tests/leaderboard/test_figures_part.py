"""A submission's page and the downloads show every figure with an explanation, and mark absent figures."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

from evaluator.leaderboard.downloads import standings_csv
from evaluator.leaderboard.figures_part import MAX_UTILITIES, render_metrics
from evaluator.records import Standing, SubmissionMetrics, Tally
from evaluator.testing.boards import drawn_board

SCORING = (Path(__file__).parents[2] / "site" / "scoring.md").read_text("utf-8")
STANDING = drawn_board(2, 10).standings[0]


def shown(standing: Standing, name: str) -> str:
    """Return the text of a figure on the page, without markup."""
    found = re.search(rf"<dt>(?:<a [^>]*>)?{re.escape(name)}(?:</a>)?</dt><dd>(.*?)</dd>", render_metrics(standing))
    assert found
    return re.sub(r"<[^>]+>", "", found[1])


def with_figures(**fields: object) -> Standing:
    return STANDING.model_copy(update={"figures": SubmissionMetrics.model_validate(fields)})


def test_every_figure_leads_to_its_formula() -> None:
    """Each link leads to a heading that the page about scoring has."""
    anchors = set(re.findall(r'href="\.\./\.\./\.\./\.\./scoring/#([^"]+)"', render_metrics(STANDING)))
    assert len(anchors) > 8
    assert anchors <= set(re.findall(r"\{ #([a-z0-9-]+) \}", SCORING))


def test_figures_say_of_how_many_they_are() -> None:
    """A share shows its denominator if it does not count all tasks asked."""
    standing = with_figures(runnable=0.5, measured=8, latency_s=0.25, latency_s_reported=3, ece=0.1, calibrated_on=9)
    assert shown(standing, "Runnable") == "50.0 % and finds what it calls, of 8 measured"
    assert shown(standing, "Latency") == "0.25 s median, self-reported for 3 of 10"
    assert shown(standing, "Calibration error") == "0.100 0 is best, of 9 with a verdict"


def test_what_was_not_measured_says_so() -> None:
    """An absent figure never looks like 0."""
    standing = with_figures()
    assert shown(standing, "If the judge errs") == "this version of it is not measured"
    for name in ("Full command", "BLEU", "Valid", "Utility-weighted"):
        assert shown(standing, name) == "not measured"
    assert shown(standing, "Energy") == "not reported"
    assert "By difficulty" not in render_metrics(standing)


def test_zero_is_shown_as_zero() -> None:
    """A measured value of 0 is shown as 0 and not as absent."""
    assert shown(with_figures(bleu=0.0), "BLEU").startswith("0.000 ")
    assert shown(with_figures(template_at={1: 0.0, 3: 0.25}), "Template").startswith("0.0 / 25.0 % ")


def test_the_utilities_of_most_tasks_are_shown_and_escaped() -> None:
    """The page shows a limited number of utilities and escapes their names."""
    many = {f"u{number:02}": Tally(asked=number, passed=1) for number in range(1, 40)}
    part = render_metrics(with_figures(utilities={"<b>": Tally(asked=99, passed=1), **many}))
    assert "&lt;b&gt;" in part
    assert part.count("<dt>u") == MAX_UTILITIES - 1
    assert "<dt>u39" in part


def test_the_csv_has_every_figure_and_nothing_for_what_is_absent() -> None:
    """Shares at k and difficulties have columns of their own. The cell of an absent figure is empty."""
    rows = list(csv.DictReader(io.StringIO(standings_csv([STANDING, with_figures()]))))
    figures = STANDING.figures
    assert float(rows[0]["template_at_3"]) == figures.template_at[3] > 0
    assert int(rows[0]["passed_difficulty_1"]) == figures.difficulties["1"].passed
    assert float(rows[0]["latency_s"]) == figures.latency_s
    assert [rows[0]["energy_j"], rows[1]["template_at_3"], rows[1]["bleu"]] == ["", "", ""]
