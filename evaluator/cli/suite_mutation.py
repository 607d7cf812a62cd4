"""The commands `mutate` and `equivalent` for mutation tests of a suite, and the terminal report of such a test."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import (
    PROBLEMS_FOUND,
    AsJson,
    SuiteArgument,
    TaskArgument,
    TaskNames,
    Workers,
    current_project,
    example,
    print_json,
)
from evaluator.cli.progress import shown_progress
from evaluator.escaping import printable

if TYPE_CHECKING:
    from evaluator.records import JudgedMutant, MutantTally, MutationReport


def mutation_lines(report: MutationReport) -> Iterator[str]:
    """Yield the lines of a mutation report: survivors, stale marks, counts and the mutation score.

    A survivor is a mutant that does not fail. A maintainer can mark a mutant as equivalent to its reference. The mark
    is stale if the mutant now fails or no longer exists, or if its task changed.
    """
    task = ""
    for mutant in report.survivors:
        if mutant.task != task:
            task = mutant.task
            yield f"{task}:"
        yield from _survivor(mutant)
    for stale in report.stale:
        yield f"equivalent.jsonl:{stale.line}: {stale.mark.task}: {printable(stale.reason)}: remove the mark"
    yield from _table("operator", {row.operator: row for row in report.operators})
    yield from _table("world", {row.world: row for row in report.worlds})
    if report.weak:
        yield from _table(f"below {report.least_score:.0%}", {row.task: row for row in report.weak})
    yield from _summary(report)


def _table(kind: str, rows: Mapping[str, MutantTally]) -> Iterator[str]:
    yield f"{kind:16} {'mutants':>8} {'failed':>8} {'survived':>8} {'undecided':>9} {'equivalent':>10} {'score':>7}"
    for name, row in rows.items():
        counts = f"{row.mutants:8} {row.failed:8} {row.survived:8} {row.undecided:9} {row.equivalent:10}"
        yield f"{name:16} {counts} {'' if row.score is None else f'{row.score:.1%}':>7}"


def _survivor(mutant: JudgedMutant) -> Iterator[str]:
    told = "undecided: " + printable(mutant.reason) if mutant.outcome.value == "undecided" else "passes"
    yield f"  {mutant.operator} of reference {mutant.reference}: {told}"
    for line in mutant.command.decode("utf-8", "backslashreplace").split("\n"):
        yield f"      {printable(line)}"


def _summary(report: MutationReport) -> Iterator[str]:
    sampled = f", at most {report.sample} of each" if report.sample else ""
    yield (
        f"{report.mutants} mutants in {report.tasks} tasks{sampled}: {report.failed} fail, {report.survived} survive, "
        f"{report.undecided} undecided, {report.equivalent} marked equivalent ({report.marked_share:.1%})"
    )
    if report.refused or report.infra:
        yield f"not counted: {report.refused} that bash refuses, {report.infra} that our machinery failed on"
    if report.score is not None:
        yield f"mutation score: {report.score:.1%} = {report.failed} / ({report.mutants} - {report.equivalent})"
    if report.is_over_marked:
        yield f"too many are marked equivalent: expected at most {report.most_marked:.0%} of the mutants"


@example(
    "bashboard suite mutate core",
    "bashboard suite mutate core --topic files --topic text",
    "bashboard suite mutate core --sample 20",
    "bashboard suite mutate core --task files-003 --json",
)
def mutate(
    name: SuiteArgument,
    topic: Annotated[
        list[str] | None, typer.Option("--topic", metavar="TOPIC", help="Only this topic. May be repeated.")
    ] = None,
    task: TaskNames = None,
    sample: Annotated[
        int | None, typer.Option(help="At most this number of mutants of each task, the same in each run.", min=1)
    ] = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Execute the mutants of every reference.

    Lists those that pass. A mutant is a reference with one change. A survivor is a mutant that no variant distinguishes
    from a reference. Add a variant to the world that does, or mark the survivor with `suite equivalent` if it does what
    the task asks. Score: failed / (mutants - marked equivalent).
    """
    from evaluator.pipeline.maintenance.mutate_suite import mutate_suite

    project = current_project()
    with shown_progress() as progress:
        found = mutate_suite(
            project,
            project.suite(name),
            progress,
            topics=topic or (),
            tasks=task or (),
            sample=sample,
            workers=workers,
        )
    if as_json:
        print_json(found.model_dump(mode="json"))
    for line in [] if as_json else mutation_lines(found):
        typer.echo(line)
    if not found.is_clean:
        raise typer.Exit(PROBLEMS_FOUND)


@example("bashboard suite equivalent core files-001 - --because 'same names'")
def equivalent(
    name: SuiteArgument,
    task: TaskArgument,
    command: Annotated[
        str, typer.Argument(metavar="COMMAND", help="The mutant, byte for byte. - reads it from standard input.")
    ],
    because: Annotated[
        str, typer.Option("--because", metavar="TEXT", help="The reason why it does what the task asks in every world.")
    ],
) -> None:
    """Mark a mutant as equivalent to its reference.

    Such a mutant does what the task asks, and no variant can distinguish it from the reference.
    """
    from evaluator.pipeline.maintenance.mutate_suite import mark_mutant

    project = current_project()
    given = sys.stdin.buffer.read().removesuffix(b"\n") if command == "-" else command.encode(errors="surrogateescape")
    mark_mutant(project, project.suite(name), task, given, because)
