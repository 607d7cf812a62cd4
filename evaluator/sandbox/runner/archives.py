"""Read the members of archives, so that judges can compare archives by content instead of by bytes.

`tar czf` of the same files gives different bytes in every run, but unpacks to the same files. The headers of an
archive may be false. So this module unpacks an archive into memory up to a limit before it reads the members. It checks
the size of a zip's directory first. The limits on bytes and members hold for all archives of one job together.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, Protocol

from evaluator.sandbox.runner.protocol import json_of

MAX_BYTES = 64 << 20
"""The most bytes unpacked from one archive. They are held in memory."""

MAX_TARGET = 4096
MAX_ZIP_DIRECTORY = 2 << 20
"""The largest list of members in a zip, which zipfile reads at once. 2 MB hold some 30,000 members."""

MAX_XZ_MEMORY = 96 << 20
CHUNK = 1 << 16

Member = dict[str, Any]


class TooLargeError(Exception):
    """An archive exceeds a limit of the runner."""


@dataclass(slots=True)
class ArchiveBudget:
    """The remaining limits for all archives of one job: unpacked bytes, members, and bytes of member names."""

    bytes_left: int = 3 * MAX_BYTES
    members_left: int = 20_000
    name_bytes_left: int = 2 << 20

    def take_bytes(self, count: int) -> None:
        """Subtract unpacked bytes from the budget. Raises TooLargeError if the budget is exceeded."""
        self.bytes_left -= count
        if self.bytes_left < 0:
            raise TooLargeError

    def take_member(self, name: bytes) -> None:
        """Subtract one member and its name from the budget. Raises TooLargeError if the budget is exceeded."""
        self.members_left -= 1
        self.name_bytes_left -= len(name)
        if self.members_left < 0 or self.name_bytes_left < 0:
            raise TooLargeError

    def digest(self, file: IO[bytes]) -> str:
        """Return the SHA-256 of the remaining bytes of `file`, and subtract these bytes from the budget."""
        state = hashlib.sha256()
        while chunk := file.read(CHUNK):
            self.take_bytes(len(chunk))
            state.update(chunk)
        return state.hexdigest()


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


def _gzip() -> Any:
    return zlib.decompressobj(wbits=31)


def _xz() -> Any:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_XZ_MEMORY)


_COMPRESSED: dict[str, tuple[bytes, Callable[[], Any]]] = {
    "gzip": (b"\x1f\x8b", _gzip),
    "bzip2": (b"BZh", bz2.BZ2Decompressor),
    "xz": (b"\xfd7zXZ\0", _xz),
}
_TAR_TYPES = {
    tarfile.REGTYPE: "file",
    tarfile.AREGTYPE: "file",
    tarfile.DIRTYPE: "directory",
    tarfile.SYMTYPE: "link",
    tarfile.LNKTYPE: "file",
    tarfile.FIFOTYPE: "fifo",
    tarfile.CHRTYPE: "character",
    tarfile.BLKTYPE: "block",
}


def _decompressed(file: IO[bytes], make: Callable[[], _Decompressor], budget: ArchiveBudget) -> bytes:
    """Return the unpacked content of a file with one or more compressed streams. Raises TooLargeError."""
    parts: list[bytes] = []
    bytes_left, stream, data = min(MAX_BYTES, budget.bytes_left), make(), file.read(CHUNK)
    while data:
        part = stream.decompress(data, bytes_left + 1)
        bytes_left -= len(part)
        if bytes_left < 0:
            raise TooLargeError
        parts.append(part)
        if stream.eof:
            data, stream = stream.unused_data.lstrip(b"\0") or file.read(CHUNK).lstrip(b"\0"), make()
        else:
            data = file.read(CHUNK)
            if not data:
                raise EOFError("a compressed file ends before its stream does")
    budget.take_bytes(sum(map(len, parts)))
    return b"".join(parts)


def _tar_members(file: IO[bytes], budget: ArchiveBudget) -> Iterator[Member]:
    with tarfile.open(fileobj=file, mode="r:", errors="surrogateescape") as archive:
        for info in archive:
            name = os.fsencode(info.name)
            budget.take_member(name + os.fsencode(info.linkname))
            member: Member = {
                "name": json_of(name),
                "type": _TAR_TYPES.get(info.type, "file"),
                "mode": stat.S_IMODE(info.mode),
            }
            content = archive.extractfile(info) if info.isreg() or info.islnk() else None
            if content is not None:
                member["content"] = budget.digest(content)
            if info.issym():
                member["target"] = json_of(os.fsencode(info.linkname)[:MAX_TARGET])
            yield member


def _zip_directory_bytes(file: IO[bytes]) -> int:
    """Return the size of a zip's directory from the zip's header. zipfile reads at most this many bytes."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - (1 << 16) - 22))
    tail = file.read()
    start = tail.rfind(b"PK\5\6")
    return 0 if start < 0 or start + 16 > len(tail) else int(struct.unpack_from("<L", tail, start + 12)[0])


def _zip_members(file: IO[bytes], budget: ArchiveBudget) -> Iterator[Member]:
    if _zip_directory_bytes(file) > MAX_ZIP_DIRECTORY:
        raise TooLargeError
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            mode = info.external_attr >> 16
            kind = "directory" if info.is_dir() else "link" if stat.S_ISLNK(mode) else "file"
            name = info.filename.encode("utf-8", "surrogateescape")
            budget.take_member(name)
            member: Member = {"name": json_of(name), "type": kind, "mode": stat.S_IMODE(mode)}
            if kind != "directory":
                with archive.open(info) as content:
                    if kind == "link":
                        member["target"] = json_of(content.read(MAX_TARGET))
                    else:
                        member["content"] = budget.digest(content)
            yield member


def read_archive(descriptor: int, budget: ArchiveBudget) -> tuple[str, list[Member]] | None:
    """Return the packing (`gzip+tar`, `zip`, `xz`, ...) and the members of the archive open at `descriptor`.

    Return None if the file is not an archive, is damaged, or exceeds the remaining `budget`. A single compressed
    file counts as an archive with one unnamed member. The descriptor stays open.
    """
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        magic = file.read(512)
        try:
            return _read_archive(file, magic, budget)
        except Exception:  # a hostile archive may raise any error; it is then compared by its bytes
            return None


def _read_archive(file: IO[bytes], magic: bytes, budget: ArchiveBudget) -> tuple[str, list[Member]] | None:
    if magic.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip", list(_zip_members(file, budget))
    compression = next((name for name, (start, _) in _COMPRESSED.items() if magic.startswith(start)), None)
    file.seek(0)
    if compression is None:
        return ("tar", list(_tar_members(_bounded(file), budget))) if magic[257:262] == b"ustar" else None
    content = io.BytesIO(_decompressed(file, _COMPRESSED[compression][1], budget))
    try:
        members = list(_tar_members(content, budget))
    except tarfile.ReadError:
        members = []
    if members:
        return f"{compression}+tar", members
    content.seek(0)
    return compression, [{"name": "", "type": "file", "mode": 0, "content": budget.digest(content)}]


def _bounded(file: IO[bytes]) -> IO[bytes]:
    """Return a file in memory. Raises TooLargeError if it has more than MAX_BYTES, as a sparse file may."""
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise TooLargeError
    return io.BytesIO(data)
