"""How much one person may offer: a day, and to one version of a suite, as the NLC2CMD competition had it.

People are told apart by their account's number. What exceeds a limit is held and not refused: it is told when it may
be tried again, and a maintainer may let it pass. GitHub is asked for details only where a limit is near.
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
from evaluator.github.pulls import PullRequest, changed_files, open_of, opened_lately, read_pull
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.ownership import Owner, owner_of, read_owners
from evaluator.records import SubmissionManifest
from evaluator.submissions.limits import PullLimits
from evaluator.submissions.names import MANIFEST_NAME, PREDICTIONS, is_slug
from evaluator.wording import pluralize

_LOOKED_AT: Final = 50
"""Earlier pull requests of a day whose files are asked for; whoever opened more has opened enough."""
_DAY: Final = timedelta(hours=24)


def limit_reasons(
    project: Project, connection: Connection, pull: PullRequest, slug: str, offered: Path | None, now: datetime
) -> tuple[Reason, ...]:
    """Why a pull request with a submission exceeds what its author may offer, if it does.

    `offered` is the folder of its sound submission, None where it is to be mended first. Raises GitHubError.
    """
    limits = project.settings.pulls
    told = [_day_reason(connection, pull, limits, now)]
    if pull.author is not None and offered is not None:
        told += _suite_reasons(project, connection, pull, slug, offered)
    return tuple(each for each in told if each is not None)


# -- a day


def _day_reason(connection: Connection, pull: PullRequest, limits: PullLimits, now: datetime) -> Reason | None:
    earlier = [number for number in opened_lately(connection, pull, now) if number < pull.number]
    if len(earlier) < limits.a_day:
        return None
    counting = list(itertools.islice(_with_submissions(connection, earlier), limits.a_day))
    if len(counting) < limits.a_day:
        return None
    free = read_pull(connection, counting[-1]).created.astimezone(UTC) + _DAY
    most = pluralize(limits.a_day, "pull request")
    return Reason(
        State.HELD,
        f"The board takes {most} with a submission a day from one person, so that nobody tunes a system by its "
        f"answers; before this one you opened {len(counting)} within 24 hours. Nothing is lost: push to this branch "
        f"after {free:%Y-%m-%d %H:%M} UTC, also without a change (`git commit --allow-empty`), and it is looked at "
        "again. Changes to a submission that is open already do not count: push them to its branch.",
    )


def _with_submissions(connection: Connection, numbers: Iterable[int]) -> Iterator[int]:
    """Those that change a submission, in their order."""
    for place, number in enumerate(numbers):
        if place >= _LOOKED_AT or any(
            each.path.startswith("submissions/") for each in changed_files(connection, number).files
        ):
            yield number


# -- a version of a suite


def _suite_reasons(
    project: Project, connection: Connection, pull: PullRequest, slug: str, offered: Path
) -> Iterator[Reason]:
    """For each suite whose version the submission answers and did not before."""
    answered = suites_answered(project.root / "submissions" / slug)
    new = {suite: version for suite, version in suites_answered(offered).items() if answered.get(suite) != version}
    own = [each for each in _own_slugs(project, connection, pull) if each != slug] if new else []
    for suite, version in new.items():
        there = [suites_answered(project.root / "submissions" / each).get(suite) for each in own]
        reason = _suite_reason(project, connection, pull, suite, version, there.count(version))
        if reason is not None:
            yield reason


def _own_slugs(project: Project, connection: Connection, pull: PullRequest) -> list[str]:
    """The author's submissions on the board; those that are not registered yet are asked for."""
    registered = read_owners(project).owners
    slugs = [folder.name for folder in project.submission_folders() if is_slug(folder.name)]
    own = Owner.of(pull.author)
    found = [slug for slug in slugs if slug in registered and registered[slug] == pull.author]
    return found + [slug for slug in slugs if slug not in registered and owner_of(project, connection, slug) == own]


def _suite_reason(
    project: Project, connection: Connection, pull: PullRequest, suite: str, version: str, there: int
) -> Reason | None:
    most = project.settings.pulls.a_suite_version
    earlier = [each.number for each in open_of(connection, pull.author or 0) if each.number < pull.number]
    if there + len(earlier) < most:
        return None
    opened = sum(_adds_answers(connection, number, suite) for number in earlier[: most - there + _LOOKED_AT])
    if there + opened < most:
        return None
    return Reason(
        State.HELD,
        f"The board takes {pluralize(most, 'submission')} from one person to one version of a suite. Of yours "
        f"{there} on the board and {opened} that {'is' if opened == 1 else 'are'} open answer {code(suite, 80)} "
        f"{code(version, 40)}. It may be tried again as soon as the suite has a new version, or you withdraw or close "
        "another one; a new state of a system that is on the board goes into its own folder and does not count.",
    )


def _adds_answers(connection: Connection, number: int, suite: str) -> bool:
    """True where a pull request adds a submission's answers to the suite."""
    files = changed_files(connection, number).files
    ends = f"/{suite}{PREDICTIONS}"
    return any(
        each.status == "added" and each.path.startswith("submissions/") and each.path.endswith(ends) for each in files
    )


def suites_answered(folder: Path) -> Mapping[str, str]:
    """The versions that a submission answers, by suite; none where there is no manifest that reads."""
    try:
        text = (folder / MANIFEST_NAME).read_text("utf-8")
        return SubmissionManifest.model_validate(tomllib.loads(text)).suites
    except (OSError, ValidationError, ValueError):
        return {}
