"""The available evidence of submissions: bundles fetched from the branch `evidence`, and bundles collected from a run.

A maintainer's workflow published the fetched bundles, together with the replies that the verdicts depend on. A job that
ran untrusted commands wrote the collected bundles. So a collected bundle is refused if it holds replies, or runs that
the submission does not need. If both bundles hold the same run, the published one counts. A repeated execution
therefore never changes a published verdict.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from evaluator.errors import FormatError, Problem
from evaluator.pipeline.evidence.bundle import (
    READING,
    SUFFIX,
    Bundle,
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
    """The folders of fetched and collected bundles. `faults` lists, by submission, why a bundle was not used."""

    fetched: Path
    collected: Path | None = None
    faults: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, project: Project, collected: Path | None = None) -> EvidenceSources:
        """Return the sources of a project: the files of `bashboard fetch`, and a run's bundles if there are any."""
        return cls(fetched_images(project).parent, collected)

    def hold(self, submission_run: SubmissionRun) -> AvailableEvidence:
        """Return all available evidence of a submission on a suite. An invalid bundle is recorded as a fault."""
        slug, suite = submission_run.submission.slug, submission_run.context.suite.manifest.name
        expected = submission_run.runs
        held = AvailableEvidence()
        try:
            data = _content(self.fetched / bundle_path(suite, slug))
            if data is not None:
                # what the submission gave before is in it as well, so it is read whole and then chosen from
                bundle = read_bundle(data, suite=suite, submission=slug, expected=None).of(expected)
                held = AvailableEvidence(_by_run(bundle), bundle.replies)
        except FormatError as error:
            self._tell(slug, f"published evidence: {error}")
        try:
            data = _content(self.collected / bundle_path(suite, slug)) if self.collected else None
            if data is not None:
                fingerprint = submission_run.context.fingerprint
                bundle = read_bundle(
                    data, suite=suite, submission=slug, expected=expected, fingerprint=fingerprint, replies=False
                )
                held = AvailableEvidence({**_by_run(bundle), **held.evidence}, held.replies)
        except FormatError as error:
            self._tell(slug, f"collected evidence: {error}")
        return held

    def published_from(self, suite: str, slug: str) -> BundleHeader | None:
        """Return the header of a submission's fetched bundle, or None if there is no valid one."""
        try:
            data = _content(self.fetched / bundle_path(suite, slug))
            return BundleHeader.model_validate_json(next(gunzip_lines(data, READING), b"")) if data else None
        except (BundleRefusedError, FormatError, ValueError):
            return None

    def fetched_bytes(self, suite: str, slug: str | None = None) -> bytes | None:
        """Return the bytes of a fetched bundle, or None without one. No slug means the references' bundle."""
        return _content(self.fetched / bundle_path(suite, slug))

    def published_bundles(self) -> list[tuple[str, str]]:
        """Return the submission and the suite of every fetched submission bundle."""
        files = sorted(self.fetched.glob(f"submissions/*/*{SUFFIX}"))
        return [(path.parent.name, path.name.removesuffix(SUFFIX)) for path in files]

    def _tell(self, slug: str, fault: str) -> None:
        self.faults.setdefault(slug, []).append(fault)


def _by_run(bundle: Bundle) -> dict[RunKey, Evidence]:
    return {(each.key, each.run): each.evidence for each in bundle.evidence}


def _content(path: Path) -> bytes | None:
    """Return the bytes of a file, up to the size limit of a bundle, or None if there is no file.

    Raises FormatError if the path is not a regular file or cannot be read.
    """
    try:
        with open(path, "rb", opener=_unfollowed) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FormatError([Problem(path, 0, "no regular file: expected a bundle")])
            return file.read(READING.packed_bytes + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FormatError([Problem(path, 0, f"cannot be read: {error.strerror}; expected a bundle")]) from error


def _unfollowed(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
