"""Tests of the archive that the judging job hands to the committing job.

Equal content gives equal bytes, and only permitted files are read.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from pydantic import ValidationError

from evaluator.errors import FormatError, InfraError
from evaluator.pipeline.publishing.archive import (
    HEADER,
    ArchiveHeader,
    PublishArchive,
    blob_name,
    read_archive,
    write_archive,
)

PATH = "submissions/a/tiny.verdicts.jsonl"
BUNDLE = "submissions/a/tiny.jsonl.gz"
NO_PATH = "not the path of a published file"
NO_FILE = "not a regular file"
ARCHIVE = PublishArchive(
    ArchiveHeader(
        format=1,
        commit="a" * 40,
        judged={"a": {PATH: None}, "b": {}},
        gone=("submissions/b/tiny.verdicts.jsonl",),
        gone_evidence=("submissions/b/tiny.jsonl.gz",),
        told={"changes": "### A table"},
        facts={"rows": [1, 2]},
    ),
    {PATH: b"verdicts\n"},
    {BUNDLE: b"bundle", "images.json": b"{}", "references/tiny.jsonl.gz": b"more"},
)


def packed(entries: Iterable[tuple[tarfile.TarInfo, bytes]], form: int = tarfile.USTAR_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for entry, data in entries:
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0)


def entry(name: str, data: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


SAYS = entry(HEADER, b'{"format":1}')


def read(tmp_path: Path, data: bytes) -> PublishArchive:
    """Read an archive with any content, with its correct digest."""
    path = tmp_path / "published.tar.gz"
    path.write_bytes(data)
    return read_archive(path, hashlib.sha256(data).hexdigest())


def test_it_reads_as_it_was_written(tmp_path: Path) -> None:
    digest = write_archive(ARCHIVE, tmp_path / "one")
    assert read_archive(tmp_path / "one", digest) == ARCHIVE
    assert write_archive(ARCHIVE, tmp_path / "two") == digest


def test_removals_stand_beside_what_is_written() -> None:
    assert ARCHIVE.on_main() == {PATH: b"verdicts\n", "submissions/b/tiny.verdicts.jsonl": None}
    assert ARCHIVE.on_branch()["submissions/b/tiny.jsonl.gz"] is None


def test_what_is_left_out_leaves_nothing(tmp_path: Path) -> None:
    left = ARCHIVE.without({"a"})
    assert (dict(left.files), sorted(left.evidence)) == ({}, ["images.json", "references/tiny.jsonl.gz"])
    assert (list(left.header.judged), left.header.gone) == (["b"], ARCHIVE.header.gone)


def test_another_digest_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    write_archive(ARCHIVE, tmp_path / "one")
    with pytest.raises(FormatError, match="its content was not read"):
        read_archive(tmp_path / "one", "0" * 64)


HOSTILE = {
    "no gzip": (b"not a gzip", "gzip"),
    "cut off": (packed([SAYS])[:-9], "gzip"),
    "bytes after the end": (packed([SAYS]) + b"more", "after its end"),
    "no archive": (gzip.compress(b"x" * 1024), "archive"),
    "no header": (packed([entry(PATH, b"x")]), "published.json"),
    "a header that is none": (packed([entry(HEADER, b"{}")]), "format"),
    "a newer header": (packed([entry(HEADER, b'{"format":2}')]), "format"),
    "an absolute path": (packed([SAYS, entry("/etc/passwd", b"x")]), NO_PATH),
    "a path that climbs": (
        packed([SAYS, entry("submissions/../x/tiny.verdicts.jsonl", b"x")]),
        NO_PATH,
    ),
    "a workflow": (packed([SAYS, entry(".github/workflows/ci.yml", b"x")]), NO_PATH),
    "predictions": (packed([SAYS, entry("submissions/a/tiny.jsonl", b"x")]), NO_PATH),
    "the owners": (packed([SAYS, entry("submissions/owners.json", b"x")]), NO_PATH),
    "evidence of no shape": (packed([SAYS, entry("evidence/x.sh", b"x")]), NO_PATH),
    "a newline in a name": (packed([SAYS, entry(f"{PATH}\n", b"x")]), NO_PATH),
    "a file twice": (packed([SAYS, entry(PATH, b"x"), entry(PATH, b"y")]), "twice"),
    "a symbolic link": (
        packed([SAYS, entry(PATH, type=tarfile.SYMTYPE, linkname="/etc/passwd")]),
        NO_FILE,
    ),
    "a hard link": (packed([SAYS, entry(PATH, type=tarfile.LNKTYPE, linkname=HEADER)]), NO_FILE),
    "a folder": (packed([SAYS, entry(PATH, type=tarfile.DIRTYPE)]), NO_FILE),
    "a device": (packed([SAYS, entry(PATH, type=tarfile.CHRTYPE)]), NO_FILE),
    "extended headers": (
        packed([SAYS, entry(PATH, b"x", pax_headers={"comment": "x"})], tarfile.PAX_FORMAT),
        NO_FILE,
    ),
}


@pytest.mark.parametrize(("data", "words"), HOSTILE.values(), ids=HOSTILE)
def test_an_archive_with_anything_else_is_refused_whole(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        read(tmp_path, data)


@pytest.mark.parametrize(
    "path", ["submissions/a/tiny.jsonl", "README.md", f"/{PATH}", "submissions/A/x.verdicts.jsonl"]
)
def test_no_other_path_is_written_or_removed(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match=NO_PATH):
        write_archive(PublishArchive(ArchiveHeader(format=1), {path: b""}), tmp_path / "one")
    with pytest.raises(ValidationError, match=NO_PATH):
        ArchiveHeader(format=1, gone=(path,))


def test_an_archive_that_is_not_there_is_ours(tmp_path: Path) -> None:
    with pytest.raises(InfraError, match="cannot be read"):
        read_archive(tmp_path / "nothing", "0" * 64)


def test_a_blob_has_the_name_that_git_gives_it() -> None:
    """The name of a blob is the name that `git hash-object` prints."""
    assert blob_name(b"what is up, doc?") == "bd9dbf5aae1a3862dd1526723246b20206e5fc37"
