"""What bash says of texts that it reads and does not run, asked of one process for all of them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

_READ_ONLY = 'for text do (eval "set -n\n$text") 2>&1 || echo "exit status $?"; printf "\\0"; done'
"""Each text is read in a fork of its own: `set -n` holds to its end, and an error in a text ends that fork alone."""


def complaints_of(texts: Sequence[str | bytes]) -> list[str]:
    """Return what bash says of each text, or "". Options that change how bash reads are not in force."""
    done = subprocess.run(["bash", "-c", _READ_ONLY, "bash", *texts], capture_output=True, check=True)
    said = done.stdout.decode("utf-8", "replace").split("\0")
    assert len(said) == len(texts) + 1, "bash left before it had read every text"
    return said[:-1]
