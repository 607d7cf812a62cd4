"""Retrieval baseline: it copies the commands of the most similar training instructions and replaces their literals."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from evaluator.records import MAX_CANDIDATES, Candidate, Method, Prediction, Task
from evaluator.submissions.baselines.baseline import Baseline
from evaluator.submissions.baselines.literals import mask_literals, transfer_literals
from evaluator.submissions.baselines.tfidf_index import Similarities, TfidfIndex, most_similar
from evaluator.submissions.baselines.training import InstructionPair, TrainingPair

CONFIDENCE_DECIMALS: Final = 3


class RetrievedCommand(NamedTuple):
    """A command for an instruction, and the similarity of the training pair from which it comes, in [0, 1]."""

    command: str
    similarity: float


class PairMemory:
    """Training pairs with the vectors of their instructions. Raises ValueError if no instruction has a word.

    With `mask`, instructions are compared without their literals, and the literals of a command are replaced. With
    `distinct`, further pairs are used until five commands differ. Without it, only the five nearest pairs are used.
    """

    def __init__(self, pairs: Sequence[InstructionPair], *, mask: bool, distinct: bool) -> None:
        self._pairs, self._mask, self._distinct = pairs, mask, distinct
        self._index = TfidfIndex([self._compared(pair.nl) for pair in pairs])

    def retrieve(
        self, instructions: Sequence[str], ignored: Sequence[Collection[int]] | None = None
    ) -> Iterator[list[RetrievedCommand]]:
        """Yield up to five commands for each instruction, the most similar first.

        `ignored` has the numbers of the pairs that the answer to each instruction must not use.
        """
        rows = self._index.similarities([self._compared(each) for each in instructions])
        for number, (instruction, similarities) in enumerate(zip(instructions, rows, strict=True)):
            if ignored is not None:
                similarities[list(ignored[number])] = 0.0
            yield self._commands(instruction, similarities)

    def _compared(self, instruction: str) -> str:
        return mask_literals(instruction) if self._mask else instruction

    def _commands(self, instruction: str, similarities: Similarities) -> list[RetrievedCommand]:
        nearest = most_similar(similarities)
        found: dict[str, float] = {}
        for number in nearest if self._distinct else islice(nearest, MAX_CANDIDATES):
            if len(found) == MAX_CANDIDATES:
                break
            pair = self._pairs[number]
            command = transfer_literals(pair.command, pair.nl, instruction) if self._mask else pair.command
            found.setdefault(command, float(similarities[number]))
        return [RetrievedCommand(command, similarity) for command, similarity in found.items()]


def retrieve(tasks: Sequence[Task], pairs: Sequence[TrainingPair]) -> list[Prediction]:
    """Return up to five commands for each task. The confidence of a command is the similarity of its training pair."""
    memory = PairMemory(pairs, mask=True, distinct=True)
    return [
        Prediction(
            task=task.id,
            candidates=tuple(
                Candidate(command=command.encode(), confidence=min(1.0, round(similarity, CONFIDENCE_DECIMALS)))
                for command, similarity in commands
            ),
        )
        for task, commands in zip(tasks, memory.retrieve([task.nl for task in tasks]), strict=True)
    ]


TFIDF_RETRIEVAL = Baseline(
    system="TF-IDF retrieval",
    description=(
        "Gives the commands of the five most similar instructions among the repository's own training pairs: cosine "
        "similarity of TF-IDF vectors over words and over letters, literals masked. Paths, quoted text, numbers, "
        "extensions and names of the retrieved instruction are replaced in its command by those of the task's. "
        "Sees a task's instruction and nothing else of it. The program was fixed before the tasks were read, and the "
        "pairs were written without them."
    ),
    method=Method.RETRIEVAL,
    predict=retrieve,
    learns=True,
)
