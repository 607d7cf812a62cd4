"""What the verdicts on one suite stand on, whoever's they are, and in which environment today's are given."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from evaluator.errors import BashboardError, MissingError
from evaluator.judges import Judge, find_judge
from evaluator.judges.case import Basis
from evaluator.pipeline.evidence.images import fetched_images, known_image, read_images
from evaluator.pipeline.evidence.required_runs import Needed
from evaluator.pipeline.grading.adjudications import rulings_of
from evaluator.pipeline.grading.cache_keys import Keys, Rulings, Slips
from evaluator.pipeline.grading.known_mutants import slips_of
from evaluator.pipeline.project import Project
from evaluator.records import Evidence, VerdictsHeader
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import Run, Store
from evaluator.suites.load import Suite


@dataclass(frozen=True, slots=True)
class Ground:
    """What all verdicts on one suite stand on: judge, references' evidence, rulings, and what counts as a slip."""

    suite: Suite
    judge: Judge
    fingerprint: str
    needed: Needed
    rulings: Rulings
    slips: Slips
    references: Mapping[Run, Evidence]

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

    def new_keys(self) -> Keys:
        """Keys of the suite's commands as they are today, with nothing in their memory."""
        return Keys(self.suite, self.judge, self.fingerprint, self.rulings, self.slips)

    @property
    def missing_references(self) -> int:
        """How many runs of references have no evidence at hand, where the judge looks at any."""
        if self.judge.basis is Basis.TEXT:
            return 0
        return len(self.needed.references - self.references.keys())


def lay_ground(project: Project, suite: Suite, fingerprint: str, store: Store) -> Ground:
    """The ground of a suite in the environment of this fingerprint; the references' evidence is the store's."""
    needed = Needed(project, suite, fingerprint)
    return Ground(
        suite,
        find_judge(project.settings.judge),
        fingerprint,
        needed,
        rulings_of(project, suite),
        slips_of(project, suite, store),
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
