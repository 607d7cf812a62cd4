"""Drafts of submissions, prompts for models, and the conversion of a model's replies to predictions."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import FormatError, Severity, UsageError
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.create import collect_replies, init_submission, suite_prompts
from evaluator.pipeline.submissions.repository import check_folders
from evaluator.records import Method
from evaluator.submissions.prompts import messages_of
from evaluator.submissions.scaffold import draft_manifest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A checkout with the suite core and no submission."""
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "fixtures" / "core").symlink_to(ROOT / "fixtures" / "core")
    return Project(tmp_path)


def told(project: Project, slug: str = "my-system") -> list[str]:
    """Return the messages of `check` about the submission, errors first."""
    problems = check_folders(project, [project.root / "submissions" / slug])
    return [each.message for each in sorted(problems, key=lambda each: each.severity is Severity.WARNING)]


def reply(task: str, content: str | None = "ls", **fields: object) -> str:
    usage = {"prompt_tokens": 31, "completion_tokens": 4}
    body = {"choices": [{"message": {"role": "assistant", "content": content}}], "usage": usage}
    return json.dumps({"custom_id": task, "response": {"status_code": 200, "body": body}, "error": None, **fields})


def collected(project: Project, *lines: str) -> tuple[list[dict[str, Any]], list[str]]:
    replies = project.root / "results.jsonl"
    replies.write_text("".join(f"{line}\n" for line in lines))
    init_submission(project, "my-system", ["core"])
    path, found = collect_replies(project, "my-system", "core", replies)
    return [json.loads(line) for line in path.read_text().splitlines()], list(found.unanswered)


def test_a_draft_has_a_line_for_every_task_with_its_instruction(project: Project) -> None:
    """A draft has a line for every task in the suite's order, with the task's instruction and no candidates."""
    _, predictions = init_submission(project, "my-system", ["core"])
    lines = [json.loads(line) for line in predictions.read_text().splitlines()]
    tasks = project.suite("core").tasks
    assert lines == [{"task": task.id, "nl": task.nl, "candidates": []} for task in tasks]


def test_a_draft_is_refused_only_for_what_is_to_be_filled_in(project: Project) -> None:
    """The only errors of a new draft are the two texts that the author must replace."""
    init_submission(project, "my-system", ["core"])
    unfilled = "still the text of `submit init`: replace it"
    assert told(project)[:2] == [f"system: {unfilled}", f"authors: {unfilled}"]
    assert "no line has a candidate" in told(project)[-1]


def test_a_draft_of_rules_that_was_filled_in_and_answered_holds(project: Project) -> None:
    """A draft with names and one answer passes the check, even if its lines still contain the instructions."""
    _, predictions = init_submission(project, "my-system", ["core"], system="A 1", author="B", method=Method.RULES)
    text = predictions.read_text().replace('"candidates": []', '"candidates": [{"command": "ls"}]', 1)
    predictions.write_text(text)
    assert told(project) == []


def test_an_answer_to_another_instruction_is_noticed(project: Project) -> None:
    """Lines with another task's instruction give one message for the file, which counts these lines."""
    _, predictions = init_submission(project, "my-system", ["core"], system="A 1", author="B", method=Method.RULES)
    lines = [json.loads(line) for line in predictions.read_text().splitlines()]
    names = [line["task"] for line in lines]
    shifted = [{**line, "task": name, "output": "ls"} for line, name in zip(lines, names[1:] + names[:1], strict=True)]
    for line in shifted:
        del line["candidates"]
    predictions.write_text("".join(f"{json.dumps(line)}\n" for line in shifted))
    (message,) = told(project)
    assert message.startswith("'nl' is not this task's instruction")
    assert message.endswith(f"({len(lines)} lines like this)")


@pytest.mark.parametrize("text", ['"', "\\", "\x7f", "a\nb", "'''", "Ä 🙂", "]\n[suites]\nx = 1", "\u2028"])
def test_any_name_stands_in_a_manifest_unharmed(text: str) -> None:
    """A name with any characters is unchanged after TOML reads the manifest."""
    value = tomllib.loads(draft_manifest({"core": "1.0.0"}, text, text, Method.OTHER).decode())
    assert (value["system"], value["authors"][0]["name"], value["suites"]) == (text, text, {"core": "1.0.0"})


@pytest.mark.parametrize(
    ("slug", "message"),
    [("My", "expected lower-case"), ("a/../b", "expected lower-case"), ("LPT1.txt", "Windows has a device")],
)
def test_a_name_that_is_no_folder_of_a_submission_is_refused(project: Project, slug: str, message: str) -> None:
    """An invalid name for a submission's folder is refused, and nothing is written."""
    with pytest.raises(UsageError, match=message):
        init_submission(project, slug, ["core"])
    assert not (project.root / "submissions").exists()


def test_nothing_is_written_over(project: Project) -> None:
    """A submission folder that exists is refused and stays unchanged."""
    init_submission(project, "my-system", ["core"], system="Mine")
    with pytest.raises(UsageError, match="already exists"):
        init_submission(project, "my-system", ["core"])
    assert b"Mine" in (project.root / "submissions/my-system/submission.toml").read_bytes()


def test_prompts_say_the_instruction_and_no_reference(project: Project) -> None:
    """Each task has one prompt, which ends with the task's instruction and contains no reference of several words."""
    lines = [json.loads(line) for line in suite_prompts(project, "core")]
    tasks = project.suite("core").tasks
    assert [(line["task"], line["messages"][-1]["content"]) for line in lines] == [(task.id, task.nl) for task in tasks]
    rules = {line["messages"][0]["content"] for line in lines}
    assert not [
        task.id for task in tasks for text in rules if any(r.decode() in text for r in task.references if b" " in r)
    ]


def test_a_prompt_names_the_folder_its_command_starts_in(project: Project) -> None:
    """A prompt names the working directory of its task's world, or that of the suite if the world has none."""
    lines = [json.loads(line) for line in suite_prompts(project, "core")]
    suite = project.suite("core")
    for line, task in zip(lines, suite.tasks, strict=True):
        cwd = suite.worlds[task.world].manifest.cwd or suite.manifest.cwd
        assert f"working directory {cwd}," in line["messages"][0]["content"]


def test_a_prompt_tells_the_limits_and_promises_no_date_that_changes(project: Project) -> None:
    """The variants of core have clocks of their own, so a date in a prompt would invite systems to write it down."""
    suite = project.suite("core")
    machine = json.loads(next(suite_prompts(project, "core")))["messages"][0]["content"]
    assert ", date: another one in each run." in machine
    assert f" Limits of a run: {suite.manifest.limits.cpu_s:g} s of CPU time, 512 MB of memory," in machine
    assert f" An answer has at most {project.settings.limits.command_bytes:,} bytes." in machine
    world = suite.worlds[suite.tasks[0].world].manifest
    still = [variant.model_copy(update={"clock": None}) for variant in world.variants]
    (rules, _) = messages_of(
        suite.manifest, world.model_copy(update={"variants": tuple(still)}), suite.tasks[0], 99_999
    )
    assert " An answer has at most 99,999 bytes." in rules["content"]
    assert f", date: {suite.manifest.clock:%Y-%m-%d %H:%M} UTC." in rules["content"]


def test_a_batch_holds_a_request_a_task(project: Project) -> None:
    """The request for a task has the fields of the batch interface."""
    line = json.loads(next(suite_prompts(project, "core", batch=True, model="a-model")))
    task = project.suite("core").tasks[0]
    assert (line["custom_id"], line["method"], line["url"]) == (task.id, "POST", "/v1/chat/completions")
    assert (line["body"]["model"], line["body"]["temperature"]) == ("a-model", 0)


def test_a_batch_without_a_model_is_refused(project: Project) -> None:
    """A batch without a model is refused here, because a server would refuse it only later."""
    with pytest.raises(UsageError, match="--model"):
        next(suite_prompts(project, "core", batch=True))


def test_replies_become_predictions_in_the_suite_s_order(project: Project) -> None:
    """Predictions have the output and tokens of the replies, and the order of the suite."""
    lines, failed = collected(project, reply("files-002", "du"), reply("files-001", "```\nls\n```"))
    assert lines == [
        {"task": "files-001", "output": "```\nls\n```", "input_tokens": 31, "output_tokens": 4},
        {"task": "files-002", "output": "du", "input_tokens": 31, "output_tokens": 4},
    ]
    assert failed == []


def test_a_request_that_failed_leaves_its_task_unanswered(project: Project) -> None:
    """A request with an error or a failing status leaves its task unanswered, and the task is reported."""
    refused = json.dumps({"custom_id": "files-002", "response": {"status_code": 429, "body": {"error": {}}}})
    lines, failed = collected(project, reply("files-001", error={"code": "expired"}), refused, reply("files-003"))
    assert ([line["task"] for line in lines], failed) == (["files-003"], ["files-001", "files-002"])


def test_every_line_that_is_no_reply_is_named(project: Project) -> None:
    """Every line that is not a valid reply is reported with its number, and the existing predictions stay unchanged."""
    before = init_submission(project, "my-system", ["core"])[1].read_bytes()
    replies = project.root / "results.jsonl"
    replies.write_text(
        "\n".join([reply("files-001"), reply("files-001"), reply("nowhere-9"), "[]", '{"custom_id": 1}'])
    )
    with pytest.raises(FormatError) as caught:
        collect_replies(project, "my-system", "core", replies)
    assert [problem.line for problem in caught.value.problems] == [2, 3, 4, 5]
    assert (project.root / "submissions/my-system/core.jsonl").read_bytes() == before


def test_a_submission_is_begun_from_the_command_line(project: Project) -> None:
    """`submit init` prints the written paths on standard output, and the next command on standard error."""
    command = [sys.executable, "-m", "evaluator.cli", "submit", "init", "my-system", "--method", "rules"]
    done = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["submissions/my-system/submission.toml", "submissions/my-system/core.jsonl"]
    assert "bashboard check submissions/my-system" in done.stderr


def test_problems_are_shown_on_the_diff_errors_first(project: Project) -> None:
    """`check --annotate` prints only the runner's annotation commands on standard output, errors first."""
    init_submission(project, "my-system", ["core"])
    command = [sys.executable, "-m", "evaluator.cli", "check", "submissions/my-system", "--annotate"]
    done = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=False)
    kinds = [line.partition(" ")[0] for line in done.stdout.splitlines()]
    assert kinds == ["::error", "::error", "::warning", "::warning"]
    assert done.stdout.startswith("::error file=submissions/my-system/submission.toml,line=2::system: still the text")
    assert done.returncode == 1
