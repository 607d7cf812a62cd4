"""Encode embeddings as text, so that a line of JSON keeps every bit of them.

The text is the base64 form of the little-endian 32-bit numbers.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence


def encode(vector: Sequence[float]) -> str:
    """Encode a vector for the reply cache. Raises ValueError if a number is not finite or if all numbers are zero."""
    import numpy as np  # here, because most commands encode nothing

    numbers = np.asarray(vector, dtype="<f4")
    if numbers.ndim != 1 or not np.isfinite(numbers).all() or not numbers.any():
        raise ValueError("expected a vector of finite numbers that are not all zero")
    return base64.b64encode(numbers.tobytes()).decode()


def cosine(one: str, other: str) -> float:
    """Return the cosine of two encoded vectors, in [-1, 1]. Raises ValueError if their lengths differ."""
    import numpy as np

    left, right = (np.frombuffer(base64.b64decode(text), dtype="<f4").astype(np.float64) for text in (one, other))
    if left.shape != right.shape:
        raise ValueError(f"vectors of {left.size} and {right.size} numbers cannot be compared")
    return float(left @ right / (np.linalg.norm(left) * np.linalg.norm(right)))
