"""What evidence there is of submissions: bundles that were fetched from the branch, and those that a run collected.

A fetched bundle was published by us, with the replies that its verdicts followed from; a collected one was made beside
a stranger's commands, so replies in it are refused, and runs that the submission does not need. Where both hold a run
the published one counts: verdicts that stand do not move because something was executed once more.
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
    """Folders of bundles. `faults` says, by submission, what could not be taken of its own."""

    fetched: Path
    collected: Path | None = None
    faults: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, project: Project, collected: Path | None = None) -> EvidenceSources:
        """What `bashboard fetch` brought here, and what a run collected."""
        return cls(fetched_images(project).parent, collected)

    def hold(self, submission_run: SubmissionRun) -> AvailableEvidence:
        """All that there is of a submission on a suite; a bundle that does not read is left out, and told."""
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
        """The header of a submission's fetched bundle, None where there is none that reads."""
        try:
            data = _content(self.fetched / bundle_path(suite, slug))
            return BundleHeader.model_validate_json(next(gunzip_lines(data, READING), b"")) if data else None
        except (BundleRefusedError, FormatError, ValueError):
            return None

    def fetched_bytes(self, suite: str, slug: str | None = None) -> bytes | None:
        """A fetched bundle as it is published, of the references without a slug; None where there is none."""
        return _content(self.fetched / bundle_path(suite, slug))

    def published_bundles(self) -> list[tuple[str, str]]:
        """Submission and suite of every fetched bundle of a submission."""
        files = sorted(self.fetched.glob(f"submissions/*/*{SUFFIX}"))
        return [(path.parent.name, path.name.removesuffix(SUFFIX)) for path in files]

    def _tell(self, slug: str, fault: str) -> None:
        self.faults.setdefault(slug, []).append(fault)


def _by_run(bundle: Bundle) -> dict[RunKey, Evidence]:
    return {(each.key, each.run): each.evidence for each in bundle.evidence}


def _content(path: Path) -> bytes | None:
    """A file's bytes, no more than are read of a bundle; None where there is none. Raises FormatError for no file."""
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
