"""Check an author's limits: pull requests in a day, and submissions for one suite version.

The NLC2CMD competition also limited submissions. The numeric id of an account identifies the author. A pull request
that exceeds a limit is held, not rejected. The report says when to try again, and a maintainer can let the pull request
pass. Details are requested from GitHub only if the author is close to a limit.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from evaluator.github.comment.markdown import code
from evaluator.github.comment.state import Reason, State
from evaluator.github.connection import Connection
from evaluator.github.pulls import PullRequest, changed_files, open_pulls_of, read_pull, recent_pull_numbers
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.origins import merged_changes
from evaluator.pipeline.submissions.ownership import Owner, owner_of, read_owners
from evaluator.records import SubmissionManifest
from evaluator.submissions.limits import FinalPhase
from evaluator.submissions.names import MANIFEST_NAME, PREDICTIONS, is_slug
from evaluator.wording import pluralize

_LISTED_PULLS: Final = 50
"""The maximum number of earlier pull requests of a day whose files are listed. The rest count without a look."""
_DAY: Final = timedelta(hours=24)


def limit_reasons(
    project: Project, connection: Connection, pull: PullRequest, slug: str, offered: Path | None, now: datetime
) -> tuple[Reason, ...]:
    """Return the reasons why a pull request with a submission exceeds the limits of its author.

    `offered` is the folder of the submission in the pull request, or None if the submission has errors. Raises
    GitHubError if a request to GitHub fails.
    """
    pulls, phase = project.settings.pulls, project.settings.final
    final = phase if phase is not None and phase.is_running(now) else None
    reasons = list(_day_reasons(connection, pull, final.a_day if final else pulls.a_day, now))
    if pull.author is not None and offered is not None and final:
        reasons += _phase_reasons(project, connection, pull, final)
    if pull.author is not None and offered is not None:
        reasons += _suite_reasons(project, connection, pull, slug, offered)
    return tuple(reasons)


# -- per day


def _day_reasons(connection: Connection, pull: PullRequest, limit: int, now: datetime) -> Iterator[Reason]:
    earlier = [number for number in recent_pull_numbers(connection, pull, now) if number < pull.number]
    if len(earlier) < limit:
        return
    counting = list(itertools.islice(_with_submissions(connection, earlier), limit))
    if len(counting) < limit:
        return
    free = read_pull(connection, counting[-1]).created.astimezone(UTC) + _DAY
    yield Reason(
        State.HELD,
        f"The board takes {pluralize(limit, 'pull request')} with a submission a day from one account, so that no "
        f"system is tuned by its results. You opened {len(counting)} within 24 hours before this one. Nothing is lost: "
        f"push to this branch after {free:%Y-%m-%d %H:%M} UTC, and the check runs again. The push needs no change: "
        "`git commit --allow-empty`. Changes to a submission in an open pull request do not count: push them to its "
        "branch.",
    )


def _with_submissions(connection: Connection, numbers: Iterable[int]) -> Iterator[int]:
    """Yield the numbers of pull requests that change a submission.

    Only the first `_LISTED_PULLS` are checked. The rest is yielded without a check.
    """
    for index, number in enumerate(numbers):
        if index >= _LISTED_PULLS or any(
            file.path.startswith("submissions/") for file in changed_files(connection, number).files
        ):
            yield number


# -- in the final phase


def _phase_reasons(project: Project, connection: Connection, pull: PullRequest, phase: FinalPhase) -> Iterator[Reason]:
    """Yield a reason if the author has no submission left in the final phase.

    Each merge since the phase began that changed a submission of the author counts, and each earlier open pull request.
    """
    own = set(_own_slugs(project, connection, pull))
    merged = sum(phase.starts <= change.time and bool(change.slugs & own) for change in merged_changes(project))
    earlier = (other.number for other in open_pulls_of(connection, pull.author or 0) if other.number < pull.number)
    waiting = sum(1 for _ in itertools.islice(_with_submissions(connection, earlier), phase.submissions))
    if merged + waiting >= phase.submissions:
        yield Reason(
            State.HELD,
            f"The board is in its final phase, and takes {pluralize(phase.submissions, 'submission')} of it from one "
            f"account. Of yours, {merged} are merged and {waiting} are in open pull requests. To replace an open one, "
            "push to its branch. You can try again after the phase.",
        )


# -- per suite version


def _suite_reasons(
    project: Project, connection: Connection, pull: PullRequest, slug: str, offered: Path
) -> Iterator[Reason]:
    """Yield a reason for each answered suite version if the pull request exceeds the author's limit for it."""
    answered = suites_answered(project.root / "submissions" / slug)
    new = {suite: version for suite, version in suites_answered(offered).items() if answered.get(suite) != version}
    if not new:
        return
    others = [
        suites_answered(project.root / "submissions" / own)
        for own in _own_slugs(project, connection, pull)
        if own != slug
    ]
    for suite, version in new.items():
        on_board = sum(other.get(suite) == version for other in others)
        yield from _suite_reason(project, connection, pull, suite, version, on_board)


def _own_slugs(project: Project, connection: Connection, pull: PullRequest) -> list[str]:
    """Return the slugs of the author's submissions on the board. Only unregistered slugs need a request to GitHub."""
    owners = read_owners(project).owners
    slugs = [folder.name for folder in project.submission_folders() if is_slug(folder.name)]
    author = Owner.of(pull.author)
    registered = [slug for slug in slugs if slug in owners and owners[slug] == pull.author]
    return registered + [slug for slug in slugs if slug not in owners and owner_of(project, connection, slug) == author]


def _suite_reason(
    project: Project, connection: Connection, pull: PullRequest, suite: str, version: str, on_board: int
) -> Iterator[Reason]:
    limit = project.settings.pulls.a_suite_version
    earlier = [other.number for other in open_pulls_of(connection, pull.author or 0) if other.number < pull.number]
    if on_board + len(earlier) < limit:
        return
    adding = sum(_adds_answers(connection, number, suite) for number in earlier[: limit - on_board + _LISTED_PULLS])
    if on_board + adding < limit:
        return
    yield Reason(
        State.HELD,
        f"The board takes {pluralize(limit, 'submission')} from one account for one version of a suite. Of yours, "
        f"{on_board} on the board and {adding} in open pull requests answer {code(suite, 80)} {code(version, 40)}. You "
        "can try again when the suite has a new version, or after you withdraw or close another one. A new version of "
        "a system that is on the board goes into its present folder and does not count.",
    )


def _adds_answers(connection: Connection, number: int, suite: str) -> bool:
    """Return whether a pull request adds a submission's predictions for the suite."""
    suffix = f"/{suite}{PREDICTIONS}"
    return any(
        file.status == "added" and file.path.startswith("submissions/") and file.path.endswith(suffix)
        for file in changed_files(connection, number).files
    )


def suites_answered(folder: Path) -> Mapping[str, str]:
    """Return the version of each suite that a submission answers, or nothing if the manifest is unreadable."""
    try:
        text = (folder / MANIFEST_NAME).read_text("utf-8")
        return SubmissionManifest.model_validate(tomllib.loads(text)).suites
    except (OSError, ValidationError, ValueError):
        return {}
