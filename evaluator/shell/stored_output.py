"""Find outputs and contents of files that a command holds as text, instead of computing them.

The texts of a command are its own bytes, its quoted words and here-documents, and the data that it encodes in base64 or
in hexadecimal digits, also compressed or in a tar archive. No command is executed.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import hashlib
import io
import lzma
import re
import tarfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from evaluator.shell.treesitter_reader import parse_bytes

MIN_ENCODED: Final = 24
"""The least number of characters of encoded data."""

LONG_LITERAL: Final = 160
"""The number of characters from which encoded data are a long literal."""

MIN_LINES: Final = 3
MIN_BYTES: Final = 24
"""An expected output is searched if it has this many different lines, or one line with this many bytes."""

MAX_DECODED: Final = 4 << 20
"""Bytes of decoded data that are searched."""

_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]{%d,}={0,2}" % MIN_ENCODED)
_HEXADECIMAL: Final = re.compile(rb"[0-9A-Fa-f]{%d,}" % MIN_ENCODED)
_ESCAPES: Final = re.compile(rb"(?:\\x[0-9A-Fa-f]{2}|\\[0-7]{3}){%d,}" % (LONG_LITERAL // 4))
Read = TypeVar("Read")

_QUOTED: Final = frozenset({"raw_string", "string", "heredoc_body", "ansi_c_string"})


def has_encoded_literal(command: bytes) -> bool:
    """Return whether a command holds a long literal of encoded data.

    >>> has_encoded_literal(b"echo " + b"QUJD" * 50 + b" | base64 -d"), has_encoded_literal(b"ls -l")
    (True, False)
    """
    joined = command.replace(b"\\\n", b"").replace(b"\n", b"")
    runs = (match[0] for text in (command, joined) for match in _BASE64.finditer(text))
    return bool(_ESCAPES.search(command)) or any(len(run) >= LONG_LITERAL for run in runs)


def holds_output(command: bytes, expected: Iterable[bytes], known: Collection[bytes]) -> bool:
    """Return whether a command holds the text of one of the expected outputs.

    `known` holds the instruction and the references. Their lines do not count, because an answer may repeat them.
    Short outputs do not count either, because a command may hold them by chance.

    >>> holds_output(b"printf '%s\\n' apple pear plum", [b"apple\\npear\\nplum\\n"], [b"list the fruit"])
    True
    """
    texts = tuple(texts_of(command))
    for output in expected:
        lines = {line.strip() for line in output.splitlines()} - {b""}
        lines = {line for line in lines if len(line) > 1 and not any(line in text for text in known)}
        long_enough = len(lines) >= MIN_LINES or any(len(line) >= MIN_BYTES for line in lines)
        if long_enough and any(all(line in text for line in lines) for text in texts):
            return True
    return False


def holds_contents(command: bytes, digests: Collection[str]) -> bool:
    """Return whether a command holds the contents of a file with one of these SHA-256 digests.

    >>> holds_contents(b"cat > f <<'E'\\na\\nb\\nE\\n", {hashlib.sha256(b"a\\nb\\n").hexdigest()})
    True
    """
    empty = hashlib.sha256(b"").hexdigest()
    wanted = {digest for digest in digests if digest != empty}
    candidates = (end for text in texts_of(command) for end in (text, text + b"\n", text.rstrip(b"\n")))
    return bool(wanted) and any(hashlib.sha256(text).hexdigest() in wanted for text in candidates)


def texts_of(command: bytes) -> Iterator[bytes]:
    """Yield the texts that a command holds: plain, quoted, decoded and unpacked."""
    yield command
    yield from _quoted(command)
    budget = MAX_DECODED
    for text in _decoded(command):
        for data in (text, *_unpacked(text)):
            budget -= len(data)
            if budget < 0:
                return
            yield data


def _quoted(command: bytes) -> Iterator[bytes]:
    """Yield the contents of a command's quoted words and here-documents."""
    stack = [parse_bytes(command)]
    while stack:
        node = stack.pop()
        if node.type in _QUOTED and node.text is not None:
            yield node.text if node.type == "heredoc_body" else node.text.strip(b"$").strip(b"'\"")
        stack.extend(node.children)


def _decoded(command: bytes) -> Iterator[bytes]:
    joined = command.replace(b"\\\n", b"").replace(b"\n", b"")
    for text in dict.fromkeys((command, joined)):
        for match in _BASE64.finditer(text):
            run = match[0].rstrip(b"=")
            yield from _attempt(base64.b64decode, run + b"=" * (-len(run) % 4))
        for match in _HEXADECIMAL.finditer(text):
            yield from _attempt(binascii.unhexlify, match[0][: len(match[0]) // 2 * 2])


def _unpacked(data: bytes) -> Iterator[bytes]:
    """Yield the decompressed data, and the contents of the files of an archive."""
    unpack = next((unpack for magic, unpack in _UNPACK.items() if data.startswith(magic)), None)
    plain = _attempt(unpack, data) if unpack else []
    yield from plain
    for archive in plain or [data]:
        if archive[257:262] == b"ustar":
            for members in _attempt(_members, archive):
                yield from members


def _members(data: bytes) -> list[bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        files = (archive.extractfile(member) for member in archive if member.isfile())
        return [file.read(MAX_DECODED) for file in files if file]


def _attempt(read: Callable[[bytes], Read], data: bytes) -> list[Read]:
    """Return a list with the result of `read`, or an empty list if the data are not of its form."""
    try:
        return [read(data)]
    except (ValueError, EOFError, OSError, zlib.error, lzma.LZMAError, tarfile.TarError):
        return []


_UNPACK: Final[Mapping[bytes, Callable[[bytes], bytes]]] = {
    b"\x1f\x8b": lambda data: zlib.decompressobj(31).decompress(data, MAX_DECODED),
    b"BZh": lambda data: bz2.BZ2Decompressor().decompress(data, MAX_DECODED),
    b"\xfd7zXZ": lambda data: lzma.LZMADecompressor().decompress(data, MAX_DECODED),
}
"""Functions that decompress, by the first bytes of the data. Each reads no more than a limit."""
