"""An artifact may contain anything. The client reads the named file, or returns the reason why it cannot."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable

import pytest

from evaluator.github.artifacts import ArtifactFile, ArtifactLimits, read_artifact, read_artifacts
from tests.doubles.github import InjectedFault
from tests.github.github_harness import GithubHarness

FILE = "preview.json"
LIMITS = ArtifactLimits(archive_bytes=20_000, file_bytes=5_000)


def packed(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content, method)
    return kept.getvalue()


def link() -> zipfile.ZipInfo:
    about = zipfile.ZipInfo(FILE)
    about.create_system, about.external_attr = 3, 0o120777 << 16
    return about


def said_smaller(archive: bytes) -> bytes:
    """Return the archive with headers that give a size of ten bytes, as a zip bomb may have."""
    changed = bytearray(archive)
    for signature, at in ((b"PK\1\2", 24), (b"PK\3\4", 22)):
        place = changed.find(signature) + at
        changed[place : place + 4] = struct.pack("<I", 10)
    return bytes(changed)


def encrypted(archive: bytes) -> bytes:
    changed = bytearray(archive)
    for signature, at in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        changed[changed.find(signature) + at] |= 1
    return bytes(changed)


def read(harness: GithubHarness, archive: bytes, size: int | None = None) -> ArtifactFile:
    run = harness.github.run(harness.board, harness.pull())
    harness.github.upload(run, "preview", archive, size)
    return read_artifact(harness.connect(), run.id, "preview", FILE, LIMITS)


def test_one_file_is_read(harness: GithubHarness) -> None:
    """The artifact is downloaded without the token. The double complains if the host of artifacts receives a token."""
    archive = packed(("../../evil.sh", b"x"), (FILE, b'{"a": 1}'), ("/etc/cron.d/evil", b"x"))
    assert read(harness, archive) == ArtifactFile(b'{"a": 1}')


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: packed((FILE, b"\0" * 10_000_000)), "has 10000000 bytes: expected at most 5000"),
        (lambda: said_smaller(packed((FILE, b"\0" * 10_000_000))), "is not a readable zip"),
        (lambda: encrypted(packed((FILE, b"{}"))), "is not a readable zip"),
        (lambda: packed((link(), b"/etc/passwd"), method=zipfile.ZIP_STORED), "is not a regular file"),
        (lambda: packed(("other.json", b"{}")), "has 0 files 'preview.json'"),
        (lambda: packed((f"../{FILE}", b"{}")), "has 0 files 'preview.json'"),
        (lambda: packed((f"./{FILE}", b"{}")), "has 0 files 'preview.json'"),
        (lambda: packed(*[(f"{number}", b"") for number in range(99)], (FILE, b"{}")), "more than 64 files"),
        (lambda: packed((FILE, b"{}"), method=zipfile.ZIP_LZMA), "compression method"),
        (lambda: packed((FILE, b"{}"))[:-30], "is not a readable zip"),
        (lambda: packed((FILE, b"{}")).replace(b"PK\3\4", b"PK\0\0"), "is not a readable zip"),
        (lambda: b"", "is not a readable zip"),
        (lambda: b"no archive", "is not a readable zip"),
        (lambda: packed((FILE, b"x" * 30_000), method=zipfile.ZIP_STORED), "bytes: expected at most 20000"),
    ],
)
def test_a_poisoned_archive_is_a_fault(harness: GithubHarness, make: Callable[[], bytes], fault: str) -> None:
    """A bomb, link, path, wrong size or damage gives a result with a reason. No exception is raised."""
    found = read(harness, make())
    assert found.content is None
    assert fault in found.fault


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_are_a_fault(harness: GithubHarness) -> None:
    """Programs disagree about which of two files with the same name they read, so this archive is refused."""
    assert "has 2 files" in read(harness, packed((FILE, b"a"), (FILE, b"b"))).fault


def test_an_archive_that_is_longer_than_was_said_is_cut_off(harness: GithubHarness) -> None:
    archive = packed((FILE, b"x" * 4_000), ("other", bytes(range(256)) * 400), method=zipfile.ZIP_STORED)
    assert "expected at most 20000" in read(harness, archive, size=100).fault


def test_the_newest_of_several_is_read(harness: GithubHarness) -> None:
    """A job that runs again uploads an artifact of the same name again. The newest one is read."""
    run = harness.github.run(harness.board, harness.pull())
    for content in (b"1", b"2"):
        harness.github.upload(run, "preview", packed((FILE, content)))
    harness.github.upload(run, "other", b"")
    assert read_artifact(harness.connect(), run.id, "preview", FILE).content == b"2"


@pytest.mark.parametrize(("name", "expired", "fault"), [("logs", False, "no artifact"), ("preview", True, "expired")])
def test_an_artifact_that_is_not_there_is_a_fault(harness: GithubHarness, name: str, expired: bool, fault: str) -> None:
    run = harness.github.run(harness.board, harness.pull())
    harness.github.upload(run, name, packed((FILE, b"{}"))).expired = expired
    assert fault in read_artifact(harness.connect(), run.id, "preview", FILE).fault
    assert not [each for each in harness.asked() if each.endswith("/zip")]


def test_an_archive_that_is_said_to_be_too_large_is_not_fetched(harness: GithubHarness) -> None:
    assert (
        read(harness, packed((FILE, b"{}")), size=20_001).fault
        == "artifact 'preview' has 20001 bytes: expected at most 20000"
    )
    assert not [each for each in harness.asked() if each.endswith("/zip")]


def test_an_artifact_that_expires_meanwhile_is_a_fault(harness: GithubHarness) -> None:
    run = harness.github.run(harness.board, harness.pull())
    harness.github.upload(run, "preview", packed((FILE, b"{}")))
    harness.github.faults.append(InjectedFault(410, "Artifact has expired", path="/zip"))
    assert "has expired" in read_artifact(harness.connect(), run.id, "preview", FILE).fault


def test_every_file_of_several_artifacts_is_read_and_the_run_listed_once(harness: GithubHarness) -> None:
    run = harness.github.run(harness.board, harness.pull())
    harness.github.upload(run, "one", packed(("a/", b""), ("a/b", b"1"), ("../c", b"2")))
    harness.github.upload(run, "other", b"no archive")
    found = dict(read_artifacts(harness.connect(), run.id, ["one", "other", "none"]))
    assert found["one"].files == {"a/b": b"1", "../c": b"2"}
    assert [found[name].files for name in ("other", "none")] == [None, None]
    assert len([each for each in harness.asked() if each.endswith("/artifacts")]) == 1


def test_a_file_without_a_name_is_a_fault_of_its_artifact_alone(harness: GithubHarness) -> None:
    """A file without a name spoils only its own artifact. The archive declares the name's byte as a comment."""
    nameless = bytearray(packed(("a", b"1")))
    entry = nameless.find(b"PK\1\2")
    nameless[entry + 28 : entry + 34] = struct.pack("<HHH", 0, 0, 1)
    run = harness.github.run(harness.board, harness.pull())
    harness.github.upload(run, "one", bytes(nameless))
    harness.github.upload(run, "other", packed(("b", b"2")))
    found = dict(read_artifacts(harness.connect(), run.id, ["one", "other"]))
    assert "is not a readable zip" in found["one"].fault
    assert found["other"].files == {"b": b"2"}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("members", "fault"),
    [
        ([("a", b"x" * 3_000), ("b", b"x" * 3_000)], "has 6000 bytes: expected at most 5000"),
        ([("a", b"1"), ("a", b"2")], "two files of the same name"),
        ([("a", b"1"), (link(), b"a")], "is not a regular file"),
    ],
)
def test_one_bad_file_spoils_the_artifact(
    harness: GithubHarness, members: list[tuple[str | zipfile.ZipInfo, bytes]], fault: str
) -> None:
    run = harness.github.run(harness.board, harness.pull())
    harness.github.upload(run, "one", packed(*members))
    ((_, found),) = read_artifacts(harness.connect(), run.id, ["one"], LIMITS)
    assert found.files is None
    assert fault in found.fault
