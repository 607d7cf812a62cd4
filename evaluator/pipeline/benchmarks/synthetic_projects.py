"""Write a synthetic board as a project: a suite, submissions and verdict files, as the repository holds them.

`bashboard build --published` reads such a project like any other. No command is executed, so no verdict is true.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from itertools import groupby
from pathlib import Path
from typing import Final

from evaluator.errors import InfraError
from evaluator.judges import find_judge
from evaluator.pipeline.benchmarks.synthetic_boards import (
    SUITE,
    SyntheticResults,
    added_day,
    synthetic_results,
    synthetic_world,
)
from evaluator.pipeline.grading.verdict_files import VerdictFile, verdict_bytes
from evaluator.progress import Progress
from evaluator.records import (
    Candidate,
    Prediction,
    PublishedVerdict,
    Record,
    Result,
    VerdictsHeader,
    WorldManifest,
    command_digest,
    digest_of,
    json_lines,
)
from evaluator.submissions.manifest_text import manifest_toml, toml_table

_PROJECT: Final = Path(__file__).parents[3]
_FINGERPRINT: Final = "f" * 64


def write_project(
    root: Path, progress: Progress, *, submissions: int, tasks: int, candidates: int, seed: int = 1
) -> None:
    """Write a project to the folder `root`, with this many submissions, tasks and candidates.

    The site's hand-written pages are those of this repository, and `evaluator` is a link to this package.
    """
    root.mkdir(parents=True, exist_ok=True)
    for name in ("mkdocs.yml", "pyproject.toml"):
        shutil.copyfile(_PROJECT / name, root / name)
    shutil.copytree(_PROJECT / "site", root / "site", ignore=shutil.ignore_patterns("board", ".board-*", "frozen"))
    (root / "evaluator").symlink_to(_PROJECT / "evaluator")
    (root / "fixtures").mkdir()
    progress.say(f"drawing {submissions} submissions")
    data = synthetic_results(submissions, tasks, candidates, seed)
    _write_suite(root / "fixtures" / SUITE.name, data)
    progress.stage("write the submissions", submissions)
    for slug, results in groupby(data.results, key=lambda result: result.submission):
        _write_submission(root / "submissions" / slug, data, list(results))
        progress.advance()


def commit_submissions(root: Path) -> None:
    """Commit each submission of a synthetic project that is not committed yet, on the day on which it was added.

    The first call makes the repository and commits the suite. A thousand commits take seconds, because one Git process
    imports all. Raise InfraError if Git fails.
    """
    known: set[str] = set()
    if (root / ".git").is_dir():
        known.update(_git(root, "ls-tree", "--name-only", "HEAD:submissions").decode().split())
        start = b"reset refs/heads/main\nfrom refs/heads/main^0\n\n"
    else:
        _git(root, "init", "--quiet", "--initial-branch=main")
        start = _commit(added_day(0), _files(root, root / "fixtures"))
    folders = [folder for folder in (root / "submissions").iterdir() if folder.name not in known]
    days = sorted((added_day(int(folder.name.rpartition("-")[2])), folder) for folder in folders)
    stream = b"".join([start, *(_commit(day, _files(root, folder)) for day, folder in days)])
    _git(root, "fast-import", "--quiet", stream=stream)
    _git(root, "reset", "--quiet")


def _commit(day: date, files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a commit as a part of the stream of `git fast-import`. It follows the one before."""
    seconds = int(datetime.combine(day, time(12), UTC).timestamp())
    head = f"commit refs/heads/main\ncommitter Bashboard <board@example.org> {seconds} +0000\ndata 0\n"
    changes = (f"M 100644 inline {name}\ndata {len(data)}\n".encode() + data + b"\n" for name, data in files)
    return b"".join([head.encode(), *changes])


def _files(root: Path, folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(root).as_posix(), path.read_bytes()


def _git(root: Path, *arguments: str, stream: bytes = b"") -> bytes:
    try:
        completed = subprocess.run(["git", "-C", str(root), *arguments], input=stream, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise InfraError(f"the history of the synthetic project could not be written: {error}") from error
    return completed.stdout


def _write_suite(folder: Path, data: SyntheticResults) -> None:
    (folder / "tasks").mkdir(parents=True)
    (folder / "suite.toml").write_text(_toml(SUITE), "utf-8")
    for topic in sorted({task.topic.value for task in data.tasks}):
        lines = json_lines(task for task in data.tasks if task.topic.value == topic)
        (folder / "tasks" / f"{topic}.jsonl").write_text(lines, "utf-8")
    for world in sorted({task.world for task in data.tasks}):
        place = folder / "worlds" / world
        place.mkdir(parents=True)
        (place / "world.toml").write_text(_world_toml(synthetic_world(f"The world {world}")), "utf-8")
        (place / "build.sh").write_text("true\n", "utf-8")


def _toml(record: Record) -> str:
    """Return a record as TOML, without the fields that have their default value."""
    values = record.model_dump(exclude_defaults=True)
    lines = [line for line in toml_table("table", values) if line != "[table]"]
    return "\n".join(lines).replace("[table.", "[") + "\n"


def _world_toml(world: WorldManifest) -> str:
    variants = "".join(f'\n[[variants]]\nname = "{each.name}"\nseed = {each.seed}\n' for each in world.variants)
    return f'format = 1\ntitle = "{world.title}"\n{variants}'


def _write_submission(folder: Path, data: SyntheticResults, results: Sequence[Result]) -> None:
    folder.mkdir(parents=True)
    suite = SUITE.name
    (folder / "submission.toml").write_text(manifest_toml(data.manifests[folder.name]), "utf-8")
    by_task = [(task, list(rows)) for task, rows in groupby(results, key=lambda result: result.task)]
    (folder / f"{suite}.jsonl").write_text(json_lines(_prediction(task, rows) for task, rows in by_task), "utf-8")
    (folder / f"{suite}.verdicts.jsonl").write_bytes(verdict_bytes(_verdict_file(data.version, results)))


def _prediction(task: str, results: Sequence[Result]) -> Prediction:
    given = (result for result in results if result.command is not None)
    usage = results[0].usage.model_dump() if results[0].usage else {}
    candidates = tuple(Candidate(command=each.command, confidence=each.confidence) for each in given)
    return Prediction(task=task, candidates=candidates, **usage)


def _verdict_file(version: str, results: Sequence[Result]) -> VerdictFile:
    judge = find_judge("consensus")
    header = VerdictsHeader(
        format=VerdictsHeader.newest_format,
        suite=SUITE.name,
        suite_version=version,
        judge=judge.name,
        judge_version=judge.version,
        fingerprint=_FINGERPRINT,
    )
    verdicts: dict[tuple[str, str], PublishedVerdict] = {}
    for result in results:
        command = command_digest(result.command or b"")
        key = digest_of(result.task.encode(), command.encode())
        verdict = PublishedVerdict(key=key, task=result.task, command=command, finding=result.finding, run=result.run)
        verdicts.setdefault((result.task, command), verdict)
    return VerdictFile(header, tuple(sorted(verdicts.values(), key=lambda verdict: verdict.key)))
