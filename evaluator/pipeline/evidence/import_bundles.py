"""Import bundles into the local store, from the branch `evidence` or from a job that wrote them.

References are imported first. Existing evidence is never replaced, so no submission's bundle can replace the evidence
of a reference. Only runs that this checkout's suites and submissions need are imported. The branch may also hold
bundles of old commands or environments. Such bundles are skipped and counted. With `strict`, they are refused.
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
from evaluator.pipeline.evidence.branch import fetch_branch, list_branch, replace_files
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
from evaluator.pipeline.submissions.board_suites import readable_suites
from evaluator.pipeline.submissions.repository import load_sound
from evaluator.progress import Progress
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import RunKey, Store, store_in_use
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite

NO_SUITE: Final = "of suites that are not here"
NO_SUBMISSION: Final = "of submissions that are not here or break their format"
OTHER_ENVIRONMENT: Final = "of another environment"

_SUBMISSIONS: Final = "submissions/"


@dataclass(slots=True)
class ImportSummary:
    """The number of imported bundles, runs and replies.

    `passed_over` counts the skipped bundles by reason. `not_needed` counts the runs in imported bundles that this
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
        counts = {"passed_over": dict(self.passed_over)}  # `asdict` would count the pairs of a Counter
        return dataclasses.asdict(self) | counts | {"faults": list(map(str, self.faults))}


def import_bundles(
    project: Project, progress: Progress, folder: Path, *, strict: bool, vouched: bool = False
) -> ImportSummary:
    """Import the bundles in a folder (see `bundle_path` for their paths), and return a summary.

    Without `strict`, a bundle that breaks its format is recorded as a fault, and a bundle that this checkout does not
    need is skipped. With `strict`, each such bundle raises FormatError, except for the bundles of an external suite
    that is not fetched here. If the store lacks the fingerprint of an image, take the fingerprint from the folder's
    `images.json`. With `strict`, take it from the references' bundle.

    If `vouched` is true, the caller has verified the folder's digest. Then the fingerprint in a references' bundle may
    also replace a published fingerprint. Raises UsageError if the folder does not exist.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    with store_in_use(project.store_path), contextlib.closing(Store(project.store_path)) as store:
        importer = _Importer(project, store, folder, strict, vouched)
        names = importer.names()
        importer.learn_fingerprints()
        progress.stage("importing evidence", len(names))
        for name in names:
            importer.add(name)
            progress.advance()
        return importer.summary


class _Importer:
    """An importer of the bundles in one folder into the store."""

    def __init__(self, project: Project, store: Store, folder: Path, strict: bool, vouched: bool) -> None:
        self.summary = ImportSummary()
        self._project, self._store, self._folder, self._strict = project, store, folder, strict
        self._vouched = vouched
        here = readable_suites(project)
        self._suites: Mapping[str, Suite] = {suite.manifest.name: suite for suite in here.suites}
        self._unfetched = here.errors.keys() & project.external_suites().keys()
        self._submissions: Mapping[str, Submission] = {
            submission.slug: submission for submission in load_sound(project).submissions
        }
        self._required: dict[tuple[str, str], RequiredRuns] = {}

    def names(self) -> list[str]:
        """Return the paths of the bundles below the folder, references first."""
        names = []
        for path in files_below(self._folder):
            name = path.relative_to(self._folder).as_posix()
            if parse_bundle_path(name):
                names.append(name)
            elif self._strict:
                expected = "expected references/<suite>.jsonl.gz or submissions/<slug>/<suite>.jsonl.gz"
                raise FormatError([Problem(Path(printable(str(path))), 0, f"is not the path of a bundle: {expected}")])
        return sorted(names, key=lambda name: (not name.startswith("references/"), name))

    def learn_fingerprints(self) -> None:
        """Add the fingerprints in the folder's `images.json` to the store. Do not replace existing fingerprints."""
        try:
            published = {} if self._strict else read_images(self._folder / IMAGES).images
        except FormatError as error:
            self.summary.faults += error.problems
            return
        for suite in self._suites.values():
            reference = image_reference(suite.manifest)
            if reference in published and self._store.fingerprint(reference) is None:
                self._store.set_fingerprint(reference, published[reference].fingerprint)

    def add(self, name: str) -> None:
        """Import the bundle at the path `name`, or skip it if this checkout has no use for it."""
        try:
            self._add(name)
        except FormatError as error:
            if self._strict:
                raise
            self.summary.faults += error.problems

    def _add(self, name: str) -> None:
        suite_name, slug = parse_bundle_path(name) or ("", None)
        path = self._folder / name
        if suite_name not in self._suites:
            return self._skip(path, NO_SUITE, always=suite_name in self._unfetched)
        if slug is not None and slug not in self._submissions:
            return self._skip(path, NO_SUBMISSION)
        bundle = read_bundle(_read(path), suite=suite_name, submission=slug, expected=None, path=path)
        fingerprint = bundle.header.fingerprint
        reference = image_reference(self._suites[suite_name].manifest)
        known = self._known_fingerprint(reference, of_references=slug is None)
        if known not in (None, fingerprint):
            return self._skip(path, OTHER_ENVIRONMENT)
        if known is None and self._strict and slug is None:
            self._store.set_fingerprint(reference, fingerprint)
        self._store_bundle(path, bundle, bundle.of(self._runs(suite_name, slug, fingerprint)))
        return None

    def _known_fingerprint(self, reference: str, *, of_references: bool) -> str | None:
        """Return the fingerprint that a bundle must have, or None if every fingerprint is accepted."""
        known = self._store.fingerprint(reference)
        if known and self._vouched and of_references:
            published = known_image(read_images(fetched_images(self._project)), reference)
            return None if published and published.fingerprint == known else known
        return known

    def _store_bundle(self, path: Path, bundle: Bundle, required: Bundle) -> None:
        not_needed = len(bundle.evidence) - len(required.evidence)
        if not_needed and self._strict:
            message = f"holds {not_needed} runs that no command of this checkout needs: expected none"
            raise FormatError([Problem(path, 0, message)])
        import_bundle(self._store, required)
        self.summary.bundles += 1
        self.summary.runs += len(required.evidence)
        self.summary.replies += len(required.replies)
        self.summary.not_needed += not_needed

    def _skip(self, path: Path, why: str, *, always: bool = False) -> None:
        if self._strict and not always:
            raise FormatError([Problem(path, 0, f"is {why}: it was not imported")])
        self.summary.passed_over[why] += 1

    def _runs(self, suite: str, slug: str | None, fingerprint: str) -> frozenset[RunKey]:
        environment = (suite, fingerprint)
        if environment not in self._required:
            self._required[environment] = RequiredRuns(self._project, self._suites[suite], fingerprint)
        required = self._required[environment]
        if slug is None:
            return required.references.union(*map(required.fresh_references, self._submissions.values()))
        own = required.of(self._submissions[slug])
        # the judge's job wrote a published bundle, and any job could have written another one
        return own if self._strict else own | required.fresh_references(self._submissions[slug])


def _read(path: Path) -> bytes:
    """Read a bundle's file, but at most one byte more than the size limit.

    The additional byte shows that the file is too large.
    """
    with path.open("rb") as file:
        return file.read(READING.packed_bytes + 1)


@dataclass(frozen=True, slots=True)
class FetchResult:
    """The result of a fetch: the commit, the folder of the fetched files, and a summary of the import.

    The commit is None if the branch does not exist.
    """

    commit: str | None
    folder: Path
    files: int = 0
    summary: ImportSummary = field(default_factory=ImportSummary)

    def as_json(self) -> dict[str, object]:
        """Return the result as JSON values."""
        return {"commit": self.commit, "files": self.files} | self.summary.as_json()


def fetch_evidence(
    project: Project,
    progress: Progress,
    remote: str,
    branch: str,
    environ: Mapping[str, str],
    *,
    references: bool = False,
) -> FetchResult:
    """Fetch the evidence branch's files to `.bashboard/evidence`, and import the runs that this checkout needs.

    With `references`, the files of submissions are not fetched.
    """
    folder = fetched_images(project).parent
    progress.say(f"fetching {branch} from {remote}")
    commit = fetch_branch(project.root, remote, branch, environ)
    if commit is None:
        return FetchResult(None, folder)
    listing = list_branch(project.root, commit, environ)
    wanted = {path: blob for path, blob in listing.files.items() if not (references and path.startswith(_SUBMISSIONS))}
    replace_files(project.root, wanted, folder, progress, environ)
    summary = import_bundles(project, progress, folder, strict=False)
    summary.other_files = listing.passed_over
    return FetchResult(commit, folder, len(wanted), summary)


def import_evidence(project: Project, progress: Progress, folder: Path, sha256: str | None = None) -> ImportSummary:
    """Import the bundles of a folder into the store. With `sha256`, the folder must have this digest.

    Raises FormatError if the digest differs, or if the folder contains anything other than required evidence.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    if sha256 is not None and (digest := folder_digest(folder)) != sha256:
        raise FormatError([Problem(folder, 0, f"has the digest {digest}: expected {sha256!r:.100}; nothing was read")])
    return import_bundles(project, progress, folder, strict=True, vouched=sha256 is not None)
