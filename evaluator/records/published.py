"""Define the published files of a submission: verdicts on the main branch, and their evidence on another branch.

Both files are JSON lines with a header in the first line. Only the publish workflow writes them, but readers treat them
as untrusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

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
    """First line of `submissions/<slug>/<suite>.verdicts.jsonl`: the suite, judge and environment of all verdicts.

    `fingerprint` identifies the environment (see `bashboard doctor`). The next lines are verdicts, sorted by cache key.
    `origin` decides the fresh variants in which the commands ran: it is the commit with which the submission's last
    change was merged. The seed of the variants is the SHA-256 of the origin and the suite's version.

    Format 4 added the outcome `not-run`, and takes `run` of a verdict from one variant. A file of an earlier format is
    refused, because its lines judge candidates that no longer run.
    """

    newest_format: ClassVar[int] = 4

    format: Literal[4]
    suite: Slug
    suite_version: VersionText
    judge: str
    judge_version: int
    fingerprint: Digest
    origin: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40,64}$")] | None = None


class PublishedVerdict(Record):
    """A published verdict: a cache key, the finding on one command on one task, and measurements of the command's runs.

    `command` is the digest of the command's bytes. A missing answer has the digest of an empty command. `run` is None
    if the judge used only the text, and if the command did not run because an earlier candidate passed. `panel` is a
    digest of the panel's models and prompts, if the panel decided. An infra-error is never published.
    """

    key: Digest
    task: Identifier
    command: Digest
    finding: Finding
    run: RunMetrics | None = None
    panel: Digest | None = None


class BundleHeader(Record):
    """First line of an evidence bundle, the file with the evidence of one submission on one suite.

    `submission` is None for the evidence of the suite's references. `verdicts` is the SHA-256 of the verdict file that
    was made from this evidence, or None if there is no such file yet.

    Format 2 added hard links, access control lists, owners and times inside archives, bytes after the end of archives,
    and the processes of every world with a start script. A bundle of format 1 is refused, because the judge compares
    these facts.
    """

    newest_format: ClassVar[int] = 2

    format: Literal[2]
    suite: Slug
    fingerprint: Digest
    submission: Slug | None = None
    verdicts: Digest | None = None


class KeptEvidence(Record):
    """The evidence of one run of a command, with its cache key. `run` is 0 for the first run and 1 for the second."""

    key: Digest
    run: Literal[0, 1]
    evidence: Evidence


class KnownImage(Record):
    """A sandbox image that the publish workflow saved to a file, with the image's fingerprint.

    `sha256` is the digest of the file, which may hold the images of several suites.
    """

    fingerprint: Digest
    sha256: Digest


class Images(Record):
    """`images.json` of the branch `evidence`. It maps the name and tag of each image to the image."""

    format: Literal[1]
    images: Mapping[ImageReference, KnownImage] = Field(default_factory=dict)
