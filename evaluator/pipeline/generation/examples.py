"""Choose the examples of prompts by a recipe, with vectors of this machine or of a model server."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from evaluator.errors import InfraError, UsageError
from evaluator.generation.example_choice import (
    TextVectors,
    Vectors,
    first_pairs,
    nearest_pairs,
    representatives,
    unit_rows,
)
from evaluator.generation.session import Session
from evaluator.model_server.client_settings import PricedModel
from evaluator.pipeline.generation.recipe import LOCAL_EMBEDDINGS
from evaluator.records import ExampleChoice, Generation, digest_of
from evaluator.submissions.baselines.training import TrainingPair, read_pairs

PAIRS = Path("fixtures") / "train" / "pairs.jsonl"


def training_pairs(root: Path, path: Path | None) -> tuple[tuple[TrainingPair, ...], str]:
    """Return the pairs of a file, by default those of the checkout, and the SHA-256 of the file."""
    source = path or root / PAIRS
    try:
        data = source.read_bytes()
        return read_pairs(data), hashlib.sha256(data).hexdigest()
    except OSError as error:
        raise UsageError(f"--pairs {source}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f'--pairs {source}: expected JSON lines {{"nl", "command"}}: {error}') from error


class Examples:
    """The examples of a recipe. `vectors` and `instructions` are the vectors of the pairs and of the tasks.

    Vectors of a server are given, because they need requests. Those of this machine are computed at the first use.
    """

    def __init__(
        self,
        generation: Generation,
        pairs: Sequence[TrainingPair],
        server_vectors: dict[str, Vectors] | None = None,
    ) -> None:
        self._generation, self._pairs, self._server_vectors = generation, pairs, server_vectors
        if generation.shots > len(pairs):
            raise UsageError(f"--shots {generation.shots}: the training file has {len(pairs)} pairs")

    @property
    def _seed(self) -> int:
        return self._generation.decoding.seed or 0

    @cached_property
    def _local(self) -> TextVectors:
        return TextVectors([pair.nl for pair in self._pairs], self._seed)

    @cached_property
    def _vectors(self) -> Vectors:
        if self._server_vectors is None:
            return self._local.of_instructions
        return np.stack([self._server_vectors[pair.nl] for pair in self._pairs])

    @cached_property
    def _same_for_all(self) -> tuple[TrainingPair, ...]:
        shots = self._generation.shots
        if self._generation.examples is ExampleChoice.CLUSTERS:
            rows = representatives(self._vectors, shots, self._seed)
        else:
            rows = first_pairs(self._pairs, shots, self._seed)
        return tuple(self._pairs[row] for row in rows)

    def for_instruction(self, instruction: str) -> tuple[TrainingPair, ...]:
        """Return the examples for one instruction."""
        if self._generation.shots == 0:
            return ()
        if self._generation.examples is not ExampleChoice.NEAREST:
            return self._same_for_all
        vectors = self._server_vectors
        vector = self._local.of([instruction])[0] if vectors is None else vectors[instruction]
        return tuple(self._pairs[row] for row in nearest_pairs(self._vectors, vector, self._generation.shots))


def needs_server_vectors(generation: Generation) -> bool:
    """Return whether the examples of a recipe are chosen by vectors of a model server."""
    return generation.embeddings not in (None, LOCAL_EMBEDDINGS)


def server_vectors(texts: Sequence[str], model: PricedModel, session: Session, concurrency: int) -> dict[str, Vectors]:
    """Return the vector of each text by a model of a server. Vectors of the log are not requested again.

    Raises the errors of the client, and InfraError if the vectors have different lengths.
    """
    vectors = asyncio.run(_server_vectors(list(dict.fromkeys(texts)), model, session, concurrency))
    if len({len(vector) for vector in vectors.values()}) > 1:
        raise InfraError(f"{model.name} answers with vectors of different lengths: use other --embeddings")
    return vectors


async def _server_vectors(
    texts: Sequence[str], model: PricedModel, session: Session, concurrency: int
) -> dict[str, Vectors]:
    found: dict[str, Vectors] = {}
    work = iter(texts)

    async def one_worker() -> None:
        for text in work:
            key = digest_of(b"embedding", session.base_url.encode(), model.name.encode(), text.encode())
            logged = session.log.find(key) or session.log.add(key, await session.client.embed(model, text))
            found[text] = unit_rows(np.frombuffer(base64.b64decode(logged.text), dtype="<f4")[None, :])[0]

    workers = [asyncio.create_task(one_worker()) for _ in range(concurrency)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        await session.client.close()
    return found
