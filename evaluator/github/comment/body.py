"""The comment on a submission's pull request: problems to fix or a preview of the score, and the next steps.

If a maintainer has to review the pull request first, the comment says why. The comment, the summary of the GitHub job
and the command line show the same text. The problems come from the check in this repository. The preview's numbers come
from the pull request's own run, and the comment states this. If the text is too long for GitHub, the longest sections
are omitted, and the comment lists their names at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.errors import Problem, Severity
from evaluator.github.comment.markdown import code
from evaluator.github.comment.preview_sections import preview_sections
from evaluator.github.comment.pull_request_sections import (
    change_section,
    next_step_section,
    reason_sections,
    withdrawal_sections,
)
from evaluator.github.comment.sections import LENGTH, Section, fit_sections
from evaluator.github.comment.state import ChangeKind, Reason, State, worst
from evaluator.records import SLUG_PATTERN, Preview
from evaluator.wording import pluralize

MARKER: Final = "<!-- bashboard:submission -->"
"""The hidden first line that identifies the comment."""
PROBLEMS: Final = 20
"""The maximum number of problems shown for one file."""
FILES: Final = 6
"""The maximum number of files whose problems are shown."""

COMMON_FAULTS: Final = (
    r"Backslashes. JSON writes one backslash as two: `find . -exec ls {} \\;`.",
    "Text around the command. Bash gets a candidate exactly as you write it, so put no `$ ` before it and no "
    'explanation after it. To submit the raw replies of a model, write `"output"` instead of `"candidates"`, and set '
    '`extraction = "markdown"` in `submission.toml`.',
    "Missing programs. Commands run in the suite's own container, without a network, and only with the packages that "
    "its `suite.toml` lists. On `core` there is no Python.",
)
"""The most frequent mistakes in a first submission, as Markdown."""


@dataclass(frozen=True, slots=True)
class PullRequestContext:
    """The facts about a pull request that its comment needs. The command line uses the default values.

    `change` is the kind of change, and `reasons` say why the pull request is held for a maintainer or needs changes.
    `first_time` adds a welcome and a list of common mistakes. `missing` says why there is no preview. `held` says until
    when the final phase holds the submission, and is empty if it does not. `appeal` and
    `log` are the addresses of the appeal form and of the run's log. `commit` is the commit that was checked.
    """

    change: ChangeKind = ChangeKind.ADDS
    reasons: Sequence[Reason] = ()
    first_time: bool = False
    missing: str = ""
    held: str = ""
    appeal: str | None = None
    log: str | None = None
    commit: str | None = None


_NO_CONTEXT: Final = PullRequestContext()


def render_comment(
    slug: str,
    problems: Sequence[Problem],
    preview: Preview | None = None,
    context: PullRequestContext = _NO_CONTEXT,
    *,
    limit: int = LENGTH,
) -> str:
    """Return the comment on one submission as Markdown of at most `limit` bytes.

    `problems` are the results of the check, with paths in the repository. `slug` is empty if the pull request does not
    change exactly one submission. A preview must belong to the submission `slug`. It must not be given if `problems`
    contains an error or `context` contains reasons. Raises ValueError if a preview breaks these rules, or if an address
    in `context` is invalid.
    """
    change, reasons = context.change, context.reasons
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    if preview is not None and (preview.submission != slug or errors or reasons):
        raise ValueError(f"a preview of {preview.submission!r} with {errors} errors, for {slug!r}")
    _require_addresses(context.appeal, context.log)
    sections = [Section(_headline(slug, errors, preview, context))]
    if context.first_time:
        sections.append(Section("Welcome, and thank you for your first submission."))
    sections += reason_sections(reasons)
    if reasons and problems:
        sections.append(Section("### What the check finds"))
    elif problems and not errors:
        sections.append(Section("There are no errors. Worth a look:"))
    sections += _problem_sections(problems)
    if errors:
        sections.append(Section(_FIX))
    if reasons:
        sections.append(next_step_section(reasons, change))
    elif change is ChangeKind.WITHDRAWS and not errors:
        sections += withdrawal_sections()
    elif not errors:
        sections += [change_section(change), *_result_sections(slug, preview, context)]
    if change is not ChangeKind.WITHDRAWS:
        sections.append(Section(_common_faults() if context.first_time else ""))
        sections.append(Section(_by_hand(slug, preview)))
    sections.append(Section(f"_This comment is about commit {code(context.commit)}._" if context.commit else ""))
    return fit_sections([Section(MARKER), *sections], "The commands above show everything.", limit)


def _require_addresses(*addresses: str | None) -> None:
    for address in addresses:
        if address is not None and not re.fullmatch(r"https?://[\w.:/?=&%+-]+", address, re.ASCII):
            raise ValueError(f"{address!r} is no address of a form or a log")


def _headline(slug: str, errors: int, preview: Preview | None, context: PullRequestContext) -> str:
    parts = []
    if context.reasons:
        parts.append("held for a maintainer" if worst(context.reasons) is State.HELD else "changes are needed")
    if errors:
        parts.append(f"{pluralize(errors, 'error')} to fix")
    if not parts and context.change is ChangeKind.WITHDRAWS:
        parts.append("withdrawn as soon as this is merged")
    elif not parts:
        parts.append("no errors")
        if preview:
            parts.append(f"{preview.passed} of {preview.asked} tasks passed")
        if preview and preview.undecided:
            parts.append(f"{pluralize(preview.undecided, 'verdict')} open")
    return f"## {code(slug, 80) if slug else 'This pull request'}: {', '.join(parts)}"


# -- problems


def _problem_sections(problems: Sequence[Problem]) -> Iterator[Section]:
    by_file: dict[Path, list[Problem]] = {}
    for problem in sorted(problems, key=lambda problem: problem.severity is Severity.WARNING):
        by_file.setdefault(problem.path, []).append(problem)
    files = list(by_file.values())
    for index, in_file in enumerate(files[:FILES]):
        name = f"problems of {code(str(in_file[0].path), 80)}" if index else ""
        yield Section(_problem_list(in_file), name)
    if len(files) > FILES:
        rest = sum(map(len, files[FILES:]))
        yield Section(f"… and {pluralize(rest, 'problem')} in {pluralize(len(files) - FILES, 'more file')}.")


def _problem_list(problems: Sequence[Problem]) -> str:
    lines = [f"- {code(str(problem), 400)}" for problem in problems[:PROBLEMS]]
    if len(problems) > PROBLEMS:
        lines.append(f"- … and {pluralize(len(problems) - PROBLEMS, 'more problem')} in this file")
    # without a paragraph between them, the lists of two files would be one loose list
    return "\n".join([f"In {code(str(problems[0].path), 200)}:", "", *lines])


_FIX: Final = (
    "**What to do:** fix each `path:line` and push to this branch. The check then runs again and updates this comment. "
    "The diff marks the same lines. A warning need not be fixed."
)


def _result_sections(slug: str, preview: Preview | None, context: PullRequestContext) -> Iterator[Section]:
    """Yield the preview, or why there is none, and what happens next."""
    if context.held:
        yield Section(
            "### What happens next\n\n- The board is in its final phase. Only the form of a submission is checked now. "
            "Nothing of it is executed, and there is no preview.\n- A maintainer merges this pull request, and "
            f"{context.held}, together with all others of the phase."
        )
        return
    yield from preview_sections(preview) if preview else [Section(_without_numbers(context))]
    yield Section(_next(slug, preview, context.appeal))


def _without_numbers(context: PullRequestContext) -> str:
    why = f": {code(context.missing)}" if context.missing else ""
    text = f"The check found no errors. There are no numbers to show yet{why}."
    if context.log:
        text += f" [The log of the run]({context.log}) has details. The numbers are only a preview, and the merge does "
        text += "not wait for them."
    return text


# -- next steps, and the same by hand


def _next(slug: str, preview: Preview | None, appeal: str | None) -> str:
    lines = [
        "There is nothing more for you to do. A maintainer reviews this pull request. After the merge, a run executes "
        "every command again in containers, judges the results and publishes them. Your row appears on the site when "
        "that run ends, without another review."
    ]
    if preview and preview.undecided:
        lines.append(
            "The open verdicts go to a panel of models if the board has one, then to a maintainer, who rules with "
            f"{code('bashboard adjudicate')}. Until then they count as not passed. The merge does not wait for them."
        )
    form = f"with [the appeal form]({appeal})" if appeal else "in an issue"
    explain = f"bashboard explain {_name(slug)} TASK{f' --suite {preview.suite}' if preview else ''}"
    lines.append(
        f"Does a verdict look wrong? {code(explain)} shows how it came about. You can appeal {form}: name the task and "
        "say why your command is right."
    )
    return "### What happens next\n\n" + "\n".join(f"- {line}" for line in lines)


def _common_faults() -> str:
    listed = "\n".join(f"{number}. {fault}" for number, fault in enumerate(COMMON_FAULTS, 1))
    return f"### Common mistakes in a first submission\n\n{listed}"


def _by_hand(slug: str, preview: Preview | None) -> str:
    name = _name(slug)
    lines = [f"bashboard check submissions/{name}"]
    if preview:
        lines += [f"bashboard {verb} {name} --suite {preview.suite}" for verb in ("score", "preview")]
    listed = "\n".join(lines)
    return (
        "### The same on your machine\n\nRun this in your clone. It needs `make demo` once, and the `.venv/bin` of the "
        f"clone on your `PATH`:\n\n```console\n{listed}\n```\n\nIt runs the same code and shows the same text."
    )


def _name(slug: str) -> str:
    """Return the slug, or the placeholder `your-system` if the slug is invalid. A command in the comment shows it."""
    return slug if re.fullmatch(SLUG_PATTERN, slug, re.ASCII) else "your-system"
