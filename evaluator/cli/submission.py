"""Commands that check a submission or generate a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import PROBLEMS_FOUND, AsJson, current_project, example, print_json, shown
from evaluator.escaping import printable

if TYPE_CHECKING:
    from evaluator.errors import Problem
    from evaluator.pipeline.project import Project


@example(
    "bashboard check",
    "bashboard check my-system",
    "bashboard check my-system --strict",
    "bashboard check submissions/my-system --json",
    "bashboard check --since origin/main --annotate",
)
def check(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FOLDER", help="Slugs or folders of submissions. The default is all."),
    ] = None,
    as_json: AsJson = False,
    since: Annotated[
        str | None, typer.Option("--since", help="Only submissions that differ from this commit.", metavar="COMMIT")
    ] = None,
    annotate: Annotated[bool, typer.Option("--annotate", help="Print problems as GitHub annotations.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Take each warning as an error.")] = False,
) -> None:
    """Print every problem of a submission.

    Executes nothing. Each problem is printed as path:line, what is wrong, and what was expected. A warning reports what
    was surely not meant, and what bash would execute. Without folders, it also checks the adjudications for lines that
    contradict each other or have no effect.
    """
    from evaluator.errors import Severity, UsageError
    from evaluator.pipeline.grading.adjudications import check_adjudications
    from evaluator.pipeline.submissions.repository import check_folders, diff_annotations

    if folders and since:
        raise UsageError("--since names the submissions already: expected it, or folders")
    project = current_project()
    if since is not None:
        found = _check_since(project, since)
    else:
        found = check_folders(project, folders or [])
        found += [] if folders else check_adjudications(project)
    problems = [
        each._replace(path=shown(each.path), severity=Severity.ERROR if strict else each.severity) for each in found
    ]
    if as_json:
        print_json(
            [
                {"path": str(p.path), "line": p.line, "severity": p.severity.value, "message": p.message}
                for p in problems
            ]
        )
    else:
        for line in diff_annotations(problems) if annotate else map(str, problems):
            typer.echo(line)
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    if not as_json:
        typer.echo(f"errors: {errors}, warnings: {len(problems) - errors}", err=True)
    if errors:
        raise typer.Exit(PROBLEMS_FOUND)


def _check_since(project: Project, since: str) -> list[Problem]:
    """Check the submissions that differ from a commit and return their problems.

    Print the slugs of the submissions that were removed since this commit.
    """
    from evaluator.pipeline.submissions.repository import changed_submissions, check_folders

    changed = changed_submissions(project, since)
    for slug in changed.withdrawn:
        typer.echo(f"withdrawn: {slug}", err=True)
    if not changed.there:
        typer.echo(f"no submission here differs from {printable(since)}", err=True)
        return []
    return check_folders(project, changed.there)


@example(
    "bashboard baseline tfidf-retrieval",
    "bashboard baseline rules --check",
    "bashboard baseline tfidf-retrieval --step raw && bashboard score local-tfidf-retrieval-raw",
    "bashboard baseline",
)
def baseline(
    name: Annotated[
        str | None, typer.Argument(help="The name of the baseline. Without it, all names are listed.")
    ] = None,
    only_check: Annotated[bool, typer.Option("--check", help="Write nothing, and fail if the files differ.")] = False,
    step: Annotated[
        str | None,
        typer.Option("--step", help="A variation of tfidf-retrieval: raw, cleaned, more-data, literals or confidence."),
    ] = None,
) -> None:
    """Generate the submission of a baseline.

    The files are the same, byte for byte. With --step, it generates one of five variations of tfidf-retrieval, in the
    folder submissions/local-tfidf-retrieval-STEP. The command `bashboard score` prints its accuracy.
    """
    from evaluator.errors import UsageError
    from evaluator.pipeline.submissions.repository import differing_files, list_baselines, write_baseline

    if step is not None and name is None:
        raise UsageError(f"--step {step}: expected the baseline tfidf-retrieval")
    if name is None:
        for each, description in list_baselines():
            typer.echo(f"{each:20} {description}")
        return
    project = current_project()
    if not only_check:
        for path in write_baseline(project, name, step):
            typer.echo(path.relative_to(project.root))
        return
    differing = differing_files(project, name, step)
    again = f"bashboard baseline {name}{f' --step {step}' if step else ''}"
    for path in differing:
        typer.echo(f"{path.relative_to(project.root)}: is not what the program makes; run: {again}")
    if differing:
        raise typer.Exit(PROBLEMS_FOUND)
