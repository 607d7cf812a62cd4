"""Decide from changed paths and ownership whether a pull request is valid, held or needs changes.

This module reads no files and sends no requests. Paths, slugs and names are untrusted. A reason shows an untrusted text
as code. A command contains an untrusted text only if the text is safe for a shell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from evaluator.errors import Problem, Severity
from evaluator.github.comment.markdown import code
from evaluator.github.comment.state import CONTESTED, READY, ChangeKind, Reason, State
from evaluator.github.pulls import MOST_CHANGED, PullRequest
from evaluator.pipeline.pull_requests.classify import FOLDER, PullRequestChange
from evaluator.pipeline.submissions.ownership import Owner, OwnerKind
from evaluator.records import SLUG_PATTERN
from evaluator.submissions.names import MANIFEST_NAME, VERDICTS
from evaluator.wording import pluralize

BRANCH: Final = "main"
"""The branch into which submissions are merged."""
JUDGING: Final = ("evaluator/", ".github/", "fixtures/", "pyproject.toml", "requirements")
"""Path prefixes of files that decide how a pull request's own run judges it."""
_LISTED: Final = 5
_OWN_NAME: Final = " To submit a system of your own, choose a name that is not taken."
_PLAIN: Final = re.compile(
    r"submissions/(?:owners\.json|quarantine\.json|[a-z0-9-]{1,64}/[a-z0-9-]{1,64}\.verdicts\.jsonl)", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Decision:
    """The labels of a pull request, and the reasons against its merge. Without labels, no report is written."""

    reasons: tuple[Reason, ...]
    labels: frozenset[str]

    @property
    def is_valid(self) -> bool:
        """Return whether the pull request can be merged as it is."""
        return State.VALID in self.labels

    def contested(self) -> frozenset[str]:
        """Return the labels and `CONTESTED`, a label for undecided verdicts that does not block the merge."""
        return self.labels | {CONTESTED}


def decide(
    pull_change: PullRequestChange,
    pull: PullRequest,
    owner: Owner,
    problems: Sequence[Problem] = (),
    limits: Sequence[Reason] = (),
    *,
    address: str,
) -> Decision:
    """Return a pull request's labels, and all reasons against its merge.

    `owner` is the owner of the submission's name. `problems` are the result of the submission's check, and `limits` are
    the exceeded limits of the author. `address` is the repository's address for `git fetch`. A pull request of an
    account with write access is never held. It gets a report only if all its changed files belong to one submission.
    """
    if pull_change.change is ChangeKind.NOTHING or (pull.insider and not pull_change.is_plain):
        return Decision((), frozenset())
    reasons = () if pull.insider else (*_reasons(pull_change, pull, owner, address), *limits)
    states = {reason.state for reason in reasons}
    if any(problem.severity is Severity.ERROR for problem in problems):
        states.add(State.NEEDS_CHANGES)
    if states:
        return Decision(reasons, frozenset(states))
    return Decision((), frozenset({State.VALID, READY} if pull_change.change is ChangeKind.ADDS else {State.VALID}))


def _reasons(pull_change: PullRequestChange, pull: PullRequest, owner: Owner, address: str) -> Iterator[Reason]:
    yield from _scope_reasons(pull_change, pull, address)
    yield from _derived_reasons(pull_change, address)
    yield from _owner_reasons(pull_change, pull, owner, address)
    if pull_change.change is ChangeKind.RENAMES:
        yield Reason(
            State.HELD,
            f"It renames the submission {code(pull_change.earlier or '', 80)}. A maintainer does that, because the "
            "row, its verdicts and the owner of the name move too. Say here that you want it.",
        )
    if pull_change.left:
        yield Reason(
            State.NEEDS_CHANGES,
            f"It removes {code(MANIFEST_NAME)} but leaves {_listed(pull_change.left)}. To withdraw a submission, "
            "remove its whole folder.",
            (
                f"git fetch {address} {BRANCH} && git merge FETCH_HEAD",
                f"git rm -r -- {FOLDER}/{_slug_or_placeholder(pull_change.earlier or pull_change.slug)}",
                'git commit -m "Withdraw the submission" && git push',
            ),
        )


def _scope_reasons(pull_change: PullRequestChange, pull: PullRequest, address: str) -> Iterator[Reason]:
    """Yield reasons against a merge: a wrong target branch, files in a wrong place, or files of several submissions."""
    split_off = _split_off(pull_change.slug, address)
    if pull.base_branch != BRANCH:
        text = f"It is for the branch {code(pull.base_branch, 80)}. Submissions are merged into {code(BRANCH)}."
        yield Reason(State.NEEDS_CHANGES, f"{text} Click *Edit* beside the title and choose that branch.")
    if not pull_change.complete:
        text = f"It changes {MOST_CHANGED:,} files or more, and GitHub does not list them all."
        yield Reason(State.HELD, f"{text} Open a pull request with the submission alone.", split_off)
    if pull_change.outside:
        paths = pull_change.outside
        text = f"It also changes {pluralize(len(paths), 'file')} outside of {code(FOLDER + '/')}: {_listed(paths)}."
        if any(path.startswith(JUDGING) for path in paths):
            text += " Some of these decide how it is judged, so the numbers of its own run are not shown."
        text += " Open two pull requests, one with the submission alone and one with the rest."
        yield Reason(State.HELD, text, split_off)
    if len(pull_change.slugs) > 1 and pull_change.change is not ChangeKind.RENAMES:
        text = f"It changes {pluralize(len(pull_change.slugs), 'submission')}: {_listed(pull_change.slugs)}."
        text += " A pull request is for one submission, with its own check and its own row: open one for each."
        yield Reason(State.NEEDS_CHANGES, text, split_off)
    if pull_change.stray:
        text = f"{_listed(pull_change.stray)}: not in the folder of a submission. Move it to yours,"
        yield Reason(State.NEEDS_CHANGES, f"{text} {code('submissions/<slug>/')}, or remove it.")


def _derived_reasons(pull_change: PullRequestChange, address: str) -> Iterator[Reason]:
    derived = pull_change.derived or {}
    for path, added in list(derived.items())[:_LISTED]:
        text = f"Only the publish workflow or a maintainer writes {code(path)}. "
        text += "Remove it from this pull request." if added else "Restore it as it was."
        fix = f"git rm -- {path}" if added else f'git checkout "$(git merge-base FETCH_HEAD HEAD)" -- {path}'
        lines = (f"git fetch {address} {BRANCH}", fix, 'git commit -m "Leave derived files as they are" && git push')
        yield Reason(State.NEEDS_CHANGES, text, lines[added:] if _PLAIN.fullmatch(path) else ())
    if len(derived) > _LISTED:
        more = pluralize(len(derived) - _LISTED, "more file")
        yield Reason(State.NEEDS_CHANGES, f"… and {more} that only the publish workflow writes: leave them unchanged.")


def _owner_reasons(pull_change: PullRequestChange, pull: PullRequest, owner: Owner, address: str) -> Iterator[Reason]:
    """Yield a reason against a merge if the submission has another owner, or if the author's account is gone."""
    slug = pull_change.earlier or pull_change.slug
    name = code(slug, 80)
    if not slug:
        return
    if owner.holder is OwnerKind.PROJECT:
        text = f"{name} is one of the project's own submissions, which only maintainers change."
        yield Reason(State.HELD, f"{text}{_OWN_NAME}", _other_name(pull_change, address))
    elif owner.holder is OwnerKind.ACCOUNT and owner.account != pull.author:
        text = f"The name {name} belongs to another account, which submitted it first. If both accounts are yours, or "
        text += f"if its owner gives it to you, say so here, and a maintainer can register you as the owner.{_OWN_NAME}"
        yield Reason(State.HELD, text, _other_name(pull_change, address))
    elif pull.author is None:
        text = "The account that opened this pull request is gone, so the row would have no owner."
        yield Reason(State.HELD, f"{text} Any other account may open the pull request again.")


def _other_name(pull_change: PullRequestChange, address: str) -> tuple[str, ...]:
    """Return Git commands that move the author's changes to a new name, and undo them under the present name."""
    folder, own = f"{FOLDER}/{_slug_or_placeholder(pull_change.slug)}", f"{FOLDER}/your-system"
    if pull_change.change is ChangeKind.ADDS:
        return f"git mv {folder} {own}", 'git commit -m "Take another name" && git push'
    if pull_change.change is not ChangeKind.UPDATES:
        return ()
    return (
        f"cp -r {folder} {own} && rm -f {own}/*{VERDICTS}",
        f"git fetch {address} {BRANCH}",
        f'git checkout "$(git merge-base FETCH_HEAD HEAD)" -- {folder}',
        f'git add {own} && git commit -m "Take another name" && git push',
    )


def _split_off(slug: str, address: str) -> tuple[str, ...]:
    """Return Git commands that create a branch with the changes of only this submission."""
    folder = f"{FOLDER}/{_slug_or_placeholder(slug)}"
    return (
        f"git fetch {address} {BRANCH}",
        "git switch --create submission-alone FETCH_HEAD",
        f"git checkout @{{-1}} -- {folder}",
        'git commit -m "Add a submission" && git push --set-upstream origin submission-alone',
    )


def _slug_or_placeholder(slug: str) -> str:
    """Return the slug for use in a Git command, or a placeholder if the slug is invalid."""
    return slug if re.fullmatch(SLUG_PATTERN, slug, re.ASCII) and not slug.endswith("\n") else "your-system"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(code(name, 120) for name in names[:_LISTED]) + more
