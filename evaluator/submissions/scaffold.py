"""The files of a submission still to be made: what `bashboard submit init` writes for people to fill in.

What only its author knows stands in angle brackets. `check` refuses a manifest in which any of it is left, so
that no row goes by the name of a template.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from evaluator.records import Method, Task

SYSTEM: Final = "<the system's name and version>"
AUTHOR: Final = "<who answers for it>"
PLACEHOLDERS: Final = (SYSTEM, AUTHOR)

_MANIFEST: Final = """\
format = 1
system = {system}
description = ""                  # a sentence or two on how it works
method = {method}{space}# {methods}
open_weights = false
models = []                       # every model used, as its maker names it
training_data = []                # what it learned from, as far as it may be told
extraction = "none"               # "markdown": a line's "output" holds a fenced block, and that is the command
# link = "https://..."
# parameters = 1_300_000_000

[[authors]]
name = {author}
# affiliation = "..."

[suites]                          # the version of each suite that is answered
{suites}
"""


def draft_manifest(suites: Mapping[str, str], system: str, author: str, method: Method) -> bytes:
    """`submission.toml`, to be finished by hand; `suites` maps a suite's name to the version answered.

    A JSON string is a TOML string too, so any text stands in it unharmed.
    """
    quoted = json.dumps(method.value)
    text = _MANIFEST.format(
        system=_string(system),
        author=_string(author),
        method=quoted,
        space=" " * max(1, 25 - len(quoted)),
        methods=", ".join(each.value for each in Method),
        suites="\n".join(f"{name} = {json.dumps(version)}" for name, version in suites.items()),
    )
    return text.encode()


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def draft_predictions(tasks: Iterable[Task], *, instructions: bool) -> bytes:
    """One line a task without a candidate, with the task's instruction beside it where that may be shown."""
    lines = (
        {"task": task.id, **({"nl": task.nl} if instructions else {}), "candidates": list[object]()} for task in tasks
    )
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
