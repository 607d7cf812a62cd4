"""Build the public site from boards, and serve a built site on this machine.

The module also finds the repository's address, so that pages can link to the issue form for appeals.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from evaluator.errors import MissingError, UsageError
from evaluator.github.forms import appeal_address, split_address
from evaluator.leaderboard.board import Appeal
from evaluator.leaderboard.build import build_site, site_server
from evaluator.leaderboard.write import write_pages
from evaluator.pipeline.boards.build_facts import site_facts
from evaluator.pipeline.boards.gather import gather_boards
from evaluator.pipeline.boards.group_runs import method_runs
from evaluator.pipeline.boards.near_accuracy import near_reports
from evaluator.pipeline.boards.published_boards import published_boards
from evaluator.pipeline.boards.scored_boards import JUDGE_METRICS, read_validation
from evaluator.pipeline.boards.sealed_figures import current_differences
from evaluator.pipeline.grading.audit_log import AUDITS, read_audits
from evaluator.pipeline.grading.llm_panel import open_panel
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.added_dates import added_dates
from evaluator.pipeline.submissions.ownership import read_owners
from evaluator.progress import Progress


def repository_address(project: Project, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the web server and the name of the project's repository, or None if they are unknown.

    In a GitHub Actions job, environment variables state them. Otherwise, they come from `repo_url` in mkdocs.yml.
    """
    path = project.root / "mkdocs.yml"
    server, repository = environ.get("GITHUB_SERVER_URL", ""), environ.get("GITHUB_REPOSITORY", "")
    if not (server and repository) and path.is_file():
        from mkdocs.utils.yaml import yaml_load

        with path.open("rb") as file:
            return split_address(str(yaml_load(file).get("repo_url") or ""))
    return split_address(f"{server}/{repository}")


def appeal_form(project: Project, suite: str, environ: Mapping[str, str]) -> Appeal | None:
    """Return a function that makes links to the appeal form of a suite, or None if the repository is unknown."""
    location = repository_address(project, environ)
    if location is None:
        return None
    server, repository = location

    def address(submission: str, task: str | None, rank: int | None) -> str:
        return appeal_address(server, repository, submission=submission, suite=suite, task=task, rank=rank)

    return address


def build_boards_site(
    project: Project,
    progress: Progress,
    judge: str | None = None,
    *,
    published: bool = False,
    environ: Mapping[str, str] | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Path:
    """Build the site from existing verdicts, and return the site's folder.

    If `published` is set, use only published verdicts. `environ` can provide the addresses of the repository and
    of the site, for links. Suites and submissions that are left out are reported to `say`. Raises
    MissingError if no answer has a verdict.
    """
    if published:
        found = published_boards(project, say=say)
    else:
        with open_panel(project, progress, judge=judge) as panel:
            found = gather_boards(project, progress, judge=judge, execute=False, panel=panel, say=say)
    for line in found.notes():
        say(line)
    declared, owners = project.external_suites(), read_owners(project).owners
    dates = added_dates(project)
    boards = [
        replace(
            board,
            standings=tuple(row.model_copy(update={"added": dates.get(row.submission)}) for row in board.standings),
            appeal=appeal_form(project, board.name, environ or {}),
            declared=declared.get(board.name),
            editions=current_differences(project, board.name, board.manifest.version, board.submissions),
            method_runs=method_runs(board, owners),
            near_reports=near_reports(board),
        )
        for board in found.boards
    ]
    progress.say("building the site")
    validation, audits = read_validation(project.root / JUDGE_METRICS), read_audits(project.root / AUDITS)
    facts = site_facts(project, environ or {}, repository_address(project, environ or {}))
    write_pages(boards, project.root / "site" / "board", validation, audits, found.unavailable, facts)
    return build_site(project.root)


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
