"""A fresh checkout knows an external suite by its declaration and index, before anything is fetched."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.errors import FormatError, MissingError, UsageError
from evaluator.pipeline.maintenance.import_suite import add_suite
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import check_folders, suite_info, unfetched_suites
from evaluator.progress import NullProgress
from evaluator.records import ExternalSuite, IndexedTask
from evaluator.suites.declarations import index_path, read_external_suites, read_index
from evaluator.suites.importers import IMPORTERS
from evaluator.testing.checkouts import small_checkout, small_task, write_submission
from evaluator.testing.declared_suites import declare_suite
from tests.command_runner import CommandRunner
from tests.suites import foreign_trees as trees

ROOT = Path(__file__).parents[2]
TASKS = ("fs1-000", "fs1-001", "fs1-002", "fs1-003")
ANSWERS: Mapping[str, list[str]] = {name: ["true"] for name in TASKS}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A checkout that declares the suite intercode and does not hold it."""
    project = small_checkout(tmp_path / "checkout", [small_task("files-1")], {})
    declare_suite(project, "intercode", trees.intercode_tree(tmp_path / "tree"))
    return project


def fetch(project: Project) -> None:
    add_suite(project, "intercode", project.root.parent / "tree", NullProgress())


def bashboard(project: Project, *arguments: str) -> Result:
    with contextlib.chdir(project.root):
        return CommandRunner().invoke(app, list(arguments))


def declaration(project: Project) -> Path:
    return project.fixtures / "external" / "intercode.toml"


def messages(project: Project, folder: Path) -> list[str]:
    return [problem.message for problem in check_folders(project, [folder])]


def test_a_suite_that_is_not_fetched_names_the_command_that_fetches_it(project: Project) -> None:
    assert (project.is_fetched("intercode"), list(project.external_suites())) == (False, ["intercode"])
    for arguments in (("submit", "prompts", "--suite", "intercode"), ("suite", "show", "intercode")):
        ended = bashboard(project, *arguments)
        assert (ended.exit_code, ended.stdout) == (3, "")
        assert "intercode is not fetched; type: bashboard suite add intercode" in ended.stderr
    with pytest.raises(UsageError, match="no suite is named 'intercod'; did you mean intercode"):
        project.suite("intercod")


def test_a_submission_starts_from_the_index_without_instructions(project: Project) -> None:
    """The drafts of a fresh checkout and of a checkout with the suite have the same bytes."""
    drafts = []
    for slug in ("before", "after"):
        assert bashboard(project, "submit", "init", slug, "--suite", "intercode").exit_code == 0
        folder = project.root / "submissions" / slug
        drafts.append({path.name: path.read_bytes() for path in folder.iterdir()})
        fetch(project)
    assert drafts[0] == drafts[1]
    lines = [json.loads(line) for line in drafts[0]["intercode.jsonl"].splitlines()]
    assert lines == [{"task": name, "candidates": []} for name in TASKS]
    assert b'intercode = "1.0.0"' in drafts[0]["submission.toml"]


CHANGES: Mapping[str, tuple[dict[str, list[str]], str, str]] = {
    "sound": ({}, "1.0.0", ""),
    "an unknown task": ({"fs9-000": ["true"]}, "1.0.0", "fs9-000"),
    "a version that does not exist": ({}, "7.0.0", "7.0.0"),
}


@pytest.mark.parametrize(("more", "version", "words"), CHANGES.values(), ids=CHANGES)
def test_a_check_says_the_same_before_and_after_the_import(
    project: Project, more: dict[str, list[str]], version: str, words: str
) -> None:
    answers = {**ANSWERS, **more}
    folder = write_submission(project.root, "mine", answers, suite="intercode", version=version)
    before = messages(project, folder)
    fetch(project)
    assert messages(project, folder) == before
    assert bool(before) == bool(words)
    assert all(words in message for message in before[:1])


def test_suites_that_are_answered_and_missing_are_known(project: Project) -> None:
    from evaluator.pipeline.submissions.repository import load_one

    write_submission(project.root, "mine", ANSWERS, suite="intercode")
    submission = load_one(project, "mine")
    assert list(unfetched_suites(project, [submission])) == ["intercode"]
    assert unfetched_suites(project, []) == {}
    fetch(project)
    assert unfetched_suites(project, [submission]) == {}


def test_only_answered_suites_are_imported_and_failures_are_warnings(project: Project) -> None:
    """Nothing answers the address of the declaration. So the suite stays missing, and the exit code is 0."""
    nothing = bashboard(project, "suite", "add", "--answered")
    assert (nothing.exit_code, nothing.stdout) == (0, "no external suite is missing\n")
    write_submission(project.root, "mine", ANSWERS, suite="intercode")
    for option in ("--answered", "--declared"):
        ended = bashboard(project, "suite", "add", option, "--json")
        assert ended.exit_code == 0
        assert "a suite stays missing: intercode could not be fetched: file:///nowhere/benchmark: " in ended.stderr
        assert list(json.loads(ended.stdout)["missing"]) == ["intercode"]
    fetch(project)
    assert bashboard(project, "suite", "add", "--answered").stdout == "no external suite is missing\n"


def test_a_task_that_left_the_suite_is_no_task_of_it(project: Project) -> None:
    """The index leaves out a task with a reason. The import counts the reason, and no submission is asked the task."""
    path = index_path(project.fixtures, "intercode")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1]["left_out"] = "a reference fails"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    imported = add_suite(project, "intercode", project.root.parent / "tree", NullProgress())
    assert imported.left_out == {"a reference fails": 1}
    assert [task.id for task in sorted(imported.suite.tasks, key=lambda task: task.id)] == [TASKS[0], *TASKS[2:]]
    assert suite_info(project, "intercode").tasks == (TASKS[0], *TASKS[2:])
    assert imported.suite.manifest.description.startswith("3 tasks of ")


def test_an_index_without_execution_keeps_what_executions_found(project: Project, tmp_path: Path) -> None:
    """The first task has another instruction now. Its digest changes, and its results and the other tasks stay."""
    path, tree = index_path(project.fixtures, "intercode"), tmp_path / "tree"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0] |= {"variants": ["plain", "odd"], "output": "lines"}
    lines[1]["left_out"] = "a reference fails"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    file = tree / "data/nl2bash/nl2bash_fs_1.json"
    file.write_text(file.read_text().replace("count the words", "count all words"))
    ended = bashboard(project, "suite", "index", "intercode", "--source", str(tree), "--no-execute")
    assert ended.exit_code == 0, ended.stderr
    assert "3 tasks, from 2 files\nleft out, a reference fails: 1\n" in ended.stdout
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert found[0].pop("digest") != lines[0].pop("digest")
    assert found[0] == lines[0]
    assert [line | {"digest": ""} for line in found[1:]] == [line | {"digest": ""} for line in lines[1:]]
    assert project.suite("intercode").task("fs1-000").nl.startswith("count all words")


def test_an_import_of_an_earlier_declaration_counts_as_missing(project: Project) -> None:
    fetch(project)
    assert project.is_fetched("intercode")
    text = declaration(project).read_text()
    declaration(project).write_text(
        text.replace('version = "1.0.0"', 'version = "1.1.0"\nearlier_versions = ["1.0.0"]')
    )
    assert not project.is_fetched("intercode")
    with pytest.raises(MissingError, match="imported by an earlier declaration; type: bashboard suite add intercode"):
        project.suite("intercode")
    fetch(project)
    assert project.suite("intercode").manifest.version == "1.1.0"
    assert suite_info(project, "intercode").versions == ("1.1.0", "1.0.0")


def test_a_retired_reference_raises_the_version_of_the_index_and_of_the_suite(tmp_path: Path) -> None:
    """The check of a fresh checkout knows the raised version too, because it reads the retirement."""
    project = small_checkout(tmp_path / "checkout", [small_task("files-1")], {})
    tree = trees.intercode_tree(tmp_path / "tree")
    (tree / "data/nl2bash/nl2bash_fs_1.json").write_text(json.dumps(trees.TASKS))
    declare_suite(project, "nl2sh-alfa", tree)
    add_suite(project, "nl2sh-alfa", tree, NullProgress())
    ended = bashboard(project, "suite", "retire", "nl2sh-alfa", "fs1-000", "2", "--because", "prints the name as well")
    assert ended.exit_code == 0, ended.stderr
    manifest = project.suite("nl2sh-alfa").manifest
    assert (manifest.version, *manifest.earlier_versions) == suite_info(project, "nl2sh-alfa").versions
    assert manifest.version == "1.1.0"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("digest", "0" * 64, r"the imported tasks differ from the index; changed: fs1-001; if the importer changed"),
        ("task", "fs1-009", r"missing: fs1-009; not in the index: fs1-001; "),
    ],
)
def test_other_tasks_than_those_of_the_index_are_named(project: Project, field: str, value: str, words: str) -> None:
    path = index_path(project.fixtures, "intercode")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1][field] = value
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with pytest.raises(FormatError, match=words):
        fetch(project)
    assert not (project.fixtures / "intercode").exists()


BROKEN = {
    "no licence": ('licence = "MIT"\n', "", r"intercode\.toml:1: licence: is missing: add the field"),
    "no authors": ('authors = "The authors of the test"\n', "", r"toml:9: attribution\.authors: is missing"),
    "a licence of no form": ('licence = "MIT"', 'licence = "free, I think"', r"toml:5: licence: .* 'free, I think'"),
    "no digest": ('digest = "', 'digest = "x', r"toml:7: digest: "),
    "another name": ('name = "intercode"', 'name = "other"', r"toml:2: name: expected 'intercode', found 'other'"),
    "a remote command": (
        'git = "file://',
        'git = "ext::sh ',
        r"toml:15: sources\.0\.git\.git: .*expected the address of a Git",
    ),
    "no TOML": ('licence = "MIT"', "licence = ", r"intercode\.toml: expected a declaration of an external suite"),
    "a later format": ("format = 1", "format = 2", r"reads format 1: upgrade bashboard"),
}


@pytest.mark.parametrize(("old", "new", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_declaration_names_its_line(project: Project, old: str, new: str, words: str) -> None:
    """The command ends with exit code 1, and the message names the file, the line and the field."""
    text = declaration(project).read_text()
    assert old in text
    declaration(project).write_text(text.replace(old, new, 1))
    ended = bashboard(project, "suite", "add", "intercode")
    assert ended.exit_code == 1
    with pytest.raises(FormatError, match=words):
        read_external_suites(project.fixtures)


def test_a_broken_index_or_list_names_its_line(project: Project) -> None:
    path = index_path(project.fixtures, "intercode")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], "{}\n", lines[0]]))
    with pytest.raises(
        FormatError, match=r"tasks\.jsonl:2: task: Field required(?s:.*):3: fs1-000 stands again, after"
    ):
        read_index(project.fixtures, "intercode")
    path.unlink()
    with pytest.raises(UsageError, match="expected the index of intercode; type: bashboard suite index intercode"):
        read_index(project.fixtures, "intercode")
    path.write_text("".join(lines))
    names = project.fixtures / "external" / "intercode.sha256"
    names.write_text(names.read_text().replace("nl2bash_fs_1", "nl2bash_fs_2"))
    with pytest.raises(FormatError, match=r"intercode\.sha256: expected the list with digest .*, found "):
        fetch(project)
    names.write_text("no digest\n")
    with pytest.raises(FormatError, match=r"intercode\.sha256: line 1: expected a SHA-256, two spaces"):
        fetch(project)


@pytest.mark.parametrize("name", sorted(IMPORTERS))
def test_every_importer_has_a_declaration_that_is_complete_and_holds_no_text(name: str) -> None:
    """The digest of a declaration is that of its list. An index has only the fields of its record."""
    fixtures = ROOT / "fixtures"
    declared = read_external_suites(fixtures)[name]
    listed = (fixtures / "external" / f"{name}.sha256").read_bytes()
    assert declared.digest == hashlib.sha256(listed).hexdigest()
    index = read_index(fixtures, name)
    assert len(index) > 10
    fields = {field for line in index_path(fixtures, name).read_text().splitlines() for field in json.loads(line)}
    assert fields <= set(IndexedTask.model_fields)
    assert isinstance(declared, ExternalSuite)
    assert declared.licence
