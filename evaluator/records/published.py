"""What is published of a submission: its verdicts on the main branch, and the evidence they follow from beside it.

Both files are JSON lines, the first of which says what the others are of. They are written by the publish workflow
alone, and read as what a stranger may have written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from evaluator.records.evidence import Evidence
from evaluator.records.metrics import RunMetrics
from evaluator.records.record import Digest, Identifier, Record, Slug, VersionText
from evaluator.records.verdicts import Finding

ImageReference = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._/-]{0,127}:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$")
]
"""An image's name and tag."""


class VerdictsHeader(Record):
    """First line of `submissions/<slug>/<suite>.verdicts.jsonl`: by what the verdicts that follow were given.

    `fingerprint` is that of the environment (see `bashboard doctor`). The lines that follow are sorted by key.
    """

    format: Literal[1]
    suite: Slug
    suite_version: VersionText
    judge: str
    judge_version: int
    fingerprint: Digest


class PublishedVerdict(Record):
    """A published verdict: what was found of one command on one task, under the verdict's key, and how it ran.

    `command` is the digest of the command's bytes, of no bytes where nothing was given. `run` is None where the
    judge looked at the text alone. `panel` is the digest of who voted and how they were asked, where the panel of
    models decided. No infra-error is ever published.
    """

    key: Digest
    task: Identifier
    command: Digest
    finding: Finding
    run: RunMetrics | None = None
    panel: Digest | None = None


class BundleHeader(Record):
    """First line of a bundle of evidence; `submission` is None where it is of a suite's references.

    `verdicts` is the SHA-256 of the verdict file that was derived from it, None where none was yet.
    """

    format: Literal[1]
    suite: Slug
    fingerprint: Digest
    submission: Slug | None = None
    verdicts: Digest | None = None


class KeptEvidence(Record):
    """One run's evidence under its key: run 0, or 1 for the second, spaced one."""

    key: Digest
    run: Literal[0, 1]
    evidence: Evidence


class KnownImage(Record):
    """A sandbox image as the publish workflow saved it: its fingerprint and the SHA-256 of its file.

    One file may hold the images of several suites.
    """

    fingerprint: Digest
    sha256: Digest


class Images(Record):
    """`images.json` of the branch `evidence`: the images that published evidence was made in, by reference."""

    format: Literal[1]
    images: Mapping[ImageReference, KnownImage] = Field(default_factory=dict)
