"""What a rescore judged, as a pull request: the verdict files and the table of who moves, for a maintainer to merge.

There is one branch for it, so there is one open proposal at a time: a later rescore takes the place of an earlier one
that nobody merged, which it contains.

The evidence goes to its branch at once. It is kept under the digests of what it depends on, so the verdicts that stand
on main are followed from theirs as before, and whoever reads the proposal can follow its verdicts from these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.errors import UsageError
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
from evaluator.wording import pluralize

BRANCH: Final = "rescore/verdicts"

_TOLD: Final = 50
"""Submissions that a body names as left out; each is about a hundred bytes."""
_AROUND: Final = 8_192
"""Bytes of a body that are left for what stands around the table."""

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
    """What is proposed: title and body, empty where no verdict file would change; the pull request where it is there.

    `left_out` says why by submission; `evidence` is the commit of its branch.
    """

    title: str
    body: str
    left_out: Mapping[str, str]
    proposal: Proposal | None = None
    evidence: str | None = None


def propose_landing(
    project: Project, connection: Connection, archive: PublishArchive, *, dry_run: bool = False
) -> Proposed:
    """Offer what a rescore judged and still stands. The same again changes nothing.

    Raises UsageError for what is no rescore's, which is committed; PermissionMissingError; GitHubError.
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
    """From the checkout's verdict files to the landing's, on the suites that are here."""
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
    submissions = pluralize(len(current.changing), "submission")
    return f"Rescore {submissions}: {pluralize(flips, 'verdict')} {'flips' if flips == 1 else 'flip'}"


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
    return f"Give the verdicts of {pluralize(len(slugs), 'submission')} anew\n\n{listed}\n"


def proposed_markdown(proposed: Proposed) -> str:
    """What was proposed, for the job's summary."""
    if proposed.proposal is None:
        head = "### No published verdict would change" if not proposed.body else f"### {proposed.title}"
    else:
        head = f"### #{proposed.proposal.number} {proposed.proposal.written.value}: {proposed.title}"
    left_out = f"Left out:\n\n{left_out_markdown(proposed.left_out)}" if proposed.left_out else ""
    return "\n\n".join(part for part in (head, left_out) if part)
