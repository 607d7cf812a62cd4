"""Tests of archives, which are recorded by their unpacked content, independent of their packing.

No archive can block the reader.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.sandbox.runner import archives
from evaluator.sandbox.runner.archives import Member, read_archive
from evaluator.sandbox.runner.reading_budget import MAX_WORK, ReadingBudget, TruncatedError
from tests.sandbox_harness import SandboxHarness


def read(data: bytes, folder: Path, budget: ReadingBudget | None = None) -> tuple[str, list[Member]] | None:
    file = folder / "archive"
    file.write_bytes(data)
    descriptor = os.open(file, os.O_RDONLY)
    try:
        archive = read_archive(descriptor, budget or ReadingBudget())
        return None if archive is None else (archive.packing, archive.members)
    finally:
        os.close(descriptor)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tar(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o640
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def zipped(method: int = zipfile.ZIP_DEFLATED, **files: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method, compresslevel=1) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}


def after_end(data: bytes, folder: Path) -> int:
    file = folder / "archive"
    file.write_bytes(data)
    with file.open("rb") as opened:
        archive = read_archive(opened.fileno(), ReadingBudget())
    assert archive is not None
    return archive.after_end


def test_bytes_after_the_end_of_a_tar_are_counted(tmp_path: Path) -> None:
    """Zero bytes after the end of a tar are padding. Any other byte is not unpacked by tar, so it is counted."""
    archive = tar(a=b"one")
    end = len(archive.rstrip(b"\0"))
    end += -end % 512
    assert after_end(archive, tmp_path) == after_end(archive + bytes(5000), tmp_path) == 0
    assert after_end(archive + b"more", tmp_path) == len(archive) + 4 - end
    assert after_end(lzma.compress(archive) + lzma.compress(tar(b=b"two")), tmp_path) == 2 * len(archive) - end


def test_bytes_after_the_directory_of_a_zip_are_counted(tmp_path: Path) -> None:
    """The comment of a zip and the bytes after it are counted."""
    plain = zipped(a=b"one")
    packed = io.BytesIO(plain)
    with zipfile.ZipFile(packed, "a") as archive:
        archive.comment = b"secret"
    assert after_end(plain, tmp_path) == 0
    assert after_end(packed.getvalue(), tmp_path) == 6
    assert after_end(packed.getvalue() + b"more", tmp_path) == 10
    assert after_end(plain + b"more", tmp_path) == 4


def test_a_header_without_a_date_has_no_time(tmp_path: Path) -> None:
    """A zip may state the month 0. Then its member has no time, and all else of the archive is recorded."""
    packed = zipped(a=b"one")
    moment = packed[10:14]
    assert packed.count(moment) == 2
    found = read(packed.replace(moment, bytes(4)), tmp_path)
    assert found is not None
    assert found[1] == [{"name": "a", "type": "file", "mode": 0o600, "content": digest(b"one"), "mtime": None}]


def test_a_member_has_the_owner_and_time_of_its_header(tmp_path: Path) -> None:
    """Owner and time come from the header. A number that no file system has is left out."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, number in (("a", 65534), ("b", 1 << 50)):
            entry = tarfile.TarInfo(name)
            entry.uid, entry.gid, entry.mtime = number, 5, number
            archive.addfile(entry)
    found = read(packed.getvalue(), tmp_path)
    assert found is not None
    numbers = [(member["uid"], member["gid"], member["mtime"]) for member in found[1]]
    assert numbers == [(65534, 5, 65534), (None, 5, None)]


@pytest.mark.parametrize("compression", PACKED)
@given(data=st.binary(max_size=2000))
def test_one_compressed_file_is_one_nameless_member(
    tmp_path_factory: pytest.TempPathFactory, compression: str, data: bytes
) -> None:
    """A compressed file is recorded as one member without a name, with the uncompressed content.

    A file may consist of two compressed streams, one after the other.
    """
    folder = tmp_path_factory.getbasetemp()
    member = {"name": "", "type": "file", "mode": 0}
    pack = PACKED[compression]
    assert read(pack(data), folder) == (compression, [{**member, "content": digest(data)}])
    assert read(pack(data) + pack(data), folder) == (compression, [{**member, "content": digest(data * 2)}])


@pytest.mark.parametrize("compression", ["", *PACKED])
def test_a_compressed_tar_is_told_by_its_members(tmp_path: Path, compression: str) -> None:
    """A tar, compressed or not, is recorded by its packing and by the name, kind, mode and content of each member."""
    members = [
        {"name": name, "type": "file", "mode": 0o640, "uid": 0, "gid": 0, "mtime": 0, "content": digest(data)}
        for name, data in {"a": b"one", "b": b""}.items()
    ]
    packed = PACKED.get(compression, bytes)(tar(a=b"one", b=b""))
    assert read(packed, tmp_path) == (f"{compression}+tar" if compression else "tar", members)


BROKEN = {
    "nothing": b"",
    "text": b"not an archive",
    "a gzip's first bytes": b"\x1f\x8b",
    "half a gzip": gzip.compress(os.urandom(1000))[:500],
    "half a bzip2": bz2.compress(os.urandom(1000))[:500],
    "half an xz": lzma.compress(os.urandom(1000))[:500],
    "a gzip with a wrong sum": gzip.compress(b"x" * 100)[:-8] + b"\0" * 8,
    "half a zip": zipped(a=b"x" * 1000)[:60],
    "a zip's first bytes": b"PK\x03\x04" + b"\xff" * 200,
    "half a tar": tar(a=b"x" * 2000)[:1000],
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_archive_is_no_archive(tmp_path: Path, name: str) -> None:
    """A broken archive is compared by its bytes, like any file."""
    assert read(BROKEN[name], tmp_path) is None


def claiming(size: int) -> bytes:
    """Return a tar whose first header is a header of extended attributes that claims `size` bytes."""
    entry = tarfile.TarInfo("x")
    entry.type, entry.size = tarfile.XHDTYPE, size
    return entry.tobuf(tarfile.GNU_FORMAT)


def many_names(count: int) -> bytes:
    """Return a zip with a directory that lists one member `count` times."""
    packed = zipped(zipfile.ZIP_STORED, a=b"")
    start = packed.index(b"PK\x01\x02")
    entry = packed[start : packed.index(b"PK\x05\x06")]
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, len(entry) * count, start, 0)
    return packed[:start] + entry * count + end


def linked(size: int) -> bytes:
    """Return a zip with one member that claims to be a symbolic link with a text of `size` bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr, info.compress_type = 0o120777 << 16, zipfile.ZIP_DEFLATED
        archive.writestr(info, b"\0" * size)
    return packed.getvalue()


def greedy_xz() -> bytes:
    """Return an xz file whose header claims a dictionary of a gigabyte."""
    packed = lzma.compress(b"x", preset=0)
    header = packed[12:16] + bytes([36, 0, 0, 0])  # 36 is the code of 2**30
    return packed[:12] + header + struct.pack("<L", zlib.crc32(header)) + packed[24:]


LIMIT = 1 << 20
"""The limit for one archive in the tests of bombs. With the real limit, they would take 64 times as long."""

BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip of zeros": lambda: gzip.compress(b"\0" * (LIMIT + 1)),
    "bzip2 of zeros": lambda: bz2.compress(b"\0" * (LIMIT + 1)),
    "xz of zeros": lambda: lzma.compress(b"\0" * (LIMIT + 1), preset=0),
    "xz that wants a gigabyte": greedy_xz,
    "zip of zeros": lambda: zipped(a=b"\0" * (4 * LIMIT)),
    "zip of a million names": lambda: many_names(1_000_000),
    "tar that claims a terabyte of attributes": lambda: claiming(1 << 33),
    "gzipped tar of zeros": lambda: gzip.compress(tar(a=b"\0" * (LIMIT + 1))),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A file that unpacks to more than the limit for one archive is not read as an archive."""
    monkeypatch.setattr(archives, "MAX_BYTES", LIMIT)
    assert read(BOMBS[name](), tmp_path) is None


def test_a_links_text_is_cut(tmp_path: Path) -> None:
    """The text of a link in an archive is cut to the length of a path."""
    archive = read(linked(1 << 20), tmp_path)
    assert archive is not None
    assert len(archive[1][0]["target"]) == 4096


def test_many_archives_share_one_budget(tmp_path: Path) -> None:
    """The archives of a job share one limit of work.

    The reader stops at this limit, even if each archive is below the limit for one archive.
    """
    budget = ReadingBudget(work_left=1_000_000)
    packed = gzip.compress(b"x" * 100_000)
    assert read(packed, tmp_path, budget) is not None
    with pytest.raises(TruncatedError):
        read(packed, tmp_path, budget)


def attributes(count: int) -> bytes:
    """Return a header of a tar with `count` global attributes, which tarfile applies to every later member."""
    return tarfile.TarInfo.create_pax_global_header({f"a{number}": "b" for number in range(count)})


def holes(count: int) -> bytes:
    """Return a tar with one member whose data begins with a list of `count` holes."""
    entry = tarfile.TarInfo("x")
    entry.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "1"}
    listed = f"{count}\n".encode() + b"0\n" * (2 * count)
    entry.size = len(listed)
    return entry.tobuf(tarfile.PAX_FORMAT) + listed + bytes(-len(listed) % 512)


def links(count: int) -> bytes:
    """Return a tar with `count` hard links to a file. tarfile would compare each link with all earlier members."""
    entry = tarfile.TarInfo("link")
    entry.type, entry.linkname = tarfile.LNKTYPE, "file"
    return tarfile.TarInfo("file").tobuf() + entry.tobuf() * count


def tiny_streams(count: int) -> bytes:
    """Return a file of many gzip streams. For each stream, a reader copies the rest of its chunk."""
    return gzip.compress(b"") * count


def far_directory(size: int) -> bytes:
    """Return a zip whose ZIP64 end record claims a directory of `size` bytes."""
    empty = zipped()
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, size, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, size, 1)
    return bytes(size) + record + locator + empty


LONG_WORK: dict[str, tuple[Callable[[], bytes], bool]] = {
    "members of a tar": (lambda: tarfile.TarInfo("file").tobuf() * 20_001, True),
    "global attributes": (lambda: attributes(6_000) + links(2_000), True),
    "hard links": (lambda: links(15_000), False),
    "list of holes": (lambda: holes(1_000_000), False),
    "tiny streams": (lambda: tiny_streams(200_000), True),
    "directory of the longer zip format": (lambda: far_directory(8 << 20), False),
    "noise in bzip2": (lambda: bz2.compress(os.urandom(1 << 19)) * 3, True),
}


@pytest.mark.parametrize("name", LONG_WORK)
def test_work_is_bounded_and_counted(tmp_path: Path, name: str) -> None:
    """The reader ends its work on a costly archive at the limit of work, or needs less work than the limit.

    The limit of this test is an eighth of the runner's limit.
    """
    make, exceeds = LONG_WORK[name]
    budget = ReadingBudget(work_left=MAX_WORK // 8)
    if exceeds:
        with pytest.raises(TruncatedError):
            read(make(), tmp_path, budget)
    else:
        read(make(), tmp_path, budget)
        assert budget.work_left > 0


PACK = {
    "tar cf x.tar full link": ("tar", {b"full/", b"full/one", b"full/two", b"full/.hidden", b"link"}),
    "tar czf x.tar full/one": ("gzip+tar", {b"full/one"}),
    "tar cjf x.tar full/one": ("bzip2+tar", {b"full/one"}),
    "tar cJf x.tar full/one": ("xz+tar", {b"full/one"}),
    "zip -qry x.zip full link": ("zip", {b"full/", b"full/one", b"full/two", b"full/.hidden", b"link"}),
    "gzip -k file": ("gzip", {b""}),
    "bzip2 -k file": ("bzip2", {b""}),
    "xz -k file": ("xz", {b""}),
    "tar cf - full/one | gzip -1 > odd": ("gzip+tar", {b"full/one"}),
}


@pytest.mark.engine
@pytest.mark.parametrize("command", PACK)
def test_what_a_command_packs_is_read(sandbox: SandboxHarness, command: str) -> None:
    """An archive that a program of the base image made is recorded by its members. Tasks use the same programs."""
    (change,) = sandbox.run(command).changes
    packing, names = PACK[command]
    assert change.packing == packing
    assert {member.name.rstrip(b"/") for member in change.members or ()} == {name.rstrip(b"/") for name in names}


@pytest.mark.engine
@pytest.mark.parametrize(
    "again", ["gzip -nc file > a; sleep 1.1; gzip -c file > b", "tar czf a file; sleep 1; tar c file | gzip -9 > b"]
)
def test_equal_contents_are_equal_however_packed(sandbox: SandboxHarness, again: str) -> None:
    """Two archives with equal content have equal records. Times, file names of gzip and compression levels do not
    count.
    """
    first, second = sandbox.run(again).changes
    assert first.content != second.content
    assert (first.packing, first.members) == (second.packing, second.members)
