"""Split a corpus into training, development and test pairs, so that no text occurs in two of these parts.

Two pairs belong to one cluster if they have the same command, or instructions with the same words. Letter case does not
count, and a cluster is never divided. The clusters are ordered by digests with a seed. So the same corpus and seed give
the same split on every machine.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from evaluator.corpus.corpus_rules import CorpusRules
from evaluator.corpus.pair_lines import CorpusPair

LARGEST_SHARE: Final = 0.01
"""A cluster with a larger share of the pairs is for training. Otherwise one cluster could fill a small part."""


class CorpusSplit(NamedTuple):
    """The parts of a corpus, each in the corpus's order, and the number of clusters in each part."""

    train: list[CorpusPair]
    dev: list[CorpusPair]
    test: list[CorpusPair]
    clusters: tuple[int, int, int]


def split_corpus(
    pairs: Sequence[CorpusPair], rules: CorpusRules, *, ratio: tuple[int, int] = (5, 1), dev: int = 100, seed: int = 1
) -> CorpusSplit:
    """Split a corpus into training pairs and other pairs, in a ratio such as 5:1.

    Of the other pairs, the first clusters with at least `dev` pairs together are for development, the rest for tests.
    """
    clusters = _clusters(pairs, rules)
    wanted = len(pairs) * ratio[1] / sum(ratio)
    parts: tuple[list[int], ...] = ([], [], [])
    counts = [0, 0, 0]
    for cluster in sorted(clusters, key=lambda cluster: _position(pairs, cluster, seed)):
        held_out = len(parts[1]) + len(parts[2]) < wanted and len(cluster) <= max(1, LARGEST_SHARE * len(pairs))
        part = 0 if not held_out else 1 if len(parts[1]) < dev else 2
        parts[part].extend(cluster)
        counts[part] += 1
    train, development, test = ([pairs[index] for index in sorted(part)] for part in parts)
    return CorpusSplit(train, development, test, (counts[0], counts[1], counts[2]))


def without_shared_texts(
    pairs: Sequence[CorpusPair], others: Sequence[CorpusPair], rules: CorpusRules
) -> list[CorpusPair]:
    """Return the pairs that share neither the command nor the words of the instruction with one of the others."""
    shared = {key for pair in others for key in _keys(pair, rules)}
    return [pair for pair in pairs if shared.isdisjoint(_keys(pair, rules))]


def _keys(pair: CorpusPair, rules: CorpusRules) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return two keys of a pair. Pairs with a common key belong to one cluster."""
    words = " ".join(rules.words(pair.nl)).casefold() or pair.nl.strip()
    return ("command", pair.command.strip()), ("words", words)


def _clusters(pairs: Sequence[CorpusPair], rules: CorpusRules) -> list[list[int]]:
    """Return the clusters as lists of positions in `pairs`."""
    parents = list(range(len(pairs)))

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = parents[parents[index]]
            index = parents[index]
        return index

    first: dict[tuple[str, str], int] = {}
    for index, pair in enumerate(pairs):
        for key in _keys(pair, rules):
            parents[root(index)] = root(first.setdefault(key, index))
    clusters = defaultdict[int, list[int]](list)
    for index in range(len(pairs)):
        clusters[root(index)].append(index)
    return list(clusters.values())


def _position(pairs: Sequence[CorpusPair], cluster: Sequence[int], seed: int) -> bytes:
    """Return a digest of a cluster's first command in alphabetical order, for a random but fixed order of clusters."""
    command = min(pairs[index].command for index in cluster)
    return hashlib.sha256(f"{seed}\n{command}".encode(errors="surrogatepass")).digest()
