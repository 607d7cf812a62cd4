"""A suite's workers start only if a command must be executed, and are always removed afterwards."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evaluator.errors import InfraError, MissingError, UsageError
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.sandbox.engine import find_engine
from evaluator.sandbox.image import ensure_image
from evaluator.sandbox.image_recipe import image_reference
from evaluator.sandbox.leftovers import LABEL
from evaluator.testing.checkouts import copy_checkout, small_checkout, small_task, write_suite
from evaluator.testing.executor import fake_boards

ROOT = Path(__file__).parents[2]

KNOWN = {"ls a": "a\n", "echo a": "a\n", "printf 'a\\n'": "a\n"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    tasks = [small_task("files-1", references=("ls a", "echo a"))]
    return small_checkout(tmp_path, tasks, {"known": {"files-1": ["printf 'a\\n'"]}})


def test_what_is_known_is_graded_without_an_engine(project: Project) -> None:
    fake_boards(project, KNOWN)
    with open_grader(project, project.suite("tiny"), NullProgress(), execute=False) as grader:
        (finding,) = grader.grade([GradingItem("files-1", b"printf 'a\\n'")]).values()
    assert finding.outcome.value == "pass"


def test_what_is_not_known_is_refused_where_nothing_may_be_executed(project: Project) -> None:
    fake_boards(project, KNOWN)
    with (
        open_grader(project, project.suite("tiny"), NullProgress(), execute=False) as grader,
        pytest.raises(MissingError, match=r"bashboard score --suite tiny$"),
    ):
        grader.grade([GradingItem("files-1", b"date")])


def test_less_than_one_worker_is_refused(project: Project) -> None:
    with (
        pytest.raises(UsageError, match="--workers 0: expected 1 or more"),
        open_grader(project, project.suite("tiny"), NullProgress(), workers=0),
    ):
        pass


def containers() -> set[str]:
    """Return the names of this process's workers. Other runs on this machine have workers of their own."""
    found = find_engine(os.environ).client.containers.list(all=True, ignore_removed=True, filters={"label": LABEL})
    return {each.name for each in found if each.labels[LABEL].startswith(f"{os.getpid()}-")}


@pytest.fixture
def others() -> set[str]:
    """Workers of other tests, which last for the whole session."""
    return containers()


@pytest.mark.engine
def test_workers_are_gone_when_their_grader_is(tmp_path: Path, others: set[str]) -> None:
    """There is one worker more than work, so one worker never gets a request. It is removed as well."""
    core = copy_checkout(ROOT, tmp_path, lambda task: task["id"] == "files-002")
    suite = core.suite("core")
    with open_grader(core, suite, NullProgress(), workers=3) as grader:
        grader.ensure_evidence([GradingItem(suite.tasks[0].id, b"true")])
        assert containers() > others
    assert containers() == others


@pytest.mark.engine
def test_workers_are_gone_when_grading_breaks(tmp_path: Path, others: set[str]) -> None:
    core = copy_checkout(ROOT, tmp_path, lambda task: task["id"] == "files-002")
    suite = core.suite("core")
    with contextlib.suppress(ZeroDivisionError), open_grader(core, suite, NullProgress()) as grader:
        grader.ensure_evidence([GradingItem(suite.tasks[0].id, b"true")])
        assert containers() > others
        raise ZeroDivisionError
    assert containers() == others


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Project]:
    """A project whose suite has an image without the runner."""
    core = Project(ROOT).suite("core").manifest
    clock = (datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=secrets.randbelow(10**9))).isoformat()
    write_suite(tmp_path / "broken", [small_task("files-1")], clock=clock)  # no other suite has this clock and image
    project = Project.find(tmp_path / "broken")
    engine = find_engine(os.environ)
    image = ensure_image(engine, core, NullProgress().say)
    repository, _, tag = image_reference(project.suite("tiny").manifest).partition(":")
    container = engine.client.containers.create(image.reference, ["rm", "-r", "/opt/bashboard/evaluator"])
    container.start()
    container.wait()
    container.commit(repository, tag)
    container.remove(force=True)
    yield project
    engine.client.images.remove(f"{repository}:{tag}", force=True)


@pytest.mark.engine
def test_a_sandbox_that_does_not_start_is_told_once_and_at_once(broken: Project, others: set[str]) -> None:
    """The error is raised once and at once. It does not fail each request after half a minute of retries."""
    requests = [GradingItem("files-1", b"command %d" % number) for number in range(1000)]
    with (
        open_grader(broken, broken.suite("tiny"), NullProgress()) as grader,
        pytest.raises(InfraError, match="No module named 'evaluator'"),
    ):
        grader.ensure_evidence(requests)
    assert containers() == others
