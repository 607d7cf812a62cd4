"""Published evidence fetched from its branch, and evidence that another job made, into the local store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.pipeline.evidence.branch import fetch_branch, keep_files, list_branch
from evaluator.pipeline.evidence.bundle import folder_digest
from evaluator.pipeline.evidence.images import fetched_images
from evaluator.pipeline.evidence.import_bundles import TakenOver, take_over
from evaluator.pipeline.project import Project
from evaluator.progress import Progress

_SUBMISSIONS: Final = "submissions/"


@dataclass(frozen=True, slots=True)
class Fetched:
    """The branch's commit, None where there is no such branch; where its files are; and what was taken of them."""

    commit: str | None
    folder: Path
    files: int = 0
    taken: TakenOver = field(default_factory=TakenOver)

    def as_json(self) -> dict[str, object]:
        """As JSON has it."""
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
    """Bring the branch's files into `.bashboard/evidence` and what is needed of them into the store.

    With `references` no submission's evidence is among them.
    """
    folder = fetched_images(project).parent
    progress.say(f"fetching {branch} from {remote}")
    commit = fetch_branch(project.root, remote, branch, environ)
    if commit is None:
        return Fetched(None, folder)
    listing = list_branch(project.root, commit, environ)
    wanted = {path: blob for path, blob in listing.files.items() if not (references and path.startswith(_SUBMISSIONS))}
    keep_files(project.root, wanted, folder, progress, environ)
    taken = take_over(project, progress, folder, strict=False)
    taken.other_files = listing.passed_over
    return Fetched(commit, folder, len(wanted), taken)


def import_evidence(project: Project, progress: Progress, folder: Path, sha256: str | None = None) -> TakenOver:
    """Take a folder's bundles into the store; with `sha256` only where that is the folder's digest.

    Raises FormatError for another digest and for anything that is not evidence needed here.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    if sha256 is not None and (found := folder_digest(folder)) != sha256:
        raise FormatError([Problem(folder, 0, f"has the digest {found}: expected {sha256!r:.100}; nothing was read")])
    return take_over(project, progress, folder, strict=True, vouched=sha256 is not None)
