"""Commands that import and audit suites of other publishers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluator.cli.app import AsJson, Workers, current_project, example, print_json, print_records
from evaluator.cli.progress import shown_progress
from evaluator.escaping import printable
from evaluator.wording import pluralize

if TYPE_CHECKING:
    from evaluator.pipeline.project import Project
    from evaluator.suites.audit_report import AuditNote
    from evaluator.suites.load import Suite


def audit(project: Project, suite: Suite, tasks: Sequence[str], *, workers: int | None, as_json: bool) -> None:
    """Audit a suite of another publisher, and print each defect of the suite as a note."""
    from evaluator.pipeline.maintenance.audit_suite import audit_suite, count_sound_drivers, variant_counts

    with shown_progress() as progress:
        notes = audit_suite(project, suite, progress, tasks=tasks, workers=workers)
    if as_json:
        print_records(notes)
        return
    for line in _audit_lines(notes):
        typer.echo(line)
    typer.echo(_asked_line(variant_counts(suite, tasks)))
    sound, driven = count_sound_drivers(suite, tasks, notes)
    if driven:
        wrong = "`true`, another task's reference, and a reference with a stray file"
        typer.echo(f"verifiers that accept their references and refuse {wrong}: {sound} of {driven}")
    typer.echo(f"{len(notes)} notes on {len(tasks or suite.tasks)} tasks of a foreign suite: an audit, not a gate")


def _asked_line(counts: Mapping[int, int]) -> str:
    """Return a line that states how many tasks use one variant of their world, how many use two, and so on."""
    many = (f"{tasks} in {pluralize(count, 'variant')}" for count, tasks in counts.items())
    return f"tasks asked: {', '.join(many)}"


def _audit_lines(notes: Sequence[AuditNote]) -> Iterator[str]:
    """Yield the notes of an audit as lines, grouped by the class and the kind of the defect."""
    ordered = sorted(notes, key=lambda note: (note.fault, note.kind))
    for (fault, kind), group in groupby(ordered, key=lambda note: (note.fault, note.kind)):
        found = list(group)
        yield f"{fault.value}: {kind}: {len(found)}"
        for note in found:
            place = note.place if note.reference is None else f"{note.place}, reference {note.reference}"
            yield f"  {place}: {printable(note.reason)}"


@example(
    "bashboard suite add nl2sh-alfa",
    "bashboard suite add intercode ~/src/intercode",
    "bashboard suite add nl2bash-eabench ~/src/nl2bash-eabench --no-execute",
)
def add(
    name: Annotated[str, typer.Argument(help="The name of the suite. A wrong name lists all names.")],
    path: Annotated[Path | None, typer.Argument(help="The clone, folder or wheel to read.")] = None,
    no_execute: Annotated[
        bool, typer.Option("--no-execute", help="Only write the suite, without executing its references.")
    ] = False,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Import another publisher's benchmark, on this machine only.

    Writes the suite to fixtures/NAME. Replaces a suite that was imported under that name before. Git ignores the
    folder, and no page shows its texts, because we may not publish them. The references are executed. Those that fail,
    show nothing or need the network are listed.

    Tasks of nl2sh-alfa and intercode get more variants of their worlds, with objects close to what their references
    look for. A task uses the variants in which its references hold. With --no-execute it uses only the publisher's
    variant.
    """
    from evaluator.pipeline.maintenance.import_suite import add_and_audit

    with shown_progress() as progress:
        report = add_and_audit(current_project(), name, path, progress, execute=not no_execute, workers=workers)
    if as_json:
        print_json(report)
    else:
        _print_added(name, report)
    if report["not_executed"] and not no_execute:
        typer.echo(f"no reference was executed: {report['not_executed']}", err=True)
        typer.echo(f"then run: bashboard suite add {name}", err=True)
        raise typer.Exit(3)


def _print_added(name: str, report: Mapping[str, Any]) -> None:
    sizes = f"{report['tasks']} tasks, {report['references']} references, {report['worlds']} worlds"
    typer.echo(f"{report['folder']}{', replaced' if report['replaces'] else ''}: {sizes}")
    for reason, count in report["left_out"].items():
        typer.echo(f"left out, {reason}: {count}")
    for kind, names in report["found"].items():
        typer.echo(f"references, {kind}: {len(names)}" + (f" ({', '.join(names)})" if names else ""))
    typer.echo(_asked_line(report["variants"]))
    typer.echo(f"audit it with: bashboard suite verify {name}")
