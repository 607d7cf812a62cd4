"""A check of the syntax of Bash scripts. One bash process reads all scripts and runs none of them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

_READ_ONLY = r"""for text do
  (
    case $text in *"shopt -s"*extglob*) shopt -s extglob ;; esac
    eval "set -n
$text"
  ) 2>&1 || echo "exit status $?"
  printf "\0"
done"""
"""A script that reads each text in a subshell of its own, with the extended patterns that the text asks for.

`set -n` is in force to the end of the text, and an error ends only that subshell.
"""

_MOST_CHARACTERS = 400_000
"""The most characters of the arguments of one process. The kernel allows 2 MB."""


def complaints_of(texts: Sequence[str | bytes]) -> list[str]:
    """Return the error messages of bash for each text, or "" if there are none.

    Bash does not run a `shopt` in a text. So the texts are read with default shell options, apart from `extglob`. One
    process reads as many texts as its arguments may hold.
    """
    found: list[str] = []
    batch: list[str | bytes] = []
    size = 0
    for text in texts:
        if size + len(text) > _MOST_CHARACTERS:
            found += _complaints(batch)
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    return found + _complaints(batch)


def _complaints(texts: Sequence[str | bytes]) -> list[str]:
    done = subprocess.run(["bash", "-c", _READ_ONLY, "bash", *texts], capture_output=True, check=True)
    said = done.stdout.decode("utf-8", "replace").split("\0")
    assert len(said) == len(texts) + 1, "bash left before it had read every text"
    return said[:-1]
