"""Put a submission in quarantine: remove all runs that it may have changed, and repeat the runs that others need.

    with open_quarantine(project, "evil") as quarantine:   # no other command uses the store
        quarantine.plan     # says which runs are removed
        quarantine.take_out()
    make_again(project, progress)

Each step of `take_out` may be repeated, and the store remembers the removed runs until `make_again` has executed these
runs again. So if the process is killed, a second call of `take_out` or `make_again` finishes the work.
"""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from evaluator.errors import UsageError
from evaluator.judges import find_judge
from evaluator.pipeline.evidence.images import fetched_images
from evaluator.pipeline.evidence.produce import with_grader
from evaluator.pipeline.evidence.required_runs import (
    SeededCommand,
    reference_commands,
    reference_items,
    submitted_chains,
    submitted_commands,
)
from evaluator.pipeline.grading.cache_keys import CacheKeys, GradingItem
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.grading.results import submission_seed
from evaluator.pipeline.maintenance.touched_runs import TouchReason, touched_runs
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.quarantine_list import quarantined, write_quarantined
from evaluator.pipeline.submissions.repository import load_one, load_sound
from evaluator.progress import Progress
from evaluator.records import Outcome
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import RunKey, Store, store_in_use
from evaluator.submissions.names import VERDICTS
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite
from evaluator.wording import name_hint

REFERENCES: Final = "references"
"""The owner of the references' commands, in place of a submission's slug."""


class NeededBy(NamedTuple):
    """A command that needs a run.

    `owners` holds the submissions with this command, and `REFERENCES` if the command is a reference.
    """

    suite: str
    task: str
    command: bytes
    owners: tuple[str, ...]


class TouchedRun(NamedTuple):
    """A run that a quarantine removes, with the reason. `needed_by` is a command that needs the run, or None."""

    run: RunKey
    reason: TouchReason
    needed_by: NeededBy | None


@dataclass(frozen=True, slots=True)
class QuarantinePlan:
    """The runs and files that the quarantine of a submission removes.

    `own` holds the runs of the submission. `touched` holds other runs that the submission may have changed through the
    sandbox. `unfinished` counts the evidence keys that an earlier, unfinished quarantine has removed.
    """

    slug: str
    own: tuple[RunKey, ...]
    touched: tuple[TouchedRun, ...]
    files: tuple[Path, ...]
    unfinished: int

    @property
    def make_again(self) -> set[str]:
        """The evidence keys of the runs to execute again: the touched runs that a command of this checkout needs."""
        return {touched.run[0] for touched in self.touched if touched.needed_by}

    @property
    def by_owner(self) -> Counter[tuple[str, str]]:
        """The number of touched runs for each suite and owner (see `NeededBy`). A run counts for all its owners."""
        needed = [touched.needed_by for touched in self.touched if touched.needed_by]
        return Counter((command.suite, owner) for command in needed for owner in command.owners)

    def as_json(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        return {
            "submission": self.slug,
            "own_runs": len(self.own),
            "touched": [_touched_json(touched) for touched in self.touched],
            "files": [path.as_posix() for path in self.files],
            "unfinished": self.unfinished,
        }


def _touched_json(touched: TouchedRun) -> dict[str, Any]:
    needed = touched.needed_by
    return {
        "key": touched.run[0],
        "run": touched.run[1],
        "reason": touched.reason.name.lower(),
        "suite": needed.suite if needed else None,
        "task": needed.task if needed else None,
        "command": needed.command.decode(errors="replace") if needed else None,
        "owners": list(needed.owners) if needed else [],
    }


@contextlib.contextmanager
def open_quarantine(project: Project, slug: str) -> Iterator[Quarantine]:
    """Yield the quarantine of a submission. During the `with` block, no other process can use the store.

    Raises UsageError if the submission is unknown, or if another process uses the store.
    """
    submission = _find(project, slug)
    with (
        store_in_use(project.store_path, alone=True),
        contextlib.closing(Store(project.store_path)) as store,
    ):
        yield Quarantine(project, store, slug, submission)


def _find(project: Project, slug: str) -> Submission | None:
    """Return the submission, or None if it is in quarantine and its folder was deleted."""
    if slug in quarantined(project) and not (project.root / "submissions" / slug).is_dir():
        return None
    return load_one(project, slug)


def lift_quarantine(project: Project, slug: str) -> None:
    """Remove a submission from the quarantine list. Raises UsageError if it is not in the list."""
    listed = quarantined(project)
    if slug not in listed:
        hint = name_hint(slug, sorted(listed), "submissions/quarantine.json")
        raise UsageError(f"{slug!r} is not in quarantine{hint}")
    write_quarantined(project, listed - {slug})


class Quarantine:
    """The quarantine of one submission. `submission` is None if its folder no longer exists."""

    def __init__(self, project: Project, store: Store, slug: str, submission: Submission | None) -> None:
        self._project, self._store, self._slug, self._submission = project, store, slug, submission

    @cached_property
    def plan(self) -> QuarantinePlan:
        """The plan of this quarantine: the runs and files that `take_out` removes."""
        sound = load_sound(self._project).submissions
        others = [submission for submission in sound if submission.slug != self._slug]
        needed = needed_runs(self._project, self._store, others)
        mine = [self._submission] if self._submission else []
        own = {
            (key, run)
            for key, command in needed_runs(self._project, self._store, mine).items()
            if REFERENCES not in command.owners
            for run in (0, 1)
        }
        stored = self._store.runs()
        has_own = any(run.run in own and run.run[0] not in needed for run in stored)
        if self._slug in quarantined(self._project) and not has_own:
            stored = []  # an earlier call has removed the touched runs
        touched = touched_runs(stored, own)
        return QuarantinePlan(
            self._slug,
            tuple(sorted(run for run in touched if run in own and run[0] not in needed)),
            tuple(
                TouchedRun(run, reason, needed.get(run[0]))
                for run, reason in sorted(touched.items())
                if run not in own or run[0] in needed
            ),
            tuple(self._published_files()),
            len(self._store.removed()),
        )

    def _published_files(self) -> Iterator[Path]:
        """Yield the submission's verdict files in this checkout and its fetched bundles of evidence."""
        yield from sorted((self._project.root / "submissions" / self._slug).glob(f"*{VERDICTS}"))
        yield from sorted(self._fetched.glob("*"))

    @property
    def _fetched(self) -> Path:
        return fetched_images(self._project).parent / "submissions" / self._slug

    def take_out(self) -> None:
        """Remove the runs and files of the plan, and add the submission to the quarantine list."""
        plan = self.plan
        self._store.remove([*plan.own, *(touched.run for touched in plan.touched)], plan.make_again)
        write_quarantined(self._project, quarantined(self._project) | {self._slug})
        for path in plan.files:
            path.unlink(missing_ok=True)
        shutil.rmtree(self._fetched, ignore_errors=True)


def needed_runs(project: Project, store: Store, submissions: Sequence[Submission]) -> dict[str, NeededBy]:
    """Return a mapping from evidence key to the command that needs this evidence.

    It covers the references and the commands of these submissions. Commands with the same key share one entry. A suite
    is left out if the store has no fingerprint of its sandbox image.
    """
    needed: dict[str, NeededBy] = {}
    for suite in project.suites():
        fingerprint = store.fingerprint(image_reference(suite.manifest))
        if fingerprint:
            keys = CacheKeys(suite, find_judge(project.settings.judge), fingerprint)
            for owner, command in _commands(suite, submissions):
                for key in keys.command_runs(*command).evidence_keys:
                    known = needed.get(key, NeededBy(suite.manifest.name, command.task, command.command, ()))
                    if owner not in known.owners:
                        needed[key] = known._replace(owners=(*known.owners, owner))
    return needed


def _commands(suite: Suite, submissions: Sequence[Submission]) -> Iterator[tuple[str, SeededCommand]]:
    """Yield each command of these submissions and of the suite's references, with its owner."""
    for seed in dict.fromkeys(["", *(submission_seed(suite, submission) for submission in submissions)]):
        for reference in reference_commands(suite, seed):
            yield REFERENCES, reference
    for submission in submissions:
        for command in submitted_commands(suite, submission):
            yield submission.slug, command


class MadeAgain(NamedTuple):
    """The number of runs that were executed again.

    `missing` counts the evidence keys that still have no evidence because of an infrastructure failure.
    """

    runs: int
    missing: int


def make_again(project: Project, progress: Progress, workers: int | None = None) -> MadeAgain:
    """Execute again the removed runs that the store remembers, and judge all answers with complete evidence."""
    with store_in_use(project.store_path), contextlib.closing(Store(project.store_path)) as store:
        removed = store.removed()
        kept = store.known_runs(removed)
        submissions = load_sound(project).submissions
        missing: set[str] = set()
        for suite in project.suites():
            if store.fingerprint(image_reference(suite.manifest)):
                missing |= with_grader(
                    project, progress, suite, workers, partial(_make_suite_again, submissions, removed)
                )
        made = len(store.known_runs(removed) - kept)
        if not missing:
            store.forget_removed()
        return MadeAgain(made, len(missing))


def _make_suite_again(submissions: Sequence[Submission], removed: set[str], grader: Grader) -> set[str]:
    """Execute a suite's removed runs, and grade the answers again. Return the keys that still have no evidence."""
    submitted = [chain for submission in submissions for chain in submitted_chains(grader.suite, submission)]
    references = reference_items(grader.suite, submissions)
    needed = {item: set(grader.keys.plan_item(item).evidence_keys) for item in references}
    known = {key for key, run in grader.store.known_runs(set().union(*needed.values()) - removed) if run == 0} | removed
    complete = [item for item, keys in needed.items() if keys & removed and keys <= known]
    findings = grader.grade_chains(
        [item for item in chain if {key for key, _ in grader.missing_runs([item])} <= removed] for chain in submitted
    )
    grader.ensure_evidence(complete)
    failed = [item for item, finding in findings.items() if finding.outcome is Outcome.INFRA_ERROR]
    asked: set[str] = set().union(*(needed[item] for item in complete)) & removed
    made = {key for key, run in grader.store.known_runs(asked) if run == 0}
    return (asked - made) | _keys_of(grader, failed) & removed


def _keys_of(grader: Grader, items: Iterable[GradingItem]) -> set[str]:
    return {key for item in items for key in grader.keys.plan_item(item).evidence_keys}
