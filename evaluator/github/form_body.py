"""The body of an issue that was opened by a form: what stands below each of the form's labels.

GitHub writes a form's answers as Markdown, a heading and a value each, and keeps nothing else. Whoever opened the issue
may edit it afterwards, and a value may hold any text, a heading of the form included. So a heading that stands twice
is never guessed about: it is a fault, which whoever wrote it can mend.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

LONGEST: Final = 65_536
"""Characters of an issue's body that GitHub takes."""

NOTHING: Final = "_No response_"
"""What GitHub writes where a field was left empty."""


@dataclass(frozen=True, slots=True)
class FormBody:
    """The values by field, those that were left empty as empty texts, and what is wrong with the body.

    A field with a fault has no value.
    """

    values: Mapping[str, str]
    faults: tuple[str, ...]


def read_form(body: str, labels: Mapping[str, str]) -> FormBody:
    r"""What a form's body answers; `labels` are the form's, by field.

    Faults are plain text in our own words, with no more of the body in them than labels.

    >>> read_form("### Task\r\n\r\nfiles-003\r\n", {"task": "Task"})
    FormBody(values={'task': 'files-003'}, faults=())
    """
    if len(body) > LONGEST:
        return FormBody({}, (f"the issue has {len(body):,} characters: expected at most {LONGEST:,}",))
    found = _sections(body, {label: field for field, label in labels.items()})
    values = {field: _value(sections[0]) for field, sections in found.items() if len(sections) == 1}
    faults = [_fault(label, len(found.get(field, ()))) for field, label in labels.items() if field not in values]
    return FormBody(values, tuple(faults))


def _sections(body: str, fields: Mapping[str, str]) -> dict[str, list[list[str]]]:
    """The lines below each heading of the form, as often as it stands there."""
    found: dict[str, list[list[str]]] = {}
    lines: list[str] = []  # those before the first heading are nobody's
    for line in body.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        heading, _, label = line.rstrip().partition(" ")
        if heading == "###" and label in fields:
            lines = []
            found.setdefault(fields[label], []).append(lines)
        else:
            lines.append(line)
    return found


def _value(lines: list[str]) -> str:
    value = "\n".join(lines).strip()
    return "" if value == NOTHING else value


def _fault(label: str, times: int) -> str:
    if times:
        return f"the heading “### {label}” stands {times} times: expected once; in your own words leave the ### out"
    return f"the heading “### {label}” is missing: write it on a line of its own, and the answer below it"
