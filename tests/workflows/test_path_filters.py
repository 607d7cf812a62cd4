"""Every path filter of the workflows matches a file, and those of rescore cover all code that verdicts depend on."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.judges.consensus.judge import Consensus
from evaluator.pipeline.grading.cache_keys import CacheKeys
from tests.doubles.workflows.triggers import matches
from tests.workflows.workflow_yaml import FOLDER, ROOT, WORKFLOWS, read

TRACKED = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split(
    "\0"
)
PATTERNS = sorted(
    {
        (path.stem, pattern)
        for path in WORKFLOWS
        for event in read(path)["on"].values()
        if isinstance(event, dict)
        for key in ("paths", "paths-ignore")
        for pattern in event.get(key, ())
    }
)
RESCORED = read(FOLDER / "workflows" / "rescore.yml")["on"]["push"]["paths"]


@pytest.mark.parametrize(("workflow", "pattern"), PATTERNS)
def test_a_pattern_matches_a_file(workflow: str, pattern: str) -> None:
    """Each pattern matches a file, because GitHub does not report a pattern of a renamed folder."""
    assert any(matches([pattern], [path]) for path in TRACKED), f"{workflow}: no file is at {pattern}"


def imported(path: Path) -> set[Path]:
    """Return the modules of the package `evaluator` that a module imports."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("evaluator"):
            base = ROOT.joinpath(*str(node.module).split("."))
            modules |= {module for name in node.names if (module := base / f"{name.name}.py").is_file()}
            modules.add(base / "__init__.py" if base.is_dir() else base.with_suffix(".py"))
    return modules


def dependencies(module: str) -> set[Path]:
    """Return the files that a module depends on, with the module's own file."""
    modules: set[Path] = set()
    waiting = {Path(str(sys.modules[module].__file__))}
    while waiting:
        path = waiting.pop()
        modules.add(path)
        waiting |= imported(path) - modules
    return modules


@pytest.mark.parametrize("part", [CacheKeys, Consensus])
def test_a_change_of_code_that_a_verdict_key_depends_on_starts_a_rescore(part: type) -> None:
    """A change in any module that the cache keys or the judge import starts a rescore.

    Modules at the root of the package are exempt: errors, progress and escaping change no verdict.
    """
    paths = {path.relative_to(ROOT) for path in dependencies(part.__module__)}
    assert len(paths) > 10
    assert {
        path.as_posix() for path in paths if len(path.parts) > 2 and not matches(RESCORED, [path.as_posix()])
    } == set()


@pytest.mark.parametrize(
    "folder",
    ["evaluator/judges", "evaluator/pipeline/grading", "evaluator/sandbox", "evaluator/shell/mutation", "fixtures"],
)
def test_a_change_of_any_file_that_verdicts_depend_on_starts_a_rescore(folder: str) -> None:
    """A change in any of these folders starts a rescore.

    The image, the runner and the mutants of references are parts of cache keys too. No module imports all of them.
    """
    paths = [path for path in TRACKED if path.startswith(f"{folder}/")]
    assert paths
    assert [path for path in paths if not matches(RESCORED, [path])] == []
