"""What a submitter reads on their pull request: what is to be mended, or what the submission would come to, and what
happens next; or why the pull request is held, and by whom it goes on.

One text for the sticky comment, for the job's summary and for the command line. Problems are found by this
repository's own code; the preview's numbers were made by the pull request's own run, and the text says so. Sections are
whole or not there: where GitHub would not take all of them, the longest go first and the text names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from evaluator.errors import Problem, Severity
from evaluator.github.comment.markdown import code
from evaluator.github.comment.preview_sections import Section, preview_sections
from evaluator.github.comment.pull_request_sections import (
    change_section,
    next_step,
    next_step_section,
    reason_sections,
    withdrawal_sections,
)
from evaluator.github.comment.sections import LENGTH, fit_sections
from evaluator.github.comment.state import ChangeKind, Reason
from evaluator.records import SLUG_PATTERN, Preview
from evaluator.wording import pluralize

MARKER: Final = "<!-- bashboard:submission -->"
"""The first line of the comment, by which it is found again."""
PROBLEMS: Final = 20
"""Problems shown of one file."""
FILES: Final = 6
"""Files whose problems are shown."""

COMMON_FAULTS: Final = (
    r"Backslashes. In JSON one is written as two: `find . -exec ls {} \\;`.",
    "Words round the command. A candidate is given to Bash as it is: no `$ ` before it, no explanation behind it. For "
    'a model\'s raw replies write `"output"` instead, and `extraction = "markdown"` in `submission.toml`.',
    "Programs that are not there. Commands run on the suite's own machine, without a network, and with the packages "
    "that its `suite.toml` lists and no others: on `core` there is no Python.",
)
"""What goes wrong most often with a first submission."""


def render_comment(
    slug: str,
    problems: Sequence[Problem],
    preview: Preview | None = None,
    *,
    first_time: bool = False,
    faults: Sequence[str] = COMMON_FAULTS,
    missing: str = "",
    appeal: str | None = None,
    limit: int = LENGTH,
    change: ChangeKind = ChangeKind.ADDS,
    reasons: Sequence[Reason] = (),
    log: str | None = None,
    commit: str | None = None,
) -> str:
    """The text for one submission as Markdown, at most `limit` bytes.

    `problems` are those of `check`, with paths as they stand in the repository. Without a `preview` the text says why
    by `missing`. `first_time` welcomes the contributor with `faults`, which are Markdown. `appeal` is the address of
    the form to appeal by, `log` that of the run's log. `change` is what the pull request does, `reasons` why it is held
    or has to be changed, as Markdown; the slug is empty where it is of no single submission. `commit` is the one
    that was looked at. Raises ValueError where the preview is of another submission, where it comes with errors or
    reasons, or where an address is none.
    """
    errors = [each for each in problems if each.severity is Severity.ERROR]
    if preview is not None and (preview.submission != slug or errors or reasons):
        raise ValueError(f"a preview of {preview.submission!r} with {len(errors)} errors, for {slug!r}")
    _require_addresses(appeal, log)
    sections = [Section(_headline(slug, problems, preview, change, reasons))]
    if first_time:
        sections.append(Section("Welcome, and thank you for your first submission."))
    sections += reason_sections(reasons)
    if reasons and problems:
        sections.append(Section("### What the check finds"))
    elif problems and not errors:
        sections.append(Section("Nothing has to be mended. Worth a look:"))
    sections += _problem_sections(problems)
    if errors:
        sections.append(Section(_mend()))
    if reasons:
        sections.append(next_step_section(reasons, change))
    elif change is ChangeKind.WITHDRAWS and not errors:
        sections += withdrawal_sections()
    elif not errors:
        sections.append(change_section(change))
        sections += preview_sections(preview) if preview else [Section(_without_numbers(missing, log))]
        sections.append(Section(_next(slug, preview, appeal)))
    if change is not ChangeKind.WITHDRAWS:
        sections.append(Section(_common(faults) if first_time else ""))
        sections.append(Section(_by_hand(slug, preview)))
    sections.append(Section(f"_Of commit {code(commit)}._" if commit else ""))
    return fit_sections([Section(MARKER), *sections], "The commands above show all.", limit)


def _require_addresses(*addresses: str | None) -> None:
    for address in addresses:
        if address is not None and not re.fullmatch(r"https?://[\w.:/?=&%+-]+", address, re.ASCII):
            raise ValueError(f"{address!r} is no address of a form or a log")


# -- what stands first


def _headline(
    slug: str, problems: Sequence[Problem], preview: Preview | None, change: ChangeKind, reasons: Sequence[Reason]
) -> str:
    errors = sum(each.severity is Severity.ERROR for each in problems)
    words = [next_step(reasons)] if reasons else []
    if errors:
        words.append(f"{pluralize(errors, 'error')} to mend")
    if not words:
        words = [_sound(preview, change)]
    return f"## {code(slug, 80) if slug else 'This pull request'}: {', '.join(words)}"


def _sound(preview: Preview | None, change: ChangeKind) -> str:
    if change is ChangeKind.WITHDRAWS:
        return "withdrawn as soon as this is merged"
    if preview is None:
        return "nothing to mend"
    still_open = f", {pluralize(preview.undecided, 'verdict')} open" if preview.undecided else ""
    return f"nothing to mend, {preview.passed} of {preview.asked} tasks passed{still_open}"


# -- what check says


def _problem_sections(problems: Sequence[Problem]) -> Iterator[Section]:
    files: dict[Path, list[Problem]] = {}
    for problem in sorted(problems, key=lambda each: each.severity is Severity.WARNING):
        files.setdefault(problem.path, []).append(problem)
    for place, found in enumerate(list(files.values())[:FILES]):
        yield Section(_problem_list(found), "" if place == 0 else f"problems of {code(str(found[0].path), 80)}")
    if len(files) > FILES:
        rest = [each for found in list(files.values())[FILES:] for each in found]
        yield Section(f"… and {pluralize(len(rest), 'problem')} in {pluralize(len(files) - FILES, 'more file')}.")


def _problem_list(problems: Sequence[Problem]) -> str:
    lines = [f"- {code(str(each), 400)}" for each in problems[:PROBLEMS]]
    if len(problems) > PROBLEMS:
        lines.append(f"- … and {pluralize(len(problems) - PROBLEMS, 'more problem')} in this file")
    # a line between two files' lists, which would be one otherwise, and a loose one
    return "\n".join([f"In {code(str(problems[0].path), 200)}:", "", *lines])


def _mend() -> str:
    return (
        "**What to do:** mend each `path:line` and push to this branch. The check runs again and this comment changes "
        "in place; the same places are marked on the diff. A warning need not be mended."
    )


def _without_numbers(missing: str, log: str | None) -> str:
    why = f": {code(missing)}" if missing else ""
    more = (
        f" [The run's log]({log}) says more. They are a preview only: the merge does not wait for them." if log else ""
    )
    return f"The check finds nothing that has to be mended. There are no numbers to show yet{why}.{more}"


# -- what happens next, and doing it by hand


def _next(slug: str, preview: Preview | None, appeal: str | None) -> str:
    lines = [
        "You need do nothing more. A maintainer looks at this pull request. As soon as it is merged, every command is "
        "executed again in containers, judged and published: the row is on the site when that run ends, without "
        "another review."
    ]
    if preview and preview.undecided:
        lines.append(
            "The open verdicts go to a panel of models where the board has one, then to a maintainer, who rules with "
            f"{code('bashboard adjudicate')}. Until then they count as not passed; "
            "the merge does not wait for them."
        )
    form = f"[the appeal form]({appeal})" if appeal else "an issue"
    explain = f"bashboard explain {_name(slug)} TASK{f' --suite {preview.suite}' if preview else ''}"
    lines.append(
        f"A verdict looks wrong? See why with {code(explain)}, and appeal by {form}: name the task and say why what "
        "your command does is right."
    )
    return "### What happens next\n\n" + "\n".join(f"- {line}" for line in lines)


def _common(faults: Sequence[str]) -> str:
    listed = "\n".join(f"{number}. {fault}" for number, fault in enumerate(faults, 1))
    return f"### What most often goes wrong with a first submission\n\n{listed}"


def _by_hand(slug: str, preview: Preview | None) -> str:
    name = _name(slug)
    lines = [f"bashboard check submissions/{name}"]
    if preview:
        lines += [f"bashboard {verb} {name} --suite {preview.suite}" for verb in ("score", "preview")]
    listed = "\n".join(lines)
    where = "In your clone, after `make demo` once, with its `.venv/bin` on the path:"
    said = "It is the same code, and it says the same."
    return f"### The same on your machine\n\n{where}\n\n```console\n{listed}\n```\n\n{said}"


def _name(slug: str) -> str:
    """A slug as it is typed; one that is none is not repeated."""
    return slug if re.fullmatch(SLUG_PATTERN, slug, re.ASCII) else "your-system"
