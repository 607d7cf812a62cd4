"""Tests of evidence bundles: equal content gives equal bytes, and a malformed bundle is refused."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import FormatError, UsageError
from evaluator.judges.panel.reply_cache import Reply, ReplyCache
from evaluator.pipeline.evidence.bundle import (
    Bundle,
    GunzipLimits,
    bundle_path,
    drop_to_limit,
    export_bundle,
    file_digest,
    folder_digest,
    import_bundle,
    parse_bundle_path,
    read_bundle,
    write_bundle,
)
from evaluator.pipeline.evidence.produce import Shard
from evaluator.records import BundleHeader, KeptEvidence
from evaluator.store import RunKey, Store
from evaluator.testing.evidence import evidence

PRINT = "f" * 64
HEADER = BundleHeader(format=2, suite="tiny", fingerprint=PRINT, submission="mine")
KEYS = ("a" * 64, "b" * 64)
EXPECTED: set[RunKey] = {(key, run) for key in KEYS for run in (0, 1)}
KEPT = (
    KeptEvidence(key=KEYS[0], run=0, evidence=evidence("yes\n")),
    KeptEvidence(key=KEYS[0], run=1, evidence=evidence("no\n")),
    KeptEvidence(key=KEYS[1], run=0, evidence=evidence(b"\xff\x00")),
)
REPLY = Reply(format=1, evidence="c" * 64, judge="consensus", model="m", prompt="d" * 64, seed=1, text="yes", usd=0.1)
BUNDLE = Bundle(HEADER, KEPT, (REPLY,))
SMALL = GunzipLimits(packed_bytes=50_000, bytes=200_000, line_bytes=20_000, lines=100)


def read(data: bytes, submission: str | None = "mine", **options: Any) -> Bundle:
    fields: dict[str, Any] = {
        "suite": "tiny",
        "expected": EXPECTED,
        "fingerprint": PRINT,
        "limits": SMALL,
        **options,
    }
    return read_bundle(data, submission=submission, **fields)


def packed(*lines: str | bytes) -> bytes:
    """Return a bundle of these lines without a check of their content."""
    return gzip.compress(
        b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines), mtime=0
    )


def changed(**fields: object) -> str:
    """Return the header line with some fields replaced."""
    return json.dumps({**json.loads(HEADER.to_json()), **fields})


HEAD, FIRST, SECOND = HEADER.to_json(), KEPT[0].to_json(), KEPT[1].to_json()
WHOLE = packed(HEAD, FIRST, SECOND)
NAN = FIRST.replace('"ending":"exited"', '"ending":"exited","wall_ms":NaN')
BACKWARDS = FIRST.replace('"ending":"exited"', '"ending":"exited","cpu_ms":-1.0')


def test_a_bundle_reads_as_it_was_written() -> None:
    assert read(write_bundle(BUNDLE)) == BUNDLE


def test_the_same_content_gives_the_same_bytes() -> None:
    assert write_bundle(BUNDLE) == write_bundle(Bundle(HEADER, KEPT[::-1], (REPLY,)))


def test_references_have_a_bundle_of_nobody() -> None:
    header = HEADER.model_copy(update={"submission": None})
    assert read(write_bundle(Bundle(header, KEPT)), None).header.submission is None


POISONED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "too early"),
    "no gzip": (b"{}\n", "does not unpack"),
    "half of it": (WHOLE[: len(WHOLE) // 2], "too early"),
    "another checksum": (WHOLE[:-8] + b"\0" * 8, "does not unpack"),
    "an empty stream": (gzip.compress(b""), "not the header of a bundle"),
    "zeros without end": (gzip.compress(bytes(1 << 24)), "unpacks to more than 200000 bytes"),
    "a bomb of lines": (packed(HEAD, *[b"x" * 15_000] * 40), "unpacks to more than 200000 bytes"),
    "blank lines": (packed(HEAD, b"\n" * 1000), "neither evidence"),
    "too large as it comes": (packed(HEAD, os.urandom(60_000)), "at most 50000"),
    "a line too long": (packed(HEAD, b" " * 20_001 + FIRST.encode()), "line of more than 20000 bytes"),
    "junk behind it": (WHOLE + b"junk", "4 bytes after its end"),
    "a second stream": (WHOLE + packed(FIRST), "after its end"),
    "no last newline": (gzip.compress(HEAD.encode()), "first line|within a line"),
    "zlib instead": (zlib.compress(HEAD.encode()), "does not unpack"),
    "no header": (packed(FIRST), "not the header of a bundle"),
    "a list for a header": (packed("[1]"), "not the header of a bundle"),
    "a newer format": (packed(changed(format=3)), "format 3; this bashboard reads formats 1 to 2"),
    "an older format": (packed(changed(format=1)), "has format 1: expected format 2, whose evidence has more facts"),
    "a field too many": (packed(changed(more=1)), "more: "),
    "another suite's": (packed(changed(suite="core")), "of suite 'core': expected 'tiny'"),
    "another submission's": (packed(changed(submission="yours")), "of submission 'yours': expected 'mine'"),
    "the references'": (packed(changed(submission=None)), "of submission None: expected 'mine'"),
    "another environment's": (packed(changed(fingerprint="e" * 64)), "of fingerprint"),
    "a header twice": (packed(HEAD, HEAD), "neither evidence"),
    "a run twice": (packed(HEAD, FIRST, SECOND, FIRST), ":4: run 0 of key a+ is in the bundle twice"),
    "a run of somebody else's": (packed(HEAD, FIRST.replace("a" * 64, "9" * 64)), "no command here needs"),
    "a third run": (packed(HEAD, FIRST.replace('"run":0', '"run":2')), "run: "),
    "no key": (packed(HEAD, FIRST.replace("a" * 64, "../etc")), "key: "),
    "no JSON": (packed(HEAD, "{"), ":2: neither evidence"),
    "no UTF-8": (packed(HEAD, FIRST.encode().replace(b"yes", b"\xff")), "neither evidence"),
    "arrays without end": (packed(HEAD, "[" * 10_000), "neither evidence"),
    "a time that is none": (packed(HEAD, NAN), "with invalid durations"),
    "a time that runs back": (packed(HEAD, BACKWARDS), "with invalid durations"),
    "a reply twice": (packed(HEAD, REPLY.to_json(), REPLY.to_json()), "a second reply with the same key"),
    "a reply that pays": (packed(HEAD, REPLY.to_json().replace("0.1", "-1.0")), "with an invalid price"),
}


@pytest.mark.parametrize(("data", "said"), POISONED.values(), ids=POISONED)
def test_a_poisoned_bundle_is_refused_and_says_why(data: bytes, said: str) -> None:
    with pytest.raises(FormatError, match=said) as refused:
        read(data)
    (problem,) = refused.value.problems
    assert str(problem.path) == "submissions/mine/tiny.jsonl.gz"
    assert str(problem).isprintable()
    assert len(str(problem)) < 1000


def test_lines_and_bytes_are_counted_before_all_is_unpacked() -> None:
    rows = (FIRST.replace("a" * 64, f"{number:064x}") for number in range(101))
    with pytest.raises(FormatError, match="more than 100 lines"):
        read(packed(HEAD, *rows), expected=None)
    with pytest.raises(FormatError, match="unpacks to more than 1000 bytes"):
        read(
            packed(HEAD, *(FIRST.replace("a" * 64, f"{number:064x}") for number in range(50))),
            expected=None,
            limits=GunzipLimits(bytes=1000),
        )


def test_a_reply_is_refused_where_evidence_alone_is_expected() -> None:
    """A bundle with a panel reply is refused if only evidence is expected.

    A job that executes a submission does not query models, so a reply in its bundle is forged.
    """
    with pytest.raises(FormatError, match="expected only evidence"):
        read(write_bundle(BUNDLE), replies=False)


def test_what_has_no_room_is_left_out_the_longest_first_and_replies_stay() -> None:
    long = KeptEvidence(key=KEYS[1], run=1, evidence=evidence("y" * 5000))
    large = Bundle(HEADER, (*KEPT, long), (REPLY,))
    kept, left_out = drop_to_limit(large, 4000)
    assert (set(kept.evidence), left_out) == (set(KEPT), 1)
    assert read(write_bundle(large, 4000)) == read(write_bundle(BUNDLE))
    nothing, left_out = drop_to_limit(large, 1)
    assert (nothing.evidence, nothing.replies, left_out) == ((), (REPLY,), 4)


def test_evidence_goes_from_one_store_to_another_and_replies_to_the_ledger(tmp_path: Path) -> None:
    stores = [Store(tmp_path / name / "store.sqlite") for name in ("here", "there")]
    import_bundle(stores[0], BUNDLE)
    exported = export_bundle(stores[0], EXPECTED, suite="tiny", fingerprint=PRINT, submission="mine")
    assert exported == Bundle(HEADER, KEPT)
    import_bundle(stores[1], BUNDLE)
    import_bundle(stores[1], BUNDLE)
    assert stores[1].evidence(EXPECTED) == {(each.key, each.run): each.evidence for each in KEPT}
    assert len(ReplyCache(tmp_path / "there" / "panel.jsonl")) == 1
    for store in stores:
        store.close()


def test_what_is_in_the_store_already_stays(tmp_path: Path) -> None:
    """The import of a bundle does not replace evidence in the store.

    Therefore a submission's bundle cannot replace a local execution or the evidence of a reference.
    """
    store = Store(tmp_path / "store.sqlite")
    own = evidence("executed here\n")
    store.add_evidence((KEYS[0], 0), own)
    import_bundle(store, BUNDLE)
    assert store.evidence([(KEYS[0], 0)]) == {(KEYS[0], 0): own}
    store.close()


@pytest.mark.parametrize(
    "path",
    [
        "references/../core.jsonl.gz",
        "references/core.jsonl.gz/x",
        "/references/core.jsonl.gz",
        "references/Core.jsonl.gz",
        "references/core.jsonl.gz\n",
        "submissions/core.jsonl.gz",
        "submissions/a/b/core.jsonl.gz",
        "submissions/-a/core.jsonl.gz",
        "submissions/a/core.verdicts.jsonl",
        "images.json",
        "",
    ],
)
def test_a_path_of_another_shape_is_no_bundles(path: str) -> None:
    assert parse_bundle_path(path) is None


@pytest.mark.parametrize("place", [("core", None), ("core", "my-system")])
def test_a_bundles_path_says_what_it_is_of(place: tuple[str, str | None]) -> None:
    assert parse_bundle_path(str(bundle_path(*place))) == place


def _rename(folder: Path) -> None:
    (folder / "a").rename(folder / "c")


CHANGES: dict[str, Callable[[Path], object]] = {
    "other bytes": lambda folder: (folder / "a").write_bytes(b"2"),
    "another name": _rename,
    "a file more": lambda folder: (folder / "sub" / "empty").touch(),
    "a byte moved on": lambda folder: ((folder / "a").write_bytes(b""), (folder / "sub" / "b").write_bytes(b"12")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_folders_digest_depends_on_names_and_bytes(tmp_path: Path, change: Callable[[Path], object]) -> None:
    for folder in (tmp_path / "one", tmp_path / "two"):
        (folder / "sub").mkdir(parents=True)
        (folder / "sub" / "b").write_bytes(b"2")
        (folder / "a").write_bytes(b"1")
    assert folder_digest(tmp_path / "one") == folder_digest(tmp_path / "two")
    change(tmp_path / "two")
    assert folder_digest(tmp_path / "one") != folder_digest(tmp_path / "two")


def test_a_folder_with_a_link_has_no_digest(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    with pytest.raises(FormatError, match="neither a file nor a folder"):
        folder_digest(tmp_path)


def test_a_files_digest_is_its_sha256(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert file_digest(tmp_path / "empty") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_shards_are_all_of_the_work_and_share_none(shards: int) -> None:
    slugs = ["delta", "alpha", "echo", "bravo", "charlie"]
    parts = [Shard.parse(f"{number}/{shards}").of(slugs) for number in range(1, shards + 1)]
    assert sorted(slug for part in parts for slug in part) == sorted(slugs)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("text", ["", "2", "0/3", "4/3", "-1/3", "1/0", "1/3/5", " 1/3", "1/3\n", "a/b", "１/３"])
def test_a_shard_that_is_none_says_what_was_expected(text: str) -> None:
    with pytest.raises(UsageError, match="expected i/n with i from 1 to n, such as 2/5"):
        Shard.parse(text)
