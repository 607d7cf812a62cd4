"""The public site: pages written from the boards and built, and a built site served on this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from evaluator.errors import MissingError, UsageError
from evaluator.leaderboard.build import build_site, site_server
from evaluator.leaderboard.write import write_pages
from evaluator.pipeline.boards.appeals import appeal_form
from evaluator.pipeline.boards.judge_figures import PUBLISHED, read_validation
from evaluator.pipeline.boards.published_boards import published_boards
from evaluator.pipeline.boards.scored_boards import make_boards
from evaluator.pipeline.grading.llm_panel import open_panel
from evaluator.pipeline.project import Project
from evaluator.progress import Progress


def build_boards_site(
    project: Project,
    progress: Progress,
    judge: str | None = None,
    *,
    published: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Path:
    """Build the site from what is judged already, or from the `published` verdicts alone; the folder it is in.

    `environ` may tell where the repository is, for links to its forms. MissingError says what is not judged.
    """
    if published:
        boards = published_boards(project, say=progress.say)
    else:
        with open_panel(project, progress, judge=judge) as panel:
            boards = make_boards(project, progress, judge=judge, execute=False, panel=panel)
    boards = [replace(each, appeal=appeal_form(project, each.name, environ or {})) for each in boards]
    progress.say("building the site")
    validation = read_validation(project.root / PUBLISHED)
    write_pages(boards, project.root / "site" / "board", validation)
    return build_site(project.root)


@contextlib.contextmanager
def served_site(project: Project, port: int) -> Iterator[str]:
    """Serve the built site on this machine while the block runs; its address. `port` 0 takes a free one.

    Raises MissingError where none is built, UsageError where the port is taken.
    """
    folder = project.root / "build" / "site"
    if not (folder / "index.html").is_file():
        raise MissingError(f"{folder} holds no site yet; build it with: bashboard build")
    with contextlib.ExitStack() as stack:
        try:
            address = stack.enter_context(site_server(folder, port))
        except OSError as error:
            raise UsageError(f"port {port} is not to be had ({error}); name another with --port") from error
        yield address
