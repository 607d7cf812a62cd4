"""Loading a suite reads its whole folder, and reports every problem with its file and line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.errors import FormatError, UsageError
from evaluator.suites.load import Suite, find_suites, load_suite, load_written_suite
from evaluator.testing.checkouts import small_suite, small_task, write_suite

TASKS = [small_task("files-1"), small_task("files-2", world="other"), small_task("text-1", topic="text")]

Spoil = Callable[[Path], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_suite(tmp_path, TASKS)


def problems(folder: Path) -> list[str]:
    """Return the problems found, with paths relative to the suite's folder."""
    with pytest.raises(FormatError) as caught:
        load_suite(folder)
    return [str(problem).removeprefix(f"{folder}/") for problem in caught.value.problems]


def replace(name: str, old: str, new: str) -> Spoil:
    def spoil(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return spoil


def append(name: str, data: bytes) -> Spoil:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes() + data)


def remove(name: str) -> Spoil:
    return lambda folder: (folder / name).unlink()


def line(**fields: object) -> bytes:
    """Return a valid task's line with some fields replaced."""
    sound = json.loads(small_task("files-9").to_json())
    return json.dumps({**sound, **fields}).encode() + b"\n"


def tiered(folder: str, fields: dict[str, object], suite_format: int = 7) -> Spoil:
    """Return a function that adds a task with a tier, which is that of its folder unless `fields` has another one."""

    def damage(suite: Path) -> None:
        replace("suite.toml", "format = 1", f"format = {suite_format}")(suite)
        (suite / "tasks" / folder).mkdir()
        (suite / "tasks" / folder / "files.jsonl").write_bytes(line(**{"tier": folder, **fields}))

    return damage


BROKEN: dict[str, tuple[Spoil, list[str]]] = {
    "no TOML": (replace("suite.toml", "format = 1", "format = "), ["suite.toml: does not read as TOML: "]),
    "not UTF-8": (append("suite.toml", b"\xff"), ["suite.toml: does not read as TOML: "]),
    "a newer format": (
        replace("suite.toml", "format = 1", "format = 9"),
        ["suite.toml: suite.toml has format 9; this bashboard reads formats 1 to 8: upgrade bashboard"],
    ),
    "a world of a newer format": (
        replace("worlds/other/world.toml", "format = 1", "format = 6"),
        ["worlds/other/world.toml: world.toml has format 6; this bashboard reads formats 1 to 5: upgrade bashboard"],
    ),
    "foreign in a format without it": (
        replace("suite.toml", "[base]", "foreign = true\n[base]"),
        ["suite.toml: the line: Value error, foreign: expected format = 2 or higher, found 1"],
    ),
    "open in a format without it": (
        replace("suite.toml", "[base]", 'instructions = "open"\n[base]'),
        ["suite.toml: the line: Value error, instructions: expected format = 5 or higher, found 1"],
    ),
    "contested in a format without it": (
        append("worlds/other/world.toml", b"contested = true\n"),
        ["worlds/other/world.toml: the line: Value error, variants.contested: expected format = 2 or higher, found 1"],
    ),
    "a base that the suite does not declare": (
        replace("worlds/other/world.toml", "format = 1", 'format = 3\nbase = "noble"'),
        ["worlds/other/world.toml: base: expected none, as suite.toml declares none, found noble"],
    ),
    "a base in a format without it": (
        replace("worlds/other/world.toml", "format = 1", 'format = 2\nbase = "noble"'),
        ["worlds/other/world.toml: the line: Value error, base: expected format = 3 or higher, found 2"],
    ),
    "foreign from nowhere": (
        replace("suite.toml", "format = 1", "format = 2\nforeign = true"),
        ["suite.toml: the line: Value error, foreign and [source] belong together: expected both or neither"],
    ),
    "an unknown field": (replace("suite.toml", "cwd", "colour"), ["suite.toml: cwd: Field required", "suite.toml: co"]),
    "a clock without a zone": (replace("suite.toml", "09:30:00Z", "09:30:00"), ["suite.toml: clock: "]),
    "another name than the folder's": (
        replace("suite.toml", '"tiny"', '"other"'),
        ["suite.toml: name: expected 'tiny', found 'other'"],
    ),
    "no tasks": (lambda folder: shutil.rmtree(folder / "tasks"), ["tasks: holds no tasks"]),
    "no worlds": (
        lambda folder: shutil.rmtree(folder / "worlds"),
        ["tasks/files.jsonl:1: task files-1 runs in", "tasks/files.jsonl:2: task files-2", "tasks/text.jsonl:1: task"],
    ),
    "a world that is not built": (remove("worlds/other/build.sh"), ["worlds/other/build.sh: is missing: expected"]),
    "a world that says nothing": (
        remove("worlds/other/world.toml"),
        ["worlds/other/world.toml: does not read as TOML"],
    ),
    "a variant twice": (
        replace("worlds/other/world.toml", '"two"', '"one"'),
        ["worlds/other/world.toml: variant one stands twice: expected another name"],
    ),
    "a seed that is none": (
        replace("worlds/other/world.toml", "seed = 2", 'seed = "two"'),
        ["worlds/other/world.toml: variants.1.seed: "],
    ),
    "no JSON": (append("tasks/files.jsonl", b"{\n"), ["tasks/files.jsonl:3: broken JSON at column 2"]),
    "an empty line": (append("tasks/files.jsonl", b"\n"), ["tasks/files.jsonl:3: blank line: expected one"]),
    "bytes that are not UTF-8": (
        append("tasks/files.jsonl", b'{"id": "\xff"}\n'),
        ["tasks/files.jsonl:3: expected UTF-8"],
    ),
    "no object": (append("tasks/files.jsonl", b"[]\n"), ["tasks/files.jsonl:3: the line: "]),
    "a mode that is none": (
        append("tasks/files.jsonl", line(output="roughly")),
        ["tasks/files.jsonl:3: output: Input should be 'exact', 'lines', 'set' or 'none', found 'roughly'"],
    ),
    "an id twice": (
        append("tasks/text.jsonl", line(id="files-1", topic="text")),
        ["tasks/text.jsonl:2: task files-1 stands twice: expected another id than that of files.jsonl:1"],
    ),
    "a world that is not there": (
        append("tasks/files.jsonl", line(world="moon")),
        ["tasks/files.jsonl:3: task files-9 runs in world 'moon': expected one of ['other', 'world']"],
    ),
    "another topic than the file's": (
        append("tasks/files.jsonl", line(topic="search")),
        ["tasks/files.jsonl:3: task files-9 has topic search: expected files, as the file"],
    ),
    "one reference": (
        append("tasks/files.jsonl", line(references=["ls"])),
        ["tasks/files.jsonl:3: task files-9: expected 2 references or more, found 1"],
    ),
    "since in a format without it": (
        append("tasks/files.jsonl", line(since="1.0.0")),
        ["tasks/files.jsonl:3: task files-9: since: expected format = 3 in suite.toml, which brought it"],
    ),
    "since a version that never was": (
        lambda folder: (
            replace("suite.toml", "format = 1", "format = 3")(folder),
            append("tasks/files.jsonl", line(since="0.9.0"))(folder),
        ),
        ["tasks/files.jsonl:3: task files-9: since: expected one of 1.0.0, found 0.9.0"],
    ),
    "a driver in a format without it": (
        append("tasks/files.jsonl", line(driver="./a", answer="/a")),
        ["tasks/files.jsonl:3: task files-9: driver: expected format = 6 in suite.toml, which brought it"],
    ),
    "a driver without an answer": (
        append("tasks/files.jsonl", line(driver="./a")),
        ["tasks/files.jsonl:3: the line: Value error, driver and answer belong together: expected both or neither"],
    ),
    "an answer at no file's path": (
        append("tasks/files.jsonl", line(driver="a", answer="a/")),
        ["tasks/files.jsonl:3: answer: "],
    ),
    "an answer above its folder": (
        append("tasks/files.jsonl", line(driver="a", answer="/a/../b")),
        ["tasks/files.jsonl:3: the line: Value error, answer: expected a path without . and .., found /a/../b"],
    ),
    "variants in a format without them": (
        append("tasks/files.jsonl", line(variants=["one"])),
        ["tasks/files.jsonl:3: task files-9: variants: expected format = 4 in suite.toml, which brought it"],
    ),
    "a variant that its world has not": (
        lambda folder: (
            replace("suite.toml", "format = 1", "format = 4")(folder),
            append("tasks/files.jsonl", line(variants=["moon"]))(folder),
        ),
        ["tasks/files.jsonl:3: task files-9: variants: expected some of "],
    ),
    "a tier in a format without it": (
        tiered("everyday", {}, suite_format=6),
        [
            "tasks/everyday/files.jsonl:1: task files-9: tier: expected format = 7 in suite.toml, which brought it",
            "tasks/files.jsonl:1: task files-1: tier: expected a tier for all tasks of the suite, or for none",
        ],
    ),
    "a tier that does not exist": (
        append("tasks/files.jsonl", line(tier="hard")),
        ["tasks/files.jsonl:3: tier: Input should be 'everyday', 'advanced' or 'expert', found 'hard'"],
    ),
    "another tier than the folder's": (
        tiered("expert", {"tier": "everyday"}),
        [
            "tasks/expert/files.jsonl:1: task files-9: tier: expected expert, as the folder of the file",
            "tasks/files.jsonl:1: task files-1: tier: expected a tier for all tasks of the suite, or for none",
        ],
    ),
    "a tier for one task alone": (
        tiered("expert", {}),
        ["tasks/files.jsonl:1: task files-1: tier: expected a tier for all tasks of the suite, or for none"],
    ),
    "a long instruction in a format without it": (
        append("tasks/files.jsonl", line(nl="a" * 2001)),
        ["tasks/files.jsonl:3: task files-9: nl of more than 2000 characters: expected format = 7 in suite.toml"],
    ),
    "a clock in a format without it": (
        replace("worlds/other/world.toml", "seed = 2", "seed = 2\nclock = 2025-04-01T08:00:00Z"),
        ["worlds/other/world.toml: the line: Value error, variants.clock: expected format = 4 or higher, found 1"],
    ),
    "a clock before the suite's": (
        lambda folder: (
            replace("worlds/other/world.toml", "format = 1", "format = 4")(folder),
            replace("worlds/other/world.toml", "seed = 2", "seed = 2\nclock = 2024-04-01T08:00:00Z")(folder),
        ),
        ["worlds/other/world.toml: variant two: clock: expected 2025-03-14T09:30:00+00:00 or later"],
    ),
    "a fresh variant like none": (
        replace("worlds/other/world.toml", "format = 1", 'format = 4\nfresh = "three"'),
        ["worlds/other/world.toml: the line: Value error, fresh: expected one of one, two, found three"],
    ),
    "a name that an edition would replace twice": (
        replace("worlds/other/world.toml", "format = 1", 'format = 4\nnames = ["mira", "mira"]'),
        ["worlds/other/world.toml: the line: Value error, names: expected each name once, found mira twice"],
    ),
    "a number outside of its range": (
        replace("worlds/other/world.toml", "format = 1", "format = 4\nnumbers = { 45 = [50, 60] }"),
        ["worlds/other/world.toml: the line: Value error, numbers.45: expected a range around 45, found 50 to 60"],
    ),
    "an order of an unknown variant": (
        replace("worlds/other/world.toml", "format = 1", 'format = 5\norder = ["two", "three"]'),
        ["worlds/other/world.toml: the line: Value error, order: expected names of variants, found three"],
    ),
    "an order with a variant twice": (
        replace("worlds/other/world.toml", "format = 1", 'format = 5\norder = ["two", "two"]'),
        ["worlds/other/world.toml: the line: Value error, order: expected each variant once"],
    ),
    "an order in an old format": (
        replace("worlds/other/world.toml", "format = 1", 'format = 4\norder = ["two", "one"]'),
        ["worlds/other/world.toml: the line: Value error, order: expected format = 5 or higher, found 4"],
    ),
    "a wall limit in an old format": (
        append("tasks/files.jsonl", line(wall_s=10)),
        ["tasks/files.jsonl:3: task files-9: wall_s: expected format = 8 in suite.toml, which brought it"],
    ),
    "two references for a set": (
        append("tasks/files.jsonl", line(output="set")),
        ["tasks/files.jsonl:3: task files-9: expected 3 references or more, found 2"],
    ),
}


@pytest.mark.parametrize(("spoil", "expected"), BROKEN.values(), ids=BROKEN)
def test_a_problem_is_named_where_it_is(folder: Path, spoil: Spoil, expected: list[str]) -> None:
    spoil(folder)
    found = problems(folder)
    assert len(found) == len(expected)
    assert [text[: len(start)] for text, start in zip(found, expected, strict=True)] == expected


def test_all_problems_are_named_at_once(folder: Path) -> None:
    for name in ("no JSON", "a mode that is none", "a seed that is none", "another name than the folder's"):
        BROKEN[name][0](folder)
    assert [text.partition(": ")[0] for text in problems(folder)] == [
        "suite.toml",
        "worlds/other/world.toml",
        "tasks/files.jsonl:3",
        "tasks/files.jsonl:4",
    ]


def test_a_world_that_does_not_read_is_not_also_said_to_be_missing(folder: Path) -> None:
    (folder / "worlds" / "other" / "world.toml").write_text("format = 1\n")
    assert [text.partition(": ")[0] for text in problems(folder)] == ["worlds/other/world.toml"] * 2


def test_a_folder_without_a_manifest_holds_no_suite(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no suite: expected a suite\.toml in it"):
        load_suite(tmp_path)


def test_the_same_files_are_parsed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process parses a suite once. A file with other content, also one of the same size, is read again."""
    parsed: list[Path] = []

    def counted(place: Path) -> Suite:
        parsed.append(place)
        return load_written_suite(place)

    monkeypatch.setattr("evaluator.suites.load.load_written_suite", counted)
    assert load_suite(folder) is load_suite(folder)
    assert len(parsed) == 1
    script = folder / "worlds" / "world" / "build.sh"
    script.write_bytes(script.read_bytes()[::-1])
    assert load_suite(folder).worlds["world"].build == script.read_bytes()
    assert len(parsed) == 2


def test_suites_are_found_by_name(tmp_path: Path) -> None:
    folders = {name: write_suite(tmp_path, TASKS, name=name) for name in ("b", "a")}
    (tmp_path / "fixtures" / "train").mkdir()
    assert find_suites(tmp_path / "fixtures") == folders
    assert list(find_suites(tmp_path / "fixtures")) == ["a", "b"]


def test_tasks_come_in_order_of_file_and_line(tmp_path: Path) -> None:
    suite = small_suite(tmp_path, TASKS)
    assert [task.id for task in suite.tasks] == ["files-1", "files-2", "text-1"]


def test_a_task_is_read_as_it_was_written(tmp_path: Path) -> None:
    task = small_task("files-1", references=(b"ls", b"printf '\\n\xff'"), setup=b"touch x\n", observe=("exit",))
    assert small_suite(tmp_path, [task]).tasks == (task,)


def test_a_world_has_its_scripts_and_variants(tmp_path: Path) -> None:
    suite = small_suite(tmp_path, TASKS, build=b"mkdir /srv\n", start=b"sleep 9 &\n", variants={"b": 2, "a": 1})
    world = suite.worlds["world"]
    assert (world.build, world.start) == (b"mkdir /srv\n", b"sleep 9 &\n")
    assert suite.variants(suite.tasks[0]) == ("b", "a")


@pytest.mark.parametrize(
    ("name", "words"),
    [("file-1", "has no task 'file-1'; did you mean files-1 or files-2?"), ("moon", "; there are: files-1, files-2")],
)
def test_an_unknown_task_is_refused_with_near_ones(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        small_suite(tmp_path, TASKS).task(name)


def test_a_suite_with_tiers_has_a_folder_for_each(tmp_path: Path) -> None:
    folder = write_suite(tmp_path, [])
    replace("suite.toml", "format = 1", "format = 7")(folder)
    for tier in ("expert", "everyday"):
        (folder / "tasks" / tier).mkdir(parents=True)
        (folder / "tasks" / tier / "files.jsonl").write_bytes(line(id=f"files-{tier}", tier=tier, nl="a" * 4000))
    shutil.copytree(write_suite(tmp_path / "other", TASKS) / "worlds", folder / "worlds")
    assert [(task.id, task.tier) for task in load_suite(folder).tasks] == [
        ("files-everyday", "everyday"),
        ("files-expert", "expert"),
    ]


def test_the_prelude_stands_before_each_build_script(folder: Path) -> None:
    before = load_suite(folder).worlds["other"].build
    (folder / "worlds" / "prelude.sh").write_bytes(b"set -eu\n")
    assert {world.build for world in load_suite(folder).worlds.values()} == {b"set -eu\n" + before}
