"""Read the members of archives, so that judges can compare archives by content instead of by bytes.

`tar czf` of the same files gives different bytes in every run, but the archives unpack to the same files. The headers
of an archive may state false sizes. So this module first unpacks a compressed archive into memory, but stops at a
limit. For a zip, it first checks the size of the zip's directory. If an archive exceeds a limit for one archive, judges
compare its bytes. The job's reading budget has other limits. They hold for all archives of one job together.
"""

from __future__ import annotations

import bz2
import calendar
import io
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple, Protocol, cast

from evaluator.sandbox.runner.protocol import json_of
from evaluator.sandbox.runner.reading_budget import (
    CHUNK,
    MeteredFile,
    ReadingBudget,
    TooLargeError,
    TruncatedError,
    UnfinishedJobError,
)

MAX_BYTES = 64 << 20
"""The most bytes unpacked from one archive. They are held in memory."""

MAX_TARGET = 4096
MAX_HEADER = 64 << 10
"""The most bytes of a tar header that extends another header, such as a long name or extended attributes."""

MAX_ZIP_DIRECTORY = 2 << 20
"""The largest list of members in a zip, which zipfile reads at once. 2 MB hold some 30,000 members."""

MAX_XZ_MEMORY = 96 << 20
MAX_NUMBER = 1 << 40
"""The limit for an owner or a time in a header. A header may state numbers of any length."""

_ZIP_END, _ZIP_END_SIZE, _ZIP_COMMENT_SIZE = b"PK\x05\x06", 22, (1 << 16) - 1
_ZIP_MAGIC = b"PK\x03\x04", _ZIP_END
_TAR_MAGIC = b"ustar"
"""These bytes stand at the position 257 of a tar."""


ZIP_WORK, FIELD_WORK = 64, 100
"""The work for a byte of a zip, whose directory takes long to parse, and for a global attribute of a tar."""

Member = dict[str, Any]


class Archive(NamedTuple):
    """The content of an archive: its packing (`gzip+tar`, `zip`, `xz`, ...) and its members in the archive's order.

    `after_end` is the number of bytes after the archive's end, which no program unpacks. Zero bytes do not count.
    """

    packing: str
    members: list[Member]
    after_end: int = 0


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


class _Compression(NamedTuple):
    """A compression format: the first bytes of its files, its decompressor, and two costs in units of work.

    `input_work` is the cost of one compressed byte, and `output_work` of one unpacked byte, in the reading budget.
    """

    magic: bytes
    make: Callable[[], Any]
    input_work: int
    output_work: int


_COMPRESSED = {
    "gzip": _Compression(b"\x1f\x8b", _gzip, 3, 4),
    "bzip2": _Compression(b"BZh", bz2.BZ2Decompressor, 150, 6),
    "xz": _Compression(b"\xfd7zXZ\0", _xz, 60, 8),
}
_MAGIC = *_ZIP_MAGIC, *(known.magic for known in _COMPRESSED.values())
_EXTENDING = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)
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


def _decompressed(file: IO[bytes], compression: _Compression, budget: ReadingBudget) -> bytes:
    """Return the unpacked content of a file with one or more compressed streams.

    Raises TooLargeError if the content exceeds the limit for one archive.
    """
    parts: list[bytes] = []
    bytes_left, data = MAX_BYTES, file.read(CHUNK)
    stream: _Decompressor = compression.make()
    budget.take_work(len(data) * compression.input_work)
    while data:
        part = stream.decompress(data, bytes_left + 1)
        budget.take_work(len(part) * compression.output_work)
        bytes_left -= len(part)
        if bytes_left < 0:
            raise TooLargeError
        parts.append(part)
        rest = stream.unused_data.lstrip(b"\0") if stream.eof else b""
        if not rest:
            rest = file.read(CHUNK)
            budget.take_work(len(rest) * compression.input_work)
            if not rest and not stream.eof:
                raise EOFError("a compressed file ends before its stream does")
            rest = rest.lstrip(b"\0") if stream.eof else rest
        if stream.eof:
            budget.take_work(len(rest) + (1 << 12))  # the next stream in the same chunk is copied
            stream = compression.make()
        data = rest
    return b"".join(parts)


class _TarHeader(tarfile.TarInfo):
    """The header of a member of a tar file. The class refuses headers with long extensions, which need much memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _TarHeader:
        header = super().frombuf(buf, encoding, errors)
        if header.type in _EXTENDING and header.size > MAX_HEADER:
            raise TooLargeError
        return header

    def _proc_gnusparse_10(self, *_: Any) -> None:
        """Refuse a sparse member of GNU format 1.0, because the list of its holes may have any length."""
        raise TooLargeError


def _read_tar(packing: str, content: bytes, budget: ReadingBudget) -> Archive:
    file = _metered(io.BytesIO(content), budget.take_work)
    with tarfile.open(fileobj=file, mode="r:", tarinfo=_TarHeader, errors="surrogateescape") as archive:
        members = list(_tar_members(archive, budget))
        return Archive(packing, members, _bytes_after(content, archive.offset, budget))


def _number(value: float) -> int | None:
    """Return an owner or a time from a header, or None for a value that no file system has."""
    return int(value) if -MAX_NUMBER < value < MAX_NUMBER else None


def _bytes_after(content: bytes, end: int, budget: ReadingBudget) -> int:
    """Return the number of bytes after the end of a tar archive, or 0 if all of them are zero bytes."""
    budget.take_work(len(content) - end)
    starts = range(end, len(content), CHUNK)
    return len(content) - end if any(content[start : start + CHUNK].strip(b"\0") for start in starts) else 0


def _tar_members(archive: tarfile.TarFile, budget: ReadingBudget) -> Iterator[Member]:
    contents: dict[str, str] = {}
    for info in archive:
        name = os.fsencode(info.name)
        budget.take_member(name + os.fsencode(info.linkname))
        budget.take_work(len(archive.pax_headers) * FIELD_WORK)  # tarfile applies each of these to each member
        member: Member = {
            "name": json_of(name),
            "type": _TAR_TYPES.get(info.type, "file"),
            "mode": stat.S_IMODE(info.mode),
            "uid": _number(info.uid),
            "gid": _number(info.gid),
            "mtime": _number(info.mtime),
        }
        if info.islnk():  # tarfile would look through all earlier members for the link's target
            member["content"] = contents[os.path.normpath(info.linkname)]
        elif (data := archive.extractfile(info) if info.isreg() else None) is not None:
            member["content"], _ = budget.digest(data, MAX_BYTES)
        if "content" in member:
            contents[os.path.normpath(info.name)] = member["content"]
        if info.issym():
            member["target"] = json_of(os.fsencode(info.linkname)[:MAX_TARGET])
        yield member


class _ZipReads:
    """A counter for reads of a zip file. It refuses a read of more bytes than the largest allowed zip directory."""

    def __init__(self, budget: ReadingBudget) -> None:
        self._budget = budget

    def __call__(self, count: int) -> None:
        if count > MAX_ZIP_DIRECTORY:
            raise TooLargeError
        self._budget.take_bytes(count)
        self._budget.take_work(count * ZIP_WORK)


def _read_zip(file: IO[bytes], budget: ReadingBudget) -> Archive:
    with zipfile.ZipFile(file) as archive:
        members = list(_zip_members(archive, budget))
        return Archive("zip", members, _bytes_after_zip(file))


def _bytes_after_zip(file: IO[bytes]) -> int:
    """Return the number of bytes after the directory of a zip: its comment, and bytes that follow the archive.

    This finds the end of the directory in the same way as zipfile.
    """
    size = file.seek(0, os.SEEK_END)
    for searched in (_ZIP_END_SIZE, _ZIP_END_SIZE + _ZIP_COMMENT_SIZE):
        start = max(0, size - searched)
        file.seek(start)
        found = file.read(searched).rfind(_ZIP_END)
        if found >= 0:
            return size - (start + found + _ZIP_END_SIZE)
    return 0


def _zip_members(archive: zipfile.ZipFile, budget: ReadingBudget) -> Iterator[Member]:
    bytes_left = MAX_BYTES
    for info in archive.infolist():
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise TooLargeError  # the others take a hundred times the work
        mode = info.external_attr >> 16
        kind = "directory" if info.is_dir() else "link" if stat.S_ISLNK(mode) else "file"
        name = info.filename.encode("utf-8", "surrogateescape")
        budget.take_member(name)
        member: Member = {"name": json_of(name), "type": kind, "mode": stat.S_IMODE(mode)}
        member["mtime"] = _zip_time(info.date_time)
        if kind != "directory":
            with archive.open(info) as content:
                if kind == "link":
                    member["target"] = json_of(content.read(MAX_TARGET))
                else:
                    member["content"], size = budget.digest(content, bytes_left, _COMPRESSED["gzip"].output_work)
                    bytes_left -= size
        yield member


def _zip_time(date_time: tuple[int, int, int, int, int, int]) -> int | None:
    try:
        return calendar.timegm(date_time)
    except ValueError:  # a header may state the month 0
        return None


def read_archive(descriptor: int, budget: ReadingBudget) -> Archive | None:
    """Return the content of the archive that is open at `descriptor`.

    Return None if the file is not an archive, is damaged, or exceeds a limit for one archive. A single compressed
    file counts as an archive with one unnamed member. The descriptor stays open. Raises TruncatedError if the remaining
    `budget` is exceeded.
    """
    magic = os.pread(descriptor, 512, 0)
    if not magic.startswith(_MAGIC) and magic[257:262] != _TAR_MAGIC:
        return None
    with os.fdopen(os.dup(descriptor), "rb") as file:
        try:
            return _read_archive(file, magic, budget)
        except (TruncatedError, UnfinishedJobError):
            raise
        except Exception:  # a hostile archive may raise any error; it is then compared by its bytes
            return None


def _read_archive(file: IO[bytes], magic: bytes, budget: ReadingBudget) -> Archive | None:
    if magic.startswith(_ZIP_MAGIC):
        return _read_zip(_metered(file, _ZipReads(budget)), budget)
    file = _metered(file, budget.take_bytes)
    packing = next((name for name, known in _COMPRESSED.items() if magic.startswith(known.magic)), None)
    if packing is None:
        return _read_tar("tar", _bounded(file), budget)
    content = _decompressed(file, _COMPRESSED[packing], budget)
    try:
        archive = _read_tar(f"{packing}+tar", content, budget)
    except tarfile.ReadError:
        archive = None
    if archive is not None and archive.members:
        return archive
    digest, _ = budget.digest(io.BytesIO(content), MAX_BYTES)
    return Archive(packing, [{"name": "", "type": "file", "mode": 0, "content": digest}])


def _metered(file: IO[bytes], take: Callable[[int], None]) -> IO[bytes]:
    return cast(IO[bytes], MeteredFile(file, take))


def _bounded(file: IO[bytes]) -> bytes:
    """Return the content of a file. Raises TooLargeError if its size with holes exceeds MAX_BYTES."""
    if file.seek(0, os.SEEK_END) > MAX_BYTES:
        raise TooLargeError
    file.seek(0)
    return file.read()
