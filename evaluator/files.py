"""Files are replaced whole: a reader sees the old bytes or the new ones, never half of either."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file by way of a temporary one beside it, flushed to disk before it takes the name.

    What stood at `path` stays untouched until then, a link there included: the link is replaced, not
    followed. The folder must exist. Raises OSError.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".new", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
