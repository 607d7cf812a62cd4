"""Fuzz the readers of a submission: names, submission.toml, predictions, and the files that a pull request changes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from evaluator.errors import FormatError
from evaluator.github.pulls import ChangedFile, ChangedFiles
from evaluator.json_lines import LineProblems, lines_with_ends, read_json_lines
from evaluator.pipeline.pull_requests.classify import PullRequestChange, classify_change, touched_slugs
from evaluator.records import Extraction, Prediction, SubmissionManifest
from evaluator.submissions.extraction import first_block, has_closed_block, without_reasoning
from evaluator.submissions.folder import EntryKind, FolderEntry
from evaluator.submissions.limits import SubmissionLimits
from evaluator.submissions.manifest import check_manifest
from evaluator.submissions.names import entry_problems, slug_faults, suite_of
from evaluator.submissions.parsing.toml_lines import toml_lines
from evaluator.submissions.predictions import check_predictions
from evaluator.submissions.problems import ProblemCollector
from evaluator.submissions.reply_lines import CollectedReplies, collect_predictions
from evaluator.submissions.reply_parser import ReplyCommand, parse_reply_text
from evaluator.submissions.suite_info import SuiteInfo
from tests.fuzz.target import target

TASKS: Final = ("find-1", "find-2", "text-1", "text-2")
SUITES: Final = {
    "core": SuiteInfo("2.1.0", TASKS, ("1.0.0", "2.0.0"), dict.fromkeys(TASKS, "List all files.")),
    "more": SuiteInfo("1.0.0", ("find-1",)),
}
LIMITS: Final = SubmissionLimits(
    command_bytes=200, line_bytes=1000, file_bytes=8192, manifest_bytes=8192, lines=20, nesting=8, problems=20
)
"""Small limits, so that short inputs exceed them."""


def _report(name: str) -> ProblemCollector:
    return ProblemCollector(Path(name), LIMITS.problems)


def _check_messages(report: ProblemCollector) -> None:
    for problem in report.problems():
        assert str(problem).isprintable(), problem


@target(
    "submission-manifest",
    *("evaluator.submissions.manifest", "evaluator.submissions.parsing.toml_lines"),
    *("evaluator.submissions.parsing.lines", "evaluator.submissions.parsing.record_errors"),
    planted=lambda manifest: manifest.parameters not in (None, 7_000_000_000),
    tokens=(
        *(b"format = 1\n", b"system = ", b"open_weights = true\n", b'method = "prompted"\n', b"[[authors]]\n"),
        *(b'name = "A"\n', b"[suites]\n", b'core = "2.1.0"\n', b"parameters = ", b'models = ["a"]\n', b"url = "),
        *(b'"""', b"'''", b"\\u200d", b"1979-05-27T07:32:00Z", b"inf", b"0x", b"a.b.c = 1\n", b"extraction = "),
    ),
)
def read_manifest(data: bytes) -> SubmissionManifest | None:
    report = _report("submission.toml")
    manifest = check_manifest(data, report, LIMITS, SUITES, {"core"})
    if manifest is not None:
        toml_lines(data.decode(errors="replace"))
    _check_messages(report)
    return None if report.refused else manifest


@target(
    "submission-predictions",
    *("evaluator.submissions.predictions", "evaluator.submissions.extraction"),
    *("evaluator.json_lines:read_json", "evaluator.submissions.parsing.lines"),
    *("evaluator.submissions.problems", "evaluator.submissions.messages"),
    *("evaluator.submissions.doubts.command_parts", "evaluator.submissions.doubts.code_points"),
    "evaluator.submissions.doubts.answer_shapes",
    planted=lambda found: len(found) == 2,
    tokens=(
        *(b'{"task":"find-1",', b'"candidates":[', b'{"command":"ls"}', b'"confidence":0.5', b'"output":"', b"]}\n"),
        *(b"```\\n", b"~~~", b'"nl":"', b'"base64"', b"text-1", b"find-2", b"\\ud800", b"\xef\xbb\xbf", b"\r\n"),
        *(b"<<A\\n", b"\\nA\\n", b"\\u202e", b"\\u00a0", b"$(", b"'", b'\\"', b"# ", b"\\\\"),
    ),
    is_json=True,
    longest=8192,
)
def read_predictions(data: bytes) -> dict[str, Prediction] | None:
    """Read a file of predictions of a known, an older and an unknown suite."""
    found: dict[str, Prediction] = {}
    refused = False
    for suite, answered in ((SUITES["core"], "2.1.0"), (SUITES["core"], "1.0.0"), (None, None)):
        for extraction in (Extraction.MARKDOWN, Extraction.NONE) if answered == "2.1.0" else (Extraction.MARKDOWN,):
            report = _report("core.jsonl")
            found = check_predictions(data, report, LIMITS, suite, answered, extraction)
            _check_messages(report)
            refused |= report.refused
    return None if refused else found


@target(
    "json-lines",
    "evaluator.json_lines",
    planted=lambda values: {"a": 3} in values,
    refusals=(FormatError,),
    tokens=(
        *(b'{"a":1}\n', b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b"PK\x03\x04", b"\xe2\x80\xa8", b"\r\n", b"}\r{"),
        *(b"\\ud83d", b"[\n", b"{\n", b"task,output\n", b"<html>", b'"a":1,"a":2', b"12345678901234567890", b"\0"),
    ),
    is_json=True,
)
def read_lines_of_json(data: bytes) -> list[Any]:
    """Read a file of JSON lines. Every line is a value, a problem or blank, and messages fit on a terminal."""
    problems = LineProblems(Path("file"))
    found = list(read_json_lines(data, problems, nesting=8, blank=True))
    assert all(line.text.encode() and json.dumps(line.value, ensure_ascii=False).encode() for line in found)
    assert len(found) + problems.count >= problems.lines
    assert b"".join(lines_with_ends(data)) == data
    assert all(str(problem).isprintable() for problem in problems.all())
    problems.raise_any()
    return [line.value for line in found]


REPLIES_OF: Final = ("find-1", "find-2")


@target(
    "reply-lines",
    *("evaluator.submissions.reply_lines", "evaluator.reply_forms"),
    planted=lambda found: len(found.lines) == 2,
    refusals=(FormatError,),
    tokens=(
        *(
            b'{"task":"find-1",',
            b'"custom_id":"find-2",',
            b'"key":"find-1",',
            b'"response":{"body":',
            b'"output":',
            b"null",
        ),
        *(b'"choices":[{"message":{"content":"ls"}}]', b'"finish_reason":"length"', b'"refusal":"', b'"candidates":['),
        *(
            b'"promptFeedback":{"blockReason":"x"}',
            b'"status":"incomplete"',
            b'"result":{"type":"succeeded","message":',
        ),
        *(b'"type":"text","text":"ls"', b'"tool_calls":[1]', b"<think>", b"</think>", b"\\ud83d", b'"messages":['),
    ),
    is_json=True,
)
def read_reply_lines(data: bytes) -> CollectedReplies:
    """Read a file of replies. Each task has an answer or a reason, and an answer is a line of predictions."""
    found = collect_predictions(Path("replies"), data, REPLIES_OF)
    assert not found.lines.keys() & found.unanswered.keys()
    assert {*found.lines, *found.unanswered} <= {*REPLIES_OF}
    for line in found.lines.values():
        assert Prediction.model_validate_json(line).output
    return found


@target(
    "reply-text",
    *("evaluator.submissions.extraction", "evaluator.submissions.reply_parser:parse_reply_text"),
    planted=lambda found: found.has_prompt_sign and found.command == "ls",
    tokens=(
        *(b"<think>", b"</think>", b"[THINK]", b"<|channel|>final<|message|>", b"<|return|>", b"```bash\n", b"\n```\n"),
        *(
            b"~~~\n",
            b"<<'EOF'\n",
            b"\nEOF\n",
            b"`ls`",
            b"$ ls\n",
            b"user@host:~$ ",
            b"'</think>'",
            b"\n\n",
            b"```sh ls```",
        ),
    ),
    longest=2048,
)
def read_reply_text(data: bytes) -> ReplyCommand:
    """Find the command in a reply. What is taken is a part of the text, apart from indentation and prompt signs."""
    text = data.decode(errors="replace")
    answer = without_reasoning(text)
    assert answer is None or answer in text
    block = first_block(text)
    assert block is None or len(block) <= len(text)
    assert has_closed_block(text) <= (block is not None)
    return parse_reply_text(text, ("ls", "find"))


@target(
    "submission-names",
    "evaluator.submissions.names",
    "evaluator.submissions.messages:quoted",
    planted=lambda found: "more" in found,
    tokens=(
        b"submission.toml",
        b".jsonl",
        b".verdicts.jsonl",
        b"core",
        b"\nmore.jsonl\n",
        b"\xef\xac\x81",
        b"\n",
        b"\xff",
    ),
    longest=256,
)
def check_names(data: bytes) -> list[str]:
    """Check names of a folder's entries, one name a line. The first is also the folder's name."""
    names = [os.fsdecode(line) for line in data.split(b"\n")]
    kinds = list(EntryKind)
    entries = [FolderEntry(name, kinds[len(name) % 7 % len(kinds)], len(name)) for name in names]
    faults = [*slug_faults(names[0], names[1:])]
    faults += [str(problem) for problem in entry_problems(Path("folder"), entries, SUITES)]
    assert all(fault.isprintable() for fault in faults), faults
    return [suite for name in names if (suite := suite_of(name))]


@target(
    "pull-request-paths",
    "evaluator.pipeline.pull_requests.classify",
    planted=lambda change: change.earlier is not None and len(change.outside) == 2,
    tokens=(
        *(b"added submissions/", b"removed submissions/", b"modified ", b"renamed ", b"/submission.toml\n", b" -> "),
        *(b"/core.jsonl\n", b"/core.verdicts.jsonl\n", b"submissions/owners.json\n", b"README.md\n", b"old", b"new"),
    ),
    longest=1024,
)
def classify_paths(data: bytes) -> PullRequestChange:
    """Classify changed files, one a line: the status, the path, and the earlier path after ` -> `."""
    files: list[ChangedFile] = []
    for line in data.decode(errors="surrogateescape").split("\n"):
        status, _, paths = line.partition(" ")
        path, _, earlier = paths.partition(" -> ")
        files.append(ChangedFile(path, status, earlier or None))
    changes = ChangedFiles(tuple(files), complete=len(files) % 5 != 0)
    on_board: dict[str, Any] = {slug: frozenset({"core.jsonl"}) for slug in touched_slugs(changes) if "o" in slug}
    change = classify_change(changes, on_board)
    assert change.is_plain in (False, True)
    assert change.slug in ("", *change.slugs)
    return change
