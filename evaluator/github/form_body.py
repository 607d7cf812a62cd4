"""The body of an issue that was created from a form: the value below each label of the form.

GitHub stores the answers of a form only as Markdown, a heading and a value for each field. The contributor can edit the
body later, and a value can hold any text, even a heading of the form. So a repeated heading is a fault that the
contributor has to fix. This module never guesses which one is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

LONGEST: Final = 65_536
"""The maximum length of an issue's body on GitHub, in characters."""

NOTHING: Final = "_No response_"
"""The text that GitHub writes for an empty field."""


@dataclass(frozen=True, slots=True)
class FormBody:
    """The values by field, and the faults of the body. An empty field has an empty value. A field with a fault has
    none.
    """

    values: Mapping[str, str]
    faults: tuple[str, ...]


def read_form(body: str, labels: Mapping[str, str]) -> FormBody:
    r"""Return the values in a form's body. `labels` maps each field to its label.

    Faults are plain text that quotes nothing from the body but labels.

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
    """Return the lines below each heading of the form, one list for each occurrence."""
    found: dict[str, list[list[str]]] = {}
    lines: list[str] = []  # lines before the first heading belong to no field
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
