"""A prompt pack has what a contributor's model reads and nothing else, and a second reader sees no label."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import FormatError, UsageError
from evaluator.pipeline.maintenance.attack_packs import draw_tasks, pack_text, task_batches, write_pack
from evaluator.pipeline.maintenance.blind_set import FILE_NAME, read_attack, read_blind_set
from evaluator.pipeline.maintenance.second_reader import (
    agreement_of,
    labelled_set,
    read_labels,
    review_batches,
    row_key,
    write_blind_set,
    write_review,
)
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.create import suite_prompts
from evaluator.records import AnswerKind, AttackAnswer
from evaluator.suites.load import Suite
from evaluator.testing.checkouts import small_suite, small_task

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def core_pack(core: Suite) -> str:
    """The files of a pack with all tasks of core."""
    return "\n".join(pack_text(core, batch, 16384, "answers.jsonl") for batch in task_batches(core.tasks, 10))


def test_a_pack_has_no_reference_near_miss_or_file_of_a_world(core: Suite, core_pack: str) -> None:
    """An instruction may quote a short command, so instructions are removed first."""
    text = core_pack
    for task in sorted(core.tasks, key=lambda task: -len(task.nl)):
        quoted = "\n".join(f"> {line}".rstrip() for line in task.nl.split("\n"))
        assert quoted in core_pack
        text = text.replace(quoted, "")
    hidden = {command.decode() for task in core.tasks for command in (*task.references, *task.near_misses)}
    assert len(hidden) > 1000
    assert [command for command in hidden if len(command) > 6 and command in text] == []
    for script in (ROOT / "fixtures" / "core" / "worlds").rglob("*.sh"):
        assert [line for line in script.read_text().splitlines() if len(line) > 20 and line.strip() in text] == []


def test_a_pack_has_the_prompts_of_a_model_and_the_text_for_writers_alone(core: Suite, core_pack: str) -> None:
    lines = {line.removeprefix("> ") for line in core_pack.splitlines() if line.startswith("> ")}
    prompts = [json.loads(line)["messages"] for line in suite_prompts(Project(ROOT), "core")]
    told = {line for messages in prompts for message in messages for line in message["content"].split("\n")}
    assert lines == told - {""}
    text_for_writers = pack_text(core, [], 16384, "answers.jsonl").replace(" 0 ", " 10 ")
    others = [line for line in core_pack.splitlines() if line and not line.startswith(">")]
    headings = {"## A machine and its tasks", *(f"### {task.id}" for task in core.tasks)}
    assert [
        line
        for line in others
        if line not in headings and re.sub(r"\d+", "N", line) not in re.sub(r"\d+", "N", text_for_writers)
    ] == []


def test_the_sample_depends_on_the_seed_and_has_each_world_and_tier_in_proportion(core: Suite) -> None:
    drawn = draw_tasks(core, 252, "one")
    assert drawn == draw_tasks(core, 252, "one")
    assert {task.id for task in drawn} != {task.id for task in draw_tasks(core, 252, "two")}
    chosen, every = (Counter((task.tier, task.world) for task in tasks) for tasks in (drawn, core.tasks))
    assert sum(chosen.values()) == 252
    assert max(abs(chosen[stratum] - number * 252 / len(core.tasks)) for stratum, number in every.items()) < 1
    for number in (0, len(core.tasks) + 1):
        with pytest.raises(UsageError, match=f"found {number}"):
            draw_tasks(core, number, "one")


def test_each_file_describes_a_machine_once_and_names_the_place_for_answers(core: Suite, tmp_path: Path) -> None:
    paths = write_pack(core, draw_tasks(core, 40, "one"), tmp_path / "pack", 9, 16384)
    assert [path.name for path in paths] == ["01.md", "02.md", "03.md", "04.md", "05.md"]
    tasks = []
    for path in paths:
        text = path.read_text()
        machines = re.findall(r"^> The machine: .*$", text, re.MULTILINE)
        assert len(machines) == len(set(machines))
        assert f"`{tmp_path}/pack/answers/{path.stem}.jsonl`" in text
        tasks += re.findall(r"^### (.*)$", text, re.MULTILINE)
    assert len(set(tasks)) == len(tasks) == 40
    assert (tmp_path / "pack" / "answers").is_dir()
    with pytest.raises(UsageError, match="expected a new or empty folder"):
        write_pack(core, core.tasks, tmp_path / "pack", 9, 16384)


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return small_suite(tmp_path, [small_task(f"files-{number}") for number in range(1, 21)])


def answers_of(suite: Suite, folder: Path) -> list[AttackAnswer]:
    """Read a wrong and a right answer to each task."""
    lines = [
        {"task": task.id, "kind": kind, "command": f"echo {number}\necho {kind[0]}", "differs": f"secret of {kind}"}
        for number, task in enumerate(suite.tasks)
        for kind in ("wrong", "right")
    ]
    path = folder / "answers.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return read_attack(suite, [path])


def test_a_reader_never_sees_two_answers_to_a_task_together(suite: Suite, tmp_path: Path) -> None:
    answers = answers_of(suite, tmp_path)
    batches = list(review_batches(answers, 8, "one"))
    assert sorted(map(row_key, (answer for batch in batches for answer in batch))) == sorted(map(row_key, answers))
    for batch in batches:
        assert len({answer.task for answer in batch}) == len(batch)
    kinds = [answer.kind for batch in batches for answer in batch][:20]
    assert 4 < kinds.count(AnswerKind.WRONG) < 16
    assert batches == list(review_batches(answers[::-1], 8, "one"))
    assert batches != list(review_batches(answers, 8, "two"))


def test_a_reader_sees_instruction_and_command_without_label_and_reason(suite: Suite, tmp_path: Path) -> None:
    answers = answers_of(suite, tmp_path)
    paths = write_review(suite, answers, tmp_path / "review", 8, 16384, "one")
    texts = [path.read_text() for path in paths]
    assert "secret" not in "".join(texts)
    for answer in answers:
        number = suite.tasks.index(suite.task(answer.task))
        (text,) = (text for text in texts if f"### {row_key(answer)}\n" in text)
        part = text.partition(f"### {row_key(answer)}\n")[2].partition("\n#")[0]
        assert part == f"\n> Do what is asked\n\nThe answer:\n\n    echo {number}\n    echo {answer.kind.value[0]}\n"
    assert row_key(answers[0]) == row_key(answers[0].model_copy(update={"kind": AnswerKind.RIGHT}))


def labels_file(path: Path, *labels: tuple[str, str] | str) -> Path:
    def text(label: tuple[str, str] | str) -> str:
        return label if isinstance(label, str) else json.dumps({"row": label[0], "label": label[1]})

    path.write_text("".join(f"{text(label)}\n" for label in labels))
    return path


def test_the_next_set_has_both_labels_and_measures_leave_disputed_answers_out(suite: Suite, tmp_path: Path) -> None:
    answers = answers_of(suite, tmp_path)
    given = {row_key(answer): answer.kind.value for answer in answers}
    given |= {row_key(answers[0]): "right", row_key(answers[1]): "unsure"}
    path = labels_file(tmp_path / "labels.jsonl", *given.items())
    rows = labelled_set(suite, answers, read_labels([path], answers))
    found = agreement_of(rows)
    # 39 labels are decided, and one of them differs: 19 wrong and 20 right ones of the reader, 20 and 19 of the writers
    expected = (20 * 19 + 19 * 20) / 39**2
    assert found[:3] == (40, 38, 1)
    assert found.kappa == pytest.approx((38 / 39 - expected) / (1 - expected))
    assert write_blind_set(suite, rows) == suite.folder / FILE_NAME
    blind = read_blind_set(suite)
    assert blind is not None
    assert (blind.version, len(blind.answers)) == (1, 38)
    assert [(answer.task, answer.kind.value) for answer in blind.left_out] == [
        ("files-1", "wrong"),
        ("files-1", "right"),
    ]
    assert {row.label_set for row in labelled_set(suite, answers, read_labels([path], answers))} == {2}


def test_a_set_has_one_answer_of_a_kind_to_a_task(suite: Suite, tmp_path: Path) -> None:
    answers = [
        AttackAnswer(task="files-1", kind=AnswerKind.WRONG, command=command, differs="an empty file")
        for command in (b"ls", b"ls -a")
    ]
    path = labels_file(tmp_path / "labels.jsonl", *((row_key(answer), "wrong") for answer in answers))
    with pytest.raises(UsageError, match=r"there are more to files-1 \(wrong\)"):
        write_blind_set(suite, labelled_set(suite, answers, read_labels([path], answers)))
    assert not (suite.folder / FILE_NAME).exists()


def test_every_invalid_label_is_named_with_file_and_line(suite: Suite, tmp_path: Path) -> None:
    answers = answers_of(suite, tmp_path)
    first = row_key(answers[0])
    lines: list[Any] = [(first, "wrong"), (first, "right"), ("0" * 12, "wrong"), (first, "yes"), "{"]
    path = labels_file(tmp_path / "labels.jsonl", *lines)
    with pytest.raises(FormatError) as caught:
        read_labels([path], answers)
    assert {problem.line for problem in caught.value.problems if problem.path == path} == {2, 3, 4, 5}
    labels_file(path, (first, "wrong"))
    with pytest.raises(UsageError, match="39 answers without a label"):
        read_labels([path], answers)
