"""Boards whose pages are written and built once for the whole session."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.build import build_site, site_server
from evaluator.leaderboard.site_facts import SiteFacts
from evaluator.leaderboard.write import write_pages
from evaluator.pipeline.boards.scored_boards import JUDGE_METRICS, read_validation
from evaluator.records import Validation
from evaluator.testing.boards import drawn_board
from tests.doubles.hostile_boards import hostile_board
from tests.made_once import made_once

ROOT = Path(__file__).parents[2]

MEASURED = read_validation(ROOT / JUDGE_METRICS)
NO_FACTS = SiteFacts()
Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Return a function that builds a board's site in a separate project with this project's sources."""

    def built(name: str, board: SuiteBoard, validation: Validation = MEASURED, facts: SiteFacts = NO_FACTS) -> Path:
        project = tmp_path_factory.mktemp(name)
        shutil.copyfile(ROOT / "mkdocs.yml", project / "mkdocs.yml")
        shutil.copytree(ROOT / "site", project / "site", ignore=shutil.ignore_patterns("board", ".board-*"))
        (project / "evaluator").symlink_to(ROOT / "evaluator")
        write_pages([board], project / "site" / "board", validation, facts=facts)
        return build_site(project)

    return built


@pytest.fixture(scope="session")
def small_site(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    board = drawn_board(6, 16, candidates=3, seed=7)
    return made_once(tmp_path_factory, "small", lambda: build("small", board))


@pytest.fixture(scope="session")
def hostile_site(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "hostile", lambda: build("hostile", hostile_board()))


@pytest.fixture(scope="session")
def small_address(small_site: Path) -> Iterator[str]:
    with site_server(small_site) as address:
        yield address


@pytest.fixture(scope="session")
def hostile_address(hostile_site: Path) -> Iterator[str]:
    with site_server(hostile_site) as address:
        yield address
