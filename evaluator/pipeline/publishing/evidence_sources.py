"""Load evidence of submissions from bundles: fetched from the branch `evidence`, or collected from a workflow run.

The publish workflow published the fetched bundles, together with the replies of the LLM panel that the verdicts depend
on, and the evidence of the references in the submission's fresh variants. A job that executed untrusted commands wrote
the collected bundles. So a collected bundle is refused if it contains replies, or if it contains runs other than those
of the submission's commands. If a fetched and a collected bundle contain the same run, the fetched one is used. So a
repeated execution does not change a published verdict.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from evaluator.errors import FormatError, Problem
from evaluator.judges.panel.reply_cache import Reply
from evaluator.pipeline.evidence.bundle import (
    READING,
    SUFFIX,
    BundleRefusedError,
    bundle_path,
    gunzip_lines,
    read_bundle,
)
from evaluator.pipeline.evidence.images import fetched_images
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.derive import AvailableEvidence, SubmissionRun
from evaluator.records import BundleHeader, Evidence
from evaluator.store import RunKey


@dataclass(frozen=True)
class EvidenceSources:
    """The folders of fetched and collected bundles. `faults` maps a submission to the faults of its bundles."""

    fetched: Path
    collected: Path | None = None
    faults: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, project: Project, collected: Path | None = None) -> EvidenceSources:
        """Return the evidence sources of a project: its bundles from `bashboard fetch`, and bundles in `collected`."""
        return cls(fetched_images(project).parent, collected)

    def load(self, submission_run: SubmissionRun) -> AvailableEvidence:
        """Return all available evidence of a submission on a suite. Add the fault of an invalid bundle to `faults`."""
        slug, suite = submission_run.submission.slug, submission_run.context.suite.manifest.name
        name, expected = bundle_path(suite, slug), submission_run.runs
        evidence: dict[RunKey, Evidence] = {}
        replies: tuple[Reply, ...] = ()
        try:
            if (data := _read_bundle_file(self.fetched / name)) is not None:
                # a published bundle may also hold earlier commands of the submission, so no run is refused
                bundle = read_bundle(data, suite=suite, submission=slug, expected=None)
                bundle = bundle.of(expected | submission_run.fresh_references)
                evidence, replies = bundle.by_run, bundle.replies
        except FormatError as error:
            self.faults.setdefault(slug, []).append(f"published evidence: {error}")
        try:
            if self.collected and (data := _read_bundle_file(self.collected / name)) is not None:
                fingerprint = submission_run.context.fingerprint
                bundle = read_bundle(
                    data, suite=suite, submission=slug, expected=expected, fingerprint=fingerprint, replies=False
                )
                evidence = {**bundle.by_run, **evidence}
        except FormatError as error:
            self.faults.setdefault(slug, []).append(f"collected evidence: {error}")
        return AvailableEvidence(evidence, replies)

    def published_header(self, suite: str, slug: str) -> BundleHeader | None:
        """Return the header of a submission's fetched bundle, or None if there is no valid fetched bundle."""
        try:
            data = _read_bundle_file(self.fetched / bundle_path(suite, slug))
            return BundleHeader.model_validate_json(next(gunzip_lines(data, READING), b"")) if data else None
        except (BundleRefusedError, FormatError, ValueError):
            return None

    def fetched_bytes(self, suite: str, slug: str | None = None) -> bytes | None:
        """Return a fetched bundle's bytes, or None if it is missing. Without `slug`, read the references' bundle."""
        return _read_bundle_file(self.fetched / bundle_path(suite, slug))

    def published_bundles(self) -> list[tuple[str, str]]:
        """Return the submission and the suite of every fetched bundle. Bundles of references are left out."""
        files = sorted(self.fetched.glob(f"submissions/*/*{SUFFIX}"))
        return [(path.parent.name, path.name.removesuffix(SUFFIX)) for path in files]


def _read_bundle_file(path: Path) -> bytes | None:
    """Return the bytes of a bundle's file, or None if there is no file. Read no more than a bundle's size limit.

    Raises FormatError if the path is not a regular file or cannot be read.
    """
    try:
        with open(path, "rb", opener=_open_without_links) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FormatError([Problem(path, 0, "no regular file: expected a bundle")])
            return file.read(READING.packed_bytes + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FormatError([Problem(path, 0, f"cannot be read: {error.strerror}; expected a bundle")]) from error


def _open_without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
