"""Tests of `bashboard evidence`: the executed commands, the announcements of a job, and the import by another job."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from evaluator.errors import InfraError
from evaluator.judges import find_judge
from evaluator.pipeline.boards.scored_boards import make_boards
from evaluator.pipeline.evidence.bundle import Bundle, folder_digest, read_bundle, write_bundle
from evaluator.pipeline.evidence.images import published_images, write_images
from evaluator.pipeline.evidence.produce import WrittenBundle, write_references, write_submissions
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.progress import NullProgress
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import Store
from evaluator.testing.checkouts import write_submission
from evaluator.testing.executor import FINGERPRINT, FakeExecutor, RequestedExecution, Shows
from tests.publishing.evidence_harness import ANSWERS, FIRST, REFERENCES, SECOND, bundles, checkout, play, run


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return checkout(tmp_path / "here")


@pytest.fixture
def store(project: Project) -> Iterator[Store]:
    with closing(Store(project.store_path)) as opened:
        yield opened


def grader(project: Project, store: Store, execution: FakeExecutor) -> Grader:
    (suite,) = project.suites()
    return Grader(suite, find_judge("consensus"), store, FINGERPRINT, execution, NullProgress(), spacing_s=0)


def held(made: WrittenBundle) -> Bundle:
    return read_bundle(
        made.path.read_bytes(), suite="tiny", submission=made.submission, expected=None, fingerprint=FINGERPRINT
    )


def test_references_are_executed_twice_and_submissions_as_often_as_their_verdicts_need(
    project: Project, store: Store, tmp_path: Path
) -> None:
    """References are executed twice, and commands of submissions as often as their verdicts need.

    If a command is a reference, its evidence is only in the bundle of the references, even if a submission contains it.
    """
    execution = FakeExecutor(play)
    grading = grader(project, store, execution)
    references = write_references(project, tmp_path, (), grading)
    assert execution.commands == {"right", "right too", "also right"}
    assert set(execution.counts.values()) == {2}, "'right' is two tasks' and shows one thing"
    first, second = write_submissions(project, tmp_path, load_submissions(project), grading)
    assert [each.path.relative_to(tmp_path).as_posix() for each in (references, first, second)] == [
        REFERENCES,
        FIRST,
        SECOND,
    ]
    assert (references.runs, first.runs, second.runs) == (len(held(references).by_run), 3, 3)
    assert {run for _, run in held(references).by_run} == {0, 1}
    assert not held(references).by_run.keys() & (held(first).by_run.keys() | held(second).by_run.keys())
    assert [each.missing for each in (references, first, second)] == [0, 0, 0]


def test_a_failure_of_ours_is_counted_and_the_bundle_has_what_there_is(
    project: Project, store: Store, tmp_path: Path
) -> None:
    def fail(call: RequestedExecution) -> Shows:
        return InfraError("the engine went away") if call.command in ("mine", "also right") else play(call)

    grading = grader(project, store, FakeExecutor(fail))
    references = write_references(project, tmp_path, (), grading)
    assert (references.missing, references.runs) == (4, len(held(references).by_run))
    first, _ = write_submissions(project, tmp_path, load_submissions(project), grading)
    assert (first.missing > 0, first.runs, first.sha256) == (
        True,
        1,
        hashlib.sha256(first.path.read_bytes()).hexdigest(),
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkout `here`, whose store has all evidence, and a folder `made` with all bundles of that
    checkout.
    """
    root = tmp_path_factory.mktemp("finished")
    bundles(checkout(root / "here"), root / "made")
    return root


@pytest.fixture
def made(finished: Path, project: Project, tmp_path: Path) -> Path:
    """A folder with all bundles. The project's store has all evidence."""
    shutil.copytree(finished / "here" / ".bashboard", project.root / ".bashboard")
    return Path(shutil.copytree(finished / "made", tmp_path / "made"))


def test_a_job_announces_each_bundle_by_its_digest_and_gives_the_folders(
    made: Path, project: Project, tmp_path: Path
) -> None:
    out, outputs = tmp_path / "out", tmp_path / "outputs"
    words = ("evidence", "make", "first", "--out", str(out), "--announce", "--outputs")
    found = run(project.root, *words, GITHUB_ACTIONS="true", GITHUB_OUTPUT=str(outputs))
    assert found.exit_code == 0, found.output
    digest = hashlib.sha256((out / FIRST).read_bytes()).hexdigest()
    notice = f"::notice title=evidence::first tiny {digest}"
    assert found.stderr.splitlines()[-1] == notice, "on the stream that fell silent before, after that"
    name, value, *_ = outputs.read_text().splitlines()
    assert (name.partition("<<")[0], value) == ("sha256", folder_digest(out))


def test_a_strangers_words_are_no_commands_to_the_jobs_runner(project: Project, tmp_path: Path) -> None:
    """The job's runner does not interpret text of a broken submission as a command.

    While the text is printed, the runner accepts only one secret token.
    """
    folder = project.root / "submissions" / "first"
    (folder / "submission.toml").write_text('format = 1\nsystem = "a"\n"\\n::set-env name=A::b" = 1\n')
    found = run(project.root, "evidence", "make", "first", "--out", str(tmp_path), GITHUB_ACTIONS="true")
    assert found.exit_code == 1
    begin, *said, end = [line for line in found.stderr.splitlines() if line]
    assert begin.startswith("::stop-commands::")
    assert end == f"::{begin.removeprefix('::stop-commands::')}::"
    assert "submission.toml" in "".join(said)


@pytest.mark.parametrize(
    ("options", "files"),
    [
        ([], {FIRST, SECOND}),
        (["--references"], {REFERENCES}),
        (["--references", "second"], {REFERENCES, SECOND}),
        (["--shard", "1/2"], {FIRST}),
        (["--shard", "2/2"], {SECOND}),
        (["--shard", "3/3"], set()),
        (["--shard", "2/2", "first", "second", "--suite", "tiny"], {SECOND}),
    ],
    ids=lambda value: " ".join(sorted(value)) or "nothing",
)
def test_what_is_asked_for_is_made_and_nothing_else(
    made: Path, project: Project, tmp_path: Path, options: list[str], files: set[str]
) -> None:
    found = run(project.root, "evidence", "make", *options, "--out", str(tmp_path / "out"), "--json")
    assert found.exit_code == 0, found.output
    paths = {Path(each["path"]).relative_to(tmp_path / "out").as_posix() for each in json.loads(found.stdout)}
    assert paths == files


def test_an_empty_share_leaves_an_empty_folder_with_a_digest(project: Project, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    words = ("evidence", "make", "--shard", "3/3", "--out", str(tmp_path / "out"), "--outputs")
    assert run(project.root, *words, GITHUB_OUTPUT=str(outputs)).exit_code == 0
    assert outputs.read_text().splitlines()[1] == folder_digest(tmp_path / "out")


def test_a_folder_that_cannot_be_made_is_said(project: Project, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = run(project.root, "evidence", "make", "--out", str(tmp_path / "file" / "out"))
    assert (found.exit_code, "Not a directory" in found.stderr) == (2, True)


def test_a_broken_submission_keeps_no_other_from_being_made(made: Path, project: Project, tmp_path: Path) -> None:
    (project.root / "submissions" / "first" / "submission.toml").write_text("nothing")
    found = run(project.root, "evidence", "make", "--out", str(tmp_path / "out"))
    assert (found.exit_code, (tmp_path / "out" / SECOND).is_file()) == (0, True)
    assert run(project.root, "evidence", "make", "first", "--out", str(tmp_path / "out")).exit_code == 1


def test_another_machine_takes_over_what_was_made_and_executes_nothing(made: Path, tmp_path: Path) -> None:
    there = checkout(tmp_path / "there")
    found = run(there.root, "evidence", "import", str(made), "--sha256", folder_digest(made))
    assert (found.exit_code, found.stdout.startswith("3 bundles: ")) == (0, True), found.output
    (board,) = make_boards(there, NullProgress(), execute=False)
    assert {row.submission for row in board.standings} == set(ANSWERS)


def _forge(folder: Path) -> None:
    """Add a run to the first submission's bundle that no command of the checkout needs."""
    bundle = read_bundle((folder / FIRST).read_bytes(), suite="tiny", submission="first", expected=None)
    more = bundle.evidence[0].model_copy(update={"key": "9" * 64})
    (folder / FIRST).write_bytes(write_bundle(Bundle(bundle.header, (*bundle.evidence, more))))


def _of_another_environment(folder: Path) -> None:
    bundle = read_bundle((folder / FIRST).read_bytes(), suite="tiny", submission="first", expected=None)
    header = bundle.header.model_copy(update={"fingerprint": "e" * 64})
    (folder / FIRST).write_bytes(write_bundle(Bundle(header, bundle.evidence)))


def _add(name: str, data: bytes = b"") -> object:
    def add(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)

    return add


REFUSED: Mapping[str, tuple[object, str]] = {
    "a run nobody needs": (_forge, "1 runs that no command of this checkout needs"),
    "another environment": (_of_another_environment, "of another environment"),
    "a file of no known name": (
        _add("references/x\n::warning::y"),
        r"references/x\\n::warning::y: is not the path of a bundle",
    ),
    "a suite that is not here": (_add("references/gone.jsonl.gz"), "of suites that are not here"),
    "a submission that is not here": (_add("submissions/gone/tiny.jsonl.gz"), "of submissions that are not here"),
    "a bundle that is none": (_add(FIRST, b"x"), "does not unpack as gzip"),
    "a link": (lambda folder: (folder / "link").symlink_to("/etc/passwd"), "neither a file nor a folder"),
}


@pytest.mark.parametrize(("poison", "said"), REFUSED.values(), ids=REFUSED)
def test_a_folder_with_anything_else_is_refused(made: Path, tmp_path: Path, poison: object, said: str) -> None:
    there = checkout(tmp_path / "there")
    assert callable(poison)
    poison(made)
    found = run(there.root, "evidence", "import", str(made))
    assert found.exit_code == 1
    assert said.replace("\\\\", "\\") in found.stderr


def test_with_another_digest_nothing_is_read(made: Path, tmp_path: Path) -> None:
    there = checkout(tmp_path / "there")
    (made / REFERENCES).write_bytes(b"never opened")
    found = run(there.root, "evidence", "import", str(made), "--sha256", "0" * 64)
    assert (found.exit_code, "nothing was read" in found.stderr) == (1, True)
    assert not there.store_path.exists()


@pytest.mark.parametrize("vouched", [True, False])
def test_references_that_were_vouched_for_outdo_the_published_image_and_no_engines(
    made: Path, tmp_path: Path, vouched: bool
) -> None:
    """References with a confirmed digest are imported although the published image has another fingerprint.

    The image that executed them may be newly built and have other packages. They are refused if an image in the local
    engine has another fingerprint.
    """
    there = checkout(tmp_path / "there")
    (suite,) = there.suites()
    with closing(Store(there.store_path)) as store:
        store.set_fingerprint(image_reference(suite.manifest), "e" * 64)
    digest = folder_digest(made)
    words = ("evidence", "import", str(made), *(("--sha256", digest) if vouched else ()))
    assert run(there.root, *words).exit_code == 1, "an engine's own image has another fingerprint"
    (there.root / ".bashboard" / "evidence").mkdir()
    learned = write_images(published_images([suite], {"tiny": "e" * 64}, "5" * 64))
    (there.root / ".bashboard" / "evidence" / "images.json").write_bytes(learned)
    assert run(there.root, *words).exit_code == (0 if vouched else 1)


def test_a_submission_whose_commands_are_all_references_has_an_empty_bundle(
    made: Path, project: Project, tmp_path: Path
) -> None:
    write_submission(project.root, "copied", {"files-1": ["right"], "files-2": []})
    found = run(project.root, "evidence", "make", "copied", "--out", str(tmp_path / "out"), "--json")
    (each,) = json.loads(found.stdout)
    assert (each["runs"], each["missing"], Path(each["path"]).stat().st_size > 0) == (0, 0, True)
