"""An external suite is fetched exactly as the repository declares it, and anything else is refused by name."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evaluator.cli import app
from evaluator.errors import FormatError, MissingError, UsageError
from evaluator.pipeline.maintenance.import_suite import add_missing, add_suite
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.records import PackageSource
from evaluator.suites.importers import INPUTS, git_source
from evaluator.suites.importers.folder_source import FolderTree
from evaluator.suites.importers.git_source import fetch_commit
from evaluator.suites.importers.pinned_wheel import download_wheel, read_wheel_file
from evaluator.suites.importers.source_files import MAX_FILE_BYTES, SourceTree, list_files, select_files
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.declared_suites import commit_tree, declare_suite
from tests.command_runner import CommandRunner
from tests.doubles.git_server import GitServer, git_server
from tests.suites import foreign_trees as trees

ROOT = Path(__file__).parents[2]
CLONES = os.environ.get("BASHBOARD_CLONES")
"""A folder with clones of the benchmarks, each under the last part of its address."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return small_checkout(tmp_path / "checkout", [small_task("files-1")], {})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    (tmp_path / "served").mkdir()
    with git_server(tmp_path / "served") as running:
        yield running


def served_suite(project: Project, server: GitServer, name: str, tree: Callable[[Path], Path]) -> Path:
    """Serve a repository with the tree, declare its commit, and return the repository's folder."""
    folder = tree(server.folder / name)
    commit = commit_tree(folder)
    declare_suite(project, name, folder, f"{server.address}/{name}/.git", commit)
    return folder


def folders(project: Project) -> list[str]:
    """Return the names of everything in the folder of suites."""
    return sorted(path.name for path in project.fixtures.iterdir())


@pytest.mark.parametrize(
    ("name", "tree"),
    [
        ("intercode", trees.intercode_tree),
        ("nl2sh-alfa", trees.intercode_tree),
        ("nl2bash", trees.nl2bash_tree),
        ("nl2bash-eabench", trees.eabench_tree),
    ],
)
def test_the_declared_commit_is_fetched_over_http(
    project: Project, server: GitServer, name: str, tree: Callable[[Path], Path]
) -> None:
    """Later commits of the repository change nothing, because the commit of the declaration is fetched."""
    folder = served_suite(project, server, name, tree)
    for path in folder.rglob("*.*"):
        if path.is_file() and ".git" not in path.parts:
            path.write_text("another text")
    commit_tree(folder)
    suite = add_suite(project, name, None, NullProgress()).suite
    assert suite.tasks
    assert [request for request in server.requests if request.startswith("POST")]
    assert project.is_fetched(name)
    assert project.suite(name).manifest.source is not None


def test_all_copies_of_the_same_files_give_the_same_suite(project: Project, server: GitServer, tmp_path: Path) -> None:
    """A server, a clone, a bare clone, a folder without Git, a part of it and a wheel give equal files."""
    folder = served_suite(project, server, "nl2sh-alfa", trees.intercode_tree)
    bare, plain = tmp_path / "bare", trees.intercode_tree(tmp_path / "plain")
    subprocess.run(["git", "clone", "--quiet", "--bare", str(folder), str(bare)], check=True)
    wheel = tmp_path / "copy.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in INPUT_FILES:
            archive.write(plain / file, f"icalfa/assets/{Path(file).name}")
    written = []
    for source in (None, f"{server.address}/nl2sh-alfa/.git", folder, bare, bare.as_uri(), plain, wheel):
        imported = add_suite(project, "nl2sh-alfa", source, NullProgress()).suite.folder
        written.append(
            {path.relative_to(imported): path.read_bytes() for path in imported.rglob("*") if path.is_file()}
        )
    assert written[0]
    assert all(contents == written[0] for contents in written)


INPUT_FILES = ("data/nl2bash/nl2bash_fs_1.json", "docker/bash_scripts/setup_nl2b_fs_1.sh")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"data/nl2bash/nl2bash_fs_1.json": "[]"}, "found 2 with .*; changed: nl2bash_fs_1.json$"),
        ({"data/nl2bash/nl2bash_fs_2.json": "[]"}, "found 3 with .*; unexpected: nl2bash_fs_2.json$"),
        ({"data/nl2bash/nl2bash_fs_1.json": None}, "found 1 with .*; missing: nl2bash_fs_1.json$"),
        (dict.fromkeys(INPUT_FILES), "found 0 with .*; missing: nl2bash_fs_1.json, setup_nl2b_fs_1.sh$"),
    ],
)
def test_other_files_than_the_declared_ones_are_named(
    project: Project, tmp_path: Path, change: dict[str, str | None], words: str
) -> None:
    tree = trees.intercode_tree(tmp_path / "tree")
    declared = declare_suite(project, "intercode", tree)
    before = folders(project)
    for name, text in change.items():
        (tree / name).unlink(missing_ok=True)
        if text is not None:
            (tree / name).write_text(text)
    with pytest.raises(FormatError, match=f"expected 2 files with the digest {declared.digest}, {words}"):
        add_suite(project, "intercode", tree, NullProgress())
    assert folders(project) == before


def test_a_clone_without_the_declared_commit_says_so(project: Project, tmp_path: Path) -> None:
    """Its newest commit is read. If its files differ, the message names the commit that is not there."""
    tree = trees.intercode_tree(tmp_path / "tree")
    declare_suite(project, "intercode", tree, commit="1" * 40)
    commit = commit_tree(tree)
    assert add_suite(project, "intercode", tree, NullProgress()).suite.tasks
    (tree / INPUT_FILES[0]).write_text("[]")
    newer = commit_tree(tree)
    assert newer != commit
    remark = f"does not have commit 1{{40}}, so its commit {newer[:12]} was read"
    with pytest.raises(FormatError, match=f"is no copy of intercode as declared: .*; it {remark}$"):
        add_suite(project, "intercode", tree, NullProgress())


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "half"])
def test_a_copy_of_another_benchmark_is_named(project: Project, tmp_path: Path, whole: bool) -> None:
    """InterCode and NL2SH-ALFA have files of the same names. The digests tell one from the other."""
    copies = {}
    for number, name in enumerate(("intercode", "nl2sh-alfa"), 1):
        text = f'[{{"query": "count {number}", "gold": "wc -l f{number}"}}]'
        copies[name] = trees.write_files(trees.intercode_tree(tmp_path / name), {INPUT_FILES[0]: text})
        declare_suite(project, name, copies[name])
    if not whole:
        (copies["nl2sh-alfa"] / INPUT_FILES[1]).unlink()
    hint = "is a copy of nl2sh-alfa, not of intercode; type: bashboard suite add nl2sh-alfa --source"
    with pytest.raises(FormatError, match=hint):
        add_suite(project, "intercode", copies["nl2sh-alfa"], NullProgress())
    assert not (project.fixtures / "intercode").exists()


def test_a_changed_copy_of_another_layout_is_named(project: Project, tmp_path: Path) -> None:
    for name, tree in (("nl2bash", trees.nl2bash_tree), ("nl2bash-eabench", trees.eabench_tree)):
        declare_suite(project, name, tree(tmp_path / name))
    changed = trees.write_files(tmp_path / "changed", {"all.nl": "Other words\n", "all.cm": "ls\n"})
    with pytest.raises(FormatError, match="is a copy of nl2bash, not of nl2bash-eabench"):
        add_suite(project, "nl2bash-eabench", changed, NullProgress())


def test_a_clone_with_missing_objects_is_read_only_if_its_files_are_whole(project: Project, tmp_path: Path) -> None:
    """The work tree of a damaged clone is checked like any folder. A damaged bare repository has no work tree."""
    tree, bare = trees.intercode_tree(tmp_path / "tree"), tmp_path / "bare"
    declare_suite(project, "intercode", tree, commit=commit_tree(tree))
    name = subprocess.run(
        ["git", "-C", str(tree), "rev-parse", f"HEAD:{INPUT_FILES[1]}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    (tree / ".git" / "objects" / name[:2] / name[2:]).unlink()
    shutil.copytree(tree / ".git", bare)
    assert add_suite(project, "intercode", tree, NullProgress()).suite.tasks
    with pytest.raises(MissingError, match="git fetch failed: "):
        add_suite(project, "intercode", bare, NullProgress())
    (tree / INPUT_FILES[1]).unlink()
    with pytest.raises(FormatError, match=r"; missing: setup_nl2b_fs_1\.sh$"):
        add_suite(project, "intercode", tree, NullProgress())


def test_a_source_that_does_not_answer_is_missing_and_says_what_to_type(project: Project, tmp_path: Path) -> None:
    tree = trees.intercode_tree(tmp_path / "tree")
    declare_suite(project, "intercode", tree, address="http://127.0.0.1:9/benchmark")
    with pytest.raises(
        MissingError, match=r"could not be fetched: .*type: bashboard suite add intercode --source PATH"
    ):
        add_suite(project, "intercode", None, NullProgress())
    with pytest.raises(MissingError, match="git fetch failed"):
        add_suite(project, "intercode", "http://127.0.0.1:9/mirror", NullProgress())
    assert not (project.fixtures / "intercode").exists()


def test_the_second_source_serves_if_the_first_does_not_answer(project: Project, server: GitServer) -> None:
    served_suite(project, server, "intercode", trees.intercode_tree)
    path = project.fixtures / "external" / "intercode.toml"
    text = path.read_text()
    first = f'[[sources]]\ngit = "http://127.0.0.1:9/gone"\ncommit = "{"2" * 40}"\n\n[[sources]]'
    path.write_text(text.replace("[[sources]]", first))
    assert len(project.external_suites()["intercode"].sources) == 2
    assert add_suite(project, "intercode", None, NullProgress()).suite.tasks


def test_one_suite_that_cannot_be_fetched_does_not_stop_the_others(project: Project, server: GitServer) -> None:
    served_suite(project, server, "intercode", trees.intercode_tree)
    declare_suite(project, "nl2bash", trees.nl2bash_tree(server.folder / "pairs"), "http://127.0.0.1:9/gone")
    names = ["nl2bash", "intercode"]
    added, failures = add_missing(project, names, NullProgress())
    assert (added, list(failures)) == (["intercode"], ["nl2bash"])
    assert add_missing(project, ["intercode"], NullProgress()) == ([], {})


@pytest.mark.slow
def test_two_imports_at_once_end_one_after_the_other(project: Project, tmp_path: Path) -> None:
    """Four processes import the same suite at the same time. Each succeeds, and the suite is whole."""
    tree = trees.intercode_tree(tmp_path / "tree")
    declare_suite(project, "intercode", tree)
    command = [str(Path(sys.executable).with_name("bashboard")), "suite", "add", "intercode", "--source", str(tree)]
    running = [
        subprocess.Popen(command, cwd=project.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)
    ]
    ended = [(process.communicate()[1].decode(), process.returncode) for process in running]
    assert [code for _, code in ended] == [0] * 4, ended
    assert project.is_fetched("intercode")
    assert len(project.suite("intercode").tasks) == 4
    assert folders(project) == ["external", "intercode", "tiny"]


KILLED = """
import os, pathlib, shutil, signal
from evaluator.pipeline.maintenance.import_suite import add_suite
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
shutil.move = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
add_suite(Project(pathlib.Path.cwd()), "intercode", {source!r}, NullProgress())
"""


def test_an_import_that_is_killed_leaves_no_half_a_suite(project: Project, tmp_path: Path) -> None:
    """The process is killed before the new suite is in its place. The next import removes what is left of it."""
    tree = trees.intercode_tree(tmp_path / "tree")
    declare_suite(project, "intercode", tree)
    add_suite(project, "intercode", tree, NullProgress())
    killed = subprocess.run([sys.executable, "-c", KILLED.format(source=str(tree))], cwd=project.root)
    assert killed.returncode == -signal.SIGKILL
    assert [name for name in folders(project) if name.startswith(".intercode.import.")]
    assert not project.is_fetched("intercode")
    with pytest.raises(MissingError, match="is not fetched; type: bashboard suite add intercode"):
        project.suite("intercode")
    assert add_suite(project, "intercode", tree, NullProgress()).suite.tasks
    assert folders(project) == ["external", "intercode", "tiny"]


@pytest.mark.parametrize("command", ["add", "index"])
def test_what_fails_changes_no_file_of_the_checkout(
    project: Project, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import of other files, and an index without an engine, leave the earlier import as it is."""
    tree = trees.intercode_tree(tmp_path / "tree")
    declare_suite(project, "intercode", tree)
    add_suite(project, "intercode", tree, NullProgress())
    before = {path: path.read_bytes() for path in project.fixtures.rglob("*") if path.is_file()}
    (tree / INPUT_FILES[1]).write_text("#!/bin/bash\nmkdir /testbed\n")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nowhere.sock")
    monkeypatch.chdir(project.root)
    ended = CommandRunner().invoke(app, ["suite", command, "intercode", "--source", str(tree)])
    assert ended.exit_code == {"add": 1, "index": 3}[command]
    assert {path: path.read_bytes() for path in project.fixtures.rglob("*") if path.is_file()} == before
    assert project.is_fetched("intercode")


def test_a_broken_list_of_one_suite_does_not_stop_the_import_of_another(project: Project, tmp_path: Path) -> None:
    for name, tree in (("intercode", trees.intercode_tree), ("nl2bash", trees.nl2bash_tree)):
        declare_suite(project, name, tree(tmp_path / name))
    (project.fixtures / "external" / "nl2bash.sha256").unlink()
    assert add_suite(project, "intercode", tmp_path / "intercode", NullProgress()).suite.tasks
    with pytest.raises(FormatError, match=r"nl2bash\.sha256: cannot be read: No such file"):
        add_suite(project, "nl2bash", tmp_path / "nl2bash", NullProgress())


HOOK = "#!/bin/sh\necho ran >> {log}\n"


def test_nothing_of_a_publishers_repository_is_executed(project: Project, tmp_path: Path) -> None:
    """Hooks, filters, a monitor and a submodule of a hostile clone stay unused. A command of theirs writes a file."""
    tree, log = trees.intercode_tree(tmp_path / "tree"), tmp_path / "log"
    run = trees.write_files(tmp_path / "hostile", {"run.sh": HOOK.format(log=log)}) / "run.sh"
    (tree / ".gitattributes").write_text("*.json filter=evil\n*.sh filter=evil\n")
    (tree / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = x\n\turl = ext::{run}\n')
    commit = commit_tree(tree)
    for hook in ("post-checkout", "post-merge", "reference-transaction", "pre-auto-gc", "post-index-change"):
        (tree / ".git" / "hooks" / hook).write_text(HOOK.format(log=log))
        (tree / ".git" / "hooks" / hook).chmod(0o755)
    for key in ("filter.evil.smudge", "filter.evil.process", "core.fsmonitor", "uploadpack.packObjectsHook"):
        subprocess.run(["git", "-C", str(tree), "config", key, str(run)], check=True)
    declare_suite(project, "intercode", tree, commit=commit)
    assert add_suite(project, "intercode", tree, NullProgress()).suite.tasks
    assert not log.exists()
    (tmp_path / "fetched").mkdir()
    with pytest.raises(MissingError, match=r"git fetch failed: .*transport 'ext' not allowed"):
        fetch_commit(f"ext::{run}", commit, tmp_path / "fetched")
    assert not log.exists()


def test_a_variable_of_a_hook_does_not_lead_to_another_repository(
    project: Project, server: GitServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    served_suite(project, server, "intercode", trees.intercode_tree)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert add_suite(project, "intercode", None, NullProgress()).suite.tasks
    assert not (tmp_path / "elsewhere").exists()


def trees_of(folder: Path, scratch: Path) -> list[SourceTree]:
    """Return a folder as a plain folder, and as the files of its commit."""
    scratch.mkdir()
    return [FolderTree(folder), fetch_commit(str(folder), commit_tree(folder), scratch)]


def test_links_are_listed_and_never_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("not theirs")
    tree = trees.eabench_tree(tmp_path / "tree")
    (tree / "bash_2" / "link").symlink_to(secret)
    (tree / "bash_3").symlink_to(tmp_path, target_is_directory=True)
    for each in trees_of(tree, tmp_path / "git"):
        files = select_files(each, INPUTS["nl2bash-eabench"])
        assert (files["bash_2/link"].link, files["bash_2/link"].data) == (True, os.fsencode(secret))
        assert not [name for name in files if name.startswith("bash_3")]


def test_equal_files_of_a_folder_and_a_commit_have_equal_lists(tmp_path: Path) -> None:
    tree = trees.eabench_tree(tmp_path / "tree")
    plain, committed = (select_files(each, INPUTS["nl2bash-eabench"]) for each in trees_of(tree, tmp_path / "git"))
    assert plain == committed
    assert len(plain) == len(trees.EABENCH)
    assert plain["bash_2/test001/bash.sh"].executable
    assert list_files(plain)["bash_1/test1/prompt"] == hashlib.sha256(b"Rename a.txt to b.txt\n").hexdigest()


UNSAFE = {
    "a control character": "bash_1/a\nb",
    "a backslash": "bash_1/a\\b",
    "no end": f"bash_1/{'a' * 250}/{'b' * 80}",
}


@pytest.mark.parametrize("name", UNSAFE.values(), ids=UNSAFE)
def test_an_unsafe_name_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    tree = trees.write_files(tmp_path / "tree", {name: ""})
    for each in trees_of(tree, tmp_path / "git"):
        with pytest.raises(UsageError, match="unsafe name of a file"):
            select_files(each, INPUTS["nl2bash-eabench"])


def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "evil.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("bash_1/../../evil", "")
    with pytest.raises(UsageError, match="unsafe name of a file"):
        select_files(read_wheel_file(path), INPUTS["nl2bash-eabench"])


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    tree = trees.nl2bash_tree(tmp_path / "tree")
    with (tree / "all.nl").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    packed = tmp_path / "large.whl"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tree / "all.nl", "all.nl")
    for each in (FolderTree(tree), read_wheel_file(packed)):
        with pytest.raises(UsageError, match=r"all\.nl has 16,777,217 bytes, expected at most 16,777,216"):
            select_files(each, INPUTS["nl2bash"])


def test_a_repository_that_is_too_large_is_not_written_to_the_disk(
    project: Project, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = trees.intercode_tree(server.folder / "large")
    (folder / "noise").write_bytes(os.urandom(200_000))
    declare_suite(project, "intercode", folder, f"{server.address}/large/.git", commit_tree(folder))
    monkeypatch.setattr(git_source, "MAX_PACK_BYTES", 100_000)
    with pytest.raises(MissingError, match=r"git fetch failed: .*more than 100,000 bytes are refused"):
        add_suite(project, "intercode", None, NullProgress())
    monkeypatch.undo()
    assert add_suite(project, "intercode", None, NullProgress()).suite.tasks


def offline(folder: Path) -> dict[str, str]:
    """Return an environment in which pip finds packages only in this folder."""
    return {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}


def test_pip_fetches_the_pinned_wheel_from_the_index_it_is_set_up_for(tmp_path: Path) -> None:
    path = trees.wheel(tmp_path / "icalfa-0.3.6-py3-none-any.whl")
    pinned = PackageSource(package="icalfa", version="0.3.6", sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    (tmp_path / "download").mkdir()
    downloaded = download_wheel(pinned, tmp_path / "download", offline(tmp_path))
    found = select_files(downloaded, INPUTS["nl2sh-alfa"])
    assert found == select_files(read_wheel_file(path), INPUTS["nl2sh-alfa"])
    assert found["setup_nl2b_fs_1.sh"].data == trees.SETUP.encode()


@pytest.mark.parametrize("packaged", [True, False], ids=["other bytes", "no such package"])
def test_another_wheel_than_the_pinned_one_is_not_taken(tmp_path: Path, packaged: bool) -> None:
    if packaged:
        trees.wheel(tmp_path / "icalfa-0.3.6-py3-none-any.whl")
    (tmp_path / "download").mkdir()
    pinned = PackageSource(package="icalfa", version="0.3.6", sha256="0" * 64)
    with pytest.raises(MissingError, match=r"icalfa 0\.3\.6 could not be fetched"):
        download_wheel(pinned, tmp_path / "download", offline(tmp_path))


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.whl").write_text("no archive")
    with pytest.raises(UsageError, match="does not read as a wheel"):
        select_files(read_wheel_file(tmp_path / "x.whl"), INPUTS["nl2sh-alfa"])


@pytest.mark.skipif(CLONES is None, reason="set BASHBOARD_CLONES to a folder of clones of the benchmarks")
@pytest.mark.parametrize("name", sorted(INPUTS))
def test_a_real_clone_is_the_declared_suite(tmp_path: Path, name: str) -> None:
    """The import of a real clone has the committed digest and index."""
    declared = Project(ROOT).external_suites()[name]
    clone = Path(CLONES or "") / declared.attribution.address.rpartition("/")[2]
    if not clone.is_dir():
        pytest.skip(f"there is no {clone}")
    project = Project(tmp_path)
    for folder in ("external", "overrides"):
        shutil.copytree(ROOT / "fixtures" / folder, tmp_path / "fixtures" / folder)
    suite = add_suite(project, name, clone, NullProgress()).suite
    assert suite.manifest.source is not None
    assert suite.manifest.source.digest == declared.digest
