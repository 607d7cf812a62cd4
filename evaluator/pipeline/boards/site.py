"""Build the public site from boards, and serve a built site on this machine."""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import replace
from datetime import date
from multiprocessing import get_context
from pathlib import Path
from typing import Final, NamedTuple

from evaluator.errors import MissingError, UsageError
from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.build import build_site, site_server
from evaluator.leaderboard.environment import load_templates
from evaluator.leaderboard.unit_writer import FEW_UNITS
from evaluator.leaderboard.write import write_pages
from evaluator.pipeline.boards.appeal_form import appeal_form, repository_address
from evaluator.pipeline.boards.build_facts import site_facts
from evaluator.pipeline.boards.copied_answers import with_copied_answers
from evaluator.pipeline.boards.gather import gather_boards
from evaluator.pipeline.boards.group_runs import method_runs
from evaluator.pipeline.boards.near_accuracy import near_reports
from evaluator.pipeline.boards.rank_history import rank_history
from evaluator.pipeline.boards.scored_boards import JUDGE_METRICS, read_validation
from evaluator.pipeline.boards.sealed_figures import current_differences
from evaluator.pipeline.boards.site_inputs import SiteInputs, note_build
from evaluator.pipeline.boards.stored_boards import StoredBoards
from evaluator.pipeline.grading.audit_log import AUDITS, read_audits
from evaluator.pipeline.grading.llm_panel import open_panel
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.added_dates import added_dates
from evaluator.pipeline.submissions.ownership import read_owners
from evaluator.progress import Progress

PROCESSES: Final = 2
"""Processes that read submissions and make pages beside this one, which then waits."""


class BuiltSite(NamedTuple):
    """The folder of a built site, and the submissions that were left out because they cannot be scored."""

    folder: Path
    left_out: tuple[str, ...]


def build_boards_site(
    project: Project,
    progress: Progress,
    judge: str | None = None,
    *,
    published: bool = False,
    environ: Mapping[str, str] | None = None,
    say: Callable[[str], None] = lambda line: None,
    inputs: SiteInputs | None = None,
) -> BuiltSite:
    """Build the site from existing verdicts, and return its folder and the submissions that it lacks.

    If `published` is set, use only published verdicts. `environ` can provide the addresses of the repository and of the
    site, for links. Suites and submissions that are left out are reported to `say`.
    `inputs` has the digests of files that are known already.
    """
    inputs = inputs or SiteInputs(project.root, environ or {}, published, judge)
    said: list[str] = []

    def tell(line: str) -> None:
        said.append(line)
        say(line)

    _ = inputs.whole  # known before the files are read, so that a later change is noticed
    location = repository_address(project, environ or {})
    with site_workers() as writers:
        if len(inputs.folders) > FEW_UNITS:  # they start while this process waits for readers or computes alone
            for _ in range(PROCESSES):
                writers.submit(load_templates)
        if published:
            with site_workers() as readers:  # their caches of texts are large, so they end before others make pages
                found = StoredBoards(project, inputs, location, readers, progress, tell).boards()
        else:
            with open_panel(project, progress, judge=judge) as panel:
                found = gather_boards(project, progress, judge=judge, execute=False, panel=panel, say=tell)
        for line in found.notes():
            tell(line)
        declared, owners = project.external_suites(), read_owners(project).owners
        dates = added_dates(project)
        dated = [with_copied_answers(_with_dates(board, dates), owners) for board in found.boards]
        boards = [
            replace(
                board,
                appeal=appeal_form(location, board.name),
                declared=declared.get(board.name),
                editions=current_differences(project, board.name, board.manifest.version, board.submissions),
                method_runs=method_runs(board, owners),
                near_reports=near_reports(board),
                rank_history=rank_history(board),
            )
            for board in dated
        ]
        validation, audits = read_validation(project.root / JUDGE_METRICS), read_audits(project.root / AUDITS)
        write_pages(
            boards,
            project.root / "site" / "board",
            validation,
            audits,
            found.unavailable,
            site_facts(project, environ or {}, location),
            code=inputs.code,
            workers=writers,
            progress=progress,
        )
        progress.say("building the site")
        folder = build_site(project.root, writers)
    inputs.digests.save()
    note_build(inputs, said, found.left_out)
    return BuiltSite(folder, found.left_out)


def _with_dates(board: SuiteBoard, dates: Mapping[str, date]) -> SuiteBoard:
    """Return a board with the day on which each submission was added, or None if it is unknown."""
    rows = (row.model_copy(update={"added": dates.get(row.submission)}) for row in board.standings)
    return replace(board, standings=tuple(rows))


@contextlib.contextmanager
def site_workers() -> Iterator[Executor]:
    """Yield an executor of two processes, which start when there is work for them.

    New processes are spawned, because a fork of a process with threads may stop.
    """
    spawn = get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=spawn, initializer=_exit_at_once) as executor:
        yield executor


def _exit_at_once() -> None:
    """Let this process end without freeing its objects one by one, which takes half a second."""
    atexit.register(os._exit, 0)


@contextlib.contextmanager
def serve_site(project: Project, port: int) -> Iterator[str]:
    """Serve the built site on this machine during a `with` block, and yield its address. Port 0 means any free port.

    Raises MissingError if the site is not built, and UsageError if the port is not available.
    """
    folder = project.root / "build" / "site"
    if not (folder / "index.html").is_file():
        raise MissingError(f"{folder} does not contain a built site; build it with: bashboard build")
    with contextlib.ExitStack() as stack:
        try:
            address = stack.enter_context(site_server(folder, port))
        except OSError as error:
            raise UsageError(f"port {port} is not available ({error}); choose another with --port") from error
        yield address
