"""A check of the syntax of Bash scripts. One bash process reads all scripts and runs none of them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

_READ_ONLY = 'for text do (eval "set -n\n$text") 2>&1 || echo "exit status $?"; printf "\\0"; done'
"""A script that reads each text in a subshell of its own.

`set -n` is in force to the end of the text, and an error ends only that subshell.
"""


def complaints_of(texts: Sequence[str | bytes]) -> list[str]:
    """Return the error messages of bash for each text, or "" if there are none.

    All texts are read with default shell options, because bash does not run a `shopt` in a text.
    """
    done = subprocess.run(["bash", "-c", _READ_ONLY, "bash", *texts], capture_output=True, check=True)
    said = done.stdout.decode("utf-8", "replace").split("\0")
    assert len(said) == len(texts) + 1, "bash left before it had read every text"
    return said[:-1]
