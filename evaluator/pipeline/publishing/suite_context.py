"""Load the inputs that all verdicts on a suite share: judge, references' evidence, rulings, mutants and environment.

A command of `bashboard publish` opens the project's store and LLM panel with `open_publish_session`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from evaluator.errors import BashboardError, MissingError
from evaluator.judges import Judge, find_judge
from evaluator.judges.case import EvidenceNeed
from evaluator.judges.panel.settings import KEY_VARIABLE
from evaluator.model_server.budget import Budget
from evaluator.pipeline.evidence.images import fetched_images, known_image, read_images
from evaluator.pipeline.evidence.required_runs import RequiredRuns
from evaluator.pipeline.grading.adjudications import rulings_of
from evaluator.pipeline.grading.cache_keys import CacheKeys, MutantLookup, Rulings
from evaluator.pipeline.grading.known_mutants import known_mutants_of
from evaluator.pipeline.grading.llm_panel import REPLAY, PanelPair, PanelUse, open_panel
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress, Progress
from evaluator.records import Evidence, VerdictsHeader
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import RunKey, Store
from evaluator.submissions.validate import Submission
from evaluator.suites.fresh_variants import has_fresh
from evaluator.suites.load import Suite


class PublishSession(NamedTuple):
    """The project's store, and the project's LLM panel if one is configured."""

    store: Store
    panels: PanelPair | None


@contextlib.contextmanager
def open_publish_session(project: Project, progress: Progress, use: PanelUse = REPLAY) -> Iterator[PublishSession]:
    """Open the project's store and LLM panel. The panel makes paid requests only if `use` holds an API key."""
    with contextlib.closing(Store(project.store_path)) as store, open_panel(project, progress, use) as panel:
        if panel is None:
            yield PublishSession(store, None)
            return
        from evaluator.judges.panel.panel import Panel

        replay = Panel(panel.settings, panel.reply_cache, Budget(), NullProgress())
        yield PublishSession(store, PanelPair(replay, panel if use.environment.get(KEY_VARIABLE) else None))


@dataclass(frozen=True)
class SuiteContext:
    """The inputs that all verdicts on one suite share: judge, references' evidence, rulings and known mutants.

    All submissions share `keys`, the current cache keys of the suite's commands.
    """

    suite: Suite
    judge: Judge
    fingerprint: str
    required: RequiredRuns
    rulings: Rulings
    known_mutants: MutantLookup
    keys: CacheKeys
    store: Store

    def header(self, submission: Submission) -> VerdictsHeader:
        """Return the header that a submission's verdict file would have if the submission were judged now."""
        return VerdictsHeader(
            format=4,
            suite=self.suite.manifest.name,
            suite_version=self.suite.manifest.version,
            judge=self.judge.name,
            judge_version=self.judge.version,
            fingerprint=self.fingerprint,
            origin=submission.origin if has_fresh(self.suite) and submission.origin else None,
        )

    @cached_property
    def references(self) -> Mapping[RunKey, Evidence]:
        """The evidence of the references in the known variants, as far as the store has it."""
        return self.store.evidence(self.required.references)

    @cached_property
    def missing_references(self) -> int:
        """Return the number of reference runs without evidence, or 0 if the judge reads only the text of commands."""
        if self.judge.basis is EvidenceNeed.TEXT:
            return 0
        return len(self.required.references - self.store.known_runs({key for key, _ in self.required.references}))


def load_suite_context(project: Project, suite: Suite, fingerprint: str, store: Store) -> SuiteContext:
    """Return a suite's context for the environment with this fingerprint. References' evidence comes from `store`."""
    judge, rulings, known_mutants = (
        find_judge(project.settings.judge),
        rulings_of(project, suite),
        known_mutants_of(project, suite, store),
    )
    keys = CacheKeys(suite, judge, fingerprint, rulings, known_mutants)
    required = RequiredRuns(project, suite, fingerprint, keys)
    return SuiteContext(suite, judge, fingerprint, required, rulings, known_mutants, keys, store)


def current_fingerprint(project: Project, suite: Suite, store: Store, *, ask_engine: bool = False) -> str:
    """Return the fingerprint of the environment that executes the suite today.

    The sources are tried in this order: the store, the published `images.json` and, if `ask_engine` is set, this
    machine's container engine. This function builds no image. Raises MissingError if no source knows the fingerprint.
    """
    reference = image_reference(suite.manifest)
    if remembered := store.fingerprint(reference):
        return remembered
    if known := known_image(read_images(fetched_images(project)), reference):
        return known.fingerprint
    if ask_engine and (local := _local_fingerprint(suite)):
        store.set_fingerprint(reference, local)
        return local
    raise MissingError(
        f"suite {suite.manifest.name}: the sandbox image's fingerprint is unknown, so there are no cache keys; "
        "run: bashboard fetch, or build the image with: bashboard doctor --fix"
    )


def _local_fingerprint(suite: Suite) -> str | None:
    """Return the fingerprint of the suite's image in the local engine, or None if there is no engine or no image."""
    from evaluator.sandbox.engine import find_engine
    from evaluator.sandbox.image import find_image

    try:
        image = find_image(find_engine(os.environ), suite.manifest)
    except BashboardError:
        return None
    return image.fingerprint if image else None
