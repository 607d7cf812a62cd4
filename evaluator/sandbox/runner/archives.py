"""What an archive holds, so that two archives are compared by their members and not by their bytes.

`tar czf` of the same files gives other bytes from run to run; what a user asked for is what comes out again.
An archive may claim anything of itself: it is unpacked into memory up to a bound before it is read, a zip's
directory is measured first, and bytes and members are counted over all archives of one job.
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
"""Unpacked from one archive at most, and held in memory meanwhile."""

MAX_TARGET = 4096
MAX_ZIP_DIRECTORY = 2 << 20
"""A zip's list of members is read whole before its first member is known: 2 MB list some 30,000."""

MAX_XZ_MEMORY = 96 << 20
CHUNK = 1 << 16

Member = dict[str, Any]


class TooLargeError(Exception):
    """The archive holds more than is read."""


@dataclass(slots=True)
class ArchiveBudget:
    """What may still be unpacked, over all archives of one job: bytes, members and bytes of their names."""

    bytes_left: int = 3 * MAX_BYTES
    members_left: int = 20_000
    name_bytes_left: int = 2 << 20

    def take_bytes(self, count: int) -> None:
        """Count what was unpacked. Raises TooLargeError."""
        self.bytes_left -= count
        if self.bytes_left < 0:
            raise TooLargeError

    def take_member(self, name: bytes) -> None:
        """Count a member. Raises TooLargeError."""
        self.members_left -= 1
        self.name_bytes_left -= len(name)
        if self.members_left < 0 or self.name_bytes_left < 0:
            raise TooLargeError

    def digest(self, file: IO[bytes]) -> str:
        """SHA-256 of the rest of a file, counted."""
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
    """The whole content of a compressed file, which may be several streams end to end."""
    parts: list[bytes] = []
    left, stream, data = min(MAX_BYTES, budget.bytes_left), make(), file.read(CHUNK)
    while data:
        part = stream.decompress(data, left + 1)
        left -= len(part)
        if left < 0:
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
    """How long a zip says its directory is; zipfile then reads as much and no more."""
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
    """How the archive open at `descriptor` is packed (`gzip+tar`, `zip`, `xz`, ...) and its members.

    None where it is no archive, is broken, or is too large for what is left of `budget`. A single compressed
    file is an archive of one member without a name. The descriptor stays open.
    """
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        magic = file.read(512)
        try:
            return _read_archive(file, magic, budget)
        except Exception:  # a hostile archive may raise anything; it is then compared by its bytes
            return None


def _read_archive(file: IO[bytes], magic: bytes, budget: ArchiveBudget) -> tuple[str, list[Member]] | None:
    if magic.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip", list(_zip_members(file, budget))
    compression = next((name for name, (start, _) in _COMPRESSED.items() if magic.startswith(start)), None)
    file.seek(0)
    if compression is None:
        return ("tar", list(_tar_members(_bounded(file), budget))) if magic[257:262] == b"ustar" else None
    content = io.BytesIO(_decompressed(file, _COMPRESSED[compression][1], budget))
    members = _tar_members_if_any(content, budget)
    if members:
        return f"{compression}+tar", members
    content.seek(0)
    return compression, [{"name": "", "type": "file", "mode": 0, "content": budget.digest(content)}]


def _tar_members_if_any(file: IO[bytes], budget: ArchiveBudget) -> list[Member]:
    try:
        return list(_tar_members(file, budget))
    except tarfile.ReadError:
        return []


def _bounded(file: IO[bytes]) -> IO[bytes]:
    """A file in memory: what a header claims can then not be more than is there, as it can in a sparse file."""
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise TooLargeError
    return io.BytesIO(data)
