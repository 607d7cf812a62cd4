"""Read and write PNG images with the standard library and numpy: the pixels of a drawing, and an image of few colours.

The format is the one of the W3C Recommendation "Portable Network Graphics (PNG) Specification (Third Edition)".
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_RGBA: Final = 4
_LEVEL: Final = 3

Pixels = NDArray[np.uint8]


def read_rgba(data: bytes) -> Pixels:
    """Return the pixels of an image with 8 bits for each of red, green, blue and alpha: an array (height, width, 4).

    Raises ValueError for another kind of image.
    """
    chunks = dict[bytes, bytes]()
    for name, content in _chunks(data):
        chunks[name] = chunks.get(name, b"") + content
    width, height, *kind = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    if kind != [8, 6, 0, 0, 0]:
        raise ValueError(f"expected a PNG image with 8-bit RGBA, not interlaced, found {kind}")
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + _RGBA * width)
    pixels = np.zeros((height, width, _RGBA), np.uint8)
    for number, row in enumerate(rows):
        above = pixels[number - 1] if number else np.zeros((width, _RGBA), np.uint8)
        pixels[number] = _unfiltered(int(row[0]), row[1:].reshape(width, _RGBA), above)
    return pixels


def _unfiltered(kind: int, row: Pixels, above: Pixels) -> Pixels:
    """Return the pixels of a row from the differences that the image has. `above` is the row before it."""
    match kind:
        case 0:
            return row
        case 1:
            return np.cumsum(row, axis=0, dtype=np.uint8)
        case 2:
            return row + above
        case 3 | 4:
            return _predicted(kind, row, above)
    raise ValueError(f"expected a filter of PNG from 0 to 4, found {kind}")


def _predicted(kind: int, row: Pixels, above: Pixels) -> Pixels:
    """Return a row of the filter Average (3) or Paeth (4), whose pixels depend on the pixel to the left."""
    pixels = np.zeros_like(row)
    left = corner = np.zeros(_RGBA, np.int16)
    for number, difference in enumerate(row):
        up = above[number].astype(np.int16)
        if kind == 3:
            guess = (left + up) // 2
        else:
            far = [abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)]
            guess = np.where((far[0] <= far[1]) & (far[0] <= far[2]), left, np.where(far[1] <= far[2], up, corner))
        pixels[number] = (difference + guess) & 0xFF
        left, corner = pixels[number].astype(np.int16), up
    return pixels


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(_SIGNATURE)
    while place < len(data):
        (size,) = struct.unpack_from(">I", data, place)
        yield data[place + 4 : place + 8], data[place + 8 : place + 8 + size]
        place += 12 + size


def write_indexed(pixels: Pixels, palette: Sequence[tuple[int, int, int]]) -> bytes:
    """Return an image of at most 256 colours. `pixels` (height, width) has the place of each pixel in `palette`."""
    height, width = pixels.shape
    rows = np.zeros((height, 1 + width), np.uint8)  # the first byte of a row is its filter, 0 for none
    rows[:, 1:] = pixels
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    content = zlib.compress(rows.tobytes(), _LEVEL)
    chunks = (b"IHDR", header), (b"PLTE", bytes(value for colour in palette for value in colour)), (b"IDAT", content)
    return _SIGNATURE + b"".join(_chunk(*chunk) for chunk in (*chunks, (b"IEND", b"")))


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
