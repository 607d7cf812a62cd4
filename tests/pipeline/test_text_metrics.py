"""Text metrics are computed once, and again if one of their inputs changes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import evaluator
from evaluator.metrics.nlc2cmd import score_candidate
from evaluator.metrics.texts import compare_texts
from evaluator.pipeline.grading.text_metrics import (
    cached_nlc2cmd_scores,
    cached_text_metrics,
    program_digest,
    program_files,
    reference_calls,
    score_key,
    text_digest,
    text_files,
)
from evaluator.records import TextMetrics
from evaluator.store import Store
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.executor import fake_boards

PACKAGE = Path(evaluator.__file__).parent
TASK = small_task("files-1", references=("ls -l a", "ls -a"))
KEY = score_key("program", b"ls -l", (b"ls", b"ls -a"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "store.sqlite")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("program", "command", "references"),
    [
        ("another program", b"ls -l", (b"ls", b"ls -a")),
        ("program", b"ls -l ", (b"ls", b"ls -a")),
        ("program", b"ls -l", (b"ls", b"ls -b")),
        ("program", b"ls -l", (b"ls",)),
        ("program", b"ls -l", (b"ls", b"ls -a", b"ls -a")),
        ("program", b"ls -l", (b"lsls", b" -a")),
        ("program", b"ls -lls", (b"ls -a",)),
    ],
)
def test_another_command_reference_or_program_is_another_key(
    program: str, command: bytes, references: tuple[bytes, ...]
) -> None:
    assert score_key(program, command, references) != KEY


def copy_program(folder: Path) -> Path:
    for path in program_files():
        copy = folder / path.relative_to(PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return folder


@pytest.mark.parametrize("file", [str(path.relative_to(PACKAGE)) for path in program_files()])
def test_any_change_of_a_file_that_computes_scores_is_another_program(tmp_path: Path, file: str) -> None:
    assert program_digest(copy_program(tmp_path / "same")) == program_digest()
    changed = copy_program(tmp_path / "changed")
    with (changed / file).open("ab") as stream:
        stream.write(b"#")
    assert program_digest(changed) != program_digest()


@pytest.mark.parametrize("file", ["metrics/texts.py", "metrics/bleu.py", "shell/words.py"])
def test_any_change_of_a_file_that_compares_texts_is_another_program(tmp_path: Path, file: str) -> None:
    for path in text_files():
        copy = tmp_path / path.relative_to(PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    with (tmp_path / file).open("ab") as stream:
        stream.write(b"#")
    assert text_digest(tmp_path) != text_digest()


def loaded_modules(statements: str) -> dict[str, str]:
    """Run these statements in a new interpreter, and return the loaded modules with their files."""
    shown = "import json, sys\nprint(json.dumps({n: getattr(m, '__file__', '') for n, m in sys.modules.items()}))"
    ran = subprocess.run([sys.executable, "-c", f"{statements}\n{shown}"], capture_output=True, check=True)
    found: dict[str, str] = json.loads(ran.stdout.splitlines()[-1])
    return found


def test_every_module_of_ours_that_computes_a_score_is_part_of_the_program() -> None:
    """The program digest covers every module of the package that computes a score, except `__init__` modules without
    code.
    """
    imports = "from evaluator.metrics.nlc2cmd import score_candidate"
    score = f"{imports}\nscore_candidate('ls -l', ['find . -exec sh -c x +', '(( 1 ))'])"
    ours = {file for name, file in loaded_modules(score).items() if name.split(".")[0] == "evaluator"}
    packages = {str(PACKAGE / "__init__.py"), str(PACKAGE / "metrics" / "__init__.py")}
    assert ours - packages <= {str(path) for path in program_files()}


def test_every_module_of_ours_that_compares_texts_is_part_of_its_program() -> None:
    """The text digest covers every module that compares texts, but no module that only adds up the results."""
    compare = "from evaluator.metrics.texts import compare_texts\ncompare_texts(b'ls -l', [b'find . -exec sh -c x +'])"
    ours = {
        file
        for name, file in loaded_modules(compare).items()
        if name.startswith(("evaluator.shell", "evaluator.metrics"))
    }
    rest = {str(PACKAGE / "metrics" / name) for name in ("__init__.py", "frames.py")}
    assert ours - rest <= {str(path) for path in text_files()}


def test_texts_are_compared_once(store: Store) -> None:
    """The stored value equals the result of the comparison, and the comparison does not run again."""
    asked = [(TASK, b"ls -l  a"), (TASK, b"")]
    found = cached_text_metrics(store, asked)
    assert found == {("files-1", command): compare_texts(command, TASK.references) for _, command in asked}
    kept = TextMetrics(verbatim=True, full_command=True, template=True)
    store.add_figures({score_key(text_digest(), b"ls -l  a", TASK.references): kept.to_json()})
    assert cached_text_metrics(store, asked)["files-1", b"ls -l  a"] == kept


def test_calls_of_references_are_counted_once(store: Store) -> None:
    """The calls of the references are counted once. Both references of the task call only ls."""
    assert reference_calls(store, [TASK]) == {"files-1": {"ls": 1.0}}
    assert reference_calls(store, [TASK]) == {"files-1": {"ls": 1.0}}


def test_a_score_is_what_the_metric_says_and_stays_so_when_it_is_looked_up(store: Store) -> None:
    command = b"ls -l -a -t"
    expected = {("files-1", command): score_candidate(command, TASK.references)}
    assert cached_nlc2cmd_scores(store, [(TASK, command)]) == expected
    assert cached_nlc2cmd_scores(store, [(TASK, command), (TASK, command)]) == expected


def test_a_score_that_is_known_is_not_computed_again(store: Store) -> None:
    store.add_scores({score_key(program_digest(), b"ls", TASK.references): 0.125})
    assert cached_nlc2cmd_scores(store, [(TASK, b"ls")]) == {("files-1", b"ls"): 0.125}


def test_where_nothing_changed_neither_engine_nor_parsers_nor_charts_are_loaded(tmp_path: Path) -> None:
    project = small_checkout(tmp_path, [TASK], {"known": {"files-1": ["ls -la"]}})
    fake_boards(project, {"ls -la": "", "ls -l a": "", "ls -a": ""})
    score = (
        "from pathlib import Path\nfrom evaluator.pipeline.boards.scored_boards import make_boards\n"
        "from evaluator.pipeline.project import Project\nfrom evaluator.progress import NullProgress\n"
        f"assert make_boards(Project(Path({str(tmp_path)!r})), NullProgress())[0].results"
    )
    heavy = {"altair", "bashlex", "docker", "nltk", "openai", "requests", "sklearn", "vl_convert"}
    assert loaded_modules(score).keys() & heavy == set()
