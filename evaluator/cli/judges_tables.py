"""Print the results of the commands of `bashboard judges` as tables or as JSON values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import typer
from rich.table import Table

from evaluator.cli.app import console
from evaluator.escaping import printable

if TYPE_CHECKING:
    from evaluator.pipeline.grading.audit import AuditResult
    from evaluator.pipeline.maintenance.judge_validation import Results
    from evaluator.pipeline.maintenance.published_rewards import RewardComparison
    from evaluator.records import AnnotatorAgreement, AnswerFigures, BlindFigures, EstimatedShare, JudgeFigures, Mistake

SHARES: Final = {
    "passes_right": "passes right",
    "fails_right": "fails right",
    "undecided": "undecided",
    "accuracy": "accuracy",
    "accuracy_perfect_panel": "perfect panel",
    "right_passed": "right passed",
    "right_failed": "right failed",
    "wrong_failed": "wrong failed",
}
"""The shares of a judge's results on real answers, with the heads of their columns."""


def results_json(
    results: Results, agreements: Sequence[AnnotatorAgreement], mistakes: bool, ranking: str
) -> dict[str, object]:
    """Return the results as JSON values. If `mistakes` is true, include every mistake."""
    from evaluator.records import RATES

    figures = [
        {**each.model_dump(mode="json"), **{name: getattr(each, name) for name in RATES}} for each in results.figures
    ]
    found: dict[str, object] = {"figures": figures, "agreements": [each.model_dump(mode="json") for each in agreements]}
    found["blind"] = [each.model_dump(mode="json") for each in results.blind]
    found["answer_sets"] = [each.model_dump(mode="json") for each in results.answer_sets]
    found["answers"] = [each.model_dump(mode="json") for each in results.answers]
    found["hardest"] = [
        {**each.mistake.model_dump(mode="json"), "others_wrong": each.others} for each in results.hardest(ranking)
    ]
    if mistakes:
        found["mistakes"] = [each.model_dump(mode="json") for each in results.mistakes]
    return found


def print_results(results: Results, agreements: Sequence[AnnotatorAgreement], mistakes: bool, ranking: str) -> None:
    """Print the results as tables, and the pairs that are hardest for the judge `ranking`.

    If `mistakes` is true, also print every mistake.
    """
    out = console()
    print_blind(results.blind)
    if results.answers:
        out.print(_answers_table(results.answers))
        out.print(_confusion_table(results.answers))
    if results.figures:
        out.print(_figures_table(results.figures))
    if agreements:
        out.print(_agreements_table(agreements))
    if left := results.hardest(ranking):
        typer.echo(f"hardest for {ranking}, and how many other judges are wrong there:")
        for hard in left:
            typer.echo(f"  {hard.others}  {_mistake(hard.mistake)}")
    print_mistakes(results.mistakes if mistakes else ())


def print_mistakes(mistakes: Sequence[Mistake]) -> None:
    """Print each mistake with its command."""
    for each in mistakes:
        typer.echo(f"{each.judge}: {_mistake(each)}")
        typer.echo(f"    {each.command!r}")


def print_blind(figures: Sequence[BlindFigures]) -> None:
    """Print the results on answers by writers who had not seen the worlds, with their numbers and 95 % intervals."""
    left = dict.fromkeys(("blind answers", "tasks", "tier", "judge"), "left")
    table = _table(left | dict.fromkeys(("wrong that pass", "right that fail", "undecided", "left out"), "right"))
    for row in figures:
        shares = (f"{share.part} of {share.whole}: {_estimate(share)}" for share in _blind_shares(row))
        tier = row.tier.value if row.tier else "all"
        table.add_row(row.suite, row.part.value, tier, _named(row), *shares, str(row.left_out))
    if figures:
        console().print(table)


def _blind_shares(row: BlindFigures) -> tuple[EstimatedShare, ...]:
    return row.wrong_passed, row.right_failed, row.undecided


def _mistake(each: Mistake) -> str:
    label = "equivalent" if each.equivalent else "wrong"
    return f"{each.suite} {each.task}: {label}, but {each.finding.outcome.value}: {each.finding.reason}"


def _table(columns: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name, justify in columns.items():
        table.add_column(name, justify=justify, no_wrap=True)
    return table


def _named(figures: JudgeFigures | AnswerFigures | BlindFigures) -> str:
    """Return the name of a judge, with its models."""
    return f"{figures.judge} ({figures.model})" if figures.model else figures.judge


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _figures_table(figures: Sequence[JudgeFigures]) -> Table:
    left = dict.fromkeys(("suite", "pairs", "tasks", "judge"), "left")
    right = ("equivalent", "wrong", "precision", "recall", "F1", "accuracy", "of decided")
    counts = ("false passes", "false fails", "undecided", "seconds", "US$")
    table = _table(left | dict.fromkeys((*right, *counts), "right"))
    for each in figures:
        rates = (each.precision, each.recall, each.f1, each.accuracy, each.accuracy_decided)
        table.add_row(
            each.suite,
            each.kind.value,
            each.part.value,
            _named(each),
            str(each.equivalent),
            str(each.wrong),
            *map(_rate, rates),
            str(each.wrong_passed),
            str(each.equivalent_failed),
            str(each.undecided),
            f"{each.seconds:.2f}",
            f"{each.usd:.4f}",
        )
    return table


def _agreements_table(agreements: Sequence[AnnotatorAgreement]) -> Table:
    table = _table(
        {"rows": "left", "measure": "left", "number": "right", "raw": "right", "kappa": "right", "AUC": "right"}
    )
    for each in agreements:
        table.add_row(each.rows_of, each.measure, str(each.rows), _rate(each.raw), _rate(each.kappa), _rate(each.auc))
    return table


def _answers_table(answers: Sequence[AnswerFigures]) -> Table:
    """Return a table with a row for each judge and each half of a suite's tasks, with 95 % intervals."""
    left = dict.fromkeys(("real answers", "tasks", "judge"), "left")
    table = _table(left | dict.fromkeys(("right", "wrong", *SHARES.values()), "right"))
    for row in answers:
        shares = (_estimate(getattr(row, name)) for name in SHARES)
        table.add_row(row.suite, row.part.value, _named(row), str(row.right), str(row.wrong), *shares)
    return table


def _estimate(share: EstimatedShare) -> str:
    if share.value is None or share.low is None or share.high is None:
        return "–"
    return f"{share.value:.2f} {share.low:.2f}-{share.high:.2f}"


def _confusion_table(answers: Sequence[AnswerFigures]) -> Table:
    """Return a table of the labels by the judge's outcome, step and rule."""
    left = dict.fromkeys(("real answers", "tasks", "judge", "outcome", "step", "rule"), "left")
    table = _table(left | dict.fromkeys(("labelled right", "labelled wrong"), "right"))
    for cells in _confusion_cells(answers):
        table.add_row(*cells)
    return table


def _confusion_cells(answers: Sequence[AnswerFigures]) -> Iterator[tuple[str, ...]]:
    for figures in answers:
        for row in figures.confusion:
            step = row.step.value if row.step else "–"
            origin = (figures.suite, figures.part.value, _named(figures))
            yield (*origin, row.outcome.value, step, row.rule or "–", str(row.right), str(row.wrong))


def print_audits(results: Sequence[AuditResult]) -> None:
    """Print each verdict that the panel disagrees with, and a line for each audit."""
    from evaluator.pipeline.grading.audit import audit_words

    for result in results:
        for audited in result.disagreements:
            verdict, panel = audited
            typer.echo(f"{verdict.submission} {result.audit.suite} {verdict.item.task}")
            typer.echo(f"    {printable(verdict.command.decode(errors='backslashreplace'))}")
            typer.echo(f"    judge: {verdict.finding.outcome.value}: {printable(verdict.finding.reason)}")
            typer.echo(f"    panel: {panel.outcome.value}: {printable(panel.reason)}")
    for result in results:
        typer.echo(audit_words(result.audit))


def print_rewards(comparison: RewardComparison, judge: str) -> None:
    """Print the table of published and computed rewards, and each answer with another decision, with its cause."""
    console().print(_rewards_table(comparison, judge))
    typer.echo(f"answers with another decision: {len(comparison.differences)}")
    for cause, count in Counter(each.cause for each in comparison.differences).most_common():
        typer.echo(f"  {count:3}  {printable(cause)}")
    for each in comparison.differences:
        typer.echo(f"{each.system} {each.task}: stored {each.stored:.2f}, computed {each.computed}")
        typer.echo(f"    {printable(each.command)}")
        typer.echo(f"    {printable(each.cause)}")


def _rewards_table(comparison: RewardComparison, judge: str) -> Table:
    right = ("answers", "published", "intercode", "without quotes", "difference", judge, "with undecided")
    table = _table({"system": "left"} | dict.fromkeys(right, "right"))
    for each in comparison.systems:
        counts = (each.published, each.computed, each.without_quotes, each.judged, each.judged + each.undecided)
        published, computed, without_quotes, *judged = (100 * count / each.answers for count in counts)
        shares = (published, computed, without_quotes, without_quotes - published, *judged)
        table.add_row(each.system, str(each.answers), *(f"{share:.1f}" for share in shares))
    return table
