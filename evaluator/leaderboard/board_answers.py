"""The answers on a board with their verdicts: in memory, or in a file for each submission that is read when needed.

A board with a thousand submissions has a million and a half results. Together they would take gigabytes, so a build of
the site reads the results of one submission at a time. `MemoryAnswers` holds results that exist anyway, such as those
of a board that was just scored. `StoredAnswers` reads pieces: files that `write_piece` made, one for each submission.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
import zlib
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from evaluator.files import write_whole
from evaluator.json_lines import lines_with_ends
from evaluator.leaderboard.result_text import ResultText, packed_texts, result_texts, unpacked_texts
from evaluator.records import Outcome, Result, json_lines
from evaluator.shell.repeats import bare_digest

_FAST: Final = 1
_SMALL: Final = 6

TaskResults = Mapping[str, tuple[Result, ...]]
"""The results of a submission's candidates by task, in the submission's order."""


class VerdictParts(NamedTuple):
    """HTML on a submission's page: its failures by step, the table of its verdicts, and its classes of errors.

    The parts depend on the submission and on the suite alone.
    """

    failures: str
    table: str
    errors: str


class BoardAnswers(Protocol):
    """The answers of all submissions on a board. All methods but `digest` raise KeyError for an unknown slug."""

    def candidates(self, slug: str) -> TaskResults:
        """Return the results of all candidates of a submission."""
        ...

    def first_texts(self, slug: str, tasks: Collection[str] | None = None) -> Mapping[str, ResultText]:
        """Return the results of the first candidates by task, as texts: for all tasks, or for `tasks` alone."""
        ...

    def asked(self, slug: str) -> frozenset[str]:
        """Return the tasks that a submission was asked."""
        ...

    def passed(self, slug: str) -> frozenset[str]:
        """Return the tasks that a submission passes with its first candidate."""
        ...

    def forms(self, slug: str) -> Mapping[str, str]:
        """Return the digest of the form of each task's first candidate, without wrappers around it."""
        ...

    def download(self, slug: str) -> bytes:
        """Return the results of a submission as JSON lines, compressed with gzip."""
        ...

    def verdict_parts(self, slug: str) -> VerdictParts | None:
        """Return the parts of the submission's page that depend on its own verdicts, or None if they are not made."""
        ...

    def digest(self, slug: str) -> str:
        """Return the digest of everything that the other methods return."""
        ...


def forms_of(results: TaskResults) -> dict[str, str]:
    """Return the digest of the form of each task's first candidate, without wrappers such as `time` or `bash -c`.

    Tasks without an answer are left out.
    """
    firsts = ((task, own[0].command) for task, own in results.items())
    return {task: bare_digest(command) for task, command in firsts if command is not None and command.strip()}


def compressed(text: str | bytes) -> bytes:
    """Return a text compressed with gzip. Equal texts give equal bytes, because the header holds no time."""
    data = text.encode() if isinstance(text, str) else text
    return gzip.compress(data, _SMALL, mtime=0)


class MemoryAnswers:
    """Answers whose results are in memory. `tasks` lists the tasks of the suite in their order."""

    def __init__(self, results: Iterable[Result], slugs: Iterable[str], tasks: Iterable[str]) -> None:
        grouped: dict[str, dict[str, list[Result]]] = {slug: {} for slug in slugs}
        for result in sorted(results, key=attrgetter("rank")):
            grouped[result.submission].setdefault(result.task, []).append(result)
        order = tuple(tasks)
        self._results: Mapping[str, TaskResults] = {
            slug: {task: tuple(by_task[task]) for task in order if task in by_task} for slug, by_task in grouped.items()
        }

    def candidates(self, slug: str) -> TaskResults:
        """Return the results of all candidates of a submission."""
        return self._results[slug]

    def first_texts(self, slug: str, tasks: Collection[str] | None = None) -> Mapping[str, ResultText]:
        """Return the results of the first candidates by task, as texts: for all tasks, or for `tasks` alone."""
        own = self._results[slug]
        texts = result_texts([results[0] for task, results in own.items() if tasks is None or task in tasks])
        return {text.task: text for text in texts}

    def asked(self, slug: str) -> frozenset[str]:
        """Return the tasks that a submission was asked."""
        return frozenset(self._results[slug])

    def passed(self, slug: str) -> frozenset[str]:
        """Return the tasks that a submission passes with its first candidate."""
        return frozenset(task for task, results in self._results[slug].items() if is_passed(results[0]))

    def forms(self, slug: str) -> Mapping[str, str]:
        """Return the digest of the form of each task's first candidate, without wrappers around it."""
        return forms_of(self._results[slug])

    def download(self, slug: str) -> bytes:
        """Return the results of a submission as JSON lines, compressed with gzip."""
        return compressed(json_lines(result for results in self._results[slug].values() for result in results))

    def verdict_parts(self, slug: str) -> VerdictParts | None:
        """Return None: the page makes the parts."""
        return None

    def digest(self, slug: str) -> str:
        """Return the digest of a submission's results."""
        return hashlib.sha256(self.download(slug)).hexdigest()


def is_passed(result: Result) -> bool:
    """Return whether the verdict on an answer is a pass."""
    return result.finding.outcome is Outcome.PASS


def _shared_names(names: Iterable[str]) -> frozenset[str]:
    """Return names as a set. Equal names of all sets are one object, because a board has hundreds of thousands."""
    return frozenset(map(sys.intern, names))


class SubmissionPiece(NamedTuple):
    """Everything that a board needs of one submission.

    `facts` is a value for JSON, with at least `suite`, `asked`, `passed` and `forms` (see `forms_of`). `results` has
    the results of all candidates by task. `parts` is HTML of the submission's page.
    """

    facts: Mapping[str, Any]
    results: TaskResults
    parts: VerdictParts


def write_piece(path: Path, key: str, piece: SubmissionPiece) -> None:
    """Write the piece of the submission `path.name` to a file. `key` is the digest of its inputs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = list(result_texts(result for results in piece.results.values() for result in results))
    lines = "".join(f"{text.line(path.name, piece.facts['suite'])}\n" for text in texts)
    sections = {
        "facts": json.dumps(piece.facts).encode(),
        "first": zlib.compress(packed_texts(text for text in texts if text.rank == 1), _FAST),
        "download": compressed(lines),
        "parts": zlib.compress(json.dumps(piece.parts).encode(), _FAST),
    }
    digest = hashlib.sha256(b"".join(sections.values())).hexdigest()
    head = {"key": key, "digest": digest, "sizes": {name: len(data) for name, data in sections.items()}}
    write_whole(path, b"".join((json.dumps(head).encode(), b"\n", *sections.values())))


class PieceHead(NamedTuple):
    """The first line of a piece: the key of its inputs, the digest of its content, and the sizes of its sections."""

    key: str
    digest: str
    sizes: Mapping[str, int]
    start: int


def read_head(path: Path) -> PieceHead | None:
    """Read the first line of a piece, or return None if there is no complete piece."""
    try:
        with path.open("rb") as file:
            line = file.readline(4096)
            head = json.loads(line)
            found = PieceHead(head["key"], head["digest"], head["sizes"], len(line))
            return found if path.stat().st_size == found.start + sum(found.sizes.values()) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


class StoredAnswers:
    """Answers to a suite in pieces. `paths` maps slugs to the files."""

    def __init__(self, suite: str, paths: Mapping[str, Path]) -> None:
        self.suite = suite
        self.paths = dict(paths)
        self._heads: dict[str, PieceHead] = {}

    def __reduce__(self) -> tuple[type[StoredAnswers], tuple[str, Mapping[str, Path]]]:
        """Leave out what was read, because another process reads what it needs."""
        return StoredAnswers, (self.suite, self.paths)

    def _head(self, slug: str) -> PieceHead:
        if slug not in self._heads:
            head = read_head(self.paths[slug])
            if head is None:
                raise KeyError(slug)
            self._heads[slug] = head
        return self._heads[slug]

    def _section(self, slug: str, name: str) -> bytes:
        head = self._head(slug)
        start = head.start
        for section, size in head.sizes.items():
            if section == name:
                with self.paths[slug].open("rb") as file:
                    file.seek(start)
                    return file.read(size)
            start += size
        raise KeyError(name)

    def facts(self, slug: str) -> dict[str, Any]:
        """Return the facts of a submission's piece."""
        found: dict[str, Any] = json.loads(self._section(slug, "facts"))
        return found

    @cached_property
    def _outcomes(self) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
        facts = {slug: self.facts(slug) for slug in self.paths}
        return {slug: (_shared_names(fact["asked"]), _shared_names(fact["passed"])) for slug, fact in facts.items()}

    def candidates(self, slug: str) -> TaskResults:
        """Return the results of all candidates of a submission."""
        found: dict[str, list[Result]] = {}
        for line in lines_with_ends(gzip.decompress(self.download(slug))):
            result = Result.model_validate_json(line)
            found.setdefault(result.task, []).append(result)
        return {task: tuple(results) for task, results in found.items()}

    def first_texts(self, slug: str, tasks: Collection[str] | None = None) -> Mapping[str, ResultText]:
        """Return the results of the first candidates by task, as texts: for all tasks, or for `tasks` alone."""
        return unpacked_texts(zlib.decompress(self._section(slug, "first")), tasks)

    def asked(self, slug: str) -> frozenset[str]:
        """Return the tasks that a submission was asked."""
        return self._outcomes[slug][0]

    def passed(self, slug: str) -> frozenset[str]:
        """Return the tasks that a submission passes with its first candidate."""
        return self._outcomes[slug][1]

    def forms(self, slug: str) -> Mapping[str, str]:
        """Return the digest of the form of each task's first candidate, without wrappers around it."""
        found: dict[str, str] = self.facts(slug)["forms"]
        return found

    def download(self, slug: str) -> bytes:
        """Return the results of a submission as JSON lines, compressed with gzip."""
        return self._section(slug, "download")

    def verdict_parts(self, slug: str) -> VerdictParts | None:
        """Return the parts of the submission's page that depend on its own verdicts."""
        return VerdictParts(*json.loads(zlib.decompress(self._section(slug, "parts"))))

    def digest(self, slug: str) -> str:
        """Return the digest of a submission's piece."""
        return self._head(slug).digest
