"""Tests of verdict files: a malformed file is refused, and a written file can be read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.errors import FormatError
from evaluator.pipeline.grading.verdict_files import (
    MAX_BYTES,
    MAX_PROBLEMS,
    VerdictFile,
    read_verdicts,
    verdict_bytes,
    verdicts_in,
)
from evaluator.records import Finding, Outcome, PublishedVerdict, RunMetrics, Step, VerdictsHeader, digest_of

HEADER = VerdictsHeader(
    format=4, suite="tiny", suite_version="1.0.0", judge="consensus", judge_version=1, fingerprint="f" * 64
)
PATH = Path("submissions/a/tiny.verdicts.jsonl")


def verdict(key: str, task: str = "files-1", command: str = "ls", **fields: Any) -> PublishedVerdict:
    finding = Finding(outcome=fields.pop("outcome", Outcome.FAIL), step=Step.OUTPUT, reason="another row")
    return PublishedVerdict(
        key=digest_of(key.encode()), task=task, command=digest_of(command.encode()), finding=finding, **fields
    )


def small() -> bytes:
    found = [verdict(each, command=each) for each in ("a", "b", "c")]
    return verdict_bytes(VerdictFile(HEADER, tuple(found)))


def lines() -> list[bytes]:
    return small().split(b"\n")


RUN = b'"run":{"valid":true,"runnable":true,"exit_zero":true,"clean_stderr":true}'


def not_run(others: bytes, step: bytes = b"", ends: bytes = b"") -> bytes:
    """Return a file whose first line says that its command did not run. The other lines have another outcome."""
    header, first, *rest = small().replace(b'"fail"', b'"%s"' % others).split(b"\n")
    first = first.partition(b'"finding"')[0] + b'"finding":{"outcome":"not-run",%s"reason":"candidate 2 passed"}' % step
    return b"\n".join([header, first + ends + b"}", *rest])


BROKEN = {
    "nothing": (b"", 1, "expected a header"),
    "no header": (b"\n".join(lines()[1:]), 1, "expected a header"),
    "a newer format": (small().replace(b'"format":4', b'"format":5'), 1, "upgrade bashboard"),
    "an older format": (small().replace(b'"format":4', b'"format":3'), 1, "format: Input should be 4"),
    "no newline at the end": (small()[:-1], 4, "newline"),
    "a blank line": (small() + b"\n", 5, "JSON"),
    "not UTF-8": (small().replace(b"another", b"\xff"), 2, "cannot be read"),
    "an unknown field": (small().replace(b'"task"', b'"more":1,"task"', 1), 2, "more"),
    "a field twice": (small().replace(b'"task"', b'"task":"files-1","task"', 1), 2, "more than once"),
    "an outcome that is none": (small().replace(b'"fail"', b'"passed"', 1), 2, "finding.outcome"),
    "an infra-error": (small().replace(b'"fail"', b'"infra-error"', 1), 2, "never published"),
    "not run, and nothing passes": (not_run(b"fail"), 2, "no command of files-1 passes"),
    "not run, with a step": (not_run(b"pass", b'"step":"output",'), 2, "has a run, panel, step or variant"),
    "not run, with a run": (not_run(b"pass", ends=b"," + RUN), 2, "has a run, panel, step or variant"),
    "another order": (b"\n".join([lines()[0], lines()[2], lines()[1], lines()[3], b""]), 3, "sorted by key"),
    "a line twice": (b"\n".join([*lines()[:4], lines()[3], b""]), 5, "is repeated"),
    "deep nesting": (b"[" * 100_000, 1, "nested"),
    "a lone surrogate": (small().replace(b"another row", b"\\ud800", 1), 2, "surrogate"),
    "a long line": (small().replace(b"another row", b"x" * 2_000_000, 1), 2, "bytes"),
}


@pytest.mark.parametrize(("data", "line", "words"), BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_named_at_its_line(data: bytes, line: int, words: str) -> None:
    with pytest.raises(FormatError) as raised:
        verdicts_in(data, PATH)
    assert any(each.line == line and words in each.message for each in raised.value.problems), str(raised.value)


def test_one_command_has_one_line() -> None:
    """A file with two lines for one command of one task is refused, because these would be two verdicts."""
    twice = VerdictFile(HEADER, (verdict("a", command="x"), verdict("b", command="x")))
    with pytest.raises(ValueError, match="again"):
        verdict_bytes(twice)


def test_too_much_wrong_is_not_listed_to_the_end() -> None:
    with pytest.raises(FormatError) as raised:
        verdicts_in(lines()[0] + b"\n{}" * 1000 + b"\n", PATH)
    assert len(raised.value.problems) <= MAX_PROBLEMS + 10
    assert "the rest of the file is not read" in raised.value.problems[-1].message


def test_no_more_is_read_than_a_file_may_have() -> None:
    with pytest.raises(FormatError, match="the file is not read"):
        verdicts_in(b"x" * (MAX_BYTES + 1), PATH)


def test_where_there_is_no_file_there_is_none(tmp_path: Path) -> None:
    assert read_verdicts(tmp_path / "tiny.verdicts.jsonl") is None


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_only_a_regular_file_is_read(tmp_path: Path, kind: str) -> None:
    """Only a regular file is read. A symbolic link is not followed, and the reader does not wait for a FIFO."""
    path = tmp_path / "tiny.verdicts.jsonl"
    if kind == "link":
        (tmp_path / "other").write_bytes(small())
        path.symlink_to("other")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(FormatError, match="regular file"):
        read_verdicts(path)


def test_a_command_that_did_not_run_has_a_line() -> None:
    file = verdicts_in(not_run(b"pass"), PATH)
    assert file.verdicts[0].finding == Finding(outcome=Outcome.NOT_RUN, reason="candidate 2 passed")
    assert verdict_bytes(file) == not_run(b"pass")


def test_no_infra_error_is_written() -> None:
    with pytest.raises(ValueError, match="infra-error"):
        verdict_bytes(VerdictFile(HEADER, (verdict("a", outcome=Outcome.INFRA_ERROR),)))


FINDINGS = st.builds(
    Finding,
    outcome=st.sampled_from([each for each in Outcome if each not in (Outcome.INFRA_ERROR, Outcome.NOT_RUN)]),
    step=st.none() | st.sampled_from(Step),
    reason=st.text(st.characters(codec="utf-8")),
    variant=st.none() | st.text(st.characters(codec="utf-8")),
    place=st.none() | st.binary(),
    collateral=st.booleans(),
)
RUNS = st.none() | st.builds(
    RunMetrics, valid=st.booleans(), runnable=st.booleans(), exit_zero=st.booleans(), clean_stderr=st.booleans()
)


@given(st.dictionaries(st.integers(0, 10_000), st.tuples(FINDINGS, RUNS), max_size=8), st.randoms())
def test_a_file_reads_as_it_was_written_whatever_its_order(found: dict[int, Any], random: Any) -> None:
    """A written file is equal when it is read, for any findings, and its bytes do not depend on the order of the
    verdicts.
    """
    verdicts = [
        PublishedVerdict(
            key=digest_of(b"%d" % number), task="t", command=digest_of(b"c%d" % number), finding=finding, run=run
        )
        for number, (finding, run) in found.items()
    ]
    data = verdict_bytes(VerdictFile(HEADER, tuple(verdicts)))
    random.shuffle(verdicts)
    assert verdict_bytes(VerdictFile(HEADER, tuple(verdicts))) == data
    again = verdicts_in(data, PATH)
    assert set(again.verdicts) == set(verdicts)
    assert again.header == HEADER
    assert [again.line_of(each.task, each.command) for each in again.verdicts] == list(range(2, len(verdicts) + 2))
