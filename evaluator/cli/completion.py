"""Names that the shell completes: submissions, suites, tasks, worlds and judges.

A completion must be quick and must never show an error. So these functions read the names of files and the beginnings
of lines. They import no record and no judge, and return nothing where a folder cannot be read. A name with other
characters than slugs and task ids have is left out, because the shell would expand it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import typer

from evaluator.pipeline.checkout import checkout_root

JUDGES: Final = (
    *("exact", "bleu", "nl2cmd", "tfidf", "exec-tfidf", "intercode", "embed", "exec-embed", "llm", "exec-llm"),
    "consensus",
)
"""The names of all judges. They stand here because importing the judges takes long."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")
_TASK: Final = re.compile(r'\{"(?:id|task)": ?"([^"\\]+)"')
"""The beginning of a line of tasks, or of a line of the index of an external suite."""


def _matching(incomplete: str, names: Callable[[Path], Iterable[str]]) -> list[str]:
    """Return the names in this checkout that begin with a text. Return none outside of a checkout."""
    try:
        root = checkout_root(Path.cwd())
        found = set(names(root)) if root else set()
    except (OSError, ValueError):  # a folder that cannot be read
        return []
    return sorted(name for name in found if name.startswith(incomplete) and _NAME.fullmatch(name))


def _manifests(root: Path) -> Iterator[Path]:
    return (root / "fixtures").glob("*/suite.toml")


def _suite_of(context: typer.Context) -> str:
    """Return the suite that the command line names so far. The default is core."""
    named = context.params.get("suite") or context.params.get("name") or "core"
    name = named if isinstance(named, str) else str(named[-1])
    return name if _NAME.fullmatch(name) else "core"


def complete_submissions(incomplete: str) -> list[str]:
    """Return the slugs of submissions that begin with a text."""
    return _matching(
        incomplete, lambda root: (folder.name for folder in (root / "submissions").iterdir() if folder.is_dir())
    )


def complete_suites(incomplete: str) -> list[str]:
    """Return the names of suites, fetched or not, that begin with a text."""

    def names(root: Path) -> Iterator[str]:
        yield from (manifest.parent.name for manifest in _manifests(root))
        yield from (declaration.stem for declaration in (root / "fixtures" / "external").glob("*.toml"))

    return _matching(incomplete, names)


def complete_tasks(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the ids of tasks that begin with a text, of the suite that the command line names."""
    suite = _suite_of(ctx)

    def names(root: Path) -> Iterator[str]:
        index = root / "fixtures" / "external" / f"{suite}.tasks.jsonl"
        for path in (*(root / "fixtures" / suite / "tasks").rglob("*.jsonl"), *([index] if index.is_file() else [])):
            for line in path.read_text("utf-8", "replace").split("\n"):
                if match := _TASK.match(line):
                    yield match[1]

    return _matching(incomplete, names)


def complete_worlds(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the names of worlds that begin with a text, of the suite that the command line names."""
    suite = _suite_of(ctx)
    return _matching(
        incomplete,
        lambda root: (each.name for each in (root / "fixtures" / suite / "worlds").iterdir() if each.is_dir()),
    )


def complete_judges(incomplete: str) -> list[str]:
    """Return the names of judges that begin with a text."""
    return [name for name in JUDGES if name.startswith(incomplete)]
