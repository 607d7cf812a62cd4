"""Lines out of gzip that a stranger may have made: a piece at a time, up to limits, one stream and nothing after it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_MB: Final = 1024 * 1024
_PIECE: Final = 262_144
_GZIP: Final = 31
"""zlib's own number for a window of 32 kB with gzip's header and trailer, whose checksum it then sees to."""


@dataclass(frozen=True, slots=True)
class PackedLimits:
    """Bytes as they come and unpacked, bytes of one line, and lines.

    Evidence of the largest suite's references takes 12 MB unpacked. One command that fills its disk and both its
    streams makes a line of some ten.
    """

    packed_bytes: int = 128 * _MB
    bytes: int = 256 * _MB
    line_bytes: int = 32 * _MB
    lines: int = 200_000


class RefusedError(Exception):
    """What was read is not what it ought to be; `line` is 1-based, 0 where the whole file is meant."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def packed_lines(data: bytes, limits: PackedLimits) -> Iterator[bytes]:
    """The lines without their newlines, unpacked as they are asked for. Raises RefusedError."""
    if len(data) > limits.packed_bytes:
        raise RefusedError(f"has {len(data)} bytes: expected at most {limits.packed_bytes}")
    number, begun = 0, bytearray()
    for piece in unpacked(data, limits.bytes):
        first, *others = piece.split(b"\n")
        begun += first
        for line in others:
            number += 1
            yield _whole(begun, number, limits)
            begun = bytearray(line)
        if len(begun) > limits.line_bytes:
            raise _too_long(number + 1, limits)
    if begun:
        raise RefusedError("ends within a line", number + 1)


def _whole(line: bytearray, number: int, limits: PackedLimits) -> bytes:
    if number > limits.lines:
        raise RefusedError(f"has more than {limits.lines} lines")
    if len(line) > limits.line_bytes:
        raise _too_long(number, limits)
    return bytes(line)


def _too_long(number: int, limits: PackedLimits) -> RefusedError:
    return RefusedError(f"a line of more than {limits.line_bytes} bytes", number)


def unpacked(data: bytes, most: int) -> Iterator[bytes]:
    """What unpacks, a piece at a time: one gzip stream of at most so many bytes. Raises RefusedError."""
    packed = zlib.decompressobj(_GZIP)
    total = read = 0
    while not packed.eof:
        rest = packed.unconsumed_tail
        if not rest:
            rest = data[read : read + _PIECE]
            read += len(rest)
        piece = _unpack(packed, rest)
        total += len(piece)
        if total > most:
            raise RefusedError(f"unpacks to more than {most} bytes")
        if piece:
            yield piece
    after = len(data) - read + len(packed.unused_data)
    if after:
        raise RefusedError(f"has {after} bytes after its end: expected one gzip stream alone")


def _unpack(packed: zlib._Decompress, rest: bytes) -> bytes:
    try:
        piece = packed.decompress(rest, _PIECE)
    except zlib.error as error:
        raise RefusedError(f"does not unpack as gzip: {error}") from error
    if not rest and not piece and not packed.eof:
        raise RefusedError("does not unpack as gzip: it ends too early")
    return piece
