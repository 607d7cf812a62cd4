"""A harness with a small checkout that publishes its verdicts step by step. Only the executions are fake."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from evaluator.judges import find_judge
from evaluator.pipeline.evidence.bundle import Bundle, bundle_path, export_bundle, write_bundle
from evaluator.pipeline.evidence.required_runs import RequiredRuns, reference_items, submitted_chains
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
from evaluator.pipeline.publishing.verify import VerifiedFile, verify_published
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.progress import NullProgress
from evaluator.records import BundleHeader, Evidence, KeptEvidence
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import RunKey, Store
from evaluator.submissions.validate import Submission
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.evidence import evidence
from evaluator.testing.executor import FINGERPRINT, FakeExecutor, RequestedExecution, Shows

TASKS: Final = [
    small_task("files-1", nl="Print the first"),
    small_task("files-2", references=("also right", "right"), nl="Print the second"),
]
ANSWERS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "alice": {"files-1": ["shared", "mine"], "files-2": ["wrong"]},
    "bob": {"files-1": ["shared", "right"], "files-2": ["his own"]},
}
OTHER: Final = "e" * 64
"""The fingerprint of another environment."""


def play(call: RequestedExecution) -> Shows:
    """Return `no` as the output of the wrong commands, and `yes` for all others."""
    return "no\n" if call.command in ("wrong", "shared") else "yes\n"


@dataclass
class Board:
    """A checkout, its jobs and its branch `evidence`. `executed` lists the commands that were executed."""

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
        """Return the folder in which the jobs of this run put their bundles."""
        return self.root.with_name(f"{self.root.name}-collected")

    @property
    def fetched(self) -> Path:
        """Return the folder with the fetched files of the branch `evidence`."""
        return self.root / ".bashboard" / "evidence"

    def prepare(self) -> None:
        """Run the job that executes the references."""
        (suite,) = self.project.suites()
        with closing(Store(self.project.store_path)) as store:
            store.set_fingerprint(image_reference(suite.manifest), self.fingerprint)
            self._grader(store).ensure_evidence(reference_items(suite))

    def execute(self, *slugs: str) -> None:
        """Run one job for each submission, each with its own store."""
        (suite,) = self.project.suites()
        for submission in load_submissions(self.project, slugs or list(self.answers)):
            path = self.root.with_name(f"{self.root.name}-{submission.slug}") / "store.sqlite"
            with closing(Store(path)) as store:
                self._lend_references(store, submission)
                grader = self._grader(store)
                executed = grader.grade_chains(submitted_chains(suite, submission))
                grader.ensure_cases(executed)
                runs = self.needed.of(submission, executed)
                bundle = export_bundle(
                    store, runs, suite="tiny", fingerprint=self.fingerprint, submission=submission.slug
                )
            self.collect(bundle)
            shutil.rmtree(path.parent)

    def _lend_references(self, store: Store, submission: Submission) -> None:
        """Copy the evidence of the references to a job's store."""
        needed = self.needed
        with closing(Store(self.project.store_path)) as prepared:
            for run, shows in prepared.evidence(needed.references | needed.fresh_references(submission)).items():
                store.add_evidence(run, shows)

    def collect(self, bundle: Bundle) -> None:
        """Write a bundle to the folder of collected bundles."""
        path = self.collected / bundle_path("tiny", bundle.header.submission)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(write_bundle(bundle))

    def plan(self, **options: Any) -> PublishPlan:
        """Return the publish plan of the checkout."""
        with open_publish_session(self.project, NullProgress()) as session:
            return plan_publishing(self.project, NullProgress(), session.store, panels=session.panels, **options)

    def judge(self, *, use: PanelUse = REPLAY, **options: Any) -> PublishResult:
        """Judge the submissions from the collected bundles."""
        self.collected.mkdir(exist_ok=True)
        with open_publish_session(self.project, NullProgress(), use) as session:
            return judge_pending(
                self.project, NullProgress(), session.store, self.collected, panels=session.panels, **options
            )

    def verify(self, *slugs: str) -> list[VerifiedFile]:
        """Verify the published files of these submissions, or of all submissions if none is named."""
        with open_publish_session(self.project, NullProgress()) as session:
            return verify_published(self.project, NullProgress(), session.store, slugs=slugs, panels=session.panels)

    def land(self, archive: PublishArchive) -> None:
        """Write the archive's files to the checkout and to the fetched branch, and delete the collected bundles."""
        for folder, files in ((self.root, archive.on_main()), (self.fetched, archive.on_branch())):
            for name, data in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                if data is None:
                    (folder / name).unlink()
                else:
                    (folder / name).write_bytes(data)
        shutil.rmtree(self.collected, ignore_errors=True)

    def publish(self, **options: Any) -> PublishResult:
        """Run all jobs: prepare, plan, execute, judge, and apply the archive."""
        self.prepare()
        if slugs := self.plan(**options).submissions:
            self.execute(*slugs)
        judged = self.judge(**options)
        self.land(judged.archive)
        return judged

    def file(self, slug: str) -> VerdictFile:
        """Return a published verdict file."""
        found = read_verdicts(self.path(slug))
        assert found is not None
        return found

    def path(self, slug: str) -> Path:
        """Return the path of a verdict file."""
        return verdicts_path(self.project, slug, "tiny")

    def outcomes(self, slug: str) -> dict[str, list[str]]:
        """Return the outcomes of a submission by task, sorted."""
        found: dict[str, list[str]] = {}
        for each in self.file(slug).verdicts:
            found[each.task] = sorted([*found.get(each.task, []), each.finding.outcome.value])
        return found

    @property
    def needed(self) -> RequiredRuns:
        """Return the runs that the suite and the submissions need."""
        (suite,) = self.project.suites()
        return RequiredRuns(self.project, suite, self.fingerprint)

    def keys(self, command: str, task: str = "files-1") -> list[str]:
        """Return the evidence keys of a command."""
        (suite,) = self.project.suites()
        with closing(Store(self.project.store_path)) as store:
            runs = self._grader(store).keys.command_runs(suite.task(task).id, command.encode())
        return list(runs.evidence_keys)

    def bundle(self, slug: str, runs: Mapping[RunKey, Evidence], **header: Any) -> Bundle:
        """Return a bundle of this submission with this evidence."""
        told = {"format": 2, "suite": "tiny", "fingerprint": self.fingerprint, "submission": slug, **header}
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


OPEN: Final = [small_task(each.id, references=("one", "two", "three"), output="set", nl=each.nl) for each in TASKS]
OUTPUTS: Final = {"one": "alpha 1\nbeta 2\n", "two": "gamma 3\ndelta 4\n", "three": "eta 5\ntheta 6\n"}
OPEN_ANSWERS: Final = {
    "alice": {"files-1": ["open"], "files-2": ["one"]},
    "bob": {"files-1": ["open"], "files-2": ["two"]},
}
WITH_KEY: Final = PanelUse({"BASHBOARD_PANEL_KEY": "secret"})


def left_open(call: RequestedExecution) -> Shows:
    """Return outputs of references that differ from each other, so that the panel must decide on any other output."""
    return OUTPUTS.get(call.command, "alpha\nbeta\n")


def asking(tmp_path: Path, url: str, answers: Mapping[str, Mapping[str, Sequence[str]]] = OPEN_ANSWERS) -> Board:
    """Return a board with a panel. By default, two submissions contain a command that only the panel can decide."""
    board = Board(tmp_path / "board", answers, OPEN, left_open)
    (board.root / "pyproject.toml").write_text(
        f'[tool.bashboard.panel]\nbase_url = "{url}"\nmodels = ["one"]\nvotes = 1\nattempts = 1\npause_s = 0.01\n'
    )
    return board


def copy_of(board: Board, root: Path) -> Board:
    """Copy a board to another folder."""
    shutil.copytree(board.root, root)
    return Board(root, board.answers, board.tasks, board.shows, board.fingerprint)


def shown(keys: Sequence[str], output: str) -> dict[RunKey, Evidence]:
    """Return evidence for both runs under these keys, with this output."""
    return {(key, run): evidence(output) for key in keys for run in (0, 1)}
