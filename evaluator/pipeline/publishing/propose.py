"""Propose a rescore as a pull request: the new verdict files and a table of the moved rows, for a maintainer to merge.

All proposals use one branch, so only one is open at a time. A later rescore replaces an earlier one that was not
merged, and contains its changes.

The evidence is committed to its branch at once. It is stored under digests of its inputs, so the verdicts on main still
follow from their own evidence, and a reviewer can check the proposed verdicts with the new evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.errors import UsageError
from evaluator.github.comment.preview_sections import counted
from evaluator.github.comment.rescore_table import rescore_table
from evaluator.github.comment.sections import LENGTH
from evaluator.github.connection import Connection
from evaluator.github.proposals import Proposal, propose
from evaluator.pipeline.boards.published_boards import Files, published_files
from evaluator.pipeline.grading.verdict_files import VerdictFile, verdicts_in
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.archive import PublishArchive
from evaluator.pipeline.publishing.commit import (
    MAIN,
    MainCheck,
    check_against_main,
    keep_evidence,
    left_out_markdown,
    main_head,
)
from evaluator.pipeline.publishing.diff_verdicts import changes_between
from evaluator.pipeline.submissions.repository import load_sound
from evaluator.records import VerdictDiff
from evaluator.submissions.names import VERDICTS

BRANCH: Final = "rescore/verdicts"

_TOLD: Final = 50
"""Submissions that the body lists as left out. Each takes about a hundred bytes."""
_AROUND: Final = 8_192
"""Bytes of the body that are reserved for the text around the table."""

_BY_HAND: Final = f"""### The same on your machine

```console
git fetch origin {MAIN} {BRANCH}
git checkout --detach origin/{BRANCH}
bashboard publish changes --against origin/{MAIN}   # this table, with every flip
bashboard fetch                                # the evidence, so that little is executed again
bashboard rescore
```"""


@dataclass(frozen=True, slots=True)
class Proposed:
    """The title and body of a proposal, empty if no verdict file changes, and the pull request if it was opened.

    `left_out` gives the reasons by submission. `evidence` is the commit of the evidence branch.
    """

    title: str
    body: str
    left_out: Mapping[str, str]
    proposal: Proposal | None = None
    evidence: str | None = None


def propose_archive(
    project: Project, connection: Connection, archive: PublishArchive, *, dry_run: bool = False
) -> Proposed:
    """Propose the verdicts of a rescore, except submissions that changed meanwhile. Repeating it changes nothing.

    Raises UsageError for an archive that is not a rescore, which must be committed, and PermissionMissingError,
    GitHubError.
    """
    if not archive.header.rescore:
        raise UsageError("this is no rescore's: bashboard publish commit")
    current = check_against_main(connection, main_head(connection), archive)
    if not current.changing:
        evidence = None if dry_run else keep_evidence(connection, current.archive)
        return Proposed("", "", current.left_out, None, evidence)
    changes = _changes(project, current.archive)
    title, body = _title(changes, current), _body(changes, current)
    if dry_run:
        return Proposed(title, body, current.left_out)
    evidence = keep_evidence(connection, current.archive)
    proposal = propose(
        connection,
        branch=BRANCH,
        base=MAIN,
        title=title,
        body=body,
        files=current.archive.on_main(),
        message=_message(current.changing),
    )
    return Proposed(title, body, current.left_out, proposal, evidence)


def _changes(project: Project, archive: PublishArchive) -> VerdictDiff:
    """Return the difference between the checkout's verdict files and the archive's, for every suite in the checkout."""
    entries = load_sound(project).submissions
    before: dict[str, Files] = {}
    after: dict[str, dict[str, VerdictFile]] = {}
    for suite in (each.manifest.name for each in project.suites()):
        before[suite] = published_files(project, suite, entries)
        after[suite] = dict(before[suite])
    for path, content in archive.on_main().items():
        slug, name = path.split("/")[1:]
        files = after.get(name.removesuffix(VERDICTS), {})
        if content is None:
            files.pop(slug, None)
        else:
            files[slug] = verdicts_in(content, Path(path))
    return changes_between(project, before, after, entries)


def _title(changes: VerdictDiff, current: MainCheck) -> str:
    flips = sum(sum(each.kinds.values()) for each in changes.suites)
    submissions = counted(len(current.changing), "submission")
    return f"Rescore {submissions}: {counted(flips, 'verdict')} {'flips' if flips == 1 else 'flip'}"


def _body(changes: VerdictDiff, current: MainCheck) -> str:
    parts = [
        "Judge, environment or suite are no longer what these verdicts were given by, so they were given anew. "
        "**Merging this puts them on the board**; until then every row stays as it is. Nothing else is changed by it.",
        rescore_table(changes, LENGTH - _AROUND).strip(),
    ]
    if current.left_out:
        left_out = left_out_markdown(dict(list(current.left_out.items())[:_TOLD]))
        parts.append(f"### Left out\n\n{left_out}")
    if current.archive.header.commit:
        parts.append(f"Made from {current.archive.header.commit}.")
    return "\n\n".join([*parts, _BY_HAND]) + "\n"


def _message(slugs: tuple[str, ...]) -> str:
    listed = "\n".join(slugs)
    return f"Give the verdicts of {counted(len(slugs), 'submission')} anew\n\n{listed}\n"


def proposed_markdown(proposed: Proposed) -> str:
    """Return a summary of the proposal for the job's summary."""
    if proposed.proposal is None:
        head = "### No published verdict would change" if not proposed.body else f"### {proposed.title}"
    else:
        head = f"### #{proposed.proposal.number} {proposed.proposal.written.value}: {proposed.title}"
    left_out = f"Left out:\n\n{left_out_markdown(proposed.left_out)}" if proposed.left_out else ""
    return "\n\n".join(part for part in (head, left_out) if part)
