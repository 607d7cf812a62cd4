"""Collect the files of one run of the publish workflow: verdict files, bundles, images and removals."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from evaluator.pipeline.evidence.bundle import (
    KEPT_BYTES,
    Bundle,
    bundle_path,
    drop_to_limit,
    kept_evidence,
    write_bundle,
)
from evaluator.pipeline.evidence.images import IMAGES, fetched_images, published_images, write_images
from evaluator.pipeline.grading.verdict_files import verdicts_path
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.archive import ArchiveHeader, PublishArchive, blob_name
from evaluator.pipeline.publishing.derive import AvailableEvidence, SubmissionRun
from evaluator.pipeline.publishing.evidence_sources import EvidenceSources
from evaluator.pipeline.publishing.suite_context import SuiteContext
from evaluator.pipeline.submissions.board_suites import known_suites
from evaluator.pipeline.submissions.repository import Loaded
from evaluator.records import BundleHeader
from evaluator.submissions.names import MANIFEST_NAME, VERDICTS

ARCHIVE_BYTES: Final = 512 << 20
"""Bytes of files in one archive. The next run publishes the rest."""


@dataclass(slots=True)
class ArchiveBuilder:
    """Collects verdict files, bundles, images and removals for one archive. Unchanged files are left out."""

    project: Project
    sources: EvidenceSources
    files: dict[str, bytes] = field(default_factory=dict)
    evidence: dict[str, bytes] = field(default_factory=dict)
    judged: dict[str, dict[str, str | None]] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    gone_evidence: list[str] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        """Return whether the files exceed the size limit of an archive."""
        return sum(map(len, (*self.files.values(), *self.evidence.values()))) > ARCHIVE_BYTES

    def put_verdicts(self, submission_run: SubmissionRun, data: bytes) -> bool:
        """Add a verdict file and the blob names of its judged files. Return False if the verdict file is unchanged."""
        slug, suite = submission_run.submission.slug, submission_run.context.suite.manifest.name
        path = verdicts_path(self.project, slug, suite)
        if path.is_file() and not path.is_symlink() and path.read_bytes() == data:
            return False
        self.files[self._name(path)] = data
        for judged in (path.with_name(MANIFEST_NAME), path.with_name(f"{suite}.jsonl"), path):
            content = judged.read_bytes() if judged.is_file() and not judged.is_symlink() else None
            self.judged.setdefault(slug, {})[self._name(judged)] = None if content is None else blob_name(content)
        return True

    def put_bundle(self, submission_run: SubmissionRun, available: AvailableEvidence, verdicts: bytes | None) -> int:
        """Add a bundle of a submission's evidence and panel replies. Return the number of runs that did not fit.

        `verdicts` is the verdict file if this bundle contains all evidence for the file, and None if it does not.
        """
        slug, suite = submission_run.submission.slug, submission_run.context.suite.manifest.name
        header = BundleHeader(
            format=2,
            suite=suite,
            fingerprint=submission_run.context.fingerprint,
            submission=slug,
            verdicts=None if verdicts is None else hashlib.sha256(verdicts).hexdigest(),
        )
        fresh = submission_run.fresh_references
        needed = submission_run.runs | fresh
        runs = {run: evidence for run, evidence in available.evidence.items() if run in needed}
        runs |= submission_run.context.store.evidence(fresh)
        bundle, left_out = drop_to_limit(Bundle(header, kept_evidence(runs), available.replies), KEPT_BYTES)
        self._put_evidence(suite, slug, bundle)
        return left_out

    def put_references(self, context: SuiteContext) -> None:
        """Add a bundle with the evidence of a suite's references. A reference that failed to run is not in it."""
        if context.references:
            header = BundleHeader(format=2, suite=context.suite.manifest.name, fingerprint=context.fingerprint)
            self._put_evidence(header.suite, None, Bundle(header, kept_evidence(context.references)))

    def put_images(self, contexts: Sequence[SuiteContext], sha256: str) -> None:
        """Add the list of today's sandbox images. `sha256` is the digest of the file that holds these images."""
        fingerprints = {context.suite.manifest.name: context.fingerprint for context in contexts}
        data = write_images(published_images([context.suite for context in contexts], fingerprints, sha256))
        path = fetched_images(self.project)
        if not path.is_file() or path.read_bytes() != data:
            self.evidence[IMAGES] = data

    def remove_outdated(self, loaded: Loaded) -> None:
        """Mark verdict files and bundles for removal if their submission or suite is no longer in the repository.

        A suite that cannot be loaded is in the repository, so its files stay.
        """
        answered = {submission.slug: submission.manifest.suites for submission in loaded.submissions}
        suites = known_suites(self.project)
        for slug, own_suites in answered.items():
            for path in sorted((self.project.root / "submissions" / slug).glob(f"*{VERDICTS}")):
                suite = path.name.removesuffix(VERDICTS)
                if suite not in own_suites or suite not in suites:
                    self.gone.append(self._name(path))
        for slug, suite in self.sources.published_bundles():
            is_answered = slug in loaded.broken or slug in loaded.held or suite in answered.get(slug, ())
            if not is_answered or suite not in suites:
                self.gone_evidence.append(bundle_path(suite, slug).as_posix())

    def archive(self, *, rescore: bool, told: dict[str, str], facts: dict[str, Any]) -> PublishArchive:
        """Return the archive with all added files. Its header contains `told` and `facts` (see `ArchiveHeader`)."""
        header = ArchiveHeader(
            format=1,
            rescore=rescore,
            commit=_current_commit(self.project.root),
            judged={slug: self.judged[slug] for slug in sorted(self.judged)},
            gone=tuple(self.gone),
            gone_evidence=tuple(self.gone_evidence),
            told=told,
            facts=facts,
        )
        return PublishArchive(header, self.files, self.evidence)

    def _put_evidence(self, suite: str, slug: str | None, bundle: Bundle) -> None:
        data = write_bundle(bundle, KEPT_BYTES)
        if self.sources.fetched_bytes(suite, slug) != data:
            self.evidence[bundle_path(suite, slug).as_posix()] = data

    def _name(self, path: Path) -> str:
        return path.relative_to(self.project.root).as_posix()


def _current_commit(root: Path) -> str | None:
    """Return the checked-out commit, or None outside a Git repository."""
    command = ["git", "-C", str(root), "rev-parse", "--verify", "HEAD"]
    try:
        process = subprocess.run(command, capture_output=True, check=False, text=True)
    except FileNotFoundError:
        return None
    return process.stdout.strip() if process.returncode == 0 else None
