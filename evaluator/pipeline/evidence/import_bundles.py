"""Import bundles into the local store, from the branch `evidence` or from a job that wrote them.

References are imported first. Existing evidence is never replaced, so no submission's bundle can replace the evidence
of a reference. Only runs that this checkout's suites and submissions need are imported. The branch may hold other
bundles, of old commands or environments. They are skipped and counted, or with `strict` refused.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.escaping import printable
from evaluator.pipeline.evidence.branch import fetch_branch, keep_files, list_branch
from evaluator.pipeline.evidence.bundle import (
    READING,
    Bundle,
    files_below,
    folder_digest,
    import_bundle,
    parse_bundle_path,
    read_bundle,
)
from evaluator.pipeline.evidence.images import IMAGES, fetched_images, known_image, read_images
from evaluator.pipeline.evidence.required_runs import RequiredRuns
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_sound
from evaluator.progress import Progress
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import RunKey, Store
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite

NO_SUITE: Final = "of suites that are not here"
NO_SUBMISSION: Final = "of submissions that are not here or break their format"
OTHER_ENVIRONMENT: Final = "of another environment"


@dataclass(slots=True)
class ImportSummary:
    """The number of imported bundles, runs and replies.

    `passed_over` counts the skipped bundles by reason. `not_needed` counts the runs of imported bundles that this
    checkout does not need. `other_files` counts files that are not evidence. `faults` lists the bundles that break
    their format.
    """

    bundles: int = 0
    runs: int = 0
    replies: int = 0
    not_needed: int = 0
    other_files: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)
    faults: list[Problem] = field(default_factory=list)

    def as_json(self) -> dict[str, object]:
        """Return the summary as JSON values."""
        return dataclasses.asdict(self) | {"faults": list(map(str, self.faults))}


def import_bundles(
    project: Project, progress: Progress, folder: Path, *, strict: bool, vouched: bool = False
) -> ImportSummary:
    """Import the bundles of a folder, each at its `bundle_path`.

    A bundle that breaks its format is recorded as a fault. With `strict`, it raises FormatError, and so does a bundle
    that would be skipped. Unknown fingerprints come from `images.json` in the folder, or with `strict` from the
    references' bundles. If the folder's digest was `vouched` for, these bundles also override a fingerprint that was
    learned from the published images. Raises UsageError if the folder does not exist.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    with contextlib.closing(Store(project.store_path)) as store:
        taking = _Taking(project, store, folder, strict, vouched)
        names = taking.names()
        taking.learn_fingerprints()
        progress.stage("importing evidence", len(names))
        for name in names:
            taking.take(name)
            progress.advance()
        return taking.taken


class _Taking:
    """The import of one folder."""

    def __init__(self, project: Project, store: Store, folder: Path, strict: bool, vouched: bool) -> None:
        self.taken = ImportSummary()
        self._project, self._store, self._folder, self._strict = project, store, folder, strict
        self._vouched = vouched
        self._suites: Mapping[str, Suite] = {suite.manifest.name: suite for suite in project.suites()}
        self._submissions: Mapping[str, Submission] = {each.slug: each for each in load_sound(project).submissions}
        self._needed: dict[tuple[str, str], RequiredRuns] = {}

    def names(self) -> list[str]:
        """Return the paths of the bundles below the folder, references first."""
        found = []
        for path in files_below(self._folder):
            name = path.relative_to(self._folder).as_posix()
            if parse_bundle_path(name):
                found.append(name)
            elif self._strict:
                raise FormatError(
                    [
                        Problem(
                            Path(printable(str(path))),
                            0,
                            "is no bundle's path: expected references/<suite>.jsonl.gz or so",
                        )
                    ]
                )
        return sorted(found, key=lambda name: (not name.startswith("references/"), name))

    def learn_fingerprints(self) -> None:
        try:
            published = {} if self._strict else read_images(self._folder / IMAGES).images
        except FormatError as error:
            self.taken.faults += error.problems
            return
        for suite in self._suites.values():
            reference = image_reference(suite.manifest)
            if reference in published and self._store.fingerprint(reference) is None:
                self._store.set_fingerprint(reference, published[reference].fingerprint)

    def take(self, name: str) -> None:
        """Import one bundle, or skip it if this checkout has no use for it."""
        try:
            self._take(name)
        except FormatError as error:
            if self._strict:
                raise
            self.taken.faults += error.problems

    def _take(self, name: str) -> None:
        suite_name, slug = parse_bundle_path(name) or ("", None)
        path = self._folder / name
        if suite_name not in self._suites:
            return self._pass_over(path, NO_SUITE)
        if slug is not None and slug not in self._submissions:
            return self._pass_over(path, NO_SUBMISSION)
        bundle = read_bundle(_read(path), suite=suite_name, submission=slug, expected=None, path=path)
        fingerprint = bundle.header.fingerprint
        reference = image_reference(self._suites[suite_name].manifest)
        known = self._known_fingerprint(reference, of_references=slug is None)
        if known not in (None, fingerprint):
            return self._pass_over(path, OTHER_ENVIRONMENT)
        if known is None and self._strict and slug is None:
            self._store.set_fingerprint(reference, fingerprint)
        self._import(path, bundle, bundle.of(self._runs(suite_name, slug, fingerprint)))
        return None

    def _known_fingerprint(self, reference: str, *, of_references: bool) -> str | None:
        """Return the fingerprint that the evidence must have, or None if this bundle may define it."""
        known = self._store.fingerprint(reference)
        if known and self._vouched and of_references:
            published = known_image(read_images(fetched_images(self._project)), reference)
            return None if published and published.fingerprint == known else known
        return known

    def _import(self, path: Path, bundle: Bundle, kept: Bundle) -> None:
        not_needed = len(bundle.evidence) - len(kept.evidence)
        if not_needed and self._strict:
            raise FormatError([Problem(path, 0, f"holds {not_needed} runs that nothing here needs: expected none")])
        import_bundle(self._store, kept)
        self.taken.bundles += 1
        self.taken.runs += len(kept.evidence)
        self.taken.replies += len(kept.replies)
        self.taken.not_needed += not_needed

    def _pass_over(self, path: Path, why: str) -> None:
        if self._strict:
            raise FormatError([Problem(path, 0, f"is {why}: nothing of it is taken")])
        self.taken.passed_over[why] += 1

    def _runs(self, suite: str, slug: str | None, fingerprint: str) -> frozenset[RunKey]:
        place = (suite, fingerprint)
        if place not in self._needed:
            self._needed[place] = RequiredRuns(self._project, self._suites[suite], fingerprint)
        needed = self._needed[place]
        return needed.references if slug is None else needed.of(self._submissions[slug])


def _read(path: Path) -> bytes:
    """Read a file up to the size limit of a bundle."""
    with path.open("rb") as file:
        return file.read(READING.packed_bytes + 1)


_SUBMISSIONS: Final = "submissions/"


@dataclass(frozen=True, slots=True)
class Fetched:
    """The branch's commit, or None without a branch, the folder of its files, and a summary of the import."""

    commit: str | None
    folder: Path
    files: int = 0
    taken: ImportSummary = field(default_factory=ImportSummary)

    def as_json(self) -> dict[str, object]:
        """Return the result as JSON values."""
        return {"commit": self.commit, "files": self.files} | self.taken.as_json()


def fetch_evidence(
    project: Project,
    progress: Progress,
    remote: str,
    branch: str,
    environ: Mapping[str, str],
    *,
    references: bool = False,
) -> Fetched:
    """Fetch the branch's files to `.bashboard/evidence` and import the required runs into the store.

    With `references`, the files of submissions are not fetched.
    """
    folder = fetched_images(project).parent
    progress.say(f"fetching {branch} from {remote}")
    commit = fetch_branch(project.root, remote, branch, environ)
    if commit is None:
        return Fetched(None, folder)
    listing = list_branch(project.root, commit, environ)
    wanted = {path: blob for path, blob in listing.files.items() if not (references and path.startswith(_SUBMISSIONS))}
    keep_files(project.root, wanted, folder, progress, environ)
    taken = import_bundles(project, progress, folder, strict=False)
    taken.other_files = listing.passed_over
    return Fetched(commit, folder, len(wanted), taken)


def import_evidence(project: Project, progress: Progress, folder: Path, sha256: str | None = None) -> ImportSummary:
    """Import the bundles of a folder into the store. With `sha256`, the folder must have this digest.

    Raises FormatError for another digest, and for anything that is not required evidence.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    if sha256 is not None and (found := folder_digest(folder)) != sha256:
        raise FormatError([Problem(folder, 0, f"has the digest {found}: expected {sha256!r:.100}; nothing was read")])
    return import_bundles(project, progress, folder, strict=True, vouched=sha256 is not None)
