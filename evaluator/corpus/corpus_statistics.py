"""Count a corpus: its texts, words, commands, tokens, utilities and flags, as corpora are described in papers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from statistics import mean, median
from typing import Any, NamedTuple

from evaluator.corpus.corpus_rules import CorpusRules, Tokens
from evaluator.corpus.pair_lines import CorpusPair
from evaluator.shell.nlc2cmd.reference_2020 import TokenKind


class Distribution(NamedTuple):
    """Three figures of a list of numbers. All three are 0 for an empty list."""

    mean: float
    median: float
    largest: int


class CorpusStatistics(NamedTuple):
    """The size and the diversity of a corpus.

    unread                    commands that the rules cannot read. They have no tokens, utilities and flags
    reserved_tokens           different operators, such as `|`, `$(` and `-or`
    commands_per_utility      uses of each utility. A command with two uses counts twice
    commands_per_instruction  different commands for one instruction, in a distribution over instructions
    """

    pairs: int
    unread: int
    instructions: int
    words: int
    words_per_instruction: Distribution
    instructions_per_word: Distribution
    commands: int
    tokens: int
    tokens_per_command: Distribution
    commands_per_token: Distribution
    utilities: int
    flags: int
    reserved_tokens: int
    commands_per_utility: Distribution
    commands_per_flag: Distribution
    commands_per_instruction: Distribution
    instructions_per_command: Distribution

    def as_dict(self) -> dict[str, Any]:
        """Return the figures by name. Each distribution is a dictionary too."""
        return {
            name: value._asdict() if isinstance(value, Distribution) else value
            for name, value in self._asdict().items()
        }


def corpus_statistics(
    pairs: Sequence[CorpusPair], rules: CorpusRules, advance: Callable[[], None] = lambda: None
) -> CorpusStatistics:
    """Count a corpus by the rules. `advance` is called once for each pair."""
    words, sizes = Counter[str](), list[int]()
    by_kind: dict[TokenKind, Counter[str]] = {kind: Counter() for kind in TokenKind}
    read = list[Tokens]()
    for pair in pairs:
        found = rules.words(pair.nl)
        words.update(found)
        sizes.append(len(found))
        tokens = rules.tokens(pair.command)
        if tokens is not None:
            read.append(tokens)
            for kind, text in tokens:
                by_kind[kind][text] += 1
        advance()
    all_tokens = Counter(text for tokens in read for _, text in tokens)
    return CorpusStatistics(
        pairs=len(pairs),
        unread=len(pairs) - len(read),
        instructions=len({pair.nl for pair in pairs}),
        words=len(words),
        words_per_instruction=_distribution(sizes),
        instructions_per_word=_distribution(words.values()),
        commands=len({pair.command for pair in pairs}),
        tokens=len(all_tokens),
        tokens_per_command=_distribution([len(tokens) for tokens in read]),
        commands_per_token=_distribution(all_tokens.values()),
        utilities=len(by_kind[TokenKind.UTILITY]),
        flags=len(by_kind[TokenKind.FLAG]),
        reserved_tokens=len(by_kind[TokenKind.RESERVED]),
        commands_per_utility=_distribution(by_kind[TokenKind.UTILITY].values()),
        commands_per_flag=_distribution(by_kind[TokenKind.FLAG].values()),
        commands_per_instruction=_distribution(_partners((pair.nl, pair.command) for pair in pairs)),
        instructions_per_command=_distribution(_partners((pair.command, pair.nl) for pair in pairs)),
    )


def _distribution(numbers: Collection[int]) -> Distribution:
    return Distribution(mean(numbers), median(numbers), max(numbers)) if numbers else Distribution(0, 0, 0)


def _partners(pairs: Iterable[tuple[str, str]]) -> list[int]:
    """Return, for each first text, the number of different second texts with it."""
    partners = defaultdict[str, set[str]](set)
    for one, other in pairs:
        partners[one].add(other)
    return [len(others) for others in partners.values()]
