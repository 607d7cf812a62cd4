"""Tests of editions: all texts of a world change consistently, and nothing else does."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.errors import FormatError, UsageError
from evaluator.suites.edition import make_edition
from evaluator.suites.load import Suite, load_suite
from evaluator.testing.checkouts import small_task, write_suite

SEED = "0123456789abcdef"
BUILD = b"mkdir -p /srv/brewery/barrel; useradd mira; touch -d 2025-03-01 /srv/brewery/BARREL.txt; find -mtime +45\n"
TASK = small_task(
    "files-1",
    nl="In barrel/, which files of Mira are older than 45 days, since 2 May 2025? Write a barrelful to barrelful.txt.",
    references=("find /srv/brewery/barrel -user mira -mtime +45", "ls barrelful.txt brewery2 45.5 x45"),
    near_misses=(b"find barrel -mtime +44 -newermt 2025-05-02 -size 2000c",),
    driver=b"./render.sh barrel",
    answer="/srv/brewery/render.sh",
)
MANIFEST = """format = 4
title = "A brewery"
cwd = "/srv/brewery"
fresh = "one"
names = ["brewery", "barrel", "barrelful", "mira", "render"]
numbers = { 45 = [30, 60] }

[[variants]]
name = "one"
seed = 1
clock = 2025-06-14T09:30:00Z

[[variants]]
name = "two"
seed = 2
"""


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    folder = write_suite(tmp_path, [TASK], build=BUILD)
    (folder / "worlds" / "world" / "world.toml").write_text(MANIFEST)
    return load_suite(folder)


def test_names_numbers_and_dates_change_everywhere(suite: Suite) -> None:
    """Instruction, references, near misses, driver, answer, build script and directory use the same new words."""
    edition = make_edition(suite, SEED)
    words = edition.words["world"]
    new = {**words.names, **words.numbers}
    (task,), world = edition.suite.tasks, edition.suite.worlds["world"]
    barrel, brewery, mira, number = (new[name] for name in ("barrel", "brewery", "mira", "45"))
    year = 2025 + words.years
    assert task.nl == (
        f"In {barrel}/, which files of {mira.capitalize()} are older than {number} days, since 2 May {year}? "
        f"Write a {new['barrelful']} to {new['barrelful']}.txt."
    )
    assert task.references[0] == f"find /srv/{brewery}/{barrel} -user {mira} -mtime +{number}".encode()
    assert task.near_misses == (f"find {barrel} -mtime +44 -newermt {year}-05-02 -size 2000c".encode(),)
    assert (task.driver, task.answer) == (
        f"./{new['render']}.sh {barrel}".encode(),
        f"/srv/{brewery}/{new['render']}.sh",
    )
    assert world.manifest.cwd == f"/srv/{brewery}"
    assert f"touch -d {year}-03-01 /srv/{brewery}/{barrel.upper()}.txt; find -mtime +{number}".encode() in world.build
    assert world.manifest.variants[0].clock == suite.worlds["world"].manifest.variants[0].clock.replace(year=year)  # type: ignore[union-attr]
    assert edition.suite.manifest.clock.year == year


def test_only_whole_words_change(suite: Suite) -> None:
    """A part of a longer word, of a decimal number or of an identifier stays."""
    edition = make_edition(suite, SEED)
    new = edition.words["world"].names
    assert edition.suite.tasks[0].references[1] == f"ls {new['barrelful']}.txt brewery2 45.5 x45".encode()


def test_new_names_keep_length_order_and_beginnings(suite: Suite) -> None:
    """So the layout of tables, the order of lists and matches by a common beginning stay as they were."""
    for number in range(20):
        new = make_edition(suite, f"{SEED}{number}").words["world"].names
        assert [len(word) for word in new.values()] == [len(name) for name in new]
        assert sorted(new, key=new.__getitem__) == sorted(new)
        assert new["barrelful"] == new["barrel"] + "ful"
        assert all(re.fullmatch("[a-z]+", word) for word in new.values())


def test_no_new_name_is_a_word_of_the_world(suite: Suite) -> None:
    """A new name that a script or an instruction has already would make two things one."""
    texts = BUILD.decode() + TASK.nl + b"".join((*TASK.references, *TASK.near_misses)).decode()
    for number in range(50):
        assert not [
            word for word in make_edition(suite, f"{SEED}{number}").words["world"].names.values() if word in texts
        ]


def test_a_name_after_an_escape_changes(suite: Suite) -> None:
    """A format of printf or a program of awk has names directly after `\\n` or `\\t`."""
    edition = make_edition(suite, SEED)
    new = edition.words["world"].names["mira"]
    translated = edition.translate(suite.tasks[0], rb"printf '%s\nmira:\tmira\n'; admiral")
    assert translated == rf"printf '%s\n{new}:\t{new}\n'; admiral".encode()


def test_the_seed_decides_everything(suite: Suite) -> None:
    """The same seed gives the same edition. Another seed gives other names, numbers, seeds of variants."""
    first, again, other = (make_edition(suite, seed) for seed in (SEED, SEED, SEED[::-1]))
    assert (first.suite, first.words) == (again.suite, again.words)
    assert not set(first.words["world"].names.values()) & set(other.words["world"].names.values())
    seeds = [each.suite.worlds["world"].manifest.variants[0].seed for each in (first, other)]
    assert len({1, *seeds}) == 3


def test_a_control_is_translated(suite: Suite) -> None:
    """The public answer of a control becomes the answer in the words of the edition."""
    edition = make_edition(suite, SEED)
    assert edition.translate(suite.tasks[0], TASK.references[0]) == edition.suite.tasks[0].references[0]


@pytest.mark.parametrize("seed", ["", "short", "0123456789 abcdef", "0123456789\nabcdef", "äöüäöüäöüäöüäöü"])
def test_a_bad_seed_is_refused(suite: Suite, seed: str) -> None:
    with pytest.raises(UsageError, match="expected at least 16 visible ASCII characters"):
        make_edition(suite, seed)


def test_a_name_that_occurs_nowhere_is_refused_with_its_line(suite: Suite) -> None:
    """A declared name without an occurrence is a mistake in the declaration."""
    path = suite.folder / "worlds" / "world" / "world.toml"
    path.write_text(MANIFEST.replace('"mira"', '"nowhere"'))
    with pytest.raises(FormatError) as caught:
        make_edition(load_suite(suite.folder), SEED)
    assert str(caught.value.problems[0]).startswith(f"{path}:5: names: nowhere occurs nowhere in the world")


def test_a_world_without_names_gets_other_seeds(suite: Suite) -> None:
    """A world that declares no words keeps its texts, apart from dates."""
    world = suite.worlds["world"]
    bare = replace(world, manifest=world.manifest.model_copy(update={"names": (), "numbers": {}}))
    edition = make_edition(replace(suite, worlds={"world": bare}), SEED)
    assert edition.words["world"].names == {}
    assert edition.suite.tasks[0].references[0] == TASK.references[0]
