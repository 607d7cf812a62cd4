"""Fuzz the readers of files that jobs exchange: bundles, images, artifacts, verdict files, published archive."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from evaluator.errors import FormatError
from evaluator.github.artifacts import ArtifactFiles, _files
from evaluator.judges.panel.reply_cache import ReplyCache
from evaluator.pipeline.evidence.bundle import Bundle, GunzipLimits, read_bundle
from evaluator.pipeline.evidence.images import read_images
from evaluator.pipeline.grading.verdict_files import VerdictFile, verdict_bytes, verdicts_in
from evaluator.pipeline.maintenance.verified_tasks import parse_records
from evaluator.pipeline.publishing.archive import PublishArchive, read_archive
from evaluator.pipeline.publishing.collect import _checked_files, _LeftOutError
from evaluator.records import Images, VerificationHeader, VerifiedTask
from tests.fuzz.target import target

LIMITS: Final = GunzipLimits(packed_bytes=6000, bytes=12_000, line_bytes=3000, lines=20)
"""Small limits, so that short inputs exceed them."""


def _packed(data: bytes) -> bytes:
    """Return the input as gzip data. An input that begins like gzip data stays as it is."""
    return data if data.startswith(b"\x1f\x8b") else gzip.compress(data, 1, mtime=0)


@contextmanager
def _file(data: bytes) -> Iterator[Path]:
    descriptor = os.memfd_create("fuzz")
    try:
        os.write(descriptor, data)
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


@target(
    "evidence-bundle",
    *(f"evaluator.pipeline.evidence.bundle:{name}" for name in (
        "gunzip_lines", "_check_line", "safe_gunzip", "read_bundle", "_faults", "_header", "_check_header", "_Content",
    )),
    planted=lambda bundle: len(bundle.evidence) + len(bundle.replies) < 2,
    refusals=(FormatError,),
    tokens=(b'{"format":2,"suite":"tiny"', b'"fingerprint":"', b'"submission":"mine"', b'"run":1', b'"evidence":{',
            b'"ending":"exited"', b'"cpu_ms":', b'"usd":', b'"key":"', b"\n"),
    is_json=True,
    longest=16_384,
)  # fmt: skip
def read_hostile_bundle(data: bytes) -> Bundle:
    return read_bundle(_packed(data), suite="tiny", submission="mine", expected=None, limits=LIMITS)


@target(
    "images-list",
    "evaluator.pipeline.evidence.images:read_images",
    planted=lambda images: not images.images,
    refusals=(FormatError,),
    tokens=(b'{"format":1,"images":{', b'"fingerprint":"', b'"sha256":"', b'"a:b":{'),
    is_json=True,
)
def read_image_list(data: bytes) -> Images:
    with _file(data) as path:
        return read_images(path)


@target(
    "verdict-file",
    *(f"evaluator.pipeline.grading.verdict_files:{name}" for name in ("verdicts_in", "_read", "_contradictions")),
    planted=lambda file: any(verdict.finding.step is None and verdict.run for verdict in file.verdicts),
    refusals=(FormatError,),
    tokens=(b'"outcome":"infra-error"', b'"outcome":"pass"', b'"task":"', b'"key":"', b'"format":2', b"\n"),
    is_json=True,
    longest=8192,
)
def read_verdict_file(data: bytes) -> VerdictFile:
    file = verdicts_in(data, Path("tiny.verdicts.jsonl"))
    assert verdicts_in(verdict_bytes(file), Path("again")) == file
    return file


VERIFIED: Final = VerificationHeader(
    format=1,
    suite="tiny",
    base="debian trixie",
    environment="1" * 64,
    judge="consensus",
    judge_version=7,
    runner="2" * 64,
)


@target(
    "verified-tasks",
    *(f"evaluator.pipeline.maintenance.verified_tasks:{name}" for name in (
        "parse_records", "_header", "_reason", "_changes",
    )),
    planted=lambda records: len(records) == 1,
    refusals=(FormatError,),
    tokens=(b'"task":"files-1"', b'"digest":"', b'"world":"', b'"format":2', VERIFIED.to_json().encode(), b"\n"),
    is_json=True,
)  # fmt: skip
def read_verified_tasks(data: bytes) -> dict[str, VerifiedTask]:
    tasks = {f"files-{number}" for number in range(4)}
    records, problems = parse_records(data, Path("verified.jsonl"), VERIFIED, tasks)
    assert records.keys() <= tasks
    assert len(records) + len(problems) <= len(data.splitlines() or [b""])
    return records


@target(
    "published-archive",
    *(f"evaluator.pipeline.publishing.archive:{name}" for name in (
        "read_archive", "_members", "_check_member", "_parse", "_check_shape", "ArchiveHeader", "PublishArchive",
        "_slug_of",
    )),
    planted=lambda archive: any("1" * 40 not in blobs.values() for blobs in archive.header.judged.values()),
    refusals=(FormatError,),
    tokens=(b"published.json", b"evidence/", b"submissions/a/tiny.verdicts.jsonl", b"ustar\x0000", b"images.json",
            b'"gone":["', b'"judged":{"', b"0000644\0"),
    longest=16_384,
)  # fmt: skip
def read_published(data: bytes) -> PublishArchive:
    """Read an archive from a tar file or its gzip data, and ask for its files."""
    packed = _packed(data)
    with _file(packed) as path:
        archive = read_archive(path, hashlib.sha256(packed).hexdigest())
    archive.on_main()
    archive.on_branch()
    archive.without({"a"})
    return archive


@target(
    "artifact",
    *(f"evaluator.github.artifacts:{name}" for name in ("_files", "_content", "_fault", "_member_fault", "_too_large")),
    *("evaluator.pipeline.publishing.collect:_checked_files", "evaluator.pipeline.evidence.bundle:parse_bundle_path"),
    planted=lambda files: not files,
    tokens=(
        b"PK\3\4",
        b"PK\1\2",
        b"PK\5\6" + bytes(18),
        b"preview.json",
        b"submissions/mine/tiny.jsonl.gz",
        b"\x08\0",
        b"\0\0\xff\x81",
    ),
    longest=16_384,
)
def read_artifact_zip(data: bytes) -> dict[str, bytes] | None:
    """Read a zip as an artifact with one file and with several, and compare its files with announced digests."""
    _files(data, "preview", "preview.json", 4096)
    artifact = _files(data, "evidence-mine", None, 4096)
    for files in (artifact, ArtifactFiles(None, "gone")):
        for digest in (hashlib.sha256(b"evidence").hexdigest(), "0" * 64):
            reason = ""
            try:
                _checked_files(files, "mine", {"tiny": digest})
            except _LeftOutError as error:
                reason = error.left_out.reason
            assert reason.isprintable(), reason
    return None if artifact.files is None else dict(artifact.files)


@target(
    "reply-cache",
    *("evaluator.judges.panel.reply_cache:ReplyCache._replies", "evaluator.judges.panel.reply_cache:_keep"),
    *("evaluator.judges.panel.reply_cache:ReplyCache._open", "evaluator.judges.panel.reply_cache:ReplyCache.find"),
    planted=lambda cache: len(cache) == 1,
    tokens=(b'"format":1', b'"seed":2', b'"text":"', b"\n"),
    is_json=True,
)
def read_cached_replies(data: bytes) -> Any:
    """Read a cache, add its first reply again, and read the file again."""
    with _file(data) as path:
        cache = ReplyCache(path)
        count = len(cache)
        for reply in list(cache._replies.values())[:1]:
            assert cache.find(reply.key) == reply
            cache.add(reply)
            assert len(ReplyCache(path)) == count
        cache.close()
    return cache
