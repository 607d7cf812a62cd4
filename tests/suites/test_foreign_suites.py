"""Foreign suites are read from their publishers' layouts into this project's formats, and are never committed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.errors import FormatError, UsageError
from evaluator.pipeline.maintenance.import_suite import add_suite, draft_suite
from evaluator.pipeline.submissions.board_suites import suites_on_board
from evaluator.progress import NullProgress
from evaluator.records import OutputMode, Topic
from evaluator.shell import utilities_of
from evaluator.suites.importers import IMPORTERS, INPUTS, Draft, write_draft
from evaluator.suites.importers.expected_changes import with_expected_changes
from evaluator.suites.importers.folder_source import FolderTree
from evaluator.suites.importers.source_files import select_files
from evaluator.suites.load import Suite, load_suite
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.declared_suites import declare_suite
from tests.suites import foreign_trees as trees

ROOT = Path(__file__).parents[2]
EABENCH = Path(os.environ.get("BASHBOARD_CLONES", "no-clones")) / "nl2bash-eabench"
NL2BASH = Path(os.environ.get("BASHBOARD_ORACLES", Path(__file__).parents[3] / "shared" / "data")) / "nl2bash"


def drafted(name: str, tree: Callable[[Path], Path], folder: Path) -> Draft:
    return IMPORTERS[name](utilities_of, tree(folder / "tree"))


@pytest.fixture
def added(tmp_path: Path) -> Callable[[str, Callable[[Path], Path]], Suite]:
    """A function that adds a suite to a fresh checkout, as the command does, and returns the loaded suite."""
    project = small_checkout(tmp_path / "checkout", [small_task("files-1")], {})

    def add(name: str, tree: Callable[[Path], Path]) -> Suite:
        declare_suite(project, name, tree(tmp_path / name))
        return add_suite(project, name, tmp_path / name, NullProgress()).suite

    return add


def test_intercode_becomes_a_suite_of_one_reference_each(
    added: Callable[[str, Callable[[Path], Path]], Suite],
) -> None:
    suite = added("intercode", trees.intercode_tree)
    assert sorted(task.id for task in suite.tasks) == ["fs1-000", "fs1-001", "fs1-002", "fs1-003"]
    assert suite.task("fs1-000").references == (b"wc -w < /testbed/owls.txt",)
    assert (suite.manifest.foreign, suite.manifest.cwd) == (True, "/")
    assert suite.manifest.source is not None
    assert suite.manifest.source.licence == "MIT"


def test_a_script_of_theirs_stands_in_its_world_byte_for_byte(tmp_path: Path) -> None:
    """A world's build writes the publisher's script to the root with the same bytes, even without a final newline."""
    build = drafted("intercode", trees.intercode_tree, tmp_path).worlds["fs1"].build
    lines = build.partition("cat > /setup_nl2b_fs_1.sh")[2].partition("chmod")[0]
    script = (tmp_path / "made").with_suffix(".sh")
    script.write_text(f"set -e\nname={tmp_path}/copy\ncat > $name{lines}".replace("/setup_nl2b_fs_1.sh", "$name"))
    subprocess.run(["bash", str(script)], check=True)
    assert (tmp_path / "copy").read_text() == trees.SETUP


MODES = {
    "the references print one answer in two ways": ("fs1-000", OutputMode.SET, Topic.TEXT),
    "the references print nothing": ("fs1-001", OutputMode.NONE, Topic.FILES),
    "the network's answer is printed": ("fs1-002", OutputMode.SET, Topic.SYSTEM),
    "one reference tells what it does and the other is silent": ("fs1-003", OutputMode.NONE, Topic.FILES),
}


@pytest.mark.parametrize(("name", "mode", "topic"), MODES.values(), ids=MODES)
def test_output_is_compared_as_the_references_print_it(
    tmp_path: Path, name: str, mode: OutputMode, topic: Topic
) -> None:
    tree = trees.write_files(
        trees.intercode_tree(tmp_path), {"data/nl2bash/nl2bash_fs_1.json": json.dumps(trees.TASKS)}
    )
    tasks = {task.id: task for task in IMPORTERS["intercode"](utilities_of, tree).tasks}
    assert (tasks[name].output, tasks[name].topic) == (mode, topic)


def test_a_test_becomes_a_task_that_its_own_driver_runs(
    added: Callable[[str, Callable[[Path], Path]], Suite],
) -> None:
    suite = added("nl2bash-eabench", trees.eabench_tree)
    names = [f"bash_2-test00{number}" for number in (1, 2, 3, 5, 6, 7, 8, 9)]
    assert sorted(task.id for task in suite.tasks) == ["bash_1-test1", *names]
    task = suite.task("bash_2-test001")
    assert (task.nl, task.references) == ("Count the lines of lines.txt", (b"wc -l < lines.txt",))
    assert (task.driver, task.answer) == (
        b"cd /home/test && HOME=/home/test timeout -k 5 100 ./test.sh\n",
        "/home/test/bash.sh",
    )
    assert suite.task("bash_2-test008").driver == b"cd /home/test && HOME=/home/test timeout -k 5 10 ./test.sh\n"
    assert suite.task("bash_1-test1").answer == "/app/test1.sh"


def test_tests_that_cannot_be_taken_over_are_counted_by_reason(tmp_path: Path) -> None:
    assert drafted("nl2bash-eabench", trees.eabench_tree, tmp_path).left_out == {
        "no passing answer": 1,
        "needs options of the container's engine": 1,
    }


@pytest.mark.skipif(not EABENCH.is_dir(), reason="IBM's benchmark is not in BASHBOARD_CLONES, a folder of clones")
def test_the_whole_of_ibms_benchmark_is_imported() -> None:
    draft = IMPORTERS["nl2bash-eabench"](utilities_of, EABENCH)
    assert (len(draft.tasks), draft.left_out) == (150, {})
    overrides = Path(__file__).parents[2] / "fixtures" / "overrides" / "nl2bash-eabench"
    assert {task.id for task in with_expected_changes(draft, overrides).tasks} == {task.id for task in draft.tasks}


EXPECTED = (
    '{"format":1,"tasks":["bash_2-test001"],"changes":["A /srv/*.log"],"because":"the test writes a log"}\n'
    '{"format":1,"changes":["[CM] /etc/hosts"],"because":"the base differs there"}\n'
)


def test_expected_changes_are_hidden_from_the_verifiers_of_their_tasks(tmp_path: Path) -> None:
    """A line without tasks is for all tasks. The verifier's own text follows the filter unchanged."""
    draft = drafted("nl2bash-eabench", trees.eabench_tree, tmp_path)
    (tmp_path / "expected_changes.jsonl").write_text(EXPECTED)
    before = {task.id: task.verify or b"" for task in draft.tasks}
    after = {task.id: task.verify or b"" for task in with_expected_changes(draft, tmp_path).tasks}
    assert all(after[name].endswith(verify) and b"[CM]\\ /etc/hosts" in after[name] for name, verify in before.items())
    assert [name for name, verify in after.items() if b"A\\ /srv/*.log" in verify] == ["bash_2-test001"]


def test_without_expected_changes_a_draft_stays_the_same(tmp_path: Path) -> None:
    draft = drafted("nl2bash-eabench", trees.eabench_tree, tmp_path)
    assert with_expected_changes(draft, tmp_path / "nothing").tasks == draft.tasks


def test_every_invalid_line_of_expected_changes_is_named(tmp_path: Path) -> None:
    draft = drafted("nl2bash-eabench", trees.eabench_tree, tmp_path)
    lines = EXPECTED.replace("bash_2-test001", "bash_9-test9").replace("[CM] /etc/hosts", "etc; rm")
    (tmp_path / "expected_changes.jsonl").write_text(lines + "[]\n")
    with pytest.raises(FormatError) as raised:
        with_expected_changes(draft, tmp_path)
    faults = {(problem.line, problem.message.partition(":")[0]) for problem in raised.value.problems}
    assert {(1, "tasks"), (2, "changes.0")} < faults
    assert {line for line, _ in faults} == {1, 2, 3}


def test_pairs_that_stand_alone_keep_the_number_of_their_line(
    added: Callable[[str, Callable[[Path], Path]], Suite],
) -> None:
    suite = added("nl2bash", trees.nl2bash_tree)
    assert sorted(task.id for task in suite.tasks) == ["1", "2"]
    build = next(iter(suite.worlds.values())).build.decode()
    assert "file /home/user/notes.txt " in build
    assert "file /home/user/nest/x.owl " in build


def test_nl2bash_is_filtered_by_reason(tmp_path: Path) -> None:
    assert drafted("nl2bash", trees.nl2bash_tree, tmp_path).left_out == {
        "a pipe": 1,
        "changes state": 2,
        "a substitution or variable": 1,
        "runs another command": 1,
        "more than 2 operands": 1,
        "a quote that does not end": 1,
    }


@pytest.mark.skipif(not NL2BASH.is_dir(), reason="NL2Bash is not here: set BASHBOARD_ORACLES to the folder it is in")
def test_the_whole_of_nl2bash_is_taken_or_counted() -> None:
    draft = IMPORTERS["nl2bash"](utilities_of, NL2BASH)
    assert len(draft.tasks) + sum(draft.left_out.values()) == 12_607
    assert len(draft.tasks) > 3_000


@pytest.mark.parametrize("name", IMPORTERS)
def test_a_folder_of_another_layout_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        IMPORTERS[name](utilities_of, trees.write_files(tmp_path, {"README": "something else\n"}))


SPOILT = {
    "no JSON": ("data/nl2bash/nl2bash_fs_1.json", "[", "does not read as JSON"),
    "no list": ("data/nl2bash/nl2bash_fs_1.json", "{}", "expected a list of objects"),
    "no query": ("data/nl2bash/nl2bash_fs_1.json", '[{"gold": "ls"}]', r"entry 0: expected query and gold"),
    "no command": ("data/nl2bash/nl2bash_fs_1.json", '[{"query": "list"}]', r"entry 0: expected query and gold"),
}


@pytest.mark.parametrize(("file", "text", "words"), SPOILT.values(), ids=SPOILT)
def test_a_broken_file_of_theirs_is_named(tmp_path: Path, file: str, text: str, words: str) -> None:
    tree = trees.write_files(trees.intercode_tree(tmp_path), {file: text})
    with pytest.raises(FormatError, match=f"{file}: .*{words}"):
        IMPORTERS["intercode"](utilities_of, tree)


def test_pairs_of_unequal_length_are_refused_where_one_ends(tmp_path: Path) -> None:
    tree = trees.write_files(trees.nl2bash_tree(tmp_path), {"all.cm": "ls\n"})
    with pytest.raises(FormatError, match=r"all\.cm:2: expected as many lines as all\.nl has, 9, found 1"):
        IMPORTERS["nl2bash"](utilities_of, tree)


STRANGE = {
    "a script that is no text": ("docker/bash_scripts/setup_nl2b_fs_1.sh", b"\xff"),
    "a difficulty that is none": (
        "data/nl2bash/nl2bash_fs_1.json",
        b'[{"query": "list", "gold": "ls", "difficulty": "hard"}]',
    ),
    "an instruction without end": (
        "data/nl2bash/nl2bash_fs_1.json",
        json.dumps([{"query": "a" * 7000, "gold": "ls"}]).encode(),
    ),
}


@pytest.mark.parametrize(("file", "data"), STRANGE.values(), ids=STRANGE)
def test_what_no_task_can_have_is_refused_and_nothing_is_written(tmp_path: Path, file: str, data: bytes) -> None:
    project = small_checkout(tmp_path / "checkout", [small_task("files-1")], {})
    tree = trees.intercode_tree(tmp_path / "tree")
    declared = declare_suite(project, "intercode", tree)
    (tree / file).write_bytes(data)
    files = select_files(FolderTree(tree), INPUTS["intercode"])
    with pytest.raises(UsageError, match="are not a valid copy of intercode"):
        draft_suite(project, declared, files)
    assert not (project.root / "fixtures" / "intercode").exists()


def test_a_suite_of_ours_is_never_replaced(tmp_path: Path) -> None:
    """A folder that is not a foreign suite is refused and stays unchanged."""
    draft = drafted("intercode", trees.intercode_tree, tmp_path)
    ours = tmp_path / "fixtures" / "intercode"
    trees.write_files(ours, {"suite.toml": (ROOT / "fixtures/core/suite.toml").read_text()})
    with pytest.raises(UsageError, match="is not an external suite"):
        write_draft(draft, tmp_path / "fixtures")
    (ours / "suite.toml").unlink()
    with pytest.raises(UsageError, match="is not an external suite"):
        write_draft(draft, tmp_path / "fixtures")


def test_a_suite_that_is_added_again_is_made_anew(tmp_path: Path) -> None:
    draft = drafted("intercode", trees.intercode_tree, tmp_path)
    folder = write_draft(draft, tmp_path / "fixtures")
    (folder / "tasks" / "text.jsonl").write_text("")
    assert load_suite(write_draft(draft, tmp_path / "fixtures")).tasks
    assert [path.name for path in (tmp_path / "fixtures").iterdir()] == ["intercode"]


def test_git_never_sees_a_foreign_suite(tmp_path: Path) -> None:
    """Git ignores a foreign suite in any repository, because the suite's folder ignores itself."""
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    write_draft(drafted("intercode", trees.intercode_tree, tmp_path / "elsewhere"), tmp_path / "fixtures")
    shown = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=all", "fixtures"], cwd=tmp_path, capture_output=True
    )
    assert (shown.returncode, shown.stdout) == (0, b"")


@pytest.mark.parametrize("name", IMPORTERS)
def test_the_repository_ignores_every_foreign_suite(name: str) -> None:
    ended = subprocess.run(["git", "check-ignore", "--quiet", f"fixtures/{name}/suite.toml"], cwd=ROOT)
    assert ended.returncode == 0


def test_no_foreign_suite_is_committed() -> None:
    """No file of a foreign suite is committed to this repository."""
    ended = subprocess.run(["git", "ls-files", "-z", "fixtures"], cwd=ROOT, capture_output=True, check=True)
    tracked = [Path(name) for name in ended.stdout.decode().split("\0") if name]
    assert not [path for path in tracked if path.parts[1] in IMPORTERS]
    suites = {path.parent for path in tracked if path.name == "suite.toml"}
    assert not [folder for folder in suites if load_suite(ROOT / folder).manifest.foreign]


def test_a_board_is_made_only_of_foreign_suites_that_somebody_answers(tmp_path: Path) -> None:
    """A foreign suite without a submission is not part of the board, so the board does not need the suite's image."""
    project = small_checkout(tmp_path / "checkout", [small_task("files-1")], {})
    declare_suite(project, "intercode", trees.intercode_tree(tmp_path / "tree"))
    add_suite(project, "intercode", tmp_path / "tree", NullProgress())
    assert project.is_fetched("intercode")
    assert [suite.manifest.name for suite in suites_on_board(project, ()).suites] == ["tiny"]
