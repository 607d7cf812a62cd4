"""Fuzz the readers of a submission: names, submission.toml, predictions, and the files that a pull request changes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from evaluator.github.pulls import ChangedFile, ChangedFiles
from evaluator.pipeline.pull_requests.classify import PullRequestChange, classify_change, touched_slugs
from evaluator.records import Extraction, Prediction, SubmissionManifest
from evaluator.submissions.folder import EntryKind, FolderEntry
from evaluator.submissions.limits import SubmissionLimits
from evaluator.submissions.manifest import check_manifest
from evaluator.submissions.names import entry_problems, slug_faults, suite_of
from evaluator.submissions.parsing.toml_lines import toml_lines
from evaluator.submissions.predictions import check_predictions
from evaluator.submissions.problems import ProblemCollector
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
