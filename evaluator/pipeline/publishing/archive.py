"""Write and read the archive `published.tar.gz` of the publish workflow: new verdict files and their evidence.

The workflow's judging job writes the archive, and another job commits it. The archive's folder `submissions/` holds new
files for the main branch. Its folder `evidence/` holds new files for the branch `evidence`. Its file `published.json`
is a header (see `ArchiveHeader`). Equal content gives equal bytes.

The committing job has write access, and any job of a workflow run can replace the archive. So `read_archive` first
compares the archive's SHA-256 with the digest that the judging job announced. It then accepts only regular files within
the size limits, with paths that match the patterns in this module.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator

from evaluator.errors import FormatError, InfraError, Problem
from evaluator.pipeline.evidence.bundle import BundleRefusedError, GunzipLimits, file_digest, safe_gunzip
from evaluator.records import SLUG_PATTERN, Audit, Record, Slug, canonical_json

HEADER: Final = "published.json"
EVIDENCE: Final = "evidence/"

LIMITS: Final = GunzipLimits(packed_bytes=1 << 30, bytes=1 << 30)
MAX_FILES: Final = 20_000
MAX_HEADER_BYTES: Final = 64 << 20

_SLUG: Final = SLUG_PATTERN.strip("^$")
_ON_MAIN: Final = re.compile(rf"submissions/{_SLUG}/{_SLUG}\.verdicts\.jsonl")
_ON_BRANCH: Final = re.compile(rf"images\.json|references/{_SLUG}\.jsonl\.gz|submissions/{_SLUG}/{_SLUG}\.jsonl\.gz")

BlobName = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
"""Git's blob name of a file."""


def _check_shape(paths: Mapping[str, Any], shape: re.Pattern[str]) -> None:
    for path in paths:
        if not shape.fullmatch(path):
            raise ValueError(f"{path!r:.200} is not the path of a published file")


class ArchiveHeader(Record):
    """The file `published.json` in the archive of the publish workflow.

    `commit` is the commit at which the submissions were judged, or None outside Git. `judged` maps each submission to
    the files that were judged and the verdict files to replace. Each of these paths is mapped to Git's blob name of the
    file, or to None if there was no file. The job that commits the archive compares the blob names with the main
    branch. If a submission has changed, the next workflow run publishes it.

    `gone` lists paths to remove from the main branch, and `gone_evidence` lists paths to remove from the branch
    `evidence`. `told` and `facts` describe how a rescore changes the boards, as Markdown and as JSON. `audits` are new
    lines of the committed record of audits.
    """

    format: Literal[1]
    rescore: bool = False
    commit: BlobName | None = None
    judged: dict[Slug, dict[str, BlobName | None]] = Field(default_factory=dict)
    gone: tuple[str, ...] = ()
    gone_evidence: tuple[str, ...] = ()
    told: dict[str, str] = Field(default_factory=dict)
    facts: dict[str, Any] = Field(default_factory=dict)
    audits: tuple[Audit, ...] = ()

    @model_validator(mode="after")
    def _check_paths(self) -> Self:
        _check_shape(dict.fromkeys(self.gone), _ON_MAIN)
        _check_shape(dict.fromkeys(self.gone_evidence), _ON_BRANCH)
        return self


@dataclass(frozen=True, slots=True)
class PublishArchive:
    """The content of an archive: `files` for the main branch, and `evidence` for the branch `evidence`."""

    header: ArchiveHeader
    files: Mapping[str, bytes] = field(default_factory=dict)
    evidence: Mapping[str, bytes] = field(default_factory=dict)

    def on_main(self) -> dict[str, bytes | None]:
        """Map each changed path on the main branch to its new content, or to None if the path must be removed."""
        return {**dict.fromkeys(self.header.gone), **self.files}

    def on_branch(self) -> dict[str, bytes | None]:
        """Map each changed path on the branch `evidence` to its new content, or to None if it must be removed."""
        return {**dict.fromkeys(self.header.gone_evidence), **self.evidence}

    def without(self, slugs: set[str]) -> PublishArchive:
        """Return a copy of the archive without the files of these submissions."""
        judged = {slug: blobs for slug, blobs in self.header.judged.items() if slug not in slugs}
        gone = tuple(path for path in self.header.gone if _slug_of(path) not in slugs)
        gone_evidence = tuple(path for path in self.header.gone_evidence if _slug_of(path) not in slugs)
        header = self.header.model_copy(update={"judged": judged, "gone": gone, "gone_evidence": gone_evidence})
        files = {path: data for path, data in self.files.items() if _slug_of(path) not in slugs}
        evidence = {path: data for path, data in self.evidence.items() if _slug_of(path) not in slugs}
        return PublishArchive(header, files, evidence)


def _slug_of(path: str) -> str | None:
    """Return the name of the submission that a path in the archive belongs to, or None for any other path."""
    parts = path.split("/")
    return parts[1] if parts[0] == "submissions" else None


def blob_name(data: bytes) -> str:
    """Return Git's blob name of these bytes.

    >>> blob_name(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def write_archive(archive: PublishArchive, path: Path) -> str:
    """Write an archive and return its SHA-256 in hexadecimal. Raises ValueError if the path of a file is invalid."""
    _check_shape(archive.files, _ON_MAIN)
    _check_shape(archive.evidence, _ON_BRANCH)
    contents = {HEADER: canonical_json(archive.header.model_dump(mode="json", exclude_defaults=True))}
    contents |= {name: archive.files[name] for name in sorted(archive.files)}
    contents |= {f"{EVIDENCE}{name}": archive.evidence[name] for name in sorted(archive.evidence)}
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", 6, file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name, data in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return file_digest(path)


def read_archive(path: Path, sha256: str) -> PublishArchive:
    """Return the archive at `path`. Raises FormatError if the SHA-256 is not `sha256` or the content is invalid."""
    try:
        if path.stat().st_size > LIMITS.packed_bytes:
            raise BundleRefusedError(f"more than {LIMITS.packed_bytes:,} bytes: it is not read")
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        if digest != sha256:
            raise BundleRefusedError(f"has the SHA-256 {digest}: expected {sha256}; its content was not read")
        return _parse(dict(_members(b"".join(safe_gunzip(data, LIMITS.bytes)))))
    except BundleRefusedError as refusal:
        raise FormatError([Problem(path, 0, str(refusal))]) from refusal
    except OSError as error:
        raise InfraError(f"{path} cannot be read: {error.strerror}") from error


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file of a tar archive. Raises BundleRefusedError if a file is invalid."""
    names: set[str] = set()
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for entry in tar:
                _check_member(entry, names)
                content = tar.extractfile(entry)
                if content is None:
                    raise BundleRefusedError(f"{entry.name!r:.200} has no content")
                yield entry.name, content.read()
    except tarfile.TarError as error:
        raise BundleRefusedError(f"is not a valid tar archive: {error}") from error


def _check_member(entry: tarfile.TarInfo, names: set[str]) -> None:
    shown = f"{entry.name!r:.200}"
    if entry.type != tarfile.REGTYPE or entry.pax_headers:
        raise BundleRefusedError(f"{shown} is not a regular file: expected only regular files")
    if entry.name in names:
        raise BundleRefusedError(f"{shown} occurs twice")
    if len(names) >= MAX_FILES:
        raise BundleRefusedError(f"more than {MAX_FILES} files")
    names.add(entry.name)
    inside = entry.name.removeprefix(EVIDENCE)
    shape = _ON_MAIN if inside == entry.name else _ON_BRANCH
    if entry.name != HEADER and not shape.fullmatch(inside):
        raise BundleRefusedError(f"{shown} is not the path of a published file")


def _parse(contents: dict[str, bytes]) -> PublishArchive:
    data = contents.pop(HEADER, None)
    if data is None or len(data) > MAX_HEADER_BYTES:
        raise BundleRefusedError(f"{HEADER} is missing or too large: expected the header of the archive")
    try:
        header = ArchiveHeader.model_validate_json(data)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise BundleRefusedError(f"{HEADER} is not valid: {faults}"[:500]) from error
    files = {name: data for name, data in contents.items() if not name.startswith(EVIDENCE)}
    evidence = {name.removeprefix(EVIDENCE): data for name, data in contents.items() if name.startswith(EVIDENCE)}
    return PublishArchive(header, files, evidence)
