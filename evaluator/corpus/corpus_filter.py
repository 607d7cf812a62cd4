"""Keep the pairs of a corpus that are in the scope of a publisher's rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from evaluator.corpus.corpus_rules import CorpusRules, scope_problem, utilities_in_scope
from evaluator.corpus.pair_lines import CorpusPair


class FilteredCorpus(NamedTuple):
    """The pairs in scope, the number of other pairs by reason, and the utilities in scope."""

    kept: list[CorpusPair]
    left_out: dict[str, int]
    utilities: frozenset[str]


def filter_corpus(
    pairs: Sequence[CorpusPair], rules: CorpusRules, advance: Callable[[], None] = lambda: None
) -> FilteredCorpus:
    """Filter a corpus by the rules. The frequent utilities are those of this corpus, before the filter."""
    read = []
    for pair in pairs:
        read.append(rules.tokens(pair.command))
        advance()
    scope = utilities_in_scope(rules, read)
    kept, left_out = list[CorpusPair](), Counter[str]()
    for pair, tokens in zip(pairs, read, strict=True):
        if reason := scope_problem(rules, pair, tokens, scope):
            left_out[reason] += 1
        else:
            kept.append(pair)
    return FilteredCorpus(kept, dict(left_out.most_common()), scope)
