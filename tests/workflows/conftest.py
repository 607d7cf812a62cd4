from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.sandbox.engine import Engine
from evaluator.sandbox.image import SuiteImage
from tests.doubles.github import GitHubServer
from tests.doubles.model_server import JudgeServer, says
from tests.doubles.stub_image_engine import StubImageEngine
from tests.doubles.workflows import Actions
from tests.workflows.life_bench import Life
from tests.workflows.workflow_bench import WorkflowHarness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[WorkflowHarness]:
    with GitHubServer(tmp_path / "github") as github:
        board = github.repository("board", github.user("maintainer"))
        yield WorkflowHarness(github, board, Actions(github, board, tmp_path / "actions"))
        assert not github.complaints


@pytest.fixture(scope="module")
def light(engine: Engine, image: SuiteImage) -> Iterator[StubImageEngine]:
    with tempfile.TemporaryDirectory(prefix="light") as folder, StubImageEngine(engine, Path(folder)) as light:
        yield light


@pytest.fixture(scope="module")
def panel() -> Iterator[JudgeServer]:
    with JudgeServer(says("yes", "it does what is asked")) as server:
        yield server


@pytest.fixture(scope="module")
def life(light: StubImageEngine, panel: JudgeServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    folder = tmp_path_factory.mktemp("life")
    with GitHubServer(folder / "github") as github:
        yield Life.begin(github, folder, panel.url, light.host)
        assert github.complaints == []
