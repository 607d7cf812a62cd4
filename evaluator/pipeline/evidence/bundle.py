"""Write and read bundles. A bundle is a file that carries evidence and panel replies between machines.

A bundle belongs to one suite, and holds evidence for its references or for one submission. It is gzip-compressed JSON
lines. The first line is the header. A submission's bundle was written by a job that ran untrusted commands, so it is
hostile input. The reader limits its size, validates every line, and refuses repeated or unexpected runs. It also
refuses runs of references in the bundle of a submission, because references decide the verdicts of all submissions.

A bundle does not name its author. Instead, the author announces the digest of the bundle, and the reader checks this
digest (`file_digest`, `folder_digest`). Evidence contains durations, so two bundles of the same commands have different
bytes.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import math
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
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
_CHUNK_BYTES: Final = 262_144
_GZIP: Final = 31
"""zlib's number for a 32 kB window with gzip's header and trailer. zlib then verifies the checksum."""


@dataclass(frozen=True, slots=True)
class GunzipLimits:
    """Limits for gzip data: the bytes of packed data, of unpacked data and of one line, and the number of lines.

    The references' evidence of the largest suite takes 12 MB unpacked. A command that fills its disk and both output
    streams makes a line of about 10 MB.
    """

    packed_bytes: int = 128 * _MB
    bytes: int = 256 * _MB
    line_bytes: int = 32 * _MB
    lines: int = 200_000


SUFFIX: Final = ".jsonl.gz"

READING: Final = GunzipLimits()
WRITTEN_BYTES: Final = READING.bytes // 2
"""Unpacked bytes of a bundle that is written. The limit is half of the reader's, so every bundle can be read."""

KEPT_BYTES: Final = 32 * 1024 * 1024
"""Unpacked bytes of a bundle on the branch. Evidence beyond that is executed again when it is needed."""

_EARLIER_FORMATS: Final = range(1, BundleHeader.newest_format)
_MAKE_AGAIN: Final = (
    f"expected format {BundleHeader.newest_format}, whose evidence has more facts. Execute the commands again, for "
    "example with bashboard evidence make"
)
_MAX_FAULTS: Final = 3
_SLUG: Final = SLUG_PATTERN.strip("^$")
_PATH: Final = re.compile(rf"(?:references|submissions/(?P<slug>{_SLUG}))/(?P<suite>{_SLUG}){re.escape(SUFFIX)}")
_LINE: Final = TypeAdapter[KeptEvidence | Reply](KeptEvidence | Reply)


class BundleRefusedError(Exception):
    """The error for an invalid bundle. `line` is the line number from 1, or 0 if the whole file is invalid."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def gunzip_lines(data: bytes, limits: GunzipLimits) -> Iterator[bytes]:
    """Unpack gzip data and yield its lines. Raises BundleRefusedError if the data is invalid or above a limit."""
    if len(data) > limits.packed_bytes:
        raise BundleRefusedError(f"has {len(data)} bytes: expected at most {limits.packed_bytes}")
    number, partial_line = 0, bytearray()
    for chunk in safe_gunzip(data, limits.bytes):
        first, *others = chunk.split(b"\n")
        partial_line += first
        for line in others:
            number += 1
            if number > limits.lines:
                raise BundleRefusedError(f"has more than {limits.lines} lines")
            _check_line(partial_line, number, limits)
            yield bytes(partial_line)
            partial_line = bytearray(line)
        _check_line(partial_line, number + 1, limits)
    if partial_line:
        raise BundleRefusedError("ends within a line", number + 1)


def _check_line(line: bytearray, number: int, limits: GunzipLimits) -> None:
    if len(line) > limits.line_bytes:
        raise BundleRefusedError(f"a line of more than {limits.line_bytes} bytes", number)


def safe_gunzip(data: bytes, most: int) -> Iterator[bytes]:
    """Unpack one gzip stream in pieces. Raises BundleRefusedError for invalid data or more than `most` bytes."""
    gunzip = zlib.decompressobj(_GZIP)
    total = read = 0
    while not gunzip.eof:
        packed = gunzip.unconsumed_tail
        if not packed:
            packed = data[read : read + _CHUNK_BYTES]
            read += len(packed)
        try:
            chunk = gunzip.decompress(packed, _CHUNK_BYTES)
        except zlib.error as error:
            raise BundleRefusedError(f"does not unpack as gzip: {error}") from error
        if not packed and not chunk and not gunzip.eof:
            raise BundleRefusedError("does not unpack as gzip: it ends too early")
        total += len(chunk)
        if total > most:
            raise BundleRefusedError(f"unpacks to more than {most} bytes")
        if chunk:
            yield chunk
    after = len(data) - read + len(gunzip.unused_data)
    if after:
        raise BundleRefusedError(f"has {after} bytes after its end: expected a single gzip stream")


@dataclass(frozen=True, slots=True)
class Bundle:
    """The content of a bundle: the header, the evidence of each run, and the panel's replies."""

    header: BundleHeader
    evidence: tuple[KeptEvidence, ...]
    replies: tuple[Reply, ...] = ()

    @property
    def by_run(self) -> dict[RunKey, Evidence]:
        """The bundle's evidence, as a mapping from run to evidence. A run has a cache key and a number."""
        return {(line.key, line.run): line.evidence for line in self.evidence}

    def of(self, runs: Collection[RunKey]) -> Bundle:
        """Return this bundle with all its panel replies, but with the evidence of only these runs."""
        return replace(self, evidence=tuple(line for line in self.evidence if (line.key, line.run) in runs))


def bundle_path(suite: str, slug: str | None = None) -> PurePosixPath:
    """Return the path of a submission's bundle. Without `slug`, return the path of the references' bundle."""
    return PurePosixPath("submissions", slug, suite + SUFFIX) if slug else PurePosixPath("references", suite + SUFFIX)


def parse_bundle_path(path: str) -> tuple[str, str | None] | None:
    """Return the suite and the submission of a bundle's path, or None for any other path.

    The submission is None in the path of a references' bundle.
    """
    match = _PATH.fullmatch(path)
    return (match["suite"], match["slug"]) if match else None


def write_bundle(bundle: Bundle, limit_bytes: int = WRITTEN_BYTES) -> bytes:
    """Sort a bundle, shorten it with `drop_to_limit`, and return its bytes. Equal content gives equal bytes."""
    bundle, _ = drop_to_limit(bundle, limit_bytes)
    evidence = sorted(bundle.evidence, key=lambda line: (line.key, line.run))
    replies = sorted(bundle.replies, key=lambda reply: reply.key)
    lines = (f"{record.to_json()}\n".encode() for record in (bundle.header, *evidence, *replies))
    return gzip.compress(b"".join(lines), 6, mtime=0)


def drop_to_limit(bundle: Bundle, limit_bytes: int = WRITTEN_BYTES) -> tuple[Bundle, int]:
    """Drop a bundle's longest lines of evidence until the bundle has at most `limit_bytes` bytes unpacked.

    Return the bundle and the number of dropped lines. Replies are never dropped, because they were paid for.
    """
    room = limit_bytes - _length(bundle.header) - sum(map(_length, bundle.replies))
    lines: list[KeptEvidence] = []
    lengths = ((_length(line), line) for line in bundle.evidence)
    for length, line in sorted(lengths, key=lambda pair: (pair[0], pair[1].key, pair[1].run)):
        room -= length
        if room < 0 or length > READING.line_bytes:
            break
        lines.append(line)
    return replace(bundle, evidence=tuple(lines)), len(bundle.evidence) - len(lines)


def _length(record: Record) -> int:
    return len(record.to_json().encode()) + 1


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
    """Parse the bytes of a bundle. The bundle must belong to this suite and submission (None for references).

    `expected` is the set of permitted runs, or None if every run is permitted. With `fingerprint`, the bundle must have
    this fingerprint. If `replies` is false, a bundle with a reply is refused. Error messages call the bundle `path`.
    Raises FormatError if the bundle is refused.
    """
    try:
        lines = gunzip_lines(data, limits)
        header = _header(next(lines, b""))
        _check_header(header, suite, submission, fingerprint)
        content = _Content(expected, accepts_replies=replies)
        for number, line in enumerate(lines, 2):
            content.add(number, line)
    except BundleRefusedError as refusal:
        shown = path or Path(bundle_path(suite, submission))
        raise FormatError([Problem(shown, refusal.line, str(refusal))]) from refusal
    return Bundle(header, tuple(content.evidence.values()), tuple(content.replies.values()))


def _faults(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    messages = (f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults[:_MAX_FAULTS])
    return printable("; ".join(messages))[:500]


def _header(line: bytes) -> BundleHeader:
    try:
        content = TypeAdapter(dict[str, object]).validate_json(line)
        read_format(content, "the bundle", BundleHeader.newest_format)
        if content.get("format") in _EARLIER_FORMATS:
            raise BundleRefusedError(f"has format {content['format']}: {_MAKE_AGAIN}", 1)
        return BundleHeader.model_validate_json(line)
    except ValidationError as error:
        raise BundleRefusedError(f"not the header of a bundle: {_faults(error)}", 1) from error
    except ValueError as error:
        raise BundleRefusedError(str(error), 1) from error


def _check_header(header: BundleHeader, suite: str, submission: str | None, fingerprint: str | None) -> None:
    expected = {"suite": suite, "submission": submission, "fingerprint": fingerprint or header.fingerprint}
    for name, value in expected.items():
        if getattr(header, name) != value:
            raise BundleRefusedError(f"is of {name} {getattr(header, name)!r}: expected {value!r}", 1)


@dataclass(slots=True)
class _Content:
    """The evidence and the replies in those lines of a bundle that the reader has read so far."""

    expected: Collection[RunKey] | None
    accepts_replies: bool
    evidence: dict[RunKey, KeptEvidence] = field(default_factory=dict)
    replies: dict[ReplyKey, Reply] = field(default_factory=dict)

    def add(self, number: int, line: bytes) -> None:
        try:
            record = _LINE.validate_json(line)
        except ValidationError as error:
            raise BundleRefusedError(f"neither evidence nor a reply: {_faults(error)}", number) from error
        if isinstance(record, Reply):
            self._add_reply(number, record)
        else:
            self._add_evidence(number, record)

    def _add_reply(self, number: int, reply: Reply) -> None:
        if not self.accepts_replies:
            raise BundleRefusedError("a panel reply: expected only evidence", number)
        if reply.key in self.replies:
            raise BundleRefusedError("a second reply with the same key", number)
        if not math.isfinite(reply.usd) or reply.usd < 0:
            raise BundleRefusedError("a reply with an invalid price", number)
        self.replies[reply.key] = reply

    def _add_evidence(self, number: int, line: KeptEvidence) -> None:
        run = (line.key, line.run)
        if run in self.evidence:
            raise BundleRefusedError(f"run {line.run} of key {line.key} is in the bundle twice", number)
        if self.expected is not None and run not in self.expected:
            raise BundleRefusedError(f"run {line.run} of key {line.key}, which no command here needs", number)
        times = (line.evidence.cpu_ms, line.evidence.wall_ms)
        if not all(math.isfinite(time) and time >= 0 for time in times):
            raise BundleRefusedError("evidence with invalid durations", number)
        self.evidence[run] = line


def export_bundle(
    store: Store, runs: Iterable[RunKey], *, suite: str, fingerprint: str, submission: str | None = None
) -> Bundle:
    """Return the store's evidence of these runs as a bundle without replies."""
    header = BundleHeader(format=2, suite=suite, fingerprint=fingerprint, submission=submission)
    return Bundle(header, kept_evidence(store.evidence(runs)))


def kept_evidence(runs: Mapping[RunKey, Evidence]) -> tuple[KeptEvidence, ...]:
    """Convert the evidence of these runs to lines of a bundle. Sort the lines by run key."""
    lines = ({"key": key, "run": run, "evidence": evidence} for (key, run), evidence in sorted(runs.items()))
    return tuple(map(KeptEvidence.model_validate, lines))


def import_bundle(store: Store, bundle: Bundle) -> None:
    """Add a bundle's evidence to the store and its replies to the reply cache. Existing entries are not replaced."""
    for line in bundle.evidence:
        store.add_evidence((line.key, line.run), line.evidence)
    if bundle.replies:
        with contextlib.closing(ReplyCache(store.path.with_name(LEDGER))) as reply_cache:
            for reply in bundle.replies:
                if reply_cache.find(reply.key) is None:
                    reply_cache.add(reply)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(folder: Path) -> str:
    """Return one digest of the names and contents of all files below a folder.

    Raises FormatError for an entry that is neither a file nor a folder, such as a link.
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
                shown = Path(printable(entry.path))
                raise FormatError([Problem(shown, 0, "neither a file nor a folder: expected only bundles")])
