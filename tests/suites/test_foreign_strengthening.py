"""Imported worlds get extra objects, so that slightly wrong commands behave differently from the references."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from evaluator.errors import InfraError
from evaluator.judges import find_judge
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.maintenance.select_variants import usable_variants
from evaluator.progress import NullProgress
from evaluator.records import Ending, OutputMode
from evaluator.shell import utilities_of
from evaluator.store import Store
from evaluator.suites.importers.extra_variants import EXTRA_NAMES, VARIANTS, extra_setup, variants_with_objects
from evaluator.suites.importers.search_spec import NumberPredicate, SearchSpec, task_searches
from evaluator.testing.checkouts import small_suite, small_task
from evaluator.testing.evidence import evidence
from evaluator.testing.executor import FINGERPRINT, FakeExecutor, RequestedExecution, Shows

KILO = 1024
SEARCHES: Mapping[str, tuple[str, SearchSpec]] = {
    "names and a type": (
        "find /srv -type d -name 'a*' -o -iname b",
        SearchSpec(("/srv",), ("a*", "b"), "d"),
    ),
    "a folder whose name begins as a system's does": ("find /system -name x", SearchSpec(("/system",), ("x",))),
    "no folder": ("find -name x", SearchSpec((".",), ("x",))),
    "sizes": ("find /srv -size -2k", SearchSpec(("/srv",), sizes=(NumberPredicate("-", 2, KILO, up=True),), disk=True)),
    "ages": ("find /srv -mmin +5", SearchSpec(("/srv",), ages=(NumberPredicate("+", 5, 60, up=False),))),
    "modes": ("find /srv -perm -640", SearchSpec(("/srv",), modes=(0o640,))),
    "a pattern that the shell expands": ("rm /srv/*.log", SearchSpec(("/srv",), ("*.log",))),
    "a search for words": ("grep -r owl /srv", SearchSpec(("/srv",))),
    "what another command runs": ("true | xargs ls /srv", SearchSpec(("/srv",))),
}


@pytest.mark.parametrize(("command", "expected"), SEARCHES.values(), ids=SEARCHES)
def test_what_a_command_searches_is_read_from_its_structure(command: str, expected: SearchSpec) -> None:
    assert task_searches([command.encode()], utilities_of).searches == (expected,)


def test_files_words_lengths_and_targets_are_read_from_all_references() -> None:
    searches = task_searches([b"grep 'an owl' nest.txt > out", b"awk '/hawk/ && length < 40' nest.txt"], utilities_of)
    assert (searches.files, searches.words, searches.lengths, searches.targets) == (
        ("nest.txt",),
        ("an owl", "hawk"),
        (40,),
        ("out",),
    )


@pytest.mark.parametrize("command", ["uname -a", "cat /proc/cpuinfo", "ls ~", "echo 'unclosed", "ls ../up", "ls $HERE"])
def test_nothing_is_made_where_nothing_is_looked_for_that_is_ours(command: str) -> None:
    assert extra_setup([command.encode()], utilities_of) is None


@pytest.mark.parametrize("sign", ["+", "-", ""])
@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("up", [True, False])
def test_values_on_the_edges_tell_a_bound_from_its_neighbours(sign: str, count: int, up: bool) -> None:
    """A bound and its neighbours hold for different subsets of the edge values.

    A neighbour has one unit more, one unit less, or another sign.
    """
    bound = NumberPredicate(sign, count, 100, up=up)
    others = [NumberPredicate(sign, count + 1, 100, up=up), NumberPredicate(sign, count - 1, 100, up=up)]
    others += [NumberPredicate(other, count, 100, up=up) for other in "+-" if other != sign]
    edges = list(bound.edges())
    assert all([bound.holds(edge) for edge in edges] != [each.holds(edge) for edge in edges] for each in others)


def world(root: Path, variant: str, setup: bytes) -> Path:
    """Make a small world below `root`, run a set-up in one variant, and return the world's folder."""
    place = root / variant
    (place / "nest" / "low").mkdir(parents=True)
    (place / "nest" / "owl.txt").write_text("an owl\na hawk\n")
    (place / "nest" / "low" / "eggs.log").write_text("three\n")
    (place / "list.txt").write_text("b 2\na 10\n")
    environment = {**os.environ, "VARIANT": variant}
    subprocess.run(["bash", "-c", setup], cwd=place, env=environment, check=True, capture_output=True)
    return place


SLIPS: Mapping[str, tuple[str, str, str]] = {
    "no type": ("find nest -type f -name '*.txt'", "find nest -name '*.txt'", "kinds"),
    "another case": ("find nest -name '*.txt'", "find nest -iname '*.txt'", "missed"),
    "a lost dot": ("find nest -name '*.txt'", "find nest -name '*txt'", "missed"),
    "a longer name": ("find nest -name '*.txt'", "find nest -name '*.txt*'", "missed"),
    "lost quotes": ("find nest -name '*.txt'", "find nest -name *.txt", "missed"),
    "any depth": ("find nest -maxdepth 1 -name '*.txt'", "find nest -name '*.txt'", "deep"),
    "the folder above": ("find nest/low -name '*.log'", "find nest -name '*.log'", "missed"),
    "an exception in any case": ("find nest ! -name owl.txt", "find nest ! -iname owl.txt", "missed"),
    "a size one off": ("find nest -type f -size +2k", "find nest -type f -size +1k", "edges"),
    "another unit": ("find nest -type f -size -2k", "find nest -type f -size -2", "edges"),
    "a mode's bit": ("find nest -type f -perm 640", "find nest -type f -perm 644", "edges"),
    "names without their ends": (
        "find nest -name '*.txt' -print0 | xargs -0 wc -l",
        "find nest -name '*.txt' | xargs wc -l",
        "odd",
    ),
    "hidden ones": ("ls nest", "ls -A nest", "odd"),
    "no recursion": ("grep -rl owl nest", "grep -l owl nest/*", "deep"),
    "the other case of a word": ("grep owl nest/owl.txt", "grep -i owl nest/owl.txt", "edges"),
    "part of a word": ("grep -w owl nest/owl.txt", "grep owl nest/owl.txt", "near"),
    "a letter less": ("grep owl nest/owl.txt", "grep ow nest/owl.txt", "near"),
    "order of numbers": ("sort -n list.txt", "sort list.txt", "near"),
    "a short list": ("head -n 5 list.txt", "cat list.txt", "near"),
    "one line off": ("awk 'length < 40' list.txt", "awk 'length <= 40' list.txt", "edges"),
    "once each": ("sort -u list.txt", "sort list.txt", "near"),
    "what stood there": ("sort list.txt > nest/out; cat nest/out", "sort list.txt >> nest/out; cat nest/out", "odd"),
}


@pytest.mark.parametrize(("reference", "slip", "variant"), SLIPS.values(), ids=SLIPS)
def test_a_variant_tells_a_reference_from_its_slip(tmp_path: Path, reference: str, slip: str, variant: str) -> None:
    setup = extra_setup([reference.encode()], utilities_of)
    assert setup is not None
    place = world(tmp_path, variant, setup)
    shown = []
    for number, command in enumerate((reference, slip)):
        copy = shutil.copytree(place, tmp_path / f"copy{number}" / "here", symlinks=True)
        shown.append(subprocess.run(["bash", "-c", command], cwd=copy, capture_output=True, check=False).stdout)
    assert shown[0] != shown[1]


def test_the_publishers_variant_stays_as_it_is(tmp_path: Path) -> None:
    setup = extra_setup([b"find nest -name '*.txt'", b"sort list.txt"], utilities_of)
    assert setup is not None
    before = world(tmp_path / "before", "plain", b"true")
    after = world(tmp_path / "after", "plain", setup)
    assert [str(path.relative_to(after)) for path in sorted(after.rglob("*"))] == [
        str(path.relative_to(before)) for path in sorted(before.rglob("*"))
    ]
    assert (after / "list.txt").read_bytes() == (before / "list.txt").read_bytes()


@pytest.mark.parametrize("variant", EXTRA_NAMES)
def test_what_stands_in_a_world_is_neither_replaced_nor_taken_away(tmp_path: Path, variant: str) -> None:
    """A set-up only appends lines to the files that references name, and leaves all other files unchanged."""
    setup = extra_setup([b"find nest -name '*.txt'", b"grep -r owl nest", b"sort list.txt"], utilities_of)
    assert setup is not None
    place = world(tmp_path, variant, setup)
    assert (place / "nest" / "owl.txt").read_text() == "an owl\na hawk\n"
    assert (place / "list.txt").read_text().startswith("b 2\na 10\n")


def test_only_variants_with_objects_are_offered() -> None:
    setup = extra_setup([b"sort list.txt"], utilities_of)
    assert variants_with_objects(setup) == ("plain", "near", "edges", "kinds", "odd")
    assert variants_with_objects(None) == ("plain",)


def held(tmp_path: Path, shows: Mapping[str, Sequence[Shows]]) -> tuple[str, ...]:
    """Return the usable variants of a task. `shows` has the results of its two references in each variant."""
    names = tuple(variant.name for variant in VARIANTS[: len(shows)])
    task = small_task("t", output=OutputMode.LINES, references=("one", "two")).model_copy(update={"variants": names})
    suite = small_suite(tmp_path, [small_task("t", references=("one", "two"))], variants=dict.fromkeys(names, 1))

    def play(call: RequestedExecution) -> Shows:
        return shows[call.variant][["one", "two"].index(call.command)]

    with_task = type(suite)(suite.folder, suite.manifest, suite.worlds, (task,))
    store = Store(tmp_path / "store.sqlite")
    judge = find_judge("consensus")
    grader = Grader(with_task, judge, store, FINGERPRINT, FakeExecutor(play), NullProgress(), spacing_s=0)
    grader.ensure_evidence(GradingItem("t", command) for command in task.references)
    found = usable_variants(task, grader)
    store.close()
    return found


FAILED = evidence("", status=1, stderr="one: cannot\n")
HELD: Mapping[str, tuple[Mapping[str, Sequence[Shows]], tuple[str, ...]]] = {
    "agree everywhere": ({"plain": ("a\n", "a\n"), "near": ("b\n", "b\n")}, ("plain", "near")),
    "disagree in one": (
        {"plain": ("a\n", "a\n"), "near": ("b\n", "c\n"), "missed": ("d\n", "d\n")},
        ("plain", "missed"),
    ),
    "never agreed": ({"plain": ("a\n", "b\n"), "near": ("c\n", "d\n")}, ("plain", "near")),
    "both only complain": ({"plain": ("a\n", "a\n"), "near": (FAILED, FAILED)}, ("plain",)),
    "complained before": ({"plain": (FAILED, FAILED), "near": (FAILED, FAILED)}, ("plain", "near")),
    "one runs out of time": (
        {"plain": ("a\n", "a\n"), "near": ("b\n", evidence("b\n", ending=Ending.TIMEOUT))},
        ("plain",),
    ),
    "one could not be executed": ({"plain": ("a\n", "a\n"), "near": ("b\n", InfraError("no engine"))}, ("plain",)),
}


@pytest.mark.parametrize(("shows", "expected"), HELD.values(), ids=HELD)
def test_a_task_is_asked_where_its_references_hold(
    tmp_path: Path, shows: Mapping[str, Sequence[Shows]], expected: tuple[str, ...]
) -> None:
    assert held(tmp_path, shows) == expected
