"""Find out which spellings of a script are equal: those whose difference nothing in the script can see.

`canonical` asks for these facts. In doubt, a fact says that a script sees more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from evaluator.shell.bash_words import (
    BashWord,
    CommandList,
    Compound,
    Pipeline,
    Redirection,
    Simple,
    WordPiece,
    children_of,
)

_SEES_ITSELF: Final = frozenset({"caller", "history", "fc", "times", "jobs", "fg", "alias", "unalias"})
"""Builtins that see the text of the script, or change how it is read."""

_LAST_WORD: Final = re.compile(r"\$\{?[#!]?_(?!\w)")
"""The parameter that is the last word of the last command."""

_SEES_TEXT: Final = re.compile(r"LINENO|FUNCNAME|BASH_(?!REMATCH|VERS|EXEC)|@[PQAK]\}|\$\{!(?!\}|\w+\[[@*]\]\})")
"""Texts that, in quotes too, give the text of the script or its lines."""

_SEES_PROCESSES: Final = re.compile(
    r"BASHPID|/proc(?![\w.-])|(?<![\w.-])(?:ps|pgrep|pkill|pstree|pidof|pwdx|h?top|fuser|lsof)(?![\w./-])"
    r"|\$\{?[#!]?[$!]"
)
"""Texts that, in quotes too, give the processes of the script or their numbers."""

_STATUS: Final = re.compile(r"\$\{?[#!]?(?:\?|PIPESTATUS)")
_SEES_SPELLING: Final = re.compile(
    r"\$\{?[#!]?[_?$!]|PIPESTATUS|2>|\|&|>&(?![0-9-])|&>|(?<!\w)(?:set|" + "|".join(_SEES_ITSELF) + r")(?!\w)"
    r"|(?<!\w)(?:exit|return)\s*(?:[;&|)}'\"\n]|\Z)"
)
"""What the text of `eval` or `trap` has if it may see how the script is spelled."""

_CANNOT_FAIL: Final = re.compile(
    r"\$(?:\w+|[^\w{(\[])\Z"
    r"|\$\{(?:#?[\w@*?#$!-]+\}|\w+(?:\[[@*]\])?(?::?[-+]|[#%/^,])(?:[^$`]|\$(?![{(\[])|\$\((?!\())*\Z)",
    re.ASCII,
)
"""Parameters whose expansion cannot fail. A failure ends the line, but not the script."""

_READONLY: Final = re.compile(r"UID|PPID|SHELLOPTS|BASHOPTS")
_SUBSCRIPT: Final = re.compile(r"\w\[")
_READ_SUBSCRIPTS: Final = frozenset({"[", "getopts", "mapfile", "printf", "read", "readarray", "test", "unset", "wait"})
"""Builtins that read a subscript in a word. It is an arithmetic expression, which may fail."""

_EXTENDED: Final = re.compile(r"[?*+@!]\(")
_SET_OPTIONS: Final = re.compile(
    r"(?:[-+](?:[efuxC]+|[efuxC]*o (?:errexit|noclobber|noglob|nounset|pipefail|xtrace))(?: |\Z))*"
    r"(?:--?(?: .*)?|[^-+].*)?",
    re.DOTALL,
)
"""Arguments of `set` that do not change what Bash reads. Names after them become parameters."""
_REDEFINES: Final = frozenset({"enable", "eval", "hash", "source", ".", "trap"})
"""Builtins after which a name may be another command."""

_MAY_FAIL: Final = frozenset({"readonly", "declare", "typeset", "local", "export", "shopt"})
"""Builtins after which an assignment or a pattern may end the line."""

NOTHING: Final = frozenset({":", "true"})
"""Builtins that do nothing and succeed."""


class ScriptFacts:
    """What a whole script contains that decides which spellings are equal."""

    def __init__(self, script: CommandList) -> None:
        self.prints_text = False
        self.sees_itself = False
        self.sees_processes = False
        self.sees_status = False
        self.sees_errors = False
        self.may_fail = False
        self.is_extended = False
        self.is_traced = False
        self.has_path = False
        self.is_posix = False
        self.defined: set[str] = set()
        self.words: set[str] = set()
        self._sources: list[str] = []
        self._evaluated: list[BashWord] = []
        self._scan([script])
        self._scan_sources()
        self.sees_itself |= self.is_traced and self.sees_errors
        self.sees_itself |= any(_SEES_SPELLING.search(text) for text in self._evaluated_texts())
        self.may_fail |= self.is_extended or not self.words.isdisjoint(_MAY_FAIL)
        # A name may be another command than in the table. An empty name stands for a name that an expansion gives.
        self.is_redefined = self.has_path or "" in self.words or not self.words.isdisjoint(_REDEFINES)
        self.drops_nothing = (
            self.sees_status or self.is_redefined or "set" in self.words or bool(self.defined & NOTHING)
        )
        self.keeps_paths = (
            self.sees_errors
            or self.sees_processes
            or self.is_redefined
            or bool(self.defined or self.words & {"shopt", "set", "declare", "export"})
        )

    def _evaluated_texts(self) -> Iterable[str]:
        """Return the texts that Bash may read as commands: words of `eval`, or all if an expansion gives the text."""
        return (word.text for word in self._evaluated) if all(map(_is_literal, self._evaluated)) else self._sources

    def _scan(self, nodes: Iterable[object]) -> None:
        stack = list(nodes)
        while stack:
            node = stack.pop()
            self._scan_node(node)
            stack += children_of(node)

    def _scan_node(self, node: object) -> None:
        match node:
            case Pipeline():
                self.sees_errors |= "|&" in node.operators or any(each != "!" for each in node.prefixes)
            case Simple():
                self._scan_simple(node)
                self.sees_errors |= _take_errors(node.redirections)
            case Compound():
                self._scan_compound(node)
                self.sees_errors |= _take_errors(node.redirections)
            case Redirection():
                self._sources += [piece.text for piece in node.body]
            case BashWord():
                self._sources.append(node.source)
                if node.source != node.text:
                    self._sources.append(node.text)
            case WordPiece():
                self._scan_piece(node)

    def _scan_compound(self, command: Compound) -> None:
        words = [part for part in command.parts if isinstance(part, BashWord)]
        if command.keyword == "function":
            self.defined.add(words[0].text)
        elif command.keyword == "[[":
            self.may_fail |= any(_SUBSCRIPT.search(word.source) for word in words)

    def _scan_sources(self) -> None:
        """Take the facts that words, parameters and bodies of here-documents give in any quoting."""
        text = "\n".join(self._sources)
        self.prints_text |= "BASH_EXEC" in text
        self.sees_itself |= _SEES_TEXT.search(text) is not None
        self.sees_processes |= _SEES_PROCESSES.search(text) is not None
        self.may_fail |= _READONLY.search(text) is not None
        self.has_path |= "PATH" in text
        self.is_posix |= "POSIXLY" in text or "posix" in text

    def _scan_piece(self, piece: WordPiece) -> None:
        if piece.kind == "literal":
            self.is_extended |= not piece.quoted and _EXTENDED.search(piece.text) is not None
        elif piece.kind in ("parameter", "arithmetic") or not piece.parts:
            self._sources.append(piece.text)
            self.sees_itself |= _LAST_WORD.search(piece.text) is not None
            self.sees_status |= _STATUS.search(piece.text) is not None
            self.may_fail |= piece.kind != "substitution" and _CANNOT_FAIL.match(piece.text) is None

    def _scan_simple(self, command: Simple) -> None:
        texts = [word.text for word in command.words]
        if not texts or texts[0] in NOTHING:
            return
        names = command.words[:2] if texts[0] in ("command", "builtin") else command.words[:1]
        called = {"" if _may_be_builtin(word) else word.text for word in names}
        self.words |= called
        texts = texts[len(names) - 1 :]
        if called & {"", "eval", "trap"}:
            self._evaluated += command.words
        self.sees_itself |= any(word.text in _SEES_ITSELF for word in names)
        self.sees_status |= texts[0] in ("exit", "return") and (len(texts) == 1 or not _is_literal(command.words[-1]))
        self.may_fail |= texts[0] in _READ_SUBSCRIPTS and any(map(_SUBSCRIPT.search, texts))
        if texts[0] in ("declare", "typeset", "local"):
            # Without names, these builtins print all variables. The text of the script is one of them.
            self.prints_text |= all(text.startswith("-") for text in texts[1:])
        elif texts[0] == "set":
            options = " ".join(texts[1:])
            self.prints_text |= not options
            self.sees_itself |= _SET_OPTIONS.fullmatch(options) is None
            self.is_traced |= "x" in options


def _take_errors(redirections: Iterable[Redirection]) -> bool:
    """Return whether error messages go to another place than the standard error or `/dev/null`."""
    is_silent = False
    for each in redirections:
        # Descriptor 02 is descriptor 2. No descriptor is an empty text, and descriptor 0 takes no output.
        descriptor, operator, target = each.descriptor.lstrip("0") or each.descriptor, each.operator, each.target.text
        takes_both = operator in ("&>", "&>>") or (operator == ">&" and not descriptor and not target.isdigit())
        if (descriptor == "2" or takes_both) and target != "/dev/null" and not (is_silent and target == "1"):
            return True
        if takes_both or (descriptor in ("", "1") and operator in (">", ">>", ">|", ">&")):
            is_silent = target == "/dev/null"
    return False


def _is_literal(word: BashWord) -> bool:
    return all(piece.kind == "literal" for piece in word.pieces)


def _may_be_builtin(word: BashWord) -> bool:
    """Return whether an expansion may give the name of a builtin or a function. A path is no such name."""
    return not (_is_literal(word) or any(piece.kind == "literal" and "/" in piece.text for piece in word.pieces))
