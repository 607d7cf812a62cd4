"""What a pull request may do, decided from the paths it changes and from whose they are. Pure: nothing is asked here.

Paths, slugs and names are a stranger's. They stand in a reason as code, and in a line to type only where they are of
a form that no shell reads anything into.
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
"""Where submissions are merged."""
JUDGING: Final = ("evaluator/", ".github/", "fixtures/", "pyproject.toml", "requirements")
"""Beginnings of paths that decide how a pull request's own run judges it."""
_NAMED: Final = 5
_OWN_NAME: Final = " To offer a system of your own choose a name that nobody has."
_PLAIN: Final = re.compile(r"submissions/(?:owners\.json|[a-z0-9-]{1,64}/[a-z0-9-]{1,64}\.verdicts\.jsonl)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Decision:
    """Why a pull request is not valid, and the labels that it gets; no label where there is nothing to say."""

    reasons: tuple[Reason, ...]
    labels: frozenset[str]

    @property
    def is_valid(self) -> bool:
        """True where nobody but a merge is waited for."""
        return State.VALID in self.labels

    def contested(self) -> frozenset[str]:
        """The labels where verdicts are open; they do not hinder the merge."""
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
    """The state of a pull request, with every reason.

    `owner` is whose the submission is that it changes, withdraws or renames, or whose the name is that it adds;
    `problems` are those of `check`, `limits` the reasons of `limits.py`; `address` is where the repository is fetched
    from. Who may push here is held by nothing, and told only what the check finds in one submission's own files:
    what else they change is the project's own work.
    """
    if pull_change.change is ChangeKind.NOTHING or (pull.insider and not pull_change.is_plain):
        return Decision((), frozenset())
    reasons = () if pull.insider else (*_reasons(pull_change, pull, owner, address), *limits)
    states = {each.state for each in reasons}
    if any(each.severity is Severity.ERROR for each in problems):
        states.add(State.NEEDS_CHANGES)
    if states:
        return Decision(reasons, frozenset(states))
    return Decision((), frozenset({State.VALID, READY} if pull_change.change is ChangeKind.ADDS else {State.VALID}))


def _reasons(pull_change: PullRequestChange, pull: PullRequest, owner: Owner, address: str) -> Iterator[Reason]:
    yield from _place_reasons(pull_change, pull, address)
    yield from _derived_reasons(pull_change, address)
    yield from _owner_reasons(pull_change, pull, owner, address)
    if pull_change.change is ChangeKind.RENAMES:
        yield Reason(
            State.HELD,
            f"It renames the submission {code(pull_change.earlier or '', 80)}. A maintainer does that, "
            "because the row, its verdicts and whose the name is go along: say here that you want it.",
        )
    if pull_change.left:
        yield _left_reason(pull_change, address)


def _place_reasons(pull_change: PullRequestChange, pull: PullRequest, address: str) -> Iterator[Reason]:
    """What is offered in the wrong place, or with what does not belong to it."""
    apart = _apart(pull_change.slug, address)
    if pull.base_branch != BRANCH:
        said = f"It is for the branch {code(pull.base_branch, 80)}. Submissions are merged into {code(BRANCH)}"
        yield Reason(State.NEEDS_CHANGES, f"{said}: choose that one by *Edit* beside the title.")
    if not pull_change.complete:
        said = f"It changes {MOST_CHANGED:,} files or more, and GitHub names no others: nobody can say what they are."
        yield Reason(State.HELD, f"{said} Offer the submission alone, in a pull request of its own.", apart)
    if pull_change.outside:
        yield Reason(State.HELD, _outside(pull_change.outside), apart)
    if len(pull_change.slugs) > 1 and pull_change.change is not ChangeKind.RENAMES:
        said = f"It changes {pluralize(len(pull_change.slugs), 'submission')}: {_listed(pull_change.slugs)}."
        said += " A pull request is for"
        yield Reason(State.NEEDS_CHANGES, f"{said} one, with a check and a row of its own: open one for each.", apart)
    if pull_change.stray:
        said = f"{_listed(pull_change.stray)}: in no submission's folder. Put it into yours,"
        yield Reason(State.NEEDS_CHANGES, f"{said} {code('submissions/<slug>/')}, or remove it.")


def _outside(paths: Sequence[str]) -> str:
    said = f"It also changes {pluralize(len(paths), 'file')} outside of {code(FOLDER + '/')}: {_listed(paths)}."
    if any(path.startswith(JUDGING) for path in paths):
        said += " What judges it is among them, so the numbers of its own run are not shown."
    return f"{said} Open two pull requests, one with the submission alone and one with the rest."


def _derived_reasons(pull_change: PullRequestChange, address: str) -> Iterator[Reason]:
    for path, added in list((pull_change.derived or {}).items())[:_NAMED]:
        said = f"{code(path)} is written by the publish workflow alone and edited by nobody. "
        said += "Remove it from this pull request." if added else "Restore it as it was."
        mended = f"git rm -- {path}" if added else f'git checkout "$(git merge-base FETCH_HEAD HEAD)" -- {path}'
        lines = (f"git fetch {address} {BRANCH}", mended, 'git commit -m "Leave derived files as they are" && git push')
        yield Reason(State.NEEDS_CHANGES, said, lines[added:] if _PLAIN.fullmatch(path) else ())
    if len(pull_change.derived or {}) > _NAMED:
        more = pluralize(len(pull_change.derived or {}) - _NAMED, "more file")
        yield Reason(State.NEEDS_CHANGES, f"… and {more} that the publish workflow writes: leave them as they are.")


def _owner_reasons(pull_change: PullRequestChange, pull: PullRequest, owner: Owner, address: str) -> Iterator[Reason]:
    """What is another's, and what nobody could own."""
    slug = pull_change.earlier or pull_change.slug
    named = code(slug, 80)
    if not slug:
        return
    if owner.holder is OwnerKind.PROJECT:
        said = f"{named} is one of the project's own submissions, which its maintainers change."
        yield Reason(State.HELD, f"{said}{_OWN_NAME}", _other_name(pull_change, address))
    elif owner.holder is OwnerKind.ACCOUNT and owner.account != pull.author:
        said = f"The name {named} belongs to another account, which offered it first."
        handed = " Where both accounts are yours, or its owner hands it over, say so here: a maintainer can enter that."
        yield Reason(State.HELD, f"{said}{handed}{_OWN_NAME}", _other_name(pull_change, address))
    elif pull.author is None:
        said = "The account that opened this pull request is gone, so the row would be nobody's."
        yield Reason(State.HELD, f"{said} Anybody may open it again from an account of their own.")


def _other_name(pull_change: PullRequestChange, address: str) -> tuple[str, ...]:
    """The lines that offer the same under another name, and leave what stands under this one as it is."""
    folder, own = f"{FOLDER}/{_typed(pull_change.slug)}", f"{FOLDER}/your-system"
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


def _left_reason(pull_change: PullRequestChange, address: str) -> Reason:
    said = f"It removes {code(MANIFEST_NAME)} and leaves {_listed(pull_change.left)}. A submission is withdrawn whole."
    lines = (
        f"git fetch {address} {BRANCH} && git merge FETCH_HEAD",
        f"git rm -r -- {FOLDER}/{_typed(pull_change.earlier or pull_change.slug)}",
        'git commit -m "Withdraw the submission" && git push',
    )
    return Reason(State.NEEDS_CHANGES, said, lines)


def _apart(slug: str, address: str) -> tuple[str, ...]:
    """The lines that make a branch with the submission alone."""
    folder = f"{FOLDER}/{_typed(slug)}"
    return (
        f"git fetch {address} {BRANCH}",
        "git switch --create submission-alone FETCH_HEAD",
        f"git checkout @{{-1}} -- {folder}",
        'git commit -m "Add a submission" && git push --set-upstream origin submission-alone',
    )


def _typed(slug: str) -> str:
    """A slug as it is typed; one that is none is not repeated."""
    return slug if re.fullmatch(SLUG_PATTERN, slug, re.ASCII) and not slug.endswith("\n") else "your-system"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(code(name, 120) for name in names[:_NAMED]) + more
