"""This module drafts the files of a new submission, which `bashboard submit init` writes for a contributor to complete.

Values that only the author knows are in angle brackets. The check rejects a manifest that still contains such a value,
so no board shows a placeholder as a name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from evaluator.records import Method
from evaluator.submissions.suite_info import SuiteInfo

SYSTEM: Final = "<the system's name and version>"
AUTHOR: Final = "<who answers for it>"
PLACEHOLDERS: Final = (SYSTEM, AUTHOR)

_MANIFEST: Final = """\
format = 3
system = {system}
description = ""                  # a sentence or two on how it works
method = {method}{space}# {methods}
open_weights = false
models = []                       # every model used, as its maker names it
training_data = []                # what it learned from, as far as you may disclose it
extraction = "none"               # "markdown": a line's "output" holds a fenced block, and that is the command
# link = "https://..."
# parameters = 1_300_000_000
# released = 2026-01-31           # the day on which the model was released
# licence = "Apache-2.0"          # of the model

[[authors]]
name = {author}
# affiliation = "..."

# [prices]                        # US dollars per million tokens on a date, for the cost of a task
# input_usd = 0.15
# output_usd = 0.60
# date = 2026-01-31

[suites]                          # each suite that you answer, with its version
{suites}
"""


def draft_manifest(suites: Mapping[str, str], system: str, author: str, method: Method) -> bytes:
    """Return a `submission.toml` for the author to complete. `suites` maps the names of suites to versions.

    A JSON string is also a TOML string, so any text can be inserted safely.
    """
    quoted = json.dumps(method.value)
    text = _MANIFEST.format(
        system=_string(system),
        author=_string(author),
        method=quoted,
        space=" " * max(1, 25 - len(quoted)),
        methods=", ".join(method.value for method in Method if method is not Method.CONTROL),
        suites="\n".join(f"{name} = {json.dumps(version)}" for name, version in suites.items()),
    )
    return text.encode()


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def draft_predictions(suite: SuiteInfo) -> bytes:
    """Return a predictions file with a line for each task, without candidates.

    Each line also has the instruction of its task, except for an external suite: its texts belong to its publisher.
    """
    lines = (
        {
            "task": task,
            **({"nl": suite.instructions[task]} if task in suite.instructions else {}),
            "candidates": list[object](),
        }
        for task in suite.tasks
    )
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
