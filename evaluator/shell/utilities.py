"""Convert each call in a command to a `Utility`: a program, its flags, its arguments, and the utilities that it runs.

The shell splits a call only into words. A table of options defines the words' meaning for each utility: `-la` is
two flags, the words after `find -exec` or `xargs` are a command, and the word after `sh -c` is a script.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from evaluator.shell.options import UNKNOWN, Options
from evaluator.shell.syntax import MAX_DEPTH, Call, UnreadableError, Word

EXECUTORS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
"""The predicates of `find` that run a command, which ends at `;` or at `{} +`."""

_OPERATORS: Final = frozenset({"-o", "-a", "-or", "-and", "-not", "-prune", "!", "(", ")", ","})
"""Operators between the predicates of `find`. They are not predicates themselves."""

_SETTING: Final = re.compile(r"[^\s=]+=")
"""The start of an assignment before a command, as in `env A=1 ls`."""


class Flag(NamedTuple):
    """An option as written in the command: `-n`, `--all` or `-name`. `value` is "" if the option has no value.

    `-la` is two flags. A number (`head -5`) is the flag `-` with the number as its value. For `find -exec`, the value
    is `;` or `+`, which ends the command.
    """

    name: str
    value: str = ""


class Utility(NamedTuple):
    """A call of a program in a command. `nested` holds the utilities that the program runs, in order.

    `name` is the program's name without a folder. A name that needs an expansion stays as written (`~/run.sh`).
    """

    name: str
    flags: tuple[Flag, ...] = ()
    arguments: tuple[str, ...] = ()
    nested: tuple[Utility, ...] = ()

    def walk(self) -> Iterator[Utility]:
        """Yield this utility and all utilities nested in it, depth first."""
        yield self
        for utility in self.nested:
            yield from utility.walk()


class CallReader(NamedTuple):
    """Settings for converting each `Call` of a command to a `Utility`.

    `read` parses a word that is itself a script. `table` maps the name of each utility to its options.
    """

    read: Callable[[str], tuple[Call, ...]]
    table: Mapping[str, Options]


def utilities_of_calls(calls: tuple[Call, ...], reading: CallReader, depth: int = 0) -> tuple[Utility, ...]:
    """Convert the calls in a command to utilities, in order. Raise UnreadableError if calls are nested too deeply."""
    if depth > MAX_DEPTH:
        raise UnreadableError(f"nested deeper than {MAX_DEPTH}")
    utilities: list[Utility] = []
    for call in calls:
        outer = utilities_of_calls(call.nested, reading, depth + 1)
        if call.words and not _is_substitution(call.words[0]):
            utilities.append(_Words(call.words, reading, depth).utility(outer))
        else:
            for word in call.words:
                utilities.extend(utilities_of_calls(word.nested, reading, depth + 1))
            utilities.extend(outer)
    return tuple(utilities)


def _is_substitution(program: Word) -> bool:
    """Return whether a program's name is the output of a substitution. Such a name is unknown before execution."""
    return bool(program.nested) and program.text.startswith(("$(", "`"))


class _Words:
    """The words of one call of a utility. The methods read these words once and collect the flags and arguments."""

    def __init__(self, words: tuple[Word, ...], reading: CallReader, depth: int) -> None:
        self.words = words
        self.reading = reading
        self.depth = depth
        self.at = 1
        self.flags: list[Flag] = []
        self.arguments: list[str] = []
        self.nested: list[Utility] = list(self._utilities_in(words[0]))

    def utility(self, outer: tuple[Utility, ...]) -> Utility:
        name = self.words[0].text
        if "$" not in name and not name.startswith("~"):
            name = name.rpartition("/")[2] or name
        options = self.reading.table.get(name, UNKNOWN)
        if name == "find":
            self._read_find(options)
        else:
            self._read_options(options)
        return Utility(name, tuple(self.flags), tuple(self.arguments), (*self.nested, *outer))

    def _read_options(self, options: Options) -> None:
        if options.bundled and self._has_more() and not self.words[1].text.startswith("-"):
            self._take_cluster("-" + self._take().text, options)
        operands = 0
        while self._has_more():
            text = self.words[self.at].text
            if text == "--":
                self.at += 1
                break
            if self._take_flag(text, options):
                continue
            if options.operand or self._begins_command(operands, options):
                break
            operands += text != "-"
            self._take_argument()
        if options.operand and self._has_more() and self.words[self.at].text != "-":
            self.arguments.append(self._take_script())
        if options.runs is not None and not any(flag.name.lstrip("-") in options.names for flag in self.flags):
            self._run(options, options.runs - operands)
        while self._has_more():
            self._take_argument()

    def _begins_command(self, operands: int, options: Options) -> bool:
        """Return whether the next word begins the command that the utility runs, after a number of operands."""
        is_operand = self._is_setting(options) or self.words[self.at].text == "-"
        return options.runs is not None and operands >= options.runs and not is_operand

    def _is_setting(self, options: Options) -> bool:
        """Return whether the next word is an assignment before a command. If a shell reads it again, it is none."""
        return not options.joins and _SETTING.match(self.words[self.at].text) is not None

    def _take_flag(self, text: str, options: Options) -> bool:
        """If the next word is a flag, read the word and its value (if any). Return whether the word is a flag."""
        if len(text) < 2 or text[0] != "-":
            return False
        if text in options.words:
            self._take()
            values = [self._take().text for _ in range(options.words[text]) if self._has_more()]
            self.flags.append(Flag(text, " ".join(values)))
        elif text[1] == "-":
            if text[2:3].isalpha():
                self._take_long(options)
            elif options.runs is None:
                return False
            else:
                self._take()
        elif options.number and options.number.match(text, 1):
            self._take()
            self.flags.append(Flag("-", text[1:]))
        elif not options.has(text[1]) and options.runs is None:
            return False
        else:
            self._take()
            self._take_cluster(text, options)
        return True

    def _take_long(self, options: Options) -> None:
        name, equals, value = self._take().text.partition("=")
        self.flags.append(Flag(name, value))
        takes_value = name[2:] in options.long_values or name[2:] in options.scripts
        if name[2:] in options.splits:
            self._split(value)
        elif equals and name[2:] in options.scripts:
            self._run_text(value)
        elif not equals and takes_value and self._has_more():
            value = self._take_script() if name[2:] in options.scripts else self._take().text
            self.flags[-1] = Flag(name, value)

    def _take_cluster(self, text: str, options: Options) -> None:
        script = False
        for position, letter in enumerate(text[1:], start=2):
            rest = text[position:]
            if letter == options.script:
                self.flags.append(Flag(f"-{letter}"))
                if not options.flags.issuperset(rest):
                    self._run_text(rest)
                    return
                script = True
            elif letter in options.splits:
                self.flags.append(Flag(f"-{letter}"))
                self._split(rest)
                return
            elif letter in options.values:
                self.flags.append(Flag(f"-{letter}", rest or (self._take().text if self._has_more() else "")))
                return
            elif letter in options.attached:
                self.flags.append(Flag(f"-{letter}", rest))
                return
            elif letter in options.flags or not options.known:
                self.flags.append(Flag(f"-{letter}"))
        if script:
            self._take_script_after_options(options)

    def _run(self, options: Options, operands: int) -> None:
        """Add the utilities of the command that the next words are. After `--`, operands are still to come."""
        while self._has_more() and (operands > 0 or self._is_setting(options)):
            operands -= 1
            self._take_argument()
        start = self.at
        while self._has_more() and self.words[self.at].text not in options.ends:
            self.at += 1
        words = self.words[start : self.at]
        joined = " ".join(word.text for word in words)
        if not words or not joined.strip():
            return
        is_line = options.joins or (len(words) == 1 and " " in joined.strip())
        if not (is_line and self._run_text(joined)):
            self.nested.extend(utilities_of_calls((Call(words),), self.reading, self.depth + 1))

    def _take_script_after_options(self, options: Options) -> None:
        """Take the command line of `-c`. A shell reads all options first, as in `sh -c -e ls`."""
        while self._has_more():
            text = self.words[self.at].text
            if text != "--" and not self._take_flag(text, options):
                self._take_script()
                return
            self.at += text == "--"

    def _take_script(self) -> str:
        """Take a word that is a command line for another shell. Its substitutions are a part of that line."""
        word = self.words[self.at]
        if self._run_text(word.text):
            self.at += 1
            return word.text
        return self._take().text

    def _run_text(self, text: str) -> bool:
        """Add the utilities in a command line for another shell. Return False if the line is unreadable."""
        try:
            calls = self.reading.read(text)
        except UnreadableError:
            return False
        self.nested.extend(utilities_of_calls(calls, self.reading, self.depth + 1))
        return True

    def _split(self, text: str) -> None:
        """Put the words of a text in the place of the next word, or before it if the text is attached to its option."""
        source = text or (self._take().text if self._has_more() else "")
        try:
            calls = self.reading.read(source)
        except UnreadableError:
            return
        words = tuple(word for call in calls for word in call.words)
        self.words = (*self.words[: self.at], *words, *self.words[self.at :])

    def _read_find(self, options: Options) -> None:
        while self._has_more():
            text = self.words[self.at].text
            if text in _OPERATORS:
                self._take()
            elif text in EXECUTORS:
                self._take()
                self._take_exec(text)
            elif not self._take_flag(text, options):
                self._take_argument()

    def _take_exec(self, name: str) -> None:
        start = self.at
        position = len(self.flags)
        while self._has_more() and not self._ends_exec(name, start):
            self.at += 1
        words = self.words[start : self.at]
        terminator = ""
        if self._has_more():
            terminator = self.words[self.at].text
            self.at += 1
        self.flags.insert(position, Flag(name, terminator[-1:]))
        if words:
            self.nested.extend(utilities_of_calls((Call(words),), self.reading, self.depth + 1))

    def _ends_exec(self, name: str, start: int) -> bool:
        """Return whether the next word ends the command of `find -exec`. `+` ends the command only after `{}`."""
        text = self.words[self.at].text
        if text == "+":
            return name.startswith("-exec") and self.at > start and self.words[self.at - 1].text == "{}"
        return text in (";", "{};")

    def _take_argument(self) -> None:
        self.arguments.append(self._take().text)

    def _take(self) -> Word:
        word = self.words[self.at]
        self.at += 1
        self.nested.extend(self._utilities_in(word))
        return word

    def _has_more(self) -> bool:
        return self.at < len(self.words)

    def _utilities_in(self, word: Word) -> tuple[Utility, ...]:
        return utilities_of_calls(word.nested, self.reading, self.depth + 1) if word.nested else ()
