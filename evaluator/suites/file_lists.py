"""This module reads and writes lists of files in the form of `sha256sum`: a digest, two spaces and a name per line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping


def list_text(digests: Mapping[str, str]) -> str:
    """Return a list of files, sorted by name. `digests` maps the names of the files to digests."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))


def read_list(text: str) -> dict[str, str]:
    """Return the digests by name of a list in the form of `sha256sum`. Raises ValueError for an invalid line."""
    digests = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = re.fullmatch(r"([0-9a-f]{64})  (\S.*)", line)
        if match is None:
            raise ValueError(f"line {number}: expected a SHA-256, two spaces and the name of a file")
        digests[match[2]] = match[1]
    return digests


def list_digest(digests: Mapping[str, str]) -> str:
    """Return the SHA-256 of a list of files. `sha256sum NAME.sha256` prints the same digest."""
    return hashlib.sha256(list_text(digests).encode()).hexdigest()
