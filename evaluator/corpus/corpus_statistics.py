"""Count a corpus: its texts, words, commands, tokens, utilities and flags, as corpora are described in papers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from statistics import mean, median
from typing import Any, NamedTuple

from evaluator.corpus.corpus_rules import CorpusRules
from evaluator.corpus.pair_lines import CorpusPair
from evaluator.shell.nlc2cmd.tree_2020 import Token2020, TokenKind


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


class _TokenCounts(NamedTuple):
    """The tokens of the commands that the rules read: the number of tokens of each command, and the uses of each."""

    sizes: list[int]
    uses: Counter[Token2020]

    def of(self, kind: TokenKind) -> Counter[str]:
        """Return the uses of each token of one kind."""
        return Counter({token.text: uses for token, uses in self.uses.items() if token.kind is kind})

    def texts(self) -> Counter[str]:
        """Return the uses of each text, of any kind."""
        counts = Counter[str]()
        for token, uses in self.uses.items():
            counts[token.text] += uses
        return counts


def corpus_statistics(
    pairs: Sequence[CorpusPair], rules: CorpusRules, advance: Callable[[], None] = lambda: None
) -> CorpusStatistics:
    """Count a corpus by the rules. `advance` is called once for each pair."""
    words, sizes, tokens = Counter[str](), list[int](), _TokenCounts([], Counter())
    for pair in pairs:
        found = rules.words(pair.nl)
        words.update(found)
        sizes.append(len(found))
        read = rules.tokens(pair.command)
        if read is not None:
            tokens.sizes.append(len(read))
            tokens.uses.update(read)
        advance()
    utilities, flags, texts = tokens.of(TokenKind.UTILITY), tokens.of(TokenKind.FLAG), tokens.texts()
    return CorpusStatistics(
        pairs=len(pairs),
        unread=len(pairs) - len(tokens.sizes),
        instructions=len({pair.nl for pair in pairs}),
        words=len(words),
        words_per_instruction=_distribution(sizes),
        instructions_per_word=_distribution(words.values()),
        commands=len({pair.command for pair in pairs}),
        tokens=len(texts),
        tokens_per_command=_distribution(tokens.sizes),
        commands_per_token=_distribution(texts.values()),
        utilities=len(utilities),
        flags=len(flags),
        reserved_tokens=len(tokens.of(TokenKind.RESERVED)),
        commands_per_utility=_distribution(utilities.values()),
        commands_per_flag=_distribution(flags.values()),
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
