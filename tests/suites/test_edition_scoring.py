"""Tests of `score --edition`: the figures hold counts alone, and nothing of the sealed edition stays."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.errors import FormatError
from evaluator.pipeline.boards.sealed_figures import current_differences, figures_path, read_figures
from evaluator.pipeline.project import Project
from evaluator.records import PairTally
from evaluator.testing.checkouts import small_checkout, small_task, write_submission
from tests.command_runner import CommandRunner
from tests.own_suites import packages_of_core

SEED = "a-seed-that-nobody-knows"
BUILD = b"mkdir -p /srv/barrel; cd /srv/barrel; echo $SEED > mira; echo cherry > wine; echo $SEED >> wine\n"
MANIFEST = """format = 4
title = "A cellar"
names = ["barrel", "mira", "wine"]

[[variants]]
name = "one"
seed = 1

[[variants]]
name = "two"
seed = 2
"""
TASKS = [
    small_task("files-1", nl="Print barrel/mira.", references=("cat barrel/mira", "cat < barrel/mira")),
    small_task("files-2", nl="Print barrel/wine.", references=("cat barrel/wine", "cat < barrel/wine")),
]
PUBLIC = (("fixtures", "l"), (".bashboard", ""))
"""The folders of the edition's prompts and of its replaced words, each with the end of the file's name."""
RIGHT = {"files-1": ["cat barrel/mira"], "files-2": ["cat barrel/wine"]}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with an edition. `honest` answers both suites, `by-heart` repeats its public answers.

    The control `translated` has answers in the words of the edition, which a maintainer made.
    """
    root = tmp_path_factory.mktemp("sealed")
    answers = dict.fromkeys(("honest", "by-heart", "translated", "public-only"), RIGHT)
    small_checkout(root, TASKS, answers, packages=packages_of_core())
    world = root / "fixtures" / "tiny" / "worlds" / "world"
    (world / "world.toml").write_text(MANIFEST)
    (world / "build.sh").write_bytes(BUILD)
    (root / "seed").write_text(f"{SEED}\n")
    run(root, "suite", "edition", "tiny", "--name", "autumn", "--seed-file", "seed", "--translate", "translated")
    (root / "seed").rename(root.parent / "sealed-seed")
    new = words(root)
    for slug, said in (("honest", new), ("by-heart", dict(zip(new, new, strict=True)))):
        lines = [
            json.dumps({"task": task, "candidates": [{"command": f"cat {said['barrel']}/{said[name]}"}]})
            for task, name in (("files-1", "mira"), ("files-2", "wine"))
        ]
        (root / "submissions" / slug / "tiny@autumn.jsonl").write_text("\n".join(lines) + "\n")
    return root


def words(root: Path) -> dict[str, str]:
    """Return the replaced words of the edition."""
    facts = json.loads((root / ".bashboard" / "editions" / "tiny@autumn.json").read_text())
    replaced: dict[str, str] = facts["worlds"]["world"]
    return replaced


def run(root: Path, *arguments: str) -> Result:
    with contextlib.chdir(root):
        return CommandRunner().invoke(app, list(arguments))


def score(root: Path, *more: str, seed: Path | None = None) -> Result:
    path = seed or root.parent / "sealed-seed"
    return run(
        root, "score", "--edition", "autumn", "--suite", "tiny", "--seed-file", str(path), "--workers", "1", *more
    )


@pytest.fixture(scope="module")
def scored(root: Path) -> SimpleNamespace:
    before = {path for path in root.rglob("*") if path.is_file()}
    result = score(root)
    return SimpleNamespace(result=result, before=before)


@pytest.mark.engine
def test_an_edition_tells_who_knows_answers_by_heart(root: Path, scored: SimpleNamespace) -> None:
    """An honest system passes both suites. A system that repeats its public answers passes the public suite only."""
    assert scored.result.exit_code == 0, scored.result.output
    figures = read_figures(figures_path(Project(root), "tiny", "autumn"))
    assert figures is not None
    assert {row.submission: row.tiers["all"] for row in figures.rows} == {
        "by-heart": PairTally(only_first=2),
        "honest": PairTally(both=2),
    }


@pytest.mark.engine
def test_a_translated_control_is_shown_and_never_published(root: Path, scored: SimpleNamespace) -> None:
    lines = scored.result.stdout.splitlines()
    title = next(place for place, line in enumerate(lines) if "never published" in line)
    assert [line.split()[0] for line in lines[title + 2 :]] == ["translated"]
    assert b"translated" not in figures_path(Project(root), "tiny", "autumn").read_bytes()


@pytest.mark.engine
def test_nothing_of_the_edition_stays(root: Path, scored: SimpleNamespace) -> None:
    """No new file holds the seed, a replaced word, a reference, a world's seed or an output of the edition.

    The store is read as SQLite sees it too, because its pages may be compressed or split.
    """
    from evaluator.suites.edition import make_edition

    edition = make_edition(Project(root).suite("tiny"), SEED).suite
    secrets = {SEED, *words(root).values(), *(str(each.seed) for each in edition.worlds["world"].manifest.variants)}
    secrets |= {reference.decode() for task in edition.tasks for reference in task.references}
    public = {root / folder / "editions" / f"tiny@autumn.json{end}" for folder, end in PUBLIC}
    public |= {*root.glob("submissions/*/tiny@autumn.jsonl"), *root.glob(".bashboard/editions/*/tiny@autumn.jsonl")}
    looked = {path for path in root.rglob("*") if path.is_file()} - public
    assert looked - scored.before >= {figures_path(Project(root), "tiny", "autumn")}
    found = [(path, secret) for path in looked for secret in secrets if secret.encode() in path.read_bytes()]
    store = sqlite3.connect(f"file:{Project(root).store_path}?mode=ro", uri=True)
    found += [(Path("store"), secret) for secret in secrets if secret in "\n".join(map(str, store.iterdump()))]
    found += [(Path("figures"), task.id) for task in TASKS if task.id in _text(root)]
    assert found == []
    assert not list((root / ".bashboard" / "editions").glob("sealed-*"))


def _text(root: Path) -> str:
    return figures_path(Project(root), "tiny", "autumn").read_text()


@pytest.mark.engine
def test_the_store_of_a_killed_run_is_removed(root: Path, scored: SimpleNamespace) -> None:
    left = root / ".bashboard" / "editions" / "sealed-left"
    left.mkdir()
    (left / "store.sqlite").write_bytes(b"evidence")
    assert score(root).exit_code == 0
    assert not left.exists()


@pytest.mark.engine
def test_a_row_of_changed_answers_is_outdated(root: Path, scored: SimpleNamespace) -> None:
    """The board shows a row only as long as the scored answers are there."""
    project = Project(root)
    slugs = ["honest", "by-heart", "public-only"]
    shown = current_differences(project, "tiny", "1.0.0", slugs)
    assert [(row.submission, row.difference) for row in shown] == [("by-heart", 1.0), ("honest", 0.0)]
    assert current_differences(project, "tiny", "1.0.1", slugs) == ()
    path = root / "submissions" / "honest" / "tiny.jsonl"
    kept = path.read_bytes()
    path.write_bytes(kept.replace(b"cat", b"tac"))
    assert {row.submission for row in current_differences(project, "tiny", "1.0.0", slugs)} == {"by-heart"}
    path.write_bytes(kept)


def test_another_seed_is_refused(root: Path, tmp_path: Path) -> None:
    """A seed that gives other prompts than contributors answered would score the wrong edition."""
    (tmp_path / "other").write_text(SEED[::-1])
    refused = score(root, seed=tmp_path / "other")
    assert (refused.exit_code, "the seed gives other prompts than" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (("--edition", "autumn"), "--edition and --seed-file belong together"),
        (("--seed-file", "x"), "--edition and --seed-file belong together"),
        (("--edition", "autumn", "--seed-file", "x", "--panel"), "must not leave this machine"),
        (("--edition", "autumn", "--seed-file", "x", "--suite", "a", "--suite", "b"), "expected one --suite"),
        (("--edition", "spring", "--seed-file", os.devnull, "--suite", "tiny"), "the seed has 0 characters"),
    ],
)
def test_options_that_do_not_fit_are_refused(root: Path, options: tuple[str, ...], fault: str) -> None:
    refused = run(root, "score", *options)
    assert (refused.exit_code, fault in refused.stderr) == (2, True), refused.stderr


def test_an_edition_that_nobody_answers_is_refused(root: Path) -> None:
    refused = score(root, "public-only")
    assert (refused.exit_code, "no submission answers tiny@autumn" in refused.stderr) == (2, True)


def test_damaged_figures_are_refused_with_their_file(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "tiny@autumn.figures.json"
    fields = {"suite": "tiny", "edition": "autumn", "suite_version": "1.0.0", "judge": "Exact!", "judge_version": 1}
    path.write_text(json.dumps({**fields, "rows": []}))
    with pytest.raises(FormatError, match=r"tiny@autumn.figures.json: expected the file that .* judge"):
        read_figures(path)


# -- the check


def check(root: Path, slug: str) -> Result:
    return run(root, "check", f"submissions/{slug}")


def test_answers_to_an_edition_are_checked(tmp_path: Path, root: Path) -> None:
    """Unknown editions, unknown tasks and commands with NUL are refused with file and line."""
    for part in ("fixtures", "submissions"):
        shutil.copytree(root / part, tmp_path / part)
    assert check(tmp_path, "honest").exit_code == 0
    folder = tmp_path / "submissions" / "honest"
    (folder / "tiny@spring.jsonl").write_text('{"task": "files-1"}\n')
    unknown = check(tmp_path, "honest")
    assert (
        "tiny@spring.jsonl: unknown edition 'spring' of suite tiny; known here: 'autumn'"
        in unknown.stdout + unknown.stderr
    )
    (folder / "tiny@spring.jsonl").unlink()
    (folder / "tiny@autumn.jsonl").write_text('{"task": "files-9", "candidates": [{"command": "a\\u0000"}]}\n')
    wrong = check(tmp_path, "honest")
    assert "tiny@autumn.jsonl:1: unknown task 'files-9'" in wrong.stdout + wrong.stderr
    assert "NUL at byte 1" in wrong.stdout + wrong.stderr


def test_an_edition_of_a_suite_that_is_not_answered_is_refused(tmp_path: Path, root: Path) -> None:
    shutil.copytree(root / "fixtures", tmp_path / "fixtures")
    folder = write_submission(tmp_path, "other", RIGHT)
    (folder / "else@autumn.jsonl").write_text('{"task": "files-1"}\n')
    refused = check(tmp_path, "other")
    assert "suite else is not listed in submission.toml" in refused.stdout + refused.stderr
