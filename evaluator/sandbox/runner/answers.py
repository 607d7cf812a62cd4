"""Write a candidate's answer as a script into a world, and list a job's changes for the task's verifier.

In a task with a driver, the job's command is the driver, a script of the task. The driver calls the answer as often as
necessary. The answer's script is in a layer of its own below the job's changes, so that it is no change of the job.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from evaluator.sandbox.runner.protocol import bytes_of

MAX_MESSAGE = 500
"""The largest number of bytes of a verifier's message that the evidence keeps."""

_INTERPRETER = b"#!/bin/bash\n"
_LETTERS = {"added": b"A", "deleted": b"D", "mode": b"M", "touched": b"M"}
_UNPRINTABLE = re.compile(rb"[\x00-\x20\x7f\\]")


def answer_script(command: bytes) -> bytes:
    """Return an answer as the text of a script. An answer without an interpreter's line gets bash as interpreter."""
    return command if command.startswith(b"#!") else _INTERPRETER + command


def write_answer(layer: Path, view: str, path: bytes, command: bytes, owner: tuple[int, int], clock_s: int) -> str:
    """Write an answer's script at `path` below the directory `layer`, and return the directory.

    `view` shows the world's files. The folders above the script get the owners, modes and times that they have there,
    because the new layer hides these properties of the world's folders. `owner` is a uid and a gid.

    Raises ValueError if a path above the script is not a directory of the world.
    """
    folders = [Path(os.fsdecode(folder)) for folder in _folders_above(path)]
    layer.mkdir()
    for folder in folders:
        seen = os.lstat(f"{view}{folder}")
        if not stat.S_ISDIR(seen.st_mode):
            raise ValueError(f"{folder} is not a directory, so the answer cannot be written below it")
        if folder != Path("/"):
            (layer / folder.relative_to("/")).mkdir()
    script = layer / os.fsdecode(path).lstrip("/")
    script.write_bytes(answer_script(command))
    os.chown(script, *owner)
    script.chmod(0o755)
    os.utime(script, (clock_s, clock_s))
    for folder in reversed(folders):
        seen, copy = os.lstat(f"{view}{folder}"), layer / folder.relative_to("/")
        os.chown(copy, seen.st_uid, seen.st_gid)
        copy.chmod(stat.S_IMODE(seen.st_mode))
        os.utime(copy, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    return str(layer)


def _folders_above(path: bytes) -> list[bytes]:
    """Return the folders above an absolute path, with the root first."""
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) or b"/" for count in range(1, len(parts))]


def change_lines(changes: Iterable[Mapping[str, Any]], *, is_truncated: bool) -> bytes:
    r"""Return a job's changes as lines for a verifier, in the form of `docker diff`.

    The lines are `A /path` for an added path, `D /path` for a deleted one, and `C /path` for changed content. Unlike in
    `docker diff`, `M /path` means that only the mode, the owner or the time is different, and a folder has a line only
    if the folder itself was changed. Blanks, backslashes and control characters in a path are written as `\ooo`, so
    that each line holds one path. If the list of changes is incomplete, the last line is `?`.

    >>> change_lines([{"kind": "added", "path": "/srv/a b"}, {"kind": "mode", "path": "/srv"}], is_truncated=True)
    b'A /srv/a\\040b\nM /srv\n?\n'
    """
    lines = [
        _LETTERS.get(change["kind"], b"C") + b" " + _UNPRINTABLE.sub(_octal, bytes_of(change["path"])) + b"\n"
        for change in changes
    ]
    return b"".join(lines) + (b"?\n" if is_truncated else b"")


def _octal(match: re.Match[bytes]) -> bytes:
    return b"\\%03o" % match[0][0]
