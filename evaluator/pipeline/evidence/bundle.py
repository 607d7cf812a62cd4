"""Bundles: files of evidence and panel replies that are moved between machines and stored on a branch.

A bundle belongs to one suite, and there to the references or to one submission. It is gzip-compressed JSON lines. The
first line is the header. A submission's bundle was written by a job that ran untrusted commands, so it is read as
hostile input: it is unpacked up to limits, every line is validated, no run may occur twice, and unexpected runs are
refused. Most important, it cannot hold runs of references, because they decide the verdicts of all other submissions.

A bundle does not name its author. The reader compares its digest with the one that the author announced elsewhere
(`file_digest`, `folder_digest`). Evidence contains durations, so two bundles of the same commands have different bytes.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import math
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final

from pydantic import TypeAdapter, ValidationError

from evaluator.errors import FormatError, Problem
from evaluator.escaping import printable
from evaluator.judges.panel.reply_cache import Reply, ReplyCache, ReplyKey
from evaluator.pipeline.grading.llm_panel import LEDGER
from evaluator.records import SLUG_PATTERN, BundleHeader, Evidence, KeptEvidence, Record, digest_of, read_format
from evaluator.store import RunKey, Store

_MB: Final = 1024 * 1024
_PIECE: Final = 262_144
_GZIP: Final = 31
"""zlib's number for a 32 kB window with gzip's header and trailer. zlib then verifies the checksum."""


@dataclass(frozen=True, slots=True)
class GunzipLimits:
    """Limits in bytes for packed data, unpacked data and one line, and a limit for the number of lines.

    The references' evidence of the largest suite takes 12 MB unpacked. A command that fills its disk and both its
    streams makes a line of about 10 MB.
    """

    packed_bytes: int = 128 * _MB
    bytes: int = 256 * _MB
    line_bytes: int = 32 * _MB
    lines: int = 200_000


class BundleRefusedError(Exception):
    """A bundle is not valid. `line` is 1-based, or 0 for the whole file."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def gunzip_lines(data: bytes, limits: GunzipLimits) -> Iterator[bytes]:
    """Yield the lines without their newlines, unpacked on demand. Raises BundleRefusedError."""
    if len(data) > limits.packed_bytes:
        raise BundleRefusedError(f"has {len(data)} bytes: expected at most {limits.packed_bytes}")
    number, begun = 0, bytearray()
    for piece in safe_gunzip(data, limits.bytes):
        first, *others = piece.split(b"\n")
        begun += first
        for line in others:
            number += 1
            yield _whole(begun, number, limits)
            begun = bytearray(line)
        if len(begun) > limits.line_bytes:
            raise _too_long(number + 1, limits)
    if begun:
        raise BundleRefusedError("ends within a line", number + 1)


def _whole(line: bytearray, number: int, limits: GunzipLimits) -> bytes:
    if number > limits.lines:
        raise BundleRefusedError(f"has more than {limits.lines} lines")
    if len(line) > limits.line_bytes:
        raise _too_long(number, limits)
    return bytes(line)


def _too_long(number: int, limits: GunzipLimits) -> BundleRefusedError:
    return BundleRefusedError(f"a line of more than {limits.line_bytes} bytes", number)


def safe_gunzip(data: bytes, most: int) -> Iterator[bytes]:
    """Yield the unpacked bytes piece by piece: one gzip stream of at most `most` bytes. Raises BundleRefusedError."""
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
            raise BundleRefusedError(f"unpacks to more than {most} bytes")
        if piece:
            yield piece
    after = len(data) - read + len(packed.unused_data)
    if after:
        raise BundleRefusedError(f"has {after} bytes after its end: expected one gzip stream alone")


def _unpack(packed: zlib._Decompress, rest: bytes) -> bytes:
    try:
        piece = packed.decompress(rest, _PIECE)
    except zlib.error as error:
        raise BundleRefusedError(f"does not unpack as gzip: {error}") from error
    if not rest and not piece and not packed.eof:
        raise BundleRefusedError("does not unpack as gzip: it ends too early")
    return piece


SUFFIX: Final = ".jsonl.gz"

READING: Final = GunzipLimits()
WRITTEN_BYTES: Final = READING.bytes // 2
"""Unpacked bytes of a bundle that is written. The limit is half of the reader's, so every bundle can be read."""

KEPT_BYTES: Final = 32 * 1024 * 1024
"""Unpacked bytes of a bundle on the branch. Evidence beyond that is executed again when it is needed."""

_MOST_FAULTS: Final = 3
_SLUG: Final = SLUG_PATTERN.strip("^$")
_PATH: Final = re.compile(rf"(?:references|submissions/(?P<slug>{_SLUG}))/(?P<suite>{_SLUG}){re.escape(SUFFIX)}")
_LINE: Final = TypeAdapter[KeptEvidence | Reply](KeptEvidence | Reply)


@dataclass(frozen=True, slots=True)
class Bundle:
    """Evidence under its keys, and panel replies."""

    header: BundleHeader
    evidence: tuple[KeptEvidence, ...]
    replies: tuple[Reply, ...] = ()

    @property
    def by_run(self) -> dict[RunKey, Evidence]:
        """Return the evidence by run."""
        return {(line.key, line.run): line.evidence for line in self.evidence}

    def of(self, runs: Collection[RunKey]) -> Bundle:
        """Return the bundle with these runs only."""
        return replace(self, evidence=tuple(each for each in self.evidence if (each.key, each.run) in runs))


def bundle_path(suite: str, slug: str | None = None) -> PurePosixPath:
    """Return the path of a bundle on the branch and in folders of bundles. Without a slug, it is the references'."""
    return PurePosixPath("submissions", slug, suite + SUFFIX) if slug else PurePosixPath("references", suite + SUFFIX)


def parse_bundle_path(path: str) -> tuple[str, str | None] | None:
    """Return the suite and the submission of a bundle's path, or None for any other path.

    The submission is None in the path of a references' bundle.
    """
    found = _PATH.fullmatch(path)
    return (found["suite"], found["slug"]) if found else None


def write_bundle(bundle: Bundle, limit_bytes: int = WRITTEN_BYTES) -> bytes:
    """Return the bytes of a sorted bundle, after `drop_to_limit`. Equal content gives equal bytes."""
    kept, _ = drop_to_limit(bundle, limit_bytes)
    evidence = sorted(kept.evidence, key=lambda each: (each.key, each.run))
    replies = sorted(kept.replies, key=lambda each: each.key)
    lines = (f"{each.to_json()}\n".encode() for each in (kept.header, *evidence, *replies))
    return gzip.compress(b"".join(lines), 6, mtime=0)


def drop_to_limit(bundle: Bundle, limit_bytes: int = WRITTEN_BYTES) -> tuple[Bundle, int]:
    """Return the bundle without its longest evidence, so that its lines fit, and the number of dropped lines.

    Replies are never dropped, because they were paid for.
    """
    room = limit_bytes - _length(bundle.header) - sum(map(_length, bundle.replies))
    kept: list[KeptEvidence] = []
    for length, each in sorted(((_length(each), each) for each in bundle.evidence), key=_by_length):
        room -= length
        if room < 0 or length > READING.line_bytes:
            break
        kept.append(each)
    return replace(bundle, evidence=tuple(kept)), len(bundle.evidence) - len(kept)


def _length(record: Record) -> int:
    return len(record.to_json().encode()) + 1


def _by_length(measured: tuple[int, KeptEvidence]) -> tuple[int, str, int]:
    length, each = measured
    return length, each.key, each.run


def read_bundle(
    data: bytes,
    *,
    suite: str,
    submission: str | None,
    expected: Collection[RunKey] | None,
    fingerprint: str | None = None,
    replies: bool = True,
    path: Path | None = None,
    limits: GunzipLimits = READING,
) -> Bundle:
    """Return the bundle in these bytes. It must belong to this suite and submission (None: the references).

    `expected` is the set of permitted runs. With `fingerprint`, the bundle must have this fingerprint. With `replies`
    false, a reply is refused. `path` is used in messages. Raises FormatError.
    """
    place = path or Path(bundle_path(suite, submission))
    try:
        lines = gunzip_lines(data, limits)
        header = _header(next(lines, b""))
        _check_header(header, suite, submission, fingerprint)
        reading = _Reading(expected, takes_replies=replies)
        for number, line in enumerate(lines, 2):
            reading.take(number, line)
    except BundleRefusedError as refusal:
        raise FormatError([Problem(place, refusal.line, str(refusal))]) from refusal
    return Bundle(header, tuple(reading.evidence.values()), tuple(reading.replies.values()))


def _faults(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    said = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found[:_MOST_FAULTS])
    return printable("; ".join(said))[:500]


def _header(line: bytes) -> BundleHeader:
    try:
        loose: object = TypeAdapter(dict[str, object]).validate_json(line)
        read_format(loose, "the bundle")
        return BundleHeader.model_validate_json(line)
    except ValidationError as error:
        raise BundleRefusedError(f"no bundle's first line: {_faults(error)}", 1) from error
    except ValueError as error:
        raise BundleRefusedError(str(error), 1) from error


def _check_header(header: BundleHeader, suite: str, submission: str | None, fingerprint: str | None) -> None:
    wanted = {"suite": suite, "submission": submission, "fingerprint": fingerprint or header.fingerprint}
    for name, value in wanted.items():
        if getattr(header, name) != value:
            raise BundleRefusedError(f"is of {name} {getattr(header, name)!r}: expected {value!r}", 1)


@dataclass(slots=True)
class _Reading:
    """The lines that were read so far."""

    expected: Collection[RunKey] | None
    takes_replies: bool
    evidence: dict[RunKey, KeptEvidence] = field(default_factory=dict)
    replies: dict[ReplyKey, Reply] = field(default_factory=dict)

    def take(self, number: int, line: bytes) -> None:
        try:
            record = _LINE.validate_json(line)
        except ValidationError as error:
            raise BundleRefusedError(f"neither evidence under its key nor a reply: {_faults(error)}", number) from error
        if isinstance(record, Reply):
            self._take_reply(number, record)
        else:
            self._take_evidence(number, record)

    def _take_reply(self, number: int, reply: Reply) -> None:
        if not self.takes_replies:
            raise BundleRefusedError("a panel's reply, where evidence alone was expected", number)
        if reply.key in self.replies:
            raise BundleRefusedError("a reply under the key of one before it", number)
        if not math.isfinite(reply.usd) or reply.usd < 0:
            raise BundleRefusedError("a reply whose price is no amount", number)
        self.replies[reply.key] = reply

    def _take_evidence(self, number: int, kept: KeptEvidence) -> None:
        run = (kept.key, kept.run)
        if run in self.evidence:
            raise BundleRefusedError(f"run {kept.run} of key {kept.key} for the second time", number)
        if self.expected is not None and run not in self.expected:
            raise BundleRefusedError(f"run {kept.run} of key {kept.key}, which no command here needs", number)
        times = (kept.evidence.cpu_ms, kept.evidence.wall_ms)
        if not all(math.isfinite(each) and each >= 0 for each in times):
            raise BundleRefusedError("evidence whose times are no durations", number)
        self.evidence[run] = kept


def export_bundle(
    store: Store, runs: Iterable[RunKey], *, suite: str, fingerprint: str, submission: str | None = None
) -> Bundle:
    """Return the store's evidence of these runs as a bundle without replies."""
    header = BundleHeader(format=1, suite=suite, fingerprint=fingerprint, submission=submission)
    found = sorted(store.evidence(runs).items())
    return Bundle(
        header,
        tuple(KeptEvidence.model_validate({"key": key, "run": run, "evidence": each}) for (key, run), each in found),
    )


def import_bundle(store: Store, bundle: Bundle) -> None:
    """Add a bundle's evidence to the store and its replies to the reply cache. Existing entries are kept."""
    for each in bundle.evidence:
        store.add_evidence((each.key, each.run), each.evidence)
    if bundle.replies:
        with contextlib.closing(ReplyCache(store.path.with_name(LEDGER))) as ledger:
            for reply in bundle.replies:
                if ledger.find(reply.key) is None:
                    ledger.add(reply)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(folder: Path) -> str:
    """Return a digest of the names and contents of all files below a folder, sorted by name.

    Raises FormatError for an entry that is neither a file nor a folder, because a link could point to another file.
    """
    files = {path.relative_to(folder).as_posix(): path for path in files_below(folder)}
    parts = (part for name in sorted(files) for part in (name, file_digest(files[name])))
    return digest_of(*(os.fsencode(part) for part in parts))


def files_below(folder: Path) -> Iterator[Path]:
    """Yield every file below a folder. Raises FormatError for an entry that is neither a file nor a folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                yield from files_below(path)
            elif entry.is_file(follow_symlinks=False):
                yield path
            else:
                place = Path(printable(entry.path))
                raise FormatError([Problem(place, 0, "neither a file nor a folder: expected bundles alone")])
