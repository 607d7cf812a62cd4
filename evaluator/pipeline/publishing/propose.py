"""Propose a rescore (published commands are judged again) in a pull request with verdict files and a table of changes.

All proposals use one branch, so only one proposal is open at a time. If a proposal was not merged, a later rescore
contains the same changes and replaces the proposal.

The new evidence is committed to the branch `evidence` immediately, so a reviewer can check the proposed verdicts.
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
from evaluator.pipeline.boards.published_boards import published_files
from evaluator.pipeline.grading.verdict_files import VerdictFile, verdicts_in
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.archive import PublishArchive
from evaluator.pipeline.publishing.commit import (
    MAIN,
    MainCheck,
    check_against_main,
    commit_evidence,
    left_out_markdown,
    main_head,
)
from evaluator.pipeline.publishing.diff_verdicts import changes_between
from evaluator.pipeline.submissions.board_suites import readable_suites
from evaluator.pipeline.submissions.repository import load_sound
from evaluator.records import VerdictDiff
from evaluator.submissions.names import VERDICTS
from evaluator.wording import pluralize

BRANCH: Final = "rescore/verdicts"

_LISTED: Final = 50
"""Submissions that the body lists as left out. Each takes about a hundred bytes."""
_RESERVED: Final = 8_192
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
class ProposalResult:
    """The title and the body of a rescore's pull request. Both texts are empty if no verdict file changes.

    `left_out` gives the reason for each submission that was left out. `proposal` is the pull request, if there is one.
    `evidence` is the commit of the branch `evidence`, or None after a dry run.
    """

    title: str
    body: str
    left_out: Mapping[str, str]
    proposal: Proposal | None = None
    evidence: str | None = None


def propose_archive(
    project: Project, connection: Connection, archive: PublishArchive, *, dry_run: bool = False
) -> ProposalResult:
    """Propose the verdicts of a rescore in a pull request. Submissions that changed after the judging are left out.

    A repeated call changes nothing. Raises UsageError if the archive does not come from a rescore, because such an
    archive must be committed directly. Raises PermissionMissingError or GitHubError if a request to GitHub fails.
    """
    if not archive.header.rescore:
        raise UsageError("this archive is not a rescore; run: bashboard publish commit")
    check = check_against_main(connection, main_head(connection), archive)
    if not check.changing:
        evidence = None if dry_run else commit_evidence(connection, check.archive)
        return ProposalResult("", "", check.left_out, None, evidence)
    changes = _changes(project, check.archive)
    title, body = _title(changes, check), _body(changes, check)
    if dry_run:
        return ProposalResult(title, body, check.left_out)
    evidence = commit_evidence(connection, check.archive)
    proposal = propose(
        connection,
        branch=BRANCH,
        base=MAIN,
        title=title,
        body=body,
        files=check.archive.on_main(),
        message=_message(check.changing),
    )
    return ProposalResult(title, body, check.left_out, proposal, evidence)


def _changes(project: Project, archive: PublishArchive) -> VerdictDiff:
    """Return the changes that the archive makes to the checkout's verdict files, for every suite in the checkout."""
    submissions = load_sound(project).submissions
    suites = [suite.manifest.name for suite in readable_suites(project).suites]
    before = {suite: published_files(project, suite, submissions) for suite in suites}
    after: dict[str, dict[str, VerdictFile]] = {suite: dict(files) for suite, files in before.items()}
    for path, content in archive.on_main().items():
        slug, name = path.split("/")[1:]
        files = after.get(name.removesuffix(VERDICTS), {})
        if content is None:
            files.pop(slug, None)
        else:
            files[slug] = verdicts_in(content, Path(path))
    return changes_between(project, before, after, submissions)


def _title(changes: VerdictDiff, check: MainCheck) -> str:
    flips = sum(sum(suite.kinds.values()) for suite in changes.suites)
    submissions = pluralize(len(check.changing), "submission")
    return f"Rescore {submissions}: {pluralize(flips, 'verdict')} {'flips' if flips == 1 else 'flip'}"


def _body(changes: VerdictDiff, check: MainCheck) -> str:
    parts = [
        "The judge, the environment or the suite changed after these verdicts were published. So they were judged "
        "again. **Merging this pull request puts them on the board.** Until then every row stays as it is. This pull "
        "request changes nothing else.",
        rescore_table(changes, LENGTH - _RESERVED).strip(),
    ]
    if check.left_out:
        left_out = left_out_markdown(dict(list(check.left_out.items())[:_LISTED]))
        parts.append(f"### Left out\n\n{left_out}")
    if check.archive.header.commit:
        parts.append(f"Made from {check.archive.header.commit}.")
    return "\n\n".join([*parts, _BY_HAND]) + "\n"


def _message(slugs: tuple[str, ...]) -> str:
    listed = "\n".join(slugs)
    return f"Rescore the verdicts of {pluralize(len(slugs), 'submission')}\n\n{listed}\n"


def proposed_markdown(result: ProposalResult) -> str:
    """Return the proposal of a rescore as Markdown for the summary page of the workflow's job."""
    if result.proposal is None:
        head = "### No published verdict would change" if not result.body else f"### {result.title}"
    else:
        head = f"### #{result.proposal.number} {result.proposal.written.value}: {result.title}"
    left_out = f"Left out:\n\n{left_out_markdown(result.left_out)}" if result.left_out else ""
    return "\n\n".join(part for part in (head, left_out) if part)
