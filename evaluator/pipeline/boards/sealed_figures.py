"""Read and write the figures of sealed editions, and compute the differences that the board shows.

A row counts only as long as the submission's answers and the suite's version are those that were scored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from evaluator.errors import FormatError, Problem
from evaluator.files import write_whole
from evaluator.metrics.paired import Counts, difference_interval
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.edition_prompts import edition_names, edition_path
from evaluator.records import EditionDifference, EditionFigures, PairTally
from evaluator.records.record import digest_of
from evaluator.submissions.names import EDITION_SIGN, PREDICTIONS


def figures_path(project: Project, suite: str, edition: str) -> Path:
    """Return the path of an edition's figures."""
    return edition_path(project, suite, edition).with_suffix(".figures.json")


def answers_digest(project: Project, slug: str, suite: str, edition: str) -> str:
    """Return the digest of a submission's answers to a suite and to its edition. A missing file counts as empty."""
    folder = project.root / "submissions" / slug
    files = [folder / f"{name}{PREDICTIONS}" for name in (suite, f"{suite}{EDITION_SIGN}{edition}")]
    return digest_of(*(file.read_bytes() if file.is_file() else b"" for file in files))


def read_figures(path: Path) -> EditionFigures | None:
    """Read an edition's figures. Return None if there is no file. Raises FormatError if the file is invalid."""
    if not path.is_file():
        return None
    try:
        return EditionFigures.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        fault = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        expected = "expected the file that `bashboard score --edition` writes; restore it with Git"
        raise FormatError([Problem(path, 0, f"{expected}: {fault}")]) from error


def write_figures(project: Project, figures: EditionFigures) -> Path:
    """Write an edition's figures. Rows of other submissions stay if suite version and judge are the same."""
    path = figures_path(project, figures.suite, figures.edition)
    known = read_figures(path)
    rows = {row.submission: row for row in figures.rows}
    if known is not None and known.model_copy(update={"rows": ()}) == figures.model_copy(update={"rows": ()}):
        rows = {row.submission: row for row in known.rows} | rows
    merged = figures.model_copy(update={"rows": tuple(rows[slug] for slug in sorted(rows))})
    write_whole(path, f"{merged.model_dump_json(indent=1)}\n".encode())
    return path


def current_differences(
    project: Project, suite: str, version: str, submissions: Iterable[str]
) -> tuple[EditionDifference, ...]:
    """Return the differences on all editions of a suite, for these submissions. Outdated rows are left out."""
    listed = set(submissions)
    found: list[EditionDifference] = []
    for edition in edition_names(project, suite):
        figures = read_figures(figures_path(project, suite, edition))
        if figures is None or figures.suite_version != version:
            continue
        for row in figures.rows:
            if row.submission in listed and row.answers == answers_digest(project, row.submission, suite, edition):
                found += differences(edition, row.submission, row.tiers.items())
    return tuple(found)


def differences(edition: str, submission: str, tiers: Iterable[tuple[str, PairTally]]) -> Iterator[EditionDifference]:
    """Yield a submission's public accuracy minus its accuracy on an edition, for each tier."""
    for tier, tally in tiers:
        counts = Counts(tally.both, tally.only_first, tally.only_second, tally.neither)
        low, high = difference_interval(counts)
        tasks = counts.tasks or 1
        yield EditionDifference(
            edition=edition,
            submission=submission,
            tier=tier,
            tasks=counts.tasks,
            public=(tally.both + tally.only_first) / tasks,
            sealed=(tally.both + tally.only_second) / tasks,
            difference=counts.difference,
            difference_low=low,
            difference_high=high,
        )
