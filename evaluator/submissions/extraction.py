"""Extract the answer from a model's raw text: remove its reasoning, and take the first fenced code block.

submission.toml declares whether a block is taken.

The rules are public and deliberately small. A contributor who needs another rule submits `candidates` instead.
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from typing import Final

from evaluator.records import Candidate, Extraction, Prediction

_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_FENCE: Final = re.compile(r"([ \t\ufeff\u200b]*)(`{3,}(?=[^`]*$)|~{3,})")
_LATE_FENCE: Final = re.compile(r"[^`'\"]*+()(`{3,})(?=\w*+[ \t]*+$)")
"""A fence that opens a block behind a text on the same line. A block at the start of a line is looked for first."""
_HERE_DOCUMENT: Final = re.compile(
    r"""
    '[^'\n]*+' | "[^"\n$`]*+"
    | (?<![^\s;|&(])\#.*+
    | \(\((?:[^()\n]|\([^()\n]*+\))*+\)\)
    | <<<
    | <<(?P<dash>-?)[ \t]*+(?P<delimiter>(?:\$?'[^'\n]*+'|\$?"[^"\n]*+"|\\?[^\s;|&<>()'"`\\])++)
    """,
    re.VERBOSE,
)
"""The start of a here-document, or a string, a comment, arithmetic or a here-string, in which `<<` starts none."""
_QUOTING: Final = re.compile(r"\$?['\"]|\\")

_NAMES: Final = r"(?:\w+[:_])?think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad"
_REASONING: Final = (
    (re.compile(rf"<({_NAMES})\b[^<>]*>", re.IGNORECASE), re.compile(rf"</({_NAMES})\s*>", re.IGNORECASE)),
    (re.compile(r"\[think\]", re.IGNORECASE), re.compile(r"\[/think\]", re.IGNORECASE)),
    (re.compile(r"<\|begin_of_thought\|>", re.IGNORECASE), re.compile(r"<\|end_of_thought\|>", re.IGNORECASE)),
    (re.compile(r"<\|start_thinking\|>", re.IGNORECASE), re.compile(r"<\|end_thinking\|>", re.IGNORECASE)),
    (re.compile("◁think▷"), re.compile("◁/think▷")),
)
"""The marks at the start and at the end of reasoning: most models, Mistral, Sky-T1, Cohere, Kimi."""
_PAIRS: Final = (
    *_REASONING,
    (re.compile(r"<\|inner_prefix\|>"), re.compile(r"<\|inner_suffix\|>")),
    (re.compile("<unused94>"), re.compile("<unused95>")),
    (re.compile(r"<details type=\"reasoning\"[^<>]*>"), re.compile("</details>")),
    (re.compile(r"Thinking\.\.\.\r?\n"), re.compile(r"\.\.\.done thinking\.")),
)
"""These marks, and those that never stand alone: Apertus, MedGemma, and the programs Open WebUI and Ollama."""
_HARMONY: Final = re.compile(r"(?:<\|start\|>assistant)?\s*<\|channel\|>")
_FINAL: Final = re.compile(r"<\|channel\|>final[^<]*<\|message\|>")
_END_OF_FINAL: Final = re.compile(r"<\|(?:end|return)\|>\s*(?:\Z|<\|start\|>)")
"""Parts of the format harmony, in which the models gpt-oss write."""
_PLAIN_HARMONY: Final = re.compile(r"analysis(?=\S).*assistantfinal(?:json)?", re.DOTALL)
"""The same from a server that removes the marks."""
_MOST_MARKS: Final = 50
"""The number of marks that are tried as the end of reasoning. Each is compared with the whole text."""
_MOST_LONE_MARKS: Final = 10
"""The number of closing marks of each kind that are tried without an opening mark."""
_QUOTE: Final = re.compile(r"['\"`]")
_CODE_BEFORE: Final = "#/|=\\*^%@~&({[<>+"
"""Characters before a mark in a pattern, such as `s#</think>##`. No sentence ends with one of them."""
_QUOTE_OPENS_AFTER: Final = " \t\n=([{;|&,:"


def extract(prediction: Prediction, extraction: Extraction) -> Prediction:
    """Convert a prediction's raw model text to a candidate. A prediction without raw text stays unchanged.

    A text that ends within its reasoning gives no candidate.
    """
    if prediction.output is None:
        return prediction
    answer = without_reasoning(prediction.output)
    candidates = () if answer is None else (Candidate(command=_command_of(answer, extraction).encode()),)
    return prediction.model_copy(update={"candidates": candidates, "output": None})


def command_in(text: str, extraction: Extraction) -> str:
    """Return the command in a model's raw text, or "" if the text ends within its reasoning.

    With the extraction MARKDOWN, this is the content of the first fenced block. Without such a block, or with another
    extraction, it is the complete text without reasoning.
    """
    return _command_of(without_reasoning(text) or "", extraction)


def _command_of(answer: str, extraction: Extraction) -> str:
    block = first_block(answer) if extraction is Extraction.MARKDOWN else None
    return answer if block is None else block


def without_reasoning(text: str) -> str | None:
    """Return a reply without the text that a reasoning model wrote before its answer, or None if there is no answer.

    Reasoning is removed once, and only at the start of the reply. A mark at its end alone counts too, because some chat
    templates put the opening mark into the prompt. A mark inside code, such as in `grep -c '</think>' log`, is text. A
    reply without reasoning stays as it is.
    """
    start = text.lstrip()
    if _HARMONY.match(start):
        final = _FINAL.search(start)
        return _END_OF_FINAL.split(start[final.end() :], maxsplit=1)[0] if final else None
    if plain := _PLAIN_HARMONY.match(start):
        return start[plain.end() :]
    for opening, closing in _PAIRS:
        if begin := opening.match(start):
            marks = closing.finditer(start, begin.end())
            same = (mark for mark in marks if [*map(str.lower, mark.groups())] == [*map(str.lower, begin.groups())])
            ends = list(itertools.islice(same, _MOST_MARKS))
            end = next((mark for mark in ends if not _is_code(start, mark)), ends[0] if ends else None)
            return start[end.end() :] if end else None
    for opening, closing in _REASONING:
        for end in itertools.islice(closing.finditer(text), _MOST_LONE_MARKS):
            if opening.search(text, 0, end.start()):
                break
            if not _is_code(text, end):
                return text[end.end() :]
    return text


def _is_code(text: str, mark: re.Match[str]) -> bool:
    """Return whether a mark stands in quotes, in a code block, or in a here-document."""
    before, after = text[: mark.start()], text[mark.end() :]
    last = before[-1:]
    if last and (last in _CODE_BEFORE or (last in "'\"`" and after.startswith(last))):
        return True
    quote = _open_quote(before[before.rfind("\n\n") + 1 :])
    if quote and quote in after.partition("\n\n")[0]:
        return True
    here_documents = _HereDocuments()
    for line in before.split("\n"):
        here_documents.read(line)
    delimiter = here_documents.delimiter
    if delimiter and delimiter in (line.strip() for line in after.split("\n")[1:]):
        return True
    fences = [line for line in before.split("\n") if _FENCE.match(line)]
    following = [line.strip() for line in after.split("\n")[1:] if _FENCE.match(line)]
    return len(fences) % 2 == 1 and len(following) % 2 == 1 and not following[0].strip("`~")


def _open_quote(text: str) -> str:
    """Return the quotation mark that is open at the end of a text, or "". An apostrophe inside a word opens nothing."""
    opened = ""
    for mark in _QUOTE.finditer(text):
        previous = text[mark.start() - 1 : mark.start()] if mark.start() else " "
        if opened:
            opened = "" if mark[0] == opened else opened
        elif previous in _QUOTE_OPENS_AFTER:
            opened = mark[0]
    return opened


def has_closed_block(text: str) -> bool:
    """Return whether the first fenced block of a text is closed and holds a whole command.

    Then a text that was cut off behind the block is an answer. The fence may also be a line of a here-document or of a
    string, whose end was cut off. Such a block holds no whole command.
    """
    block = _block(text)
    if block is None or not block[1]:
        return False
    from evaluator.shell.bash_parser import parse_bash  # few replies are cut off behind a block
    from evaluator.shell.syntax import UnreadableError, refuse_hostile

    try:
        refuse_hostile(block[0])
        parse_bash(block[0])
    except UnreadableError:
        return False
    return True


def first_block(text: str) -> str | None:
    """Return the content of the first fenced code block, or None if there is no block.

    As in CommonMark, three or more backticks or tildes open a block, and at least as many of the same character close
    it. A block that is not closed ends with the text. The indentation of the fence is removed from the block's lines.
    Unlike in CommonMark, any indentation of a fence is allowed, because models indent blocks in list items. Without
    another block, a fence may stand behind a text. A fence inside a here-document is a line of the here-document. Of a
    block that holds another block alone, the inner content is taken.
    """
    block = _block(text)
    if block is None or not _FENCE.match(block[0].lstrip("\n").partition("\n")[0]):
        return None if block is None else block[0]
    inner = _block(block[0])
    return inner[0] if inner is not None and inner[1] else block[0]


def _block(text: str) -> tuple[str, bool] | None:
    """Return the content of the first fenced code block, and whether it is closed."""
    lines = _LINE_END.split(text)
    last = {line.strip(): number for number, line in enumerate(lines)}
    for is_late in (False, True):
        here_documents = _HereDocuments()
        for number, line in enumerate(lines):
            opening = _LATE_FENCE.match(line) if is_late else _FENCE.match(line)
            delimiter = here_documents.delimiter
            if opening and (delimiter is None or last.get(delimiter, -1) < number):
                indentation, fence = opening.groups()
                content, is_closed = _content(lines[number + 1 :], len(indentation), fence)
                if content or is_closed:
                    return "\n".join(content), is_closed
            here_documents.read(line)
    return None


def _content(lines: list[str], indentation: int, fence: str) -> tuple[list[str], bool]:
    last = {line.strip(): number for number, line in enumerate(lines)}
    content: list[str] = []
    here_documents = _HereDocuments()
    for number, line in enumerate(lines):
        mark = line.strip(" \t")
        if len(mark) >= len(fence) and not mark.strip(fence[0]):
            delimiter = here_documents.delimiter
            if delimiter is None or last.get(delimiter, -1) < number:
                return content, delimiter is None
        margin = len(line) - len(line.lstrip(" \t"))
        content.append(line[min(margin, indentation) :])
        here_documents.read(content[-1])
    return content, False


class _HereDocuments:
    """The here-documents that are open after some lines of bash. `delimiter` ends the first of them."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[str, bool]] = deque()

    @property
    def delimiter(self) -> str | None:
        """The delimiter of the open here-document, or None. It is "" if an empty line ends the document."""
        return self._waiting[0][0] if self._waiting else None

    def read(self, line: str) -> None:
        """Read the next line."""
        if self._waiting:
            delimiter, strips_tabs = self._waiting[0]
            if (line.lstrip("\t") if strips_tabs else line) == delimiter:
                self._waiting.popleft()
        elif "<<" in line:
            for start in _HERE_DOCUMENT.finditer(line):
                if start["delimiter"]:
                    self._waiting.append((_QUOTING.sub("", start["delimiter"]), bool(start["dash"])))
