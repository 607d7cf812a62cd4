"""Rules by which a publisher counted, filtered and split its corpus.

`NL2BASH` has the rules of Lin et al. 2018, "NL2Bash: A Corpus and Semantic Parser for Natural Language Interface to the
Linux Operating System". A pair is in scope if:

* the instruction has at most 50 words,
* the authors' grammar reads the command. The grammar has single commands, pipes, and command and process substitutions.
  It has no redirections, assignments, lists, loops, functions and parameters of scripts,
* each utility is one of the 100 most frequent, with ties. Interpreters of other languages, editors, and utilities that
  set up the shell do not count and are out of scope.

The authors' grammar is an ancestor of the NLC2CMD grammar, which this project has. `_UNKNOWN_IN_2018` are the utilities
that only the later grammar has. Of the published corpus, the authors kept 9,305 pairs, and these rules keep 9,304.

Words are counted as the authors counted them, with two exceptions: spelling errors are not corrected, because the
authors' list of words is not part of this project, and joined words such as `normal/regular` are one word.

`PLAIN` keeps every pair. Its words are separated by white space, and commands are read by this project's parser.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from evaluator.corpus.pair_lines import CorpusPair
from evaluator.shell import Utility, utilities_of
from evaluator.shell.nlc2cmd.reference_2020 import UnsupportedCommandError, tokens_like_reference
from evaluator.shell.nlc2cmd.tree_2020 import Token2020, TokenKind

Tokens = tuple[Token2020, ...]


class CorpusRules(NamedTuple):
    """One publisher's rules for a corpus.

    words         the words of an instruction
    tokens        the tokens of a command, or None if the rules do not read the command
    most_words    the maximum number of words of an instruction, counted by white space, or None
    top           the number of most frequent utilities that are in scope, or None for all utilities
    out_of_scope  utilities that are out of scope however frequent they are
    """

    words: Callable[[str], list[str]]
    tokens: Callable[[str], Tokens | None]
    most_words: int | None = None
    top: int | None = None
    out_of_scope: frozenset[str] = frozenset()


_OTHER_LANGUAGES: Final = "cpp g++ java perl python ruby awk sed"
_INTERACTIVE: Final = "nano emacs vim less more screen tmux"
_PACKAGES: Final = "brew yum apt-get"
_SHELL_STATE: Final = "alias unalias set unset source export shift true false pushd popd"
_UNKNOWN_IN_2018: Final = "lsof netstat pdftotext pr printf stat test zip"

_NOT_COUNTED: Final = re.compile(
    r"(?:i|you|he|she|we|they)(?:'(?:d|ll|m|re|s|ve))?|(?:the|this|then|here|there|how|let)(?:'s)?|(?:it|what)'s"
    r"|ha[sd]|have|did|do|does|doing|can|could|must|should|would"
    r"|me|my|yours?|him|his|hers?|theirs?|(?:my|your|him|her|it|them)sel(?:f|ves)",
    re.IGNORECASE,
)
"""Articles, pronouns and auxiliary verbs."""

_NUMBERS: Final = {
    name: str(number)
    for number, name in enumerate(re.findall(r"\w+", "zero one two three four five six seven eight nine ten"))
}
_JOINED: Final = (
    (re.compile(r"\b(files?)/(directory|directories)\b"), r"\1 and \2"),
    (re.compile(r"'(s|re|ve|d|t)\b"), r" '\1"),
)
_TYPOGRAPHIC: Final = str.maketrans("`\u2018\u2019\u201c\u201d", "'''\"\"")
_REMOVED: Final = re.compile(r"\([^()]*\)|[,;:.](?=\s|\Z)|\A[Tt]o\s")
_WORD: Final = re.compile(r"(?:(?<=\s)|\A)'[^']*'(?=\s|\Z)|(?:[^\s,\"]|\"[^\"]*\")++")


def _nl2bash_words(text: str) -> list[str]:
    text = _REMOVED.sub(" ", text.translate(_TYPOGRAPHIC))
    for pattern, separate in _JOINED:
        text = pattern.sub(separate, text)
    found = _WORD.findall(text)
    return [_NUMBERS.get(word, word) for word in found if not _NOT_COUNTED.fullmatch(word) and word not in ('"', "'")]


def _nl2bash_tokens(command: str) -> Tokens | None:
    try:
        return tokens_like_reference(command)
    except UnsupportedCommandError:
        return None


def _plain_tokens(command: str) -> Tokens | None:
    utilities = utilities_of(command)
    return None if utilities is None else tuple(token for each in utilities for token in _tokens_of(each))


def _tokens_of(utility: Utility) -> list[Token2020]:
    """Return a utility's tokens. Its own flags and arguments come before the tokens of nested utilities."""
    tokens = [Token2020(TokenKind.UTILITY, utility.name)]
    for name, value in utility.flags:
        tokens += [Token2020(TokenKind.FLAG, name), *([Token2020(TokenKind.ARGUMENT, value)] if value else [])]
    tokens += [Token2020(TokenKind.ARGUMENT, argument) for argument in utility.arguments]
    return tokens + [token for nested in utility.nested for token in _tokens_of(nested)]


NL2BASH: Final = CorpusRules(
    words=_nl2bash_words,
    tokens=_nl2bash_tokens,
    most_words=50,
    top=100,
    out_of_scope=frozenset(f"{_OTHER_LANGUAGES} {_INTERACTIVE} {_PACKAGES} {_SHELL_STATE} {_UNKNOWN_IN_2018}".split()),
)
PLAIN: Final = CorpusRules(words=str.split, tokens=_plain_tokens)
RULES: Final[Mapping[str, CorpusRules]] = {"plain": PLAIN, "nl2bash": NL2BASH}
"""All rules by name."""

TOO_LONG: Final = "the instruction is too long"
NOT_READ: Final = "the rules do not read the command"
OUT_OF_SCOPE: Final = "a utility is out of scope"
EMPTY: Final = "the instruction or the command is empty"


def utilities_in(tokens: Tokens) -> frozenset[str]:
    """Return the names of the utilities among tokens."""
    return frozenset(text for kind, text in tokens if kind is TokenKind.UTILITY)


def utilities_in_scope(rules: CorpusRules, read: Sequence[Tokens | None]) -> frozenset[str]:
    """Return the utilities of a corpus that are in scope. `read` has the tokens of each command of the corpus."""
    counts = Counter(utility for tokens in read if tokens is not None for utility in utilities_in(tokens))
    ranked = [(count, name) for name, count in counts.most_common() if name not in rules.out_of_scope]
    if rules.top is None or len(ranked) <= rules.top:
        return frozenset(name for _, name in ranked)
    least = ranked[rules.top - 1][0]
    return frozenset(name for count, name in ranked if count >= least)


def scope_problem(rules: CorpusRules, pair: CorpusPair, tokens: Tokens | None, scope: frozenset[str]) -> str | None:
    """Return the reason why a pair is not in the scope of the rules, or None if it is in scope."""
    if not pair.nl.strip() or not pair.command.strip():
        return EMPTY
    if rules.most_words is not None and len(pair.nl.split()) > rules.most_words:
        return TOO_LONG
    if not tokens:
        return NOT_READ if rules.top is not None else None
    return None if utilities_in(tokens) <= scope else OUT_OF_SCOPE
