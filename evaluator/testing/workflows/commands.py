"""What a step says to its runner: by lines of its log, and by files.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands tells of both; what is kept of
annotations and summaries is as much as GitHub keeps.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evaluator.testing.github import Annotation
from evaluator.testing.workflows.expressions import WorkflowError

LEVELS: Final = {"notice": "notice", "warning": "warning", "error": "failure"}
"""Annotations' levels as GitHub's interface names them, by the command that makes them."""

STEP_ANNOTATIONS: Final = 10
"""Annotations of one level that GitHub keeps of one step."""

JOB_ANNOTATIONS: Final = 50
SUMMARY_BYTES: Final = 1024 * 1024
"""What a step's summary may hold; GitHub keeps nothing of a longer one."""

_COMMAND: Final = re.compile(r"\s*::([a-z-]+)(?: +(.*?))?::(.*)", re.IGNORECASE)
_EARLIER: Final = re.compile(r".*##\[([a-z-]+)[ ;\]]", re.IGNORECASE)
_IGNORED: Final = ("debug", "group", "endgroup", "echo")
_RESERVED: Final = re.compile(r"(?:GITHUB_|RUNNER_).*|NODE_OPTIONS|CI", re.IGNORECASE)


@dataclass(slots=True)
class Log:
    """What a job printed, with what is masked in it, and the annotations that are kept of it."""

    masks: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)

    def mask(self, text: str) -> None:
        """Show a text, or any line of it, no more from here on."""
        self.masks |= {line for line in text.splitlines() if line.strip()}

    def say(self, line: str) -> None:
        """A line of the runner's own, which is no command."""
        self.lines.append(self._masked(line))

    def read(self, printed: str) -> None:
        """Take in what a step printed. Raises WorkflowError for a command that GitHub no longer takes from a log."""
        stopped, counts = "", Counter[str]()
        for line in re.split(r"\r\n|\n|\r", printed.removesuffix("\n")) if printed else ():
            match = _COMMAND.match(line)
            if stopped or match is None:
                stopped = "" if line.strip() == f"::{stopped}::" else stopped
                self._earlier(line, stopped)
            elif match[1].lower() == "stop-commands":
                stopped = match[3]
            else:
                self._obey(match[1].lower(), match[2] or "", match[3], counts)
            self.lines.append(self._masked(line))

    def _earlier(self, line: str, stopped: str) -> None:
        if not stopped and _EARLIER.match(line):
            raise WorkflowError(f"{line!r}: a command in the form before the present one, which GitHub still obeys")

    def _obey(self, name: str, properties: str, data: str, counts: Counter[str]) -> None:
        if name == "add-mask":
            self.mask(_read_back(data))
        elif name in LEVELS:
            counts[name] += 1
            if counts[name] <= STEP_ANNOTATIONS and len(self.annotations) < JOB_ANNOTATIONS:
                self.annotations.append(_annotation(LEVELS[name], properties, self._masked(_read_back(data))))
        elif name not in _IGNORED:
            raise WorkflowError(f"'::{name}::': a log may not say that, or not any more")

    def _masked(self, text: str) -> str:
        for each in sorted(self.masks, key=len, reverse=True):
            text = text.replace(each, "***")
        return text

    @property
    def text(self) -> str:
        """Everything printed, masked."""
        return "".join(f"{line}\n" for line in self.lines)


def _read_back(text: str) -> str:
    return text.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")


def _annotation(level: str, properties: str, message: str) -> Annotation:
    pairs = (each.partition("=") for each in properties.split(",") if each)
    held = {name.strip(): _read_back(value.replace("%3A", ":").replace("%2C", ",")) for name, _, value in pairs}
    unknown = sorted(set(held) - {"title", "file", "line", "endLine", "col", "endColumn"})
    if unknown:
        raise WorkflowError(f"an annotation has no {', '.join(unknown)}")
    return Annotation(level, message, held.get("title", ""), held.get("file", ".github"), int(held.get("line", "1")))


def read_assignments(file: Path) -> dict[str, str]:
    """What a step wrote to `GITHUB_OUTPUT` or `GITHUB_ENV`: `name=value`, or a block between two lines of one word.

    Raises WorkflowError for a line that is neither, and for a block without its end.
    """
    found: dict[str, str] = {}
    lines = iter(re.split(r"\r\n|\n", file.read_text("utf-8")))
    for line in lines:
        if not line:
            continue
        name, sign, rest = _split(line)
        if not name or not sign or (sign == "<<" and not rest):
            raise WorkflowError(f"{file.name}: {line!r}: expected name=value or name<<WORD")
        found[name] = rest if sign == "=" else _block(lines, rest, file.name)
    return found


def _split(line: str) -> tuple[str, str, str]:
    match = re.match(r"(.*?)(<<|=)(.*)", line)
    return (match[1], match[2], match[3]) if match else (line, "", "")


def _block(lines: Iterable[str], word: str, name: str) -> str:
    held: list[str] = []
    for line in lines:
        if line == word:
            return "\n".join(held)
        held.append(line)
    raise WorkflowError(f"{name}: no line {word!r} ends the block")


def refuse_reserved(names: Collection[str]) -> None:
    """Raises WorkflowError for variables that a step may not set for those after it."""
    refused = sorted(name for name in names if _RESERVED.fullmatch(name))
    if refused:
        raise WorkflowError(f"GITHUB_ENV: {', '.join(refused)} cannot be set")


def read_summary(file: Path) -> str:
    """A step's summary. Raises WorkflowError for one of which GitHub would keep nothing."""
    if file.stat().st_size > SUMMARY_BYTES:
        raise WorkflowError(f"a summary of {file.stat().st_size} bytes, of which GitHub keeps none")
    return file.read_text("utf-8")
