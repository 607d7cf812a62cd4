"""The five variations of the TF-IDF baseline of NLC2CMD, as steps that each add one thing to the step before.

    raw         the commands of the five nearest training instructions, with the confidence 1
    cleaned     pairs that are repeated or that no parser reads are left out, and the five commands differ
    more data   further training pairs
    literals    instructions are compared without their literals, and the literals of commands are replaced
    confidence  the confidence is 0 or 1, decided by logistic regression

The variations are those of Agarwal et al. 2021, "NeurIPS 2020 NLC2CMD Competition: Translating Natural Language to Bash
Commands". `retrieval_variations.py` makes a submission of each. The submission `tfidf-retrieval` has the commands of
the step `literals` from all training pairs. Its confidences are the similarities of the training pairs.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TypeVar

from evaluator.corpus.list_confidence import ListConfidence, list_score
from evaluator.shell import utilities_of
from evaluator.submissions.baselines.retrieval import PairMemory
from evaluator.submissions.baselines.training import InstructionPair

PRACTICE_PAIRS: Final = 2000
"""The largest number of training instructions from whose answers the regression learns."""

_FIRST_SHARE: Final = 3

_Pair = TypeVar("_Pair", bound=InstructionPair)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """A variation of the retrieval baseline. The same instructions and pairs give the same answers on every machine.

    clean       leave out pairs that are repeated or that no parser reads, and give different commands
    more_data   use the further training pairs
    mask        compare instructions without their literals, and replace the literals of commands
    regression  decide the confidences by logistic regression. Otherwise, all confidences are 1
    """

    clean: bool = False
    more_data: bool = False
    mask: bool = False
    regression: bool = False

    def training(
        self,
        pairs: Sequence[InstructionPair],
        further: Sequence[InstructionPair] = (),
        advance: Callable[[], None] = lambda: None,
    ) -> list[InstructionPair]:
        """Return the pairs from which this variation retrieves. `advance` is called once for each given pair."""
        used = []
        for pair in (*pairs, *(further if self.more_data else ())):
            if not self.clean or (pair.nl.strip() and _is_readable(pair.command)):
                used.append(pair)
            advance()
        return _without_repetition(used) if self.clean else used

    def answer(
        self,
        instructions: Sequence[str],
        training: Sequence[InstructionPair],
        advance: Callable[[], None] = lambda: None,
    ) -> list[list[tuple[str, float]]]:
        """Return up to five commands with their confidences for each instruction, the most similar first.

        `training` are the pairs that the method `training` returned. `advance` is called once for each instruction and
        for each training instruction of the regression. Raises ValueError if no training instruction has a word.
        """
        memory = PairMemory(training, mask=self.mask, distinct=self.clean)
        regression = _regression(memory, training, advance) if self.regression else None
        answers: list[list[tuple[str, float]]] = []
        for commands in memory.retrieve(instructions):
            confidence = 1.0 if regression is None else regression.confidence(commands)
            answers.append([(command, confidence) for command, _ in commands])
            advance()
        return answers


def _regression(memory: PairMemory, pairs: Sequence[InstructionPair], advance: Callable[[], None]) -> ListConfidence:
    """Return a regression that learned from the answers to training instructions.

    Each of these is answered without the pairs that share its instruction or its command. The digests of pairs decide
    which are among them.
    """
    by_instruction, by_command = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
    for number, pair in enumerate(pairs):
        by_instruction[_instruction_key(pair)].append(number)
        by_command[_command_key(pair)].append(number)
    chosen = sorted(pairs, key=_digest)[:PRACTICE_PAIRS]
    same = [by_instruction[_instruction_key(pair)] for pair in chosen]
    ignored = [{*of_pair, *by_command[_command_key(pair)]} for pair, of_pair in zip(chosen, same, strict=True)]
    lists, scores = [], []
    for commands, numbers in zip(memory.retrieve([pair.nl for pair in chosen], ignored), same, strict=True):
        lists.append(commands)
        scores.append(list_score(commands, [pairs[number].command for number in numbers]))
        advance()
    return ListConfidence(lists, scores)


def first_pairs(pairs: Sequence[_Pair]) -> tuple[list[_Pair], list[_Pair]]:
    """Divide one corpus for the five steps: about a third are the first pairs, and the others the further pairs.

    The digest of a pair decides where it belongs. So a new pair moves no other pair.
    """
    first, further = list[_Pair](), list[_Pair]()
    for pair in pairs:
        (further if _digest(pair)[0] % _FIRST_SHARE else first).append(pair)
    return first, further


def _without_repetition(pairs: Sequence[InstructionPair]) -> list[InstructionPair]:
    kept: dict[tuple[str, str], InstructionPair] = {}
    for pair in pairs:
        kept.setdefault((_instruction_key(pair), _command_key(pair)), pair)
    return list(kept.values())


@lru_cache(maxsize=131_072)
def _is_readable(command: str) -> bool:
    return utilities_of(command) is not None


def _instruction_key(pair: InstructionPair) -> str:
    return " ".join(pair.nl.split()).rstrip(".").casefold()


def _command_key(pair: InstructionPair) -> str:
    return " ".join(pair.command.split())


def _digest(pair: InstructionPair) -> bytes:
    return hashlib.sha256(f"{pair.nl}\n{pair.command}".encode(errors="surrogatepass")).digest()


_RAW: Final = Retrieval()
_CLEANED: Final = replace(_RAW, clean=True)
_MORE: Final = replace(_CLEANED, more_data=True)
_LITERALS: Final = replace(_MORE, mask=True)
_CONFIDENCE: Final = replace(_LITERALS, regression=True)

RETRIEVAL_STEPS: Final[Mapping[str, Retrieval]] = MappingProxyType(
    {"raw": _RAW, "cleaned": _CLEANED, "more data": _MORE, "literals": _LITERALS, "confidence": _CONFIDENCE}
)
"""The five variations by name, in order."""
