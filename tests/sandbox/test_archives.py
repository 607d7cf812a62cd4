"""Archives are recorded by their unpacked content, whatever their packing, and no archive can block the reader."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import struct
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from tarfile import BLOCKSIZE

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.sandbox.runner import archives
from evaluator.sandbox.runner.archives import MAX_BYTES, ArchiveBudget, Member, read_archive
from tests.sandbox_harness import SandboxHarness

BOMB_S = 10.0

LIMIT = MAX_BYTES // 16
"""The limit of the bombs here. They are made and unpacked in a sixteenth of the time."""


def read(data: bytes, folder: Path, budget: ArchiveBudget | None = None) -> tuple[str, list[Member]] | None:
    file = folder / "archive"
    file.write_bytes(data)
    descriptor = os.open(file, os.O_RDONLY)
    try:
        return read_archive(descriptor, budget or ArchiveBudget())
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


@pytest.mark.parametrize("compression", PACKED)
@given(data=st.binary(max_size=2000))
def test_one_compressed_file_is_one_nameless_member(
    tmp_path_factory: pytest.TempPathFactory, compression: str, data: bytes
) -> None:
    """The recorded content is the uncompressed one, from one stream or two streams end to end."""
    folder = tmp_path_factory.getbasetemp()
    member = {"name": "", "type": "file", "mode": 0}
    pack = PACKED[compression]
    assert read(pack(data), folder) == (compression, [{**member, "content": digest(data)}])
    assert read(pack(data) + pack(data), folder) == (compression, [{**member, "content": digest(data * 2)}])


@pytest.mark.parametrize("compression", ["", *PACKED])
def test_a_compressed_tar_is_told_by_its_members(tmp_path: Path, compression: str) -> None:
    """The record has the name, kind, mode and content of each member, and the packing."""
    members = [
        {"name": name, "type": "file", "mode": 0o640, "content": digest(data)}
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
    """Return a tar with a first header, of extended attributes, that claims `size` bytes."""
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


BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip of zeros": lambda: gzip.compress(b"\0" * (LIMIT + 1)),
    "bzip2 of zeros": lambda: bz2.compress(b"\0" * (LIMIT + 1)),
    "xz of zeros": lambda: lzma.compress(b"\0" * (LIMIT + 1), preset=0),
    "xz that wants a gigabyte": lambda: lzma.compress(
        b"x", filters=[{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 30}]
    ),
    "zip of zeros": lambda: zipped(a=b"\0" * (4 * LIMIT)),
    "zip of a hundred thousand names": lambda: many_names(100_000),
    "tar that claims a terabyte of attributes": lambda: claiming(1 << 33),
    "tar of many members": lambda: tar(a=b"")[:BLOCKSIZE] * 20_001,
    "gzipped tar of zeros": lambda: gzip.compress(tar(a=b"\0" * (LIMIT + 1))),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_left_alone(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that unpacks to more than the limit is not read as an archive, and the reader finds that out soon."""
    monkeypatch.setattr(archives, "MAX_BYTES", LIMIT)
    data = BOMBS[name]()
    began = time.monotonic()
    assert read(data, tmp_path, ArchiveBudget(bytes_left=3 * LIMIT)) is None
    assert time.monotonic() - began < BOMB_S


def test_a_links_text_is_cut(tmp_path: Path) -> None:
    """The text of a link in an archive is cut to the length of a path."""
    archive = read(linked(1 << 20), tmp_path)
    assert archive is not None
    assert len(archive[1][0]["target"]) == 4096


def test_many_archives_share_one_budget(tmp_path: Path) -> None:
    """A hundred archives, each below the limit, are read until they reach it together."""
    budget = ArchiveBudget(bytes_left=250_000)
    packed = gzip.compress(b"x" * 100_000)
    assert [read(packed, tmp_path, budget) is None for _ in range(4)] == [False, True, True, True]


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
    """The base's own programs pack the files, as tasks use them."""
    (change,) = sandbox.run(command).changes
    packing, names = PACK[command]
    assert change.packing == packing
    assert {member.name.rstrip(b"/") for member in change.members or ()} == {name.rstrip(b"/") for name in names}


@pytest.mark.engine
@pytest.mark.parametrize(
    "again", ["gzip -nc file > a; sleep 1.1; gzip -c file > b", "tar czf a file; sleep 1; tar c file | gzip -9 > b"]
)
def test_equal_contents_are_equal_however_packed(sandbox: SandboxHarness, again: str) -> None:
    """Times, names and compression levels are not part of an archive's content."""
    first, second = sandbox.run(again).changes
    assert first.content != second.content
    assert (first.packing, first.members) == (second.packing, second.members)
