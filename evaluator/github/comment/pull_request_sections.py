"""The sections about a pull request itself: why it is held, what to change in it, and what happens next.

Reasons are Markdown in which untrusted text already is code. All other words are this project's.
"""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.github.comment.preview_sections import Section
from evaluator.github.comment.state import ChangeKind, Reason, State, worst

_HEADS = {State.HELD: "Why it is held", State.NEEDS_CHANGES: "What is to be changed"}
_TURNS = {State.HELD: "held for a maintainer", State.NEEDS_CHANGES: "changes are needed"}


def next_step(reasons: Sequence[Reason]) -> str:
    """Return the words of the headline."""
    found = worst(reasons)
    return _TURNS[found] if found else "nothing to mend"


def reason_sections(reasons: Sequence[Reason]) -> list[Section]:
    """Return the reasons with their commands, those that hold the pull request first."""
    sections = []
    for state, head in _HEADS.items():
        told = [_reason(each) for each in reasons if each.state is state]
        if told:
            sections.append(Section(f"### {head}\n\n" + "\n\n".join(told)))
    return sections


def _reason(reason: Reason) -> str:
    if not reason.commands:
        return f"- {reason.text}"
    lines = "\n".join(f"  {each}" for each in ("```console", *reason.commands, "```"))
    return f"- {reason.text}\n\n{lines}"


def next_step_section(reasons: Sequence[Reason], change: ChangeKind) -> Section:
    """Return what happens next with a pull request that is not valid, and when its row appears or leaves."""
    lines = []
    if worst(reasons) is State.HELD:
        lines.append(
            "A maintainer looks at this pull request and decides; until then nothing of it is published. What you "
            "change and push is looked at again, and this comment changes in place."
        )
    else:
        lines.append("Change it and push to this branch: the check runs again and this comment changes in place.")
    if change is ChangeKind.WITHDRAWS:
        lines.append("The row leaves the site when the run that follows the merge has ended, and not before.")
    else:
        lines.append(
            "The row is on the site when the run that follows the merge has ended: every command is executed again in "
            "containers, judged and published, without another review."
        )
    return Section("### What happens next\n\n" + "\n".join(f"- {line}" for line in lines))


def withdrawal_sections() -> list[Section]:
    """Return what happens to the row of a submission that is withdrawn."""
    lines = (
        "You need do nothing more. A maintainer looks at this pull request and merges it.",
        "Its row and its page leave the site when the run that follows the merge has ended. What was published stays "
        "in the repository's history.",
        "The name stays yours: nobody else can take it, and you may offer the same system again under it.",
    )
    head = Section("This pull request withdraws the submission: its whole folder goes. There is nothing to check.")
    return [head, Section("### What happens next\n\n" + "\n".join(f"- {line}" for line in lines))]


def change_section(change: ChangeKind) -> Section:
    """Return a note about the change of a published submission, or an empty section for any other change."""
    if change is not ChangeKind.UPDATES:
        return Section("")
    return Section(
        "This pull request changes a submission that is on the board. Its present row stays until the run that "
        "follows the merge has ended, and is then replaced."
    )


def nothing_text() -> str:
    """Return the comment for a pull request that no longer changes a submission."""
    return (
        "## No submission in this pull request\n\nIt does not change a submission any more, so there is nothing to "
        "check and no row will follow from it. What was said here before does not hold any more. To offer a "
        "submission push its folder below `submissions/` to this branch, or open another pull request: the check "
        "runs by itself.\n"
    )
