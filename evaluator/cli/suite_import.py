"""Commands that import and audit suites of other publishers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluator.cli.app import AsJson, Workers, current_project, example, print_json, print_records, warn
from evaluator.cli.completion import complete_suites
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


Source = Annotated[
    str | None, typer.Option("--source", help="A clone, folder, wheel or address to read instead.", metavar="SOURCE")
]


@example(
    "bashboard suite add intercode",
    "bashboard suite add intercode --source ~/src/intercode",
    "bashboard suite add nl2sh-alfa --source icalfa-0.3.6-py3-none-any.whl",
    "bashboard suite add --answered",
)
def add(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="SUITE", autocompletion=complete_suites, help="The name of the suite, from `bashboard suite list`."
        ),
    ] = None,
    source: Source = None,
    declared: Annotated[bool, typer.Option("--declared", help="Import every missing external suite.")] = False,
    answered: Annotated[
        bool, typer.Option("--answered", help="Import every missing suite that a submission answers.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import another publisher's benchmark.

    The suite stays on this machine. Fetches the version that fixtures/external/NAME.toml declares, and checks the
    digest of its files. With --source it reads a copy of the same files. Writes the suite to fixtures/NAME, which Git
    ignores. Replaces an earlier import.

    Nothing is executed: the index in fixtures/external says how each task is compared, and in which variants of its
    world it runs. With --declared or --answered, a suite that cannot be fetched is a warning.
    """
    from evaluator.errors import UsageError

    if [name is not None, declared, answered].count(True) != 1 or (source is not None and name is None):
        raise UsageError("expected the name of a suite, or --declared, or --answered; only a name goes with --source")
    if name is None:
        _add_missing(answered=answered, as_json=as_json)
        return
    from evaluator.pipeline.maintenance.import_suite import add_report

    with shown_progress() as progress:
        report = add_report(current_project(), name, source, progress)
    if as_json:
        print_json(report)
    else:
        _print_added(name, report)


def _add_missing(*, answered: bool, as_json: bool) -> None:
    """Import all missing external suites, or those that submissions answer. Warn about each failure."""
    from evaluator.pipeline.maintenance.import_suite import add_missing
    from evaluator.pipeline.submissions.repository import load_sound, unfetched_suites

    project = current_project()
    names = list(unfetched_suites(project, load_sound(project).submissions) if answered else project.external_suites())
    with shown_progress() as progress:
        added, failures = add_missing(project, names, progress)
    for reason in failures.values():
        warn(f"a suite stays missing: {printable(reason)}")
    if as_json:
        print_json({"added": added, "missing": failures})
        return
    for name in added:
        typer.echo(f"fixtures/{name}: imported")
    if not added and not failures:
        typer.echo("no external suite is missing")


@example(
    "bashboard suite index intercode",
    "bashboard suite index nl2bash --source ~/src/nl2bash",
    "bashboard suite index intercode --no-execute",
)
def index(
    name: Annotated[
        str,
        typer.Argument(
            metavar="SUITE", autocompletion=complete_suites, help="The name of the suite, from `bashboard suite list`."
        ),
    ],
    source: Source = None,
    no_execute: Annotated[
        bool, typer.Option("--no-execute", help="Keep the results of the present index instead of executing.")
    ] = False,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Renew the index of an external suite.

    The index is committed by a maintainer. Reads the declared source, and imports it with the importer as it is now.
    The references are executed. A task uses the variants of its world in which its references hold. If the declaration
    has sound_references = true, a task with a reference that fails, shows nothing or needs the network leaves the
    suite, and these references are listed.

    Writes fixtures/external/NAME.tasks.jsonl and NAME.sha256, and the digest in NAME.toml.

    With --no-execute, nothing is executed. Use it if a change of an importer cannot change how a reference behaves.
    """
    from evaluator.pipeline.maintenance.index_suite import index_suite

    with shown_progress() as progress:
        report = index_suite(current_project(), name, source, progress, execute=not no_execute, workers=workers)
    if as_json:
        print_json(report)
        return
    typer.echo(f"fixtures/external/{name}.tasks.jsonl: {report['tasks']} tasks, from {report['files']} files")
    _print_left_out(report["left_out"])
    for kind, names in report["found"].items():
        typer.echo(f"references, {kind}: {len(names)}" + (f" ({', '.join(names)})" if names else ""))
    typer.echo(_asked_line(report["variants"]))


def _print_added(name: str, report: Mapping[str, Any]) -> None:
    sizes = f"{report['tasks']} tasks, {report['references']} references, {report['worlds']} worlds"
    typer.echo(f"{report['folder']}{', replaced' if report['replaces'] else ''}: {sizes}")
    _print_left_out(report["left_out"])
    typer.echo(_asked_line(report["variants"]))
    typer.echo(f"audit it with: bashboard suite verify {name}")


def _print_left_out(left_out: Mapping[str, int]) -> None:
    for reason, count in left_out.items():
        typer.echo(f"left out, {reason}: {count}")
