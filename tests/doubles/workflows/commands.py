"""Commands that a step gives to the runner by lines of its output and by files.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands describes both. Annotations and
summaries have the same limits as on GitHub.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.doubles.github import Annotation
from tests.doubles.workflows.expressions import WorkflowError

LEVELS: Final = {"notice": "notice", "warning": "warning", "error": "failure"}
"""The level of an annotation in the API of GitHub, by command."""

STEP_ANNOTATIONS: Final = 10
"""The maximum number of annotations of one level that GitHub keeps for a step."""

JOB_ANNOTATIONS: Final = 50
SUMMARY_BYTES: Final = 1024 * 1024
"""The maximum size of a step's summary. GitHub discards a larger summary."""

_COMMAND: Final = re.compile(r"\s*::([a-z-]+)(?: +(.*?))?::(.*)", re.IGNORECASE)
_EARLIER: Final = re.compile(r".*##\[([a-z-]+)[ ;\]]", re.IGNORECASE)
_IGNORED: Final = ("debug", "group", "endgroup", "echo")
_RESERVED: Final = re.compile(r"(?:GITHUB_|RUNNER_).*|NODE_OPTIONS|CI", re.IGNORECASE)


@dataclass(slots=True)
class Log:
    """The log of a job, with its masks and the annotations that GitHub keeps."""

    masks: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)

    def mask(self, text: str) -> None:
        """Hide every line of a text in later lines of the log."""
        self.masks |= {line for line in text.splitlines() if line.strip()}

    def say(self, line: str) -> None:
        """Add a line of the runner itself. The runner never reads such a line as a command."""
        self.lines.append(self._masked(line))

    def read(self, printed: str) -> None:
        """Add the output of a step. Raises WorkflowError for a command that GitHub no longer accepts in a log."""
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
            raise WorkflowError(f"{line!r}: a command of the old form, which GitHub still obeys")

    def _obey(self, name: str, properties: str, data: str, counts: Counter[str]) -> None:
        if name == "add-mask":
            self.mask(_unescape(data))
        elif name in LEVELS:
            counts[name] += 1
            if counts[name] <= STEP_ANNOTATIONS and len(self.annotations) < JOB_ANNOTATIONS:
                self.annotations.append(_annotation(LEVELS[name], properties, self._masked(_unescape(data))))
        elif name not in _IGNORED:
            raise WorkflowError(f"'::{name}::': a log may not contain this command")

    def _masked(self, text: str) -> str:
        for mask in sorted(self.masks, key=len, reverse=True):
            text = text.replace(mask, "***")
        return text

    @property
    def text(self) -> str:
        """The whole log. Masked texts are replaced by `***`."""
        return "".join(f"{line}\n" for line in self.lines)


def _unescape(text: str) -> str:
    return text.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")


def _annotation(level: str, properties: str, message: str) -> Annotation:
    pairs = (pair.partition("=") for pair in properties.split(",") if pair)
    named = {name.strip(): _unescape(value.replace("%3A", ":").replace("%2C", ",")) for name, _, value in pairs}
    unknown = sorted(set(named) - {"title", "file", "line", "endLine", "col", "endColumn"})
    if unknown:
        raise WorkflowError(f"an annotation has no property {', '.join(unknown)}")
    return Annotation(level, message, named.get("title", ""), named.get("file", ".github"), int(named.get("line", "1")))


def read_assignments(file: Path) -> dict[str, str]:
    """Read `GITHUB_OUTPUT` or `GITHUB_ENV`: lines `name=value`, or blocks from `name<<WORD` to a line of that word.

    Raises WorkflowError for any other line, and for a block without an end.
    """
    values: dict[str, str] = {}
    lines = iter(re.split(r"\r\n|\n", file.read_text("utf-8")))
    for line in lines:
        if not line:
            continue
        name, sign, rest = _split(line)
        if not name or not sign or (sign == "<<" and not rest):
            raise WorkflowError(f"{file.name}: {line!r}: expected name=value or name<<WORD")
        values[name] = rest if sign == "=" else _block(lines, rest, file.name)
    return values


def _split(line: str) -> tuple[str, str, str]:
    match = re.match(r"(.*?)(<<|=)(.*)", line)
    return (match[1], match[2], match[3]) if match else (line, "", "")


def _block(lines: Iterable[str], word: str, name: str) -> str:
    block: list[str] = []
    for line in lines:
        if line == word:
            return "\n".join(block)
        block.append(line)
    raise WorkflowError(f"{name}: no line {word!r} ends the block")


def refuse_reserved(names: Collection[str]) -> None:
    """Raise WorkflowError for variables that a step may not set for later steps."""
    refused = sorted(name for name in names if _RESERVED.fullmatch(name))
    if refused:
        raise WorkflowError(f"GITHUB_ENV: {', '.join(refused)} cannot be set")


def read_summary(file: Path) -> str:
    """Read the summary of a step. Raises WorkflowError if the summary is so large that GitHub would discard it."""
    if file.stat().st_size > SUMMARY_BYTES:
        raise WorkflowError(f"a summary of {file.stat().st_size} bytes, of which GitHub keeps none")
    return file.read_text("utf-8")
