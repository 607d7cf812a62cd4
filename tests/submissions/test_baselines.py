"""The baselines give the same bytes every time, are valid submissions, and read only the instruction of a task."""

from __future__ import annotations

import pickle
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.records import Base, Prediction, SuiteManifest, Task, Topic
from evaluator.submissions import SuiteInfo, check_submission
from evaluator.submissions.baselines import BASELINES, TrainingPair, files_of, read_pairs
from evaluator.submissions.baselines.literals import find_literals, mask_literals, transfer_literals
from evaluator.submissions.baselines.rules import translate
from evaluator.submissions.names import VERDICTS
from evaluator.suites.load import load_suite

ROOT: Final = Path(__file__).parents[2]
TRAINING: Final = ROOT / "fixtures" / "train" / "pairs.jsonl"
SUITE: Final = SuiteManifest(
    format=1,
    name="core",
    version="1.0.0",
    title="Core",
    description="",
    base=Base(),
    clock="2025-03-14T09:30:00Z",
    environment={},
    cwd="/",
)
INSTRUCTIONS: Final = (
    "Count the lines of /var/log/syslog",
    "List all .conf files under /etc larger than 10 kB",
    "Réplace 'a b' with \"it's\" in notes.txt",
    "$(reboot) `id` {directory} %s \\",
)


def task(number: int, instruction: str) -> Task:
    return Task(
        id=f"task-{number}",
        nl=instruction,
        references=(b"first", b"second"),
        world="w",
        output="exact",
        topic=Topic.FILES,
        difficulty=1,
    )


TASKS: Final = [task(number, instruction) for number, instruction in enumerate(INSTRUCTIONS)]
PAIRS: Final = read_pairs(TRAINING.read_bytes())


def test_training_pairs_are_read_from_lines_with_other_fields() -> None:
    data = b'{"nl": "a", "command": "ls", "source": "a book"}\n\n{"nl": "b", "command": "cat x"}\n'
    assert read_pairs(data) == (TrainingPair(nl="a", command="ls"), TrainingPair(nl="b", command="cat x"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"nl": "b"}', "line 2: command: Field required"),
        (b'{"nl": "", "command": "ls"}', "line 2: nl: String should have at least 1 character"),
        (b"{", "line 2: Invalid JSON"),
    ],
)
def test_an_invalid_training_pair_is_reported_with_its_line(line: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        read_pairs(b'{"nl": "a", "command": "ls"}\n' + line)


def commands(predictions: Sequence[Prediction]) -> list[list[str]]:
    return [[candidate.command.decode() for candidate in found.candidates or ()] for found in predictions]


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_is_a_sound_submission(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    for file, data in files_of(BASELINES[name], [(SUITE, TASKS)], PAIRS).items():
        (folder / file).write_bytes(data)
    assert check_submission(folder, {"core": SuiteInfo.of(SUITE, TASKS)}) == []


@pytest.mark.slow
def test_the_baselines_give_the_same_bytes_in_another_process() -> None:
    program = (
        "import pickle, sys; from evaluator.submissions.baselines import BASELINES, files_of; "
        "given = pickle.load(sys.stdin.buffer); "
        "[sys.stdout.buffer.write(data) for name in BASELINES for data in files_of(BASELINES[name], *given).values()]"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(([(SUITE, TASKS)], PAIRS)),
        env={"PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
    )
    here = [data for name in BASELINES for data in files_of(BASELINES[name], [(SUITE, TASKS)], PAIRS).values()]
    assert ran.stdout == b"".join(here)


@pytest.mark.slow
@pytest.mark.parametrize("name", BASELINES)
def test_the_committed_submission_is_what_the_baseline_gives(name: str) -> None:
    """The systems answer both suites of the repository, and the controls answer only core."""
    suites = [load_suite(ROOT / "fixtures" / suite) for suite in BASELINES[name].suites]
    made = files_of(BASELINES[name], [(suite.manifest, suite.tasks) for suite in suites], PAIRS)
    files = {file.name for file in (ROOT / "submissions" / name).iterdir()}
    assert made.keys() == {file for file in files if not file.endswith(VERDICTS)}
    stale = [file for file, data in made.items() if (ROOT / "submissions" / name / file).read_bytes() != data]
    assert stale == [], f"run: bashboard baseline {name}"


@pytest.mark.parametrize("name", ["rules", "tfidf-retrieval"])
def test_a_system_sees_nothing_of_a_task_but_its_instruction(name: str) -> None:
    other = [
        found.model_copy(update={"references": (b"x",), "topic": Topic.TEXT, "world": "v", "difficulty": 5})
        for found in TASKS
    ]
    assert BASELINES[name].predict(TASKS, PAIRS) == BASELINES[name].predict(other, PAIRS)


@pytest.mark.parametrize("name", ["rules", "tfidf-retrieval"])
def test_candidates_differ_and_their_confidences_fall(name: str) -> None:
    for prediction in BASELINES[name].predict(TASKS, PAIRS):
        confidences = [candidate.confidence for candidate in prediction.candidates or ()]
        assert confidences == sorted(confidences, reverse=True)
        assert len({candidate.command for candidate in prediction.candidates or ()}) == len(confidences) <= 5


def test_the_second_reference_is_repeated() -> None:
    assert commands(BASELINES["second-reference"].predict(TASKS[:1], ())) == [["second"]]


def test_the_only_reference_is_repeated_where_there_is_no_second() -> None:
    single = TASKS[0].model_copy(update={"references": (b"only",)})
    assert commands(BASELINES["second-reference"].predict([single], ())) == [["only"]]


def test_doing_nothing_is_true() -> None:
    assert commands(BASELINES["always-true"].predict(TASKS[:1], ())) == [["true"]]


TRANSLATIONS = {
    "Count the lines of /var/log/syslog": "wc -l < /var/log/syslog",
    "Show the first five lines of notes.txt": "head -n 5 notes.txt",
    "List all .conf files under /etc larger than 10 kB": "find /etc -type f -name '*.conf' -size +10240c",
    "How many files in logs/ were modified in the last 2 days?": "find logs/ -type f -mtime -2 | wc -l",
    "Delete all empty directories under /srv": "find /srv -type d -empty -delete",
    "Replace 'a/b' with \"it's\" in notes.txt": "sed -i 's/a\\/b/it'\\''s/g' notes.txt",
    "Print the third column of data.csv, separated by commas": "cut -d, -f3 data.csv",
    "Change the permissions of run.sh to 755": "chmod 755 run.sh",
    "Compare old.txt and new.txt": "diff old.txt new.txt",
}


@pytest.mark.parametrize("instruction", TRANSLATIONS)
def test_rules_translate(instruction: str) -> None:
    assert commands(translate([task(0, instruction)], ()))[0][0] == TRANSLATIONS[instruction]


def test_rules_say_nothing_where_they_know_nothing() -> None:
    assert commands(translate([task(0, "Sing a song")], ())) == [[]]


@given(st.text(st.characters(exclude_characters="\"'`\n", exclude_categories=["C", "Z"]), min_size=1))
def test_what_rules_take_from_an_instruction_stays_one_word(text: str) -> None:
    for command in commands(translate([task(0, f"Count the lines containing '{text}' in notes.txt")], ()))[0]:
        if command.startswith("grep -c"):
            assert shlex.split(command)[2] == text


LITERALS = {
    "Copy 'my file' to /srv/data": ["QUOTED my file", "PATH /srv/data"],
    "Find *.log and notes.txt": ["FILE *.log", "FILE notes.txt"],
    "Find .py files": ["EXTENSION .py"],
    "Set mode 644 on 3 files of user deploy": ["MODE 644", "NUMBER 3", "NAME deploy"],
    "Count ERROR in log/app.log": ["CAPITALS ERROR", "PATH log/app.log"],
    "Don't list it's own": [],
}


@pytest.mark.parametrize("instruction", LITERALS)
def test_literals_are_found_with_their_kind(instruction: str) -> None:
    assert [f"{kind} {text}" for kind, text, _, _ in find_literals(instruction)] == LITERALS[instruction]


def test_masked_instructions_tell_what_and_not_of_which() -> None:
    assert mask_literals("Copy a.txt to /srv") == mask_literals("Copy b.md to /var/lib")


TRANSFERS = {
    "one for one": (("head -n 5 a.txt", "First 5 lines of a.txt", "First 12 lines of b.md"), "head -n 12 b.md"),
    "in order": (("diff a.txt b.txt", "Compare a.txt and b.txt", "Compare x.c and y.c"), "diff x.c y.c"),
    "swapped": (("diff a.txt b.txt", "Compare a.txt, b.txt", "Compare b.txt, a.txt"), "diff b.txt a.txt"),
    "all occurrences": (("cp a.txt a.txt.bak", "Back up a.txt", "Back up b.c"), "cp b.c b.c.bak"),
    "no number inside another": (("seq 1 10", "Count from 1 to 10", "Count from 2 to 20"), "seq 2 20"),
    "not the utility": (("sort x.txt", "Let user sort sort x.txt", "Let user bob sort y.txt"), "sort y.txt"),
    "quoted where needed": (("cat a.txt", "Show 'a.txt'", "Show 'my $file'"), "cat 'my $file'"),
    "inside single quotes": (
        ("grep 'foo' a.txt", "Find 'foo' in a.txt", 'Find "o\'s" in b.txt'),
        "grep 'o'\\''s' b.txt",
    ),
    "inside double quotes": (('echo "foo"', "Say 'foo'", "Say '$x'"), 'echo "\\$x"'),
    "too few literals": (("cp a.txt b.txt", "Copy a.txt to b.txt", "Copy c.txt"), "cp c.txt b.txt"),
    "none": (("ls", "List", "List /etc"), "ls"),
}


@pytest.mark.parametrize("case", TRANSFERS)
def test_literals_are_exchanged(case: str) -> None:
    (command, learned, asked), expected = TRANSFERS[case]
    assert transfer_literals(command, learned, asked) == expected


def test_a_known_instruction_gets_its_own_command() -> None:
    pairs = [TrainingPair(nl="Show the date", command="date"), TrainingPair(nl="Who am I?", command="whoami")]
    found = BASELINES["tfidf-retrieval"].predict([task(0, "Show the date")], pairs)
    assert commands(found)[0][0] == "date"
    assert found[0].candidates is not None
    assert found[0].candidates[0].confidence == 1.0
