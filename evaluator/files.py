"""This module replaces files and folders atomically. A reader sees either all old bytes or all new bytes."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final


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


_AT_CWD: Final = -100
_EXCHANGE: Final = 2
"""The flag RENAME_EXCHANGE of renameat2(2)."""


def exchange_folder(new: Path, place: Path) -> None:
    """Put the folder `new` in the place of the folder `place`. The old folder, if any, is then at `new`.

    Linux exchanges both in one step, so that a process that is killed leaves the old folder or the new one. Where the
    system or the file system cannot do this, the old folder is renamed first. Raises OSError if neither works.
    """
    if not place.exists():
        new.rename(place)
        return
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):  # not Linux, or an old C library
        renameat2 = None
    paths = os.fsencode(new), os.fsencode(place)
    if renameat2 is None or renameat2(_AT_CWD, paths[0], _AT_CWD, paths[1], _EXCHANGE):
        aside = new.with_name(f"{new.name}.old")
        place.rename(aside)
        new.rename(place)
        aside.rename(new)


def link_file(source: Path, target: Path) -> None:
    """Make `target` another name of the file `source`, or a copy if the file system has no such links.

    Neither file may be changed in place afterwards. Raises FileNotFoundError if there is no `source`.
    """
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)
