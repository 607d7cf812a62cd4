"""A Markdown list of undecided verdicts for maintainers. Each entry has the instruction, the command and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evaluator.github.comment.markdown import code
from evaluator.github.comment.sections import LENGTH, Section, fit_sections
from evaluator.records import Contested
from evaluator.wording import pluralize

ENTRIES: Final = 60
"""The maximum number of verdicts listed with details."""
GIVERS: Final = 8
"""The maximum number of submissions named for one verdict."""

_ALL: Final = "`bashboard contested` shows everything, with `--json` for a program."


def contested_list(verdicts: Sequence[Contested], limit: int = LENGTH) -> str:
    """Return a list of undecided verdicts as Markdown of at most `limit` bytes. Code spans hold all untrusted text."""
    if not verdicts:
        return "No published verdict is undecided.\n"
    head = (
        f"**{pluralize(len(verdicts), 'verdict')}** {'is' if len(verdicts) == 1 else 'are'} undecided. Each applies to "
        "every submission with that command, and counts as not passed until a maintainer rules it."
    )
    sections = [
        Section(_entry(verdict), f"{code(verdict.task, 80)} of {code(verdict.suite, 80)}")
        for verdict in verdicts[:ENTRIES]
    ]
    more = f"… and {pluralize(len(verdicts) - ENTRIES, 'more verdict')}. {_ALL}" if len(verdicts) > ENTRIES else ""
    return fit_sections([Section(head), *sections, Section(more)], _ALL, limit)


def _entry(verdict: Contested) -> str:
    step = f"{verdict.step.value}: " if verdict.step else ""
    variant = f", in variant {code(verdict.variant, 80)}" if verdict.variant else ""
    command = code(verdict.command.decode(errors="backslashreplace"), 400)
    size = f" of {verdict.size:,} bytes" if verdict.size > len(verdict.command) else ""
    lines = [
        f"instruction: {code(verdict.instruction, 400)}",
        f"command: {command}{size}",
        f"open: {step}{code(verdict.reason)}{variant}",
        f"by {_submissions(verdict)}; a ruling moves {pluralize(verdict.rows, 'row')}",
    ]
    lines += [f"[appeal it]({verdict.appeal})"] if verdict.appeal else []
    listed = "\n".join(f"- {line}" for line in lines)
    commands = f"```console\n{verdict.explain}\n{verdict.adjudicate}\n```"
    return f"### {code(verdict.task, 80)} of {code(verdict.suite, 80)}\n\n{listed}\n\n{commands}"


def _submissions(verdict: Contested) -> str:
    names = [
        code(source.submission, 80) + (f" as number {source.rank}" if source.rank > 1 else "")
        for source in verdict.given_by[:GIVERS]
    ]
    more = len(verdict.given_by) - GIVERS
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
