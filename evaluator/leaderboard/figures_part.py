"""A submission's figures that do not rank it: what each says, of how many tasks, and where it is explained.

A figure that was not measured says so and why; it is never shown as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from evaluator.leaderboard.escaping import inline
from evaluator.leaderboard.markup import link, percent, share_bar, spread
from evaluator.records import Standing, SubmissionMetrics, Tally

SCORING: Final = "../../../../scoring/"
"""The method page, from a submission's."""

MAX_UTILITIES: Final = 12
"""Utilities shown, those of most tasks; the downloads have all."""

_NOT_MEASURED: Final = "not measured"
_NOT_REPORTED: Final = "not reported"


class _Figure(NamedTuple):
    """One figure: its name, the anchor that explains it, its value as HTML (None: there is none), a note."""

    name: str
    anchor: str
    value: str | None
    note: str = ""
    absent: str = _NOT_MEASURED


def figures_part(standing: Standing) -> str:
    """The HTML of all figures of one submission, in groups."""
    figures = standing.figures
    groups = {
        "Right, and how surely": _rightness(figures),
        "What the text says": _texts(figures),
        "How first candidates ran": _running(figures, standing),
        "What it took": _usage(figures, standing),
    }
    parts = [_group(title, map(_item, rows)) for title, rows in groups.items()]
    parts += [_tallies("By difficulty", "Difficulty ", figures.difficulties, "slices")]
    common = sorted(figures.utilities.items(), key=lambda each: (-each[1].asked, each[0]))[:MAX_UTILITIES]
    parts += [_tallies("By utility", "", dict(common), "slices")]
    lead = (
        f'<h2 id="figures">Figures</h2>\n<p class="note">None of these ranks. Each name leads to its formula; '
        f"shares are of the {standing.asked} tasks asked where nothing else is said.</p>\n"
    )
    return lead + "".join(parts)


def _rightness(figures: SubmissionMetrics) -> list[_Figure]:
    stated = f"of {figures.calibrated_on} with a verdict"
    low, high = figures.judge_low, figures.judge_high
    errs = None if low is None or high is None else f"{spread(percent(low), percent(high))} %"
    unmeasured = "this version of it is not measured"
    weighted = _percent(figures.utility_weighted)
    return [
        _Figure("If the judge errs", "judge-error", errs, "accuracy, were its errors as measured", unmeasured),
        _Figure("Utility-weighted", "utility-weighted", weighted, "common utilities count more"),
        _Figure("Reciprocal rank", "ranking", _decimal(figures.mrr), "1 if the first passes, 0 if none"),
        _Figure("Average precision", "ranking", _decimal(figures.map), "over all that passes"),
        _Figure("Calibration error", "calibration", _decimal(figures.ece), f"0 is best, {stated}", "no verdicts"),
        _Figure("Brier score", "calibration", _decimal(figures.brier), f"0 is best, {stated}", "no verdicts"),
    ]


def _texts(figures: SubmissionMetrics) -> list[_Figure]:
    depths = " / ".join(map(str, sorted(figures.full_command_at)))
    return [
        _Figure("Full command", "text-matches", _at(figures.full_command_at), f"a reference's, within {depths}"),
        _Figure("Template", "text-matches", _at(figures.template_at), "the same but for arguments"),
        _Figure("Verbatim", "verbatim", _percent(figures.verbatim), "repeat a public reference"),
        _Figure("BLEU", "bleu", _decimal(figures.bleu), "words shared with references, at most 1"),
    ]


def _running(figures: SubmissionMetrics, standing: Standing) -> list[_Figure]:
    of = f"of {figures.measured} measured"
    return [
        _Figure("Valid", "running", _percent(figures.valid), f"the shell can read it, {of}"),
        _Figure("Runnable", "running", _percent(figures.runnable), f"and finds what it calls, {of}"),
        _Figure("Exit 0", "running", _percent(figures.exit_zero), f"in every variant, {of}"),
        _Figure("Clean stderr", "running", _percent(figures.clean_stderr), f"nothing on it, {of}"),
        _Figure("Collateral", "collateral", _percent(standing.collateral), "touch what no reference touches"),
    ]


def _usage(figures: SubmissionMetrics, standing: Standing) -> list[_Figure]:
    def reported(name: str, title: str, unit: str) -> _Figure:
        value, count = getattr(figures, name), getattr(figures, f"{name}_reported")
        shown = None if value is None else f"{value:,.4g}{unit}"
        note = f"median, self-reported for {count} of {standing.asked}"
        return _Figure(title, "usage", shown, note, _NOT_REPORTED)

    return [
        reported("latency_s", "Latency", " s"),
        reported("energy_j", "Energy", " J"),
        reported("input_tokens", "Tokens in", ""),
        reported("output_tokens", "Tokens out", ""),
    ]


def _group(title: str, items: Iterable[str], kind: str = "facts") -> str:
    return f'<h3>{title}</h3>\n<dl class="{kind}">{"".join(items)}</dl>\n'


def _item(figure: _Figure) -> str:
    value = f'<span class="note">{figure.absent}</span>'
    if figure.value is not None:
        note = f' <small class="note">{figure.note}</small>' if figure.note else ""
        value = f'<b class="figure">{figure.value}</b>{note}'
    return f"<div><dt>{link(f'{SCORING}#{figure.anchor}', figure.name)}</dt><dd>{value}</dd></div>"


def _tallies(title: str, before: str, tallies: Mapping[str, Tally], anchor: str) -> str:
    """Passes of each slice with its tasks; nothing where there is no slice."""
    items = []
    for name, tally in tallies.items():
        if not tally.asked:
            continue
        share = tally.passed / tally.asked
        figure = f'<b class="figure">{tally.passed}</b> of {tally.asked} {share_bar(share)}'
        items.append(f"<div><dt>{before}{inline(name, 80)}</dt><dd>{figure}</dd></div>")
    heading = link(f"{SCORING}#{anchor}", title)
    return _group(heading, items) if items else ""


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{percent(share)} %"


def _decimal(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"


def _at(shares: Mapping[int, float]) -> str | None:
    """Shares at growing depth in one line, in per cent."""
    return " / ".join(percent(share) for _, share in sorted(shares.items())) + " %" if shares else None
