"""Tell which paths the instruction of an open task touches.

A path is touched if the instruction writes the path itself, one of its parents, or a name or glob that fits a part of
it. Relative paths start at the working directory. This reading is generous, because an effect on any other path fails.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import Final

_TOKEN: Final = re.compile(r"[^\s\"'`,;()<>|&]+")
_HERE: Final = re.compile(r"\b(current|working|this|present|here)\b|(?<!\S)\.{1,2}(?!\S)", re.IGNORECASE)
_EVERYWHERE: Final = re.compile(r"\b(system|machine|computer|disk|server|filesystem)\b", re.IGNORECASE)
_HOME: Final = re.compile(r"\bhome\b|~", re.IGNORECASE)
_GLOB: Final = re.compile(r"[*?\[]")
_SHORTEST_NAME: Final = 2


class InstructedPaths:
    """The paths that an instruction touches. `cwd` is the directory in which commands start, and `home` their home."""

    def __init__(self, words: str, cwd: str, home: str) -> None:
        tokens = [token.rstrip(".:,!?") or token for token in _TOKEN.findall(words)]
        self._globs = [token for token in tokens if _GLOB.search(token)]
        self._names = {token.rpartition("/")[2] for token in tokens if len(token) >= _SHORTEST_NAME}
        self._trees = {_absolute(token.replace("~", home, 1), cwd) for token in tokens if "/" in token}
        if _HERE.search(words):
            self._trees.add(posixpath.normpath(cwd))
        if _HOME.search(words):
            self._trees.add(posixpath.normpath(home))
        if _EVERYWHERE.search(words):
            self._trees.add("/")

    def touches(self, path: bytes) -> bool:
        """Return whether the instruction writes the path, one of its parents, or a name or glob in it."""
        text = path.decode(errors="surrogateescape")
        parents = [text, *_parents(text)]
        return (
            any(parent in self._trees for parent in parents)
            or not self._names.isdisjoint(text.split("/"))
            or any(_fits(text, glob) for glob in self._globs)
        )


def touched_by(path: bytes, others: Collection[bytes]) -> bool:
    """Return whether a path is one of the other paths, is below one of them, or holds one of them."""
    return any(
        path == other or path.startswith(other.rstrip(b"/") + b"/") or other.startswith(path.rstrip(b"/") + b"/")
        for other in others
    )


def _absolute(token: str, cwd: str) -> str:
    path = posixpath.normpath(posixpath.join(cwd, token))
    return f"/{path.lstrip('/')}"


def _parents(path: str) -> list[str]:
    parts = path.strip("/").split("/")
    return ["/", *("/" + "/".join(parts[:number]) for number in range(1, len(parts)))]


def _fits(path: str, glob: str) -> bool:
    """Return whether a glob fits the path, or one of its names if the glob has no directory."""
    if "/" in glob:
        return fnmatchcase(path, glob) or fnmatchcase(path, f"*/{glob}") or fnmatchcase(path, f"{glob}/*")
    return any(fnmatchcase(name, glob) for name in path.split("/"))
