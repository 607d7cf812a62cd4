"""What is published, gathered for one archive: verdict files, bundles, images, and what is to be removed."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from evaluator.pipeline.evidence.bundle import KEPT_BYTES, Bundle, bundle_path, fitting, write_bundle
from evaluator.pipeline.evidence.images import IMAGES, fetched_images, published_images, write_images
from evaluator.pipeline.grading.verdict_files import verdicts_path
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.archive import Landed, Landing, blob_name
from evaluator.pipeline.publishing.derive import Dossier, Held
from evaluator.pipeline.publishing.evidence_sources import Holdings
from evaluator.pipeline.publishing.suite_context import Ground
from evaluator.pipeline.submissions.repository import Loaded
from evaluator.records import BundleHeader, Evidence, KeptEvidence
from evaluator.store import Run
from evaluator.submissions.names import MANIFEST_NAME, VERDICTS

LANDING_BYTES: Final = 512 << 20
"""Of files in one archive; what exceeds it waits for the next run."""


@dataclass(slots=True)
class Filling:
    """The archive as it is filled; nothing is in it that stands already as it would be written."""

    project: Project
    holdings: Holdings
    files: dict[str, bytes] = field(default_factory=dict)
    evidence: dict[str, bytes] = field(default_factory=dict)
    judged: dict[str, dict[str, str | None]] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    gone_evidence: list[str] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        """Whether it should hold no more."""
        return sum(map(len, (*self.files.values(), *self.evidence.values()))) > LANDING_BYTES

    def put_verdicts(self, dossier: Dossier, data: bytes) -> bool:
        """A submission's verdict file, and what was judged for it; whether it is another than stands there."""
        slug, suite = dossier.submission.slug, dossier.ground.suite.manifest.name
        path = verdicts_path(self.project, slug, suite)
        if path.is_file() and not path.is_symlink() and path.read_bytes() == data:
            return False
        self.files[self._name(path)] = data
        for each in (path.with_name(MANIFEST_NAME), path.with_name(f"{suite}.jsonl"), path):
            content = each.read_bytes() if each.is_file() and not each.is_symlink() else None
            self.judged.setdefault(slug, {})[self._name(each)] = None if content is None else blob_name(content)
        return True

    def put_bundle(self, dossier: Dossier, held: Held, verdicts: bytes | None) -> int:
        """A submission's evidence and replies; how much of it the branch has no room for.

        `verdicts` is the verdict file that follows from it, None where not all of a file does.
        """
        slug, suite = dossier.submission.slug, dossier.ground.suite.manifest.name
        header = BundleHeader(
            format=1,
            suite=suite,
            fingerprint=dossier.ground.fingerprint,
            submission=slug,
            verdicts=None if verdicts is None else hashlib.sha256(verdicts).hexdigest(),
        )
        runs = {run: each for run, each in held.evidence.items() if run in dossier.runs}
        kept, left_out = fitting(Bundle(header, _kept(runs), held.replies), KEPT_BYTES)
        self._put_evidence(suite, slug, kept)
        return left_out

    def put_references(self, ground: Ground) -> None:
        """The evidence of a suite's references, where all of it is at hand."""
        if not ground.missing_references and ground.references:
            header = BundleHeader(format=1, suite=ground.suite.manifest.name, fingerprint=ground.fingerprint)
            self._put_evidence(header.suite, None, Bundle(header, _kept(ground.references)))

    def put_images(self, grounds: Sequence[Ground], sha256: str) -> None:
        """The images that evidence is made in today, saved to the file with this SHA-256."""
        fingerprints = {each.suite.manifest.name: each.fingerprint for each in grounds}
        data = write_images(published_images([each.suite for each in grounds], fingerprints, sha256))
        path = fetched_images(self.project)
        if not path.is_file() or path.read_bytes() != data:
            self.evidence[IMAGES] = data

    def remove_what_is_gone(self, loaded: Loaded) -> None:
        """Verdict files on suites that are not answered any more, and bundles of what is not here any more."""
        answered = {each.slug: each.manifest.suites for each in loaded.submissions}
        suites = {each.manifest.name for each in self.project.suites()}
        for slug, given in answered.items():
            for path in sorted((self.project.root / "submissions" / slug).glob(f"*{VERDICTS}")):
                suite = path.name.removesuffix(VERDICTS)
                if suite not in given or suite not in suites:
                    self.gone.append(self._name(path))
        for slug, suite in self.holdings.published_bundles():
            is_here = slug in loaded.broken or suite in answered.get(slug, ())
            if not is_here or suite not in suites:
                self.gone_evidence.append(bundle_path(suite, slug).as_posix())

    def landing(self, *, rescore: bool, told: dict[str, str], facts: dict[str, Any]) -> Landing:
        """The archive's content."""
        header = Landed(
            format=1,
            rescore=rescore,
            commit=_commit(self.project.root),
            judged={slug: self.judged[slug] for slug in sorted(self.judged)},
            gone=tuple(self.gone),
            gone_evidence=tuple(self.gone_evidence),
            told=told,
            facts=facts,
        )
        return Landing(header, self.files, self.evidence)

    def _put_evidence(self, suite: str, slug: str | None, bundle: Bundle) -> None:
        data = write_bundle(bundle, KEPT_BYTES)
        if self.holdings.fetched_bytes(suite, slug) != data:
            self.evidence[bundle_path(suite, slug).as_posix()] = data

    def _name(self, path: Path) -> str:
        return path.relative_to(self.project.root).as_posix()


def _kept(runs: Mapping[Run, Evidence]) -> tuple[KeptEvidence, ...]:
    fields = ({"key": key, "run": run, "evidence": each} for (key, run), each in sorted(runs.items()))
    return tuple(KeptEvidence.model_validate(each) for each in fields)


def _commit(root: Path) -> str | None:
    """The commit that is checked out, None where none is."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "--verify", "HEAD"], capture_output=True, check=False, text=True
        )
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
