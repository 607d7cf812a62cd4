"""The report of a suite's mutation test for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from evaluator.escaping import printable
from evaluator.records import JudgedMutant, MutationReport, Outcome


def mutation_lines(report: MutationReport) -> Iterator[str]:
    """Yield the survivors by task, stale marks, counts by operator, and the score with its parts."""
    task = ""
    for mutant in report.survivors:
        if mutant.task != task:
            task = mutant.task
            yield f"{task}:"
        yield from _survivor(mutant)
    for stale in report.stale:
        yield f"equivalent.jsonl:{stale.line}: {stale.mark.task}: {printable(stale.reason)}: remove the mark"
    yield f"{'operator':16} {'mutants':>8} {'failed':>8} {'survived':>8} {'undecided':>9} {'equivalent':>10}"
    for row in report.operators:
        counts = f"{row.mutants:8} {row.failed:8} {row.survived:8} {row.undecided:9} {row.equivalent:10}"
        yield f"{row.operator:16} {counts}"
    yield from _summary(report)


def _survivor(mutant: JudgedMutant) -> Iterator[str]:
    told = "undecided: " + printable(mutant.reason) if mutant.outcome is Outcome.UNDECIDED else "passes"
    yield f"  {mutant.operator} of reference {mutant.reference}: {told}"
    for line in mutant.command.decode("utf-8", "backslashreplace").split("\n"):
        yield f"      {printable(line)}"


def _summary(report: MutationReport) -> Iterator[str]:
    yield (
        f"{report.mutants} mutants in {report.tasks} tasks: {report.failed} fail, {report.survived} survive, "
        f"{report.undecided} undecided, {report.equivalent} marked equivalent ({report.marked_share:.1%})"
    )
    if report.refused or report.infra:
        yield f"not counted: {report.refused} that bash refuses, {report.infra} that our machinery failed on"
    if report.score is not None:
        yield f"mutation score: {report.score:.1%} = {report.failed} / ({report.mutants} - {report.equivalent})"
    if report.is_over_marked:
        yield f"too many are marked equivalent: expected at most {report.most_marked:.0%} of the mutants"
