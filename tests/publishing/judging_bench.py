"""A small checkout whose verdicts are published step by step: jobs that execute are played, all else is as it is."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from evaluator.judges import find_judge
from evaluator.pipeline.evidence.bundle import Bundle, bundle_path, export_bundle, write_bundle
from evaluator.pipeline.evidence.required_runs import RequiredRuns, reference_subjects, submitted_subjects
from evaluator.pipeline.grading.adjudications import rulings_of
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.grading.known_mutants import known_mutants_of
from evaluator.pipeline.grading.llm_panel import REPLAY, PanelUse
from evaluator.pipeline.grading.verdict_files import VerdictFile, read_verdicts, verdicts_path
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.archive import PublishArchive
from evaluator.pipeline.publishing.judge_pending import PublishResult, judge_pending
from evaluator.pipeline.publishing.plan import PublishPlan, plan_publishing
from evaluator.pipeline.publishing.suite_context import open_publish_session
from evaluator.pipeline.publishing.verify import Verified, verify_published
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.progress import NullProgress
from evaluator.records import BundleHeader, Evidence, KeptEvidence
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import RunKey, Store
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.evidence import evidence
from evaluator.testing.executor import FINGERPRINT, FakeExecutor, RequestedExecution, Shows

TASKS: Final = [
    small_task("files-1", nl="Print the first"),
    small_task("files-2", references=("also right", "right"), nl="Print the second"),
]
ANSWERS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "alice": {"files-1": ["mine", "shared"], "files-2": ["wrong"]},
    "bob": {"files-1": ["shared", "right"], "files-2": ["his own"]},
}
OTHER: Final = "e" * 64
"""The fingerprint of another environment."""


def play(call: RequestedExecution) -> Shows:
    """What is wrong says no, everything else yes."""
    return "no\n" if call.command in ("wrong", "shared") else "yes\n"


@dataclass
class Board:
    """A checkout, its jobs and its branch `evidence`. `executed` counts what was played."""

    root: Path
    answers: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=lambda: ANSWERS)
    tasks: Sequence[Any] = field(default_factory=lambda: TASKS)
    shows: Callable[[RequestedExecution], Shows] = play
    fingerprint: str = FINGERPRINT
    executed: list[str] = field(default_factory=list)
    project: Project = field(init=False)

    def __post_init__(self) -> None:
        self.project = small_checkout(self.root, self.tasks, self.answers)

    @property
    def collected(self) -> Path:
        """Where this run's jobs leave what they made."""
        return self.root.with_name(f"{self.root.name}-collected")

    @property
    def fetched(self) -> Path:
        """Where the branch is fetched to."""
        return self.root / ".bashboard" / "evidence"

    def prepare(self) -> None:
        """The job that executes the references, whose evidence others import."""
        (suite,) = self.project.suites()
        with closing(Store(self.project.store_path)) as store:
            store.set_fingerprint(image_reference(suite.manifest), self.fingerprint)
            self._grader(store).ensure_evidence(reference_subjects(suite))

    def execute(self, *slugs: str) -> None:
        """The jobs that execute one submission each, in stores that nobody else sees."""
        (suite,) = self.project.suites()
        for submission in load_submissions(self.project, slugs or list(self.answers)):
            path = self.root.with_name(f"{self.root.name}-{submission.slug}") / "store.sqlite"
            with closing(Store(path)) as store:
                grader = self._grader(store)
                subjects = submitted_subjects(suite, submission)
                grader.grade(subjects)
                grader.ensure_evidence(subjects)
                runs = self.needed.of(submission)
                bundle = export_bundle(
                    store, runs, suite="tiny", fingerprint=self.fingerprint, submission=submission.slug
                )
            self.collect(bundle)
            shutil.rmtree(path.parent)

    def collect(self, bundle: Bundle) -> None:
        """Leave a bundle where the run's jobs do, whoever made it."""
        path = self.collected / bundle_path("tiny", bundle.header.submission)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(write_bundle(bundle))

    def plan(self, **options: Any) -> PublishPlan:
        """What there is to do."""
        with open_publish_session(self.project, NullProgress()) as desk:
            return plan_publishing(self.project, NullProgress(), desk.store, panels=desk.panels, **options)

    def judge(self, *, use: PanelUse = REPLAY, **options: Any) -> PublishResult:
        """What the judge makes of what was collected."""
        self.collected.mkdir(exist_ok=True)
        with open_publish_session(self.project, NullProgress(), use) as desk:
            return judge_pending(
                self.project, NullProgress(), desk.store, self.collected, panels=desk.panels, **options
            )

    def verify(self, *slugs: str) -> list[Verified]:
        """Every published file, derived again."""
        with open_publish_session(self.project, NullProgress()) as desk:
            return verify_published(self.project, NullProgress(), desk.store, slugs=slugs, panels=desk.panels)

    def land(self, archive: PublishArchive) -> None:
        """Commit it, and fetch the branch as it is then; what was collected is gone with its run."""
        for folder, files in ((self.root, archive.on_main()), (self.fetched, archive.on_branch())):
            for name, data in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                if data is None:
                    (folder / name).unlink()
                else:
                    (folder / name).write_bytes(data)
        shutil.rmtree(self.collected, ignore_errors=True)

    def publish(self, **options: Any) -> PublishResult:
        """One whole run."""
        self.prepare()
        if slugs := self.plan(**options).submissions:
            self.execute(*slugs)
        judged = self.judge(**options)
        self.land(judged.archive)
        return judged

    def file(self, slug: str) -> VerdictFile:
        """A published verdict file."""
        found = read_verdicts(self.path(slug))
        assert found is not None
        return found

    def path(self, slug: str) -> Path:
        """Where it is."""
        return verdicts_path(self.project, slug, "tiny")

    def outcomes(self, slug: str) -> dict[str, list[str]]:
        """Its outcomes by task, sorted."""
        found: dict[str, list[str]] = {}
        for each in self.file(slug).verdicts:
            found[each.task] = sorted([*found.get(each.task, []), each.finding.outcome.value])
        return found

    @property
    def needed(self) -> RequiredRuns:
        """The runs that its suite and submissions need."""
        (suite,) = self.project.suites()
        return RequiredRuns(self.project, suite, self.fingerprint)

    def keys(self, command: str, task: str = "files-1") -> list[str]:
        """A command's evidence keys."""
        (suite,) = self.project.suites()
        with closing(Store(self.project.store_path)) as store:
            runs = self._grader(store).keys.command_runs(suite.task(task).id, command.encode())
        return list(runs.evidence_keys)

    def bundle(self, slug: str, runs: Mapping[RunKey, Evidence], **header: Any) -> Bundle:
        """A bundle that says so of these runs, in the name of a submission."""
        told = {"format": 1, "suite": "tiny", "fingerprint": self.fingerprint, "submission": slug, **header}
        kept = [
            KeptEvidence.model_validate({"key": key, "run": run, "evidence": each}) for (key, run), each in runs.items()
        ]
        return Bundle(BundleHeader.model_validate(told), tuple(kept))

    def _grader(self, store: Store) -> Grader:
        (suite,) = self.project.suites()
        execution = FakeExecutor(self._show)
        rulings, known_mutants = rulings_of(self.project, suite), known_mutants_of(self.project, suite, store)
        judge = find_judge("consensus")
        return Grader(
            suite,
            judge,
            store,
            self.fingerprint,
            execution,
            NullProgress(),
            spacing_s=0,
            rulings=rulings,
            known_mutants=known_mutants,
        )

    def _show(self, call: RequestedExecution) -> Shows:
        self.executed.append(call.command)
        return self.shows(call)


def copy_of(board: Board, root: Path) -> Board:
    """The same board in another place, as it stands."""
    shutil.copytree(board.root, root)
    return Board(root, board.answers, board.tasks, board.shows, board.fingerprint)


def shown(keys: Sequence[str], output: str) -> dict[RunKey, Evidence]:
    """Both runs under these keys, which printed this."""
    return {(key, run): evidence(output) for key in keys for run in (0, 1)}
