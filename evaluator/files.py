"""This module replaces files atomically. A reader sees either all old bytes or all new bytes."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write the data to a temporary file in the same folder, flush the file to disk and rename it to `path`.

    The old file stays unchanged until the rename. A link at `path` is replaced and not followed. The folder must exist.
    Raises OSError if the file cannot be written.
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
