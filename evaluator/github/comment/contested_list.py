"""Undecided verdicts as Markdown, for whoever rules them: what is asked, what was given, why nobody can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evaluator.github.comment.markdown import code
from evaluator.github.comment.preview_sections import Section
from evaluator.github.comment.sections import LENGTH, fit_sections
from evaluator.records import Contested
from evaluator.wording import pluralize

ENTRIES: Final = 60
"""Verdicts told one by one."""
GIVERS: Final = 8
"""Submissions named of one verdict."""

_ALL: Final = "`bashboard contested` shows all of it, with `--json` for a program."


def contested_list(verdicts: Sequence[Contested], limit: int = LENGTH) -> str:
    """The text, of at most `limit` bytes; a stranger's text is in it as code alone."""
    if not verdicts:
        return "No published verdict is undecided.\n"
    head = (
        f"**{pluralize(len(verdicts), 'verdict')}** {'is' if len(verdicts) == 1 else 'are'} undecided. Each holds for "
        "everyone who gave the command, and counts as not passed until somebody rules it."
    )
    told = verdicts[:ENTRIES]
    sections = [Section(_entry(each), f"{code(each.task, 80)} of {code(each.suite, 80)}") for each in told]
    more = f"… and {pluralize(len(verdicts) - ENTRIES, 'more verdict')}. {_ALL}" if len(verdicts) > ENTRIES else ""
    return fit_sections([Section(head), *sections, Section(more)], _ALL, limit)


def _entry(verdict: Contested) -> str:
    step = f"{verdict.step.value}: " if verdict.step else ""
    variant = f", in variant {code(verdict.variant, 80)}" if verdict.variant else ""
    shown = code(verdict.command.decode(errors="backslashreplace"), 400)
    size = f" of {verdict.size:,} bytes" if verdict.size > len(verdict.command) else ""
    lines = [
        f"asked: {code(verdict.instruction, 400)}",
        f"given: {shown}{size}",
        f"open: {step}{code(verdict.reason)}{variant}",
        f"by {_givers(verdict)}; a ruling moves {pluralize(verdict.rows, 'row')}",
    ]
    lines += [f"[appeal it]({verdict.appeal})"] if verdict.appeal else []
    listed = "\n".join(f"- {line}" for line in lines)
    typed = f"```console\n{verdict.explain}\n{verdict.adjudicate}\n```"
    return f"### {code(verdict.task, 80)} of {code(verdict.suite, 80)}\n\n{listed}\n\n{typed}"


def _givers(verdict: Contested) -> str:
    named = [
        code(each.submission, 80) + (f" as number {each.rank}" if each.rank > 1 else "")
        for each in verdict.given_by[:GIVERS]
    ]
    more = len(verdict.given_by) - GIVERS
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")
