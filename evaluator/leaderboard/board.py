"""What the site is built from: one suite's records, and the two ways its pages look them up.

The pipeline hands over a `SuiteBoard` per suite. `gather` reads it once, so that writing a page costs what
stands on that page and not what stands on the board, and refuses records that do not belong together
before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from evaluator.records import (
    DetectableDifference,
    Result,
    Standing,
    SubmissionManifest,
    SuiteManifest,
    Task,
    Timing,
    WorldManifest,
)

Appeal = Callable[[str, str | None, int | None], str]
"""Where a verdict is appealed: the address of the form for a submission and, where known, a task and a rank."""


@dataclass(frozen=True, slots=True)
class SuiteBoard:
    """One suite's board.

    `worlds` are keyed by the name tasks give, `submissions` by slug. `standings` come in board order,
    `results` hold every candidate of every submission. `environment` says what the commands ran on (base,
    judge, clock) in words for the method page. `resolution` says what the board tells apart, `utilities` which ones
    the references of a task call, by its id, `times` how long a person takes for it.

    A `published` board is of published verdicts, which hold no times; `awaiting` are submissions that answer the suite
    and have none. `appeal` is None where nobody knows where the repository is.
    """

    manifest: SuiteManifest
    worlds: Mapping[str, WorldManifest]
    tasks: tuple[Task, ...]
    standings: tuple[Standing, ...]
    results: tuple[Result, ...]
    submissions: Mapping[str, SubmissionManifest]
    environment: Mapping[str, str]
    resolution: DetectableDifference | None = None
    utilities: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    times: Mapping[str, Timing] = field(default_factory=dict)
    published: bool = False
    awaiting: tuple[str, ...] = ()
    appeal: Appeal | None = None

    @property
    def name(self) -> str:
        """The suite's slug; every address under `board/` begins with it."""
        return self.manifest.name


@dataclass(frozen=True, slots=True)
class Gathered:
    """A board with its results by submission and by task.

    `answers[slug][task]` are one submission's results on a task, best rank first, tasks in the suite's order.
    `attempts[task]` are the first candidates of every submission, in board order.
    """

    board: SuiteBoard
    ranked: tuple[Standing, ...]
    unranked: tuple[Standing, ...]
    answers: Mapping[str, Mapping[str, tuple[Result, ...]]]
    attempts: Mapping[str, tuple[Result, ...]]


def gather(board: SuiteBoard) -> Gathered:
    """Sort a board's results by submission and by task.

    Raises ValueError where a standing, result or task names something that the board does not hold, with
    all such names.
    """
    strays = sorted(_strays(board))
    if strays:
        raise ValueError(f"the board of {board.name!r} is inconsistent: {'; '.join(strays)}")
    answers: dict[str, dict[str, list[Result]]] = {row.submission: {} for row in board.standings}
    for result in board.results:
        answers[result.submission].setdefault(result.task, []).append(result)
    ordered = {
        slug: {
            task.id: tuple(sorted(tasks[task.id], key=lambda row: row.rank)) for task in board.tasks if task.id in tasks
        }
        for slug, tasks in answers.items()
    }
    attempts = {
        task.id: tuple(
            ordered[row.submission][task.id][0] for row in board.standings if task.id in ordered[row.submission]
        )
        for task in board.tasks
    }
    return Gathered(
        board=board,
        ranked=tuple(row for row in board.standings if row.ranked),
        unranked=tuple(row for row in board.standings if not row.ranked),
        answers=ordered,
        attempts=attempts,
    )


def _strays(board: SuiteBoard) -> set[str]:
    standing = {row.submission for row in board.standings}
    tasks = {task.id for task in board.tasks}
    found = {f"no submission.toml for {slug!r}" for slug in standing - set(board.submissions)}
    found |= {f"no standing for {slug!r}" for slug in {row.submission for row in board.results} - standing}
    found |= {f"no task {name!r}" for name in {row.task for row in board.results} - tasks}
    found |= {f"no world {name!r}" for name in {task.world for task in board.tasks} - set(board.worlds)}
    return found
