"""Tests of the change set of file trees that are hard to read: special, sparse, deep, large and linked files."""

from __future__ import annotations

import time

import pytest

from evaluator.records import Evidence
from evaluator.sandbox.runner.fs_changes import MAX_DEPTH, MAX_ENTRIES, MAX_PATH_BYTES
from tests.sandbox_harness import SLOWNESS, SandboxHarness

pytestmark = pytest.mark.engine

T = b"/srv/tiny/"
READ_S = 20.0 * SLOWNESS
"""The seconds that a job may take. The runner's reader has a minute beyond the time of the command."""


def run(harness: SandboxHarness, command: str | bytes) -> Evidence:
    began = time.monotonic()
    evidence = harness.run(command)
    assert time.monotonic() - began < READ_S
    return evidence


SPECIAL = {
    "mkfifo x": "fifo",
    "mkfifo -m 600 x; exec 3<>x; echo waiting >&3": "fifo",
    "perl -MSocket -e 'socket(S,1,1,0); bind(S,sockaddr_un(\"x\")) or die $!'": "socket",
    "mkdir x; chmod 0 x": "directory",
    "echo secret > x; chmod 0 x": "file",
    "ln -s x x": "link",
    "ln -s /proc/self/fd/0 x": "link",
    "ln -s /dev/zero x": "link",
    "ln -s ../../../../../../etc/shadow x": "link",
    "cp -a /dev/fd x": "link",
}


@pytest.mark.parametrize("command", SPECIAL)
def test_special_files_are_named_and_never_opened(sandbox: SandboxHarness, command: str) -> None:
    """A special file is listed with its type and is not opened.

    The reader does not wait for a FIFO, does not follow a link and ignores the mode.
    """
    (change,) = run(sandbox, command).changes
    assert (change.path, change.kind, change.type) == (T + b"x", "added", SPECIAL[command])


@pytest.mark.parametrize(
    "name",
    [
        b"new\nline",
        b" ",
        b"-rf",
        b"*",
        b"\xff\xfe\x80",
        b"\x1b[31mred\x07\r\b",
        b"quote'\"back\\slash",
        "\u202egnp.exe".encode(),
        "é".encode(),
        b"e\xcc\x81",
        b'{"base64": "AA=="}',
        b"n" * 255,
    ],
)
def test_any_name_is_told_as_it_is(sandbox: SandboxHarness, name: bytes) -> None:
    """A file name of any bytes is listed unchanged and is not confused with another name."""
    command = b"touch -- $'" + b"".join(b"\\x%02x" % byte for byte in name) + b"'"
    assert [change.path for change in run(sandbox, command).changes] == [T + name]


def test_hard_links_are_files_of_the_same_content(sandbox: SandboxHarness) -> None:
    """Every hard link to a file is listed as a file with the same content."""
    changes = run(sandbox, "echo text > a; ln a b; ln a c").changes
    assert len({change.content for change in changes}) == 1
    assert [change.path for change in changes] == [T + b"a", T + b"b", T + b"c"]


def test_a_file_of_a_thousand_names_is_read_once(sandbox: SandboxHarness) -> None:
    """A file with 2,000 hard links is read once. It has 60 MB, so reading it under each name would be 120 GB."""
    evidence = run(sandbox, "head -c 60m /dev/zero | tr '\\0' x > a; perl -e 'link(\"a\", \"l$_\") for 1..2000'")
    assert len({change.content for change in evidence.changes}) == 1
    assert len(evidence.changes) == 2001


def test_a_sparse_terabyte_is_read_at_once(sandbox: SandboxHarness) -> None:
    """A sparse file of a terabyte is read in time, because holes are skipped. Its full size is recorded."""
    evidence = run(
        sandbox, "truncate -s 1T huge; truncate -s 2T huger; printf x | dd of=huge bs=1 seek=1000000 conv=notrunc"
    )
    assert [(change.size, change.path) for change in evidence.changes] == [
        (1 << 40, T + b"huge"),
        (2 << 40, T + b"huger"),
    ]
    assert evidence.changes[0].content != evidence.changes[1].content


def test_holes_and_zeros_are_the_same_content(sandbox: SandboxHarness) -> None:
    """The digest of a file is the same with holes and with zeros."""
    command = (
        "truncate -s 1M a; for at in 0 40 70 200; do printf x | dd of=a bs=1k seek=$at conv=notrunc status=none; done;"
        "cat a > b; cp --sparse=always a c"
    )
    assert len({change.content for change in run(sandbox, command).changes}) == 1


DEEP = 'perl -e \'for (1..{depth}) {{ mkdir "{name}"; chdir "{name}" or exit }} open F, ">leaf"\''


@pytest.mark.parametrize(("depth", "truncated"), [(200, False), (MAX_DEPTH + 10, True), (5000, True)])
def test_depth_is_bounded(sandbox: SandboxHarness, depth: int, truncated: bool) -> None:
    """A tree that is deeper than the limit is marked as truncated, and its upper part is listed."""
    evidence = run(sandbox, DEEP.format(depth=depth, name="d"))
    assert evidence.changes_truncated is truncated
    assert len(evidence.changes) == (depth + 1 if not truncated else MAX_DEPTH - 1)


def test_long_paths_are_bounded(sandbox: SandboxHarness) -> None:
    """The total length of all listed paths is bounded.

    Without a limit, a thousand names below 200 folders of 255 bytes would be 50 MB of paths.
    """
    deep = DEEP.format(depth=200, name="n" * 255).replace("open F", 'for (1..1000) { open G, ">$_" } open F')
    evidence = run(sandbox, deep)
    assert evidence.changes_truncated
    assert sum(len(change.path) for change in evidence.changes) <= MAX_PATH_BYTES


@pytest.mark.parametrize(
    ("count", "truncated", "times"), [(MAX_ENTRIES, False, 1), (MAX_ENTRIES + 1, True, 1), (29_000, True, 2)]
)
def test_entries_are_bounded(sandbox: SandboxHarness, count: int, truncated: bool, times: int) -> None:
    """At most 20,000 changes are listed, always the same ones. If there are more, the list is marked as truncated."""
    runs = [run(sandbox, f"perl -e 'open F, \">$_\" for 1..{count}'") for _ in range(times)]
    assert {(len(each.changes), each.changes_truncated) for each in runs} == {(MAX_ENTRIES, truncated)}
    assert len({each.digest for each in runs}) == 1


def test_long_link_texts_are_bounded(sandbox: SandboxHarness) -> None:
    """The total length of all link texts is bounded. One text may have 4,095 bytes, and there may be 20,000 links."""
    evidence = run(sandbox, "perl -e 'symlink(\"x\" x 4000, $_) for 1..5000'")
    assert evidence.changes_truncated
    assert len(evidence.changes) > 900


def test_a_task_may_ask_for_texts(sandbox: SandboxHarness) -> None:
    """Only the regular files that a task names have their bytes in the change set."""
    evidence = sandbox.run(
        "printf 'x\\xff' > new; echo more >> file; ln -s file fake; echo other > other",
        text_files=["/srv/tiny/new", "/srv/tiny/file", "/srv/tiny/fake", "/srv/tiny/absent"],
    )
    texts = {change.path.removeprefix(T): change.text for change in evidence.changes}
    assert texts == {b"new": b"x\xff", b"file": b"alpha\nbeta\nmore\n", b"fake": None, b"other": None}


def test_a_text_is_read_under_each_of_its_names(sandbox: SandboxHarness) -> None:
    """A file that a task names has its text, even if another hard link to it was read first."""
    evidence = sandbox.run("echo text > a; ln a b", text_files=["/srv/tiny/b"])
    assert [change.text for change in evidence.changes] == [None, b"text\n"]
