"""What the verdicts on one suite stand on, whoever's they are, and in which environment today's are given.

What is planned, judged and checked with: the store and the panel of a checkout, open for one command.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from evaluator.errors import BashboardError, MissingError
from evaluator.judges import Judge, find_judge
from evaluator.judges.case import EvidenceNeed
from evaluator.judges.panel.budget import Budget
from evaluator.judges.panel.panel import Panel
from evaluator.judges.panel.settings import KEY_VARIABLE
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
from evaluator.suites.load import Suite


class PublishSession(NamedTuple):
    """The project's store, and its panel where it has one."""

    store: Store
    panels: PanelPair | None


@contextlib.contextmanager
def open_publish_session(project: Project, progress: Progress, use: PanelUse = REPLAY) -> Iterator[PublishSession]:
    """What is planned, judged and checked with; the panel buys where `use` has a key."""
    with contextlib.closing(Store(project.store_path)) as store, _open_panels(project, progress, use) as panels:
        yield PublishSession(store, panels)


@contextlib.contextmanager
def _open_panels(project: Project, progress: Progress, use: PanelUse = REPLAY) -> Iterator[PanelPair | None]:
    """The project's panel as publishing uses it, None where it has none; it buys where `use` has a key."""
    with open_panel(project, progress, use) as panel:
        if panel is None:
            yield None
            return
        replay = Panel(panel.settings, panel.reply_cache, Budget(), NullProgress())
        yield PanelPair(replay, panel if use.environment.get(KEY_VARIABLE) else None)


@dataclass(frozen=True, slots=True)
class SuiteContext:
    """What all verdicts on one suite stand on: judge, references' evidence, rulings, and what counts as a slip."""

    suite: Suite
    judge: Judge
    fingerprint: str
    needed: RequiredRuns
    rulings: Rulings
    known_mutants: MutantLookup
    references: Mapping[RunKey, Evidence]

    @property
    def header(self) -> VerdictsHeader:
        """The header of what is judged today."""
        return VerdictsHeader(
            format=1,
            suite=self.suite.manifest.name,
            suite_version=self.suite.manifest.version,
            judge=self.judge.name,
            judge_version=self.judge.version,
            fingerprint=self.fingerprint,
        )

    def new_keys(self) -> CacheKeys:
        """Keys of the suite's commands as they are today, with nothing in their memory."""
        return CacheKeys(self.suite, self.judge, self.fingerprint, self.rulings, self.known_mutants)

    @property
    def missing_references(self) -> int:
        """How many runs of references have no evidence at hand, where the judge looks at any."""
        if self.judge.basis is EvidenceNeed.TEXT:
            return 0
        return len(self.needed.references - self.references.keys())


def load_suite_context(project: Project, suite: Suite, fingerprint: str, store: Store) -> SuiteContext:
    """The ground of a suite in the environment of this fingerprint; the references' evidence is the store's."""
    needed = RequiredRuns(project, suite, fingerprint)
    return SuiteContext(
        suite,
        find_judge(project.settings.judge),
        fingerprint,
        needed,
        rulings_of(project, suite),
        known_mutants_of(project, suite, store),
        store.evidence(needed.references),
    )


def environment_of(project: Project, suite: Suite, store: Store, *, ask_engine: bool = False) -> str:
    """The fingerprint of the environment that the suite is executed in today.

    It is what is remembered of the suite's image, or what is published of it; with `ask_engine` what the engine's own
    image has. Raises MissingError where it is not known; nothing is built.
    """
    reference = image_reference(suite.manifest)
    if remembered := store.fingerprint(reference):
        return remembered
    if known := known_image(read_images(fetched_images(project)), reference):
        return known.fingerprint
    if ask_engine and (found := _of_the_engine(suite)):
        store.set_fingerprint(reference, found)
        return found
    raise MissingError(
        f"the environment of suite {suite.manifest.name} is not known, so no key can be told; fetch it with: "
        "bashboard fetch, or build it with: bashboard doctor --fix"
    )


def _of_the_engine(suite: Suite) -> str | None:
    """The fingerprint of the image that this machine's engine has, None where it has neither."""
    from evaluator.sandbox.engine import find_engine
    from evaluator.sandbox.image import find_image

    try:
        image = find_image(find_engine(os.environ), suite.manifest)
    except BashboardError:
        return None
    return image.fingerprint if image else None
