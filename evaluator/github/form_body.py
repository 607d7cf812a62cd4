"""A parser for the body of an issue that was created from a form. Each label of the form has a value below it.

GitHub stores the answers of a form only as Markdown, with a heading and a value for each field. The contributor can
edit the body later, and a value can hold any text, even a heading of the form. So a repeated heading is a fault that
the contributor has to fix. This module never guesses the right heading.
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
    """The values of a form as a mapping from field to value, and the faults of the issue's body.

    Each fault says how to correct the body. An empty field has an empty value. A field with a fault has no value.
    """

    values: Mapping[str, str]
    faults: tuple[str, ...]


def read_form(body: str, labels: Mapping[str, str]) -> FormBody:
    r"""Return the values and faults in the body of an issue that was created from a form.

    `labels` maps each field to its label. Faults are plain text. They quote nothing from the body except labels.

    >>> read_form("### Task\r\n\r\nfiles-003\r\n", {"task": "Task"})
    FormBody(values={'task': 'files-003'}, faults=())
    """
    if len(body) > LONGEST:
        return FormBody({}, (f"the issue has {len(body):,} characters: expected at most {LONGEST:,}",))
    sections = _sections(body, {label: field for field, label in labels.items()})
    values, faults = {}, []
    for field, label in labels.items():
        occurrences = sections.get(field, [])
        if len(occurrences) == 1:
            value = "\n".join(occurrences[0]).strip()
            values[field] = "" if value == NOTHING else value
        elif occurrences:
            count = len(occurrences)
            faults.append(f"the heading “### {label}” stands {count} times: expected once; remove the others")
        else:
            faults.append(f"the heading “### {label}” is missing: write it on its own line, and the answer below it")
    return FormBody(values, tuple(faults))


def _sections(body: str, fields: Mapping[str, str]) -> dict[str, list[list[str]]]:
    """Map each field of the form to one list for each occurrence of its heading.

    Such a list holds the lines below the heading.
    """
    sections: dict[str, list[list[str]]] = {}
    lines: list[str] = []  # lines before the first heading belong to no field
    for line in body.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        heading, _, label = line.rstrip().partition(" ")
        if heading == "###" and label in fields:
            lines = []
            sections.setdefault(fields[label], []).append(lines)
        else:
            lines.append(line)
    return sections
