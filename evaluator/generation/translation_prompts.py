r"""Read the translation prompts of a paper from its authors' clone. No prompt is copied into this project.

Westenfelder et al. 2025 publish their prompts as figures of `paper/paper.tex` in the repository NL2SH. Such a figure
has a minipage with the text in `\textit{…}`, and then `\texttt{natural\_language\_prompt}` for the instruction. Their
notebook sends the text as the system message and the instruction as the user message. The white space between the two
separates them in the figure, and the notebook does not send it.

The text is what the authors typed: two hyphens stay two hyphens, and a backquote stays a backquote, although the
printed page shows other signs. Only the pairs of quotes of LaTeX become `"`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from evaluator.errors import UsageError
from evaluator.records.generation import PublishedPrompt

CLONE_COMMAND: Final = "git clone https://github.com/westenfelder/NL2SH"
_FILE: Final = Path("paper") / "paper.tex"
_INSTRUCTION: Final = "natural_language_prompt"


class _Figure(NamedTuple):
    """A figure with a prompt: its label, and whether the prompt contains examples."""

    label: str
    has_examples: bool = False


_FIGURES: Final[Mapping[str, _Figure]] = {
    "nl2sh-baseline": _Figure("fig:prompt-baseline"),
    "nl2sh-other": _Figure("fig:prompt-other"),
    "nl2sh-icl": _Figure("fig:prompt-icl", has_examples=True),
}
PUBLISHED_NAMES: Final = tuple(_FIGURES)
"""The names of the published prompts."""

_ESCAPED: Final = "_$%#&{}"
_RESERVED: Final = "$%#&_^~{"
_QUOTES: Final = ("``", "''")
_SPACE: Final = re.compile(r"\s+")
_MACRO: Final = re.compile(r"\\(?:[A-Za-z]+\*?|.)", re.DOTALL)


class TranslationPrompt(NamedTuple):
    """A published prompt: its name, its text, and whether the text contains examples."""

    name: str
    text: str
    has_examples: bool

    @property
    def record(self) -> PublishedPrompt:
        """Return the name and the SHA-256 of the text."""
        return PublishedPrompt(name=self.name, digest=hashlib.sha256(self.text.encode()).hexdigest())


def read_translation_prompt(name: str, clone: Path) -> TranslationPrompt:
    """Read a published prompt from a clone of NL2SH.

    Raises UsageError, with the file and the line, if the clone has no such file or its figure has another form.
    """
    path, figure = clone / _FILE, _FIGURES[name]
    try:
        source = path.read_text("utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(
            f"--prompts {clone}: expected a clone of NL2SH with the file {_FILE}: {reason}; run `{CLONE_COMMAND}`"
        ) from error
    return TranslationPrompt(name, _Reader(path, figure.label, source).prompt(), figure.has_examples)


class _Reader:
    """Reads the prompt in one figure of a LaTeX file. `_at` is the position of the next character."""

    def __init__(self, path: Path, label: str, source: str) -> None:
        self._path, self._label, self._source = path, label, source
        self._at = self._end = 0

    def prompt(self) -> str:
        r"""Return the text before the instruction. Raises UsageError for another form of the figure."""
        self._enter_minipage()
        self._expect(r"\textit{")
        text = self._argument().strip()
        if not text:
            self._fail("an empty prompt")
        self._expect(r"\texttt{")
        if self._argument() != _INSTRUCTION:
            self._fail(r"another name in \texttt")
        self._skip_space()
        if self._at < self._end:
            self._fail("text after the instruction")
        return text

    def _enter_minipage(self) -> None:
        label, source = rf"\label{{{self._label}}}", self._source
        if source.count(label) != 1:
            self._fail(f"{source.count(label)} figures with this label")
        at = source.index(label)
        figure = max(0, source.rfind(r"\begin{figure", 0, at))
        begin, end = (source.find(rf"\{word}{{minipage}}", figure, at) for word in ("begin", "end"))
        self._at = figure
        if not 0 <= begin < end:
            self._fail("no minipage")
        self._at, self._end = begin, end
        self._expect(r"\begin{minipage}{")
        width = source.find("}", self._at, end)
        if width < 0:
            self._fail("a minipage without a width")
        self._at = width + 1

    def _skip_space(self) -> None:
        space = _SPACE.match(self._source, self._at, self._end)
        self._at = space.end() if space else self._at

    def _expect(self, words: str) -> None:
        self._skip_space()
        if not self._source.startswith(words, self._at, self._end):
            found = self._source[self._at : min(self._end, self._at + 20)].strip()
            self._fail(f"{found!r} instead of {words}")
        self._at += len(words)

    def _argument(self) -> str:
        """Return the plain text up to the closing brace of a macro's argument."""
        parts: list[str] = []
        while self._at < self._end and self._source[self._at] != "}":
            self._take(parts)
        self._expect("}")
        return "".join(parts)

    def _take(self, parts: list[str]) -> None:
        """Read the next sign of an argument, and append its plain text to `parts`."""
        source, at = self._source, self._at
        if source[at] == "\\":
            self._take_macro(parts)
        elif source[at].isspace():
            self._skip_space()
            if source.count("\n", at, self._at) > 1:
                self._fail("a blank line", at)
            if not parts or not parts[-1].endswith("\n"):  # TeX ignores space at the beginning of a line
                parts.append(" ")
        elif source[at : at + 2] in _QUOTES:
            self._at += 2
            parts.append('"')
        elif source[at] in _RESERVED:
            self._fail(f"{source[at]!r} without a backslash")
        else:
            self._at += 1
            parts.append(source[at])

    def _take_macro(self, parts: list[str]) -> None:
        match = _MACRO.match(self._source, self._at, self._end)
        macro = match[0] if match else "\\"
        after = self._at + len(macro)
        if macro == "\\\\" and self._source[after : after + 1] not in ("[", "*"):
            if parts and parts[-1] == " ":
                parts.pop()
            parts.append("\n")
            self._at = after
            self._skip_space()
        elif macro == r"\allowbreak":
            self._at = after
            self._skip_space()
        elif macro[1:] and macro[1:] in _ESCAPED:
            self._at = after
            parts.append(macro[1:])
        else:
            self._fail(f"the macro {macro!r}")

    def _fail(self, found: str, at: int | None = None) -> NoReturn:
        line = self._source.count("\n", 0, self._at if at is None else at) + 1
        raise UsageError(
            f"{self._path}:{line}: found {found} in the figure {self._label}: expected a figure of Westenfelder et al. "
            rf"2025, with a minipage of \textit{{…}} and \texttt{{natural\_language\_prompt}}; run `{CLONE_COMMAND}`"
        )
