"""Sections of a comment about the state of the pull request: reasons for a review, required changes, next steps.

Reasons are Markdown in which untrusted text is already in code spans. All other words come from this module.
"""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.github.comment.sections import Section
from evaluator.github.comment.state import ChangeKind, Reason, State, worst

_HEADINGS = {State.HELD: "Why it is held", State.NEEDS_CHANGES: "What to change"}


def reason_sections(reasons: Sequence[Reason]) -> list[Section]:
    """Return sections that list the reasons why a pull request is not valid, with the commands that correct it.

    Reasons that a maintainer must review come first. The reasons that its author can correct follow.
    """
    sections = []
    for state, heading in _HEADINGS.items():
        items = [_list_item(reason) for reason in reasons if reason.state is state]
        if items:
            sections.append(Section(f"### {heading}\n\n" + "\n\n".join(items)))
    return sections


def _list_item(reason: Reason) -> str:
    if not reason.commands:
        return f"- {reason.text}"
    lines = "\n".join(f"  {line}" for line in ("```console", *reason.commands, "```"))
    return f"- {reason.text}\n\n{lines}"


def next_step_section(reasons: Sequence[Reason], change: ChangeKind) -> Section:
    """Return a section with the next steps for a pull request that is held for a maintainer or needs changes.

    The section says when the submission's row appears on the board or is removed.
    """
    if worst(reasons) is State.HELD:
        first = (
            "A maintainer reviews this pull request and decides. Until then nothing from it is published. If you push "
            "a change, the check runs again and updates this comment."
        )
    else:
        first = "Make the change and push it to this branch. The check then runs again and updates this comment."
    if change is ChangeKind.WITHDRAWS:
        row = "The row leaves the site when the run after the merge ends, and not earlier."
    else:
        row = (
            "The row appears on the site when the run after the merge ends. That run executes every command again in "
            "containers, judges the results and publishes them, without another review."
        )
    return Section(f"### What happens next\n\n- {first}\n- {row}")


def withdrawal_sections() -> list[Section]:
    """Return sections for a pull request that withdraws a submission. They explain the effect on the board."""
    lines = (
        "There is nothing more for you to do. A maintainer reviews this pull request and merges it.",
        "The row and the page of the submission leave the site when the run after the merge ends. Published results "
        "stay in the repository's history.",
        "The name stays yours: no other account can take it, and you may submit the same system again under it.",
    )
    head = Section(
        "This pull request withdraws the submission: it removes the whole folder. There is nothing to check."
    )
    return [head, Section("### What happens next\n\n" + "\n".join(f"- {line}" for line in lines))]


def change_section(change: ChangeKind) -> Section:
    """Return a note if `change` is an update of a published submission. Otherwise return an empty section."""
    if change is not ChangeKind.UPDATES:
        return Section("")
    return Section(
        "This pull request changes a submission that is on the board. Its present row stays until the run after the "
        "merge ends, and is then replaced."
    )


def nothing_text() -> str:
    """Return the comment for a pull request that no longer changes a submission."""
    return (
        "## No submission in this pull request\n\nIt no longer changes a submission, so there is nothing to check and "
        "it leads to no row. Earlier versions of this comment no longer apply. To submit a system, push its folder "
        "below `submissions/` to this branch, or open another pull request. The check starts by itself.\n"
    )
