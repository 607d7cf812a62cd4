"""Import of answers that other publishers recorded of systems: InterCode's episodes and NL2Bash's judged outputs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import FormatError, Severity, UsageError
from evaluator.pipeline.maintenance.import_suite import add_suite
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.import_answers import ImportedAnswers, import_answers
from evaluator.pipeline.submissions.repository import check_folders, load_one
from evaluator.progress import NullProgress
from evaluator.testing.declared_suites import declare_suite
from tests.suites.foreign_trees import NL2BASH, TASKS, intercode_tree

ROOT = Path(__file__).parents[2]
HEADER = "description,prediction,template,correct template,correct command\n"
MULTITURN = "ic_bash_multiturn_{}_10_turns_fs_1.json"


def episode(task: int, actions: Sequence[str], rewards: Sequence[float] = (), **fields: Any) -> dict[str, Any]:
    history = {"actions": actions, "observations": ["seen"] * len(actions), "rewards": rewards or [0.67] * len(actions)}
    dataset = "./data/nl2bash/nl2bash_fs_1.json"
    query = TASKS[task]["query"]
    return {"dataset": dataset, "task_id": task, "query": query, "turn_history": {**history, **fields}}


def write_episodes(clone: Path, folder: str, name: str, *episodes: dict[str, Any], logs: bool = False) -> Path:
    path = clone / "data" / "results" / "bash" / folder / name.format(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = {str(number): each for number, each in enumerate(episodes)}
    path.write_text(json.dumps({"meta": {}, "logs": entries} if logs else entries, indent=2))
    return path


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of InterCode with the tasks of one file system and no results."""
    folder = intercode_tree(tmp_path / "clone")
    (folder / "data" / "results" / "bash").mkdir(parents=True)
    return folder


@pytest.fixture
def project(tmp_path: Path, clone: Path) -> Project:
    """A checkout with the suite intercode of the clone."""
    project = Project(tmp_path / "checkout")
    (project.root / "fixtures").mkdir(parents=True)
    declare_suite(project, "intercode", clone)
    add_suite(project, "intercode", clone, NullProgress())
    return project


def commands(project: Project, slug: str, suite: str = "intercode") -> dict[str, list[bytes]]:
    predictions = load_one(project, slug).predictions[suite]
    return {task: [each.command for each in found.candidates or ()] for task, found in predictions.items()}


def slugs(imported: Sequence[ImportedAnswers]) -> list[str]:
    return [each.slug for each in imported]


def test_the_first_action_of_each_episode_is_the_answer(project: Project, clone: Path) -> None:
    """Each system with episodes becomes a submission with the first actions. It passes the check."""
    write_episodes(clone, "gpt-4", MULTITURN, episode(0, ["wc -w a", "wc -l a"]), episode(3, ["cp a b"], [1.0]))
    write_episodes(clone, "vicuna", MULTITURN, episode(1, ["rmdir 'é'"]))
    imported = import_answers(project, "intercode", clone)
    assert slugs(imported) == ["local-intercode-gpt-4", "local-intercode-vicuna"]
    assert [(each.system, each.answered, each.tasks) for each in imported] == [("gpt-4", 2, 4), ("Vicuna-13B", 1, 4)]
    assert commands(project, "local-intercode-gpt-4") == {"fs1-000": [b"wc -w a"], "fs1-003": [b"cp a b"]}
    assert commands(project, "local-intercode-vicuna") == {"fs1-001": ["rmdir 'é'".encode()]}
    assert [each for each in check_folders(project, []) if each.severity is Severity.ERROR] == []


def test_an_imported_submission_names_its_source_its_licence_and_its_model(project: Project, clone: Path) -> None:
    """The manifest says where the answers come from, under which licence, and which model gave them."""
    write_episodes(clone, "starchat", MULTITURN, episode(0, ["ls"]))
    import_answers(project, "intercode", clone)
    manifest = load_one(project, "local-intercode-starchat").manifest
    assert manifest.models == ("StarChat-16B",)
    assert manifest.open_weights
    assert manifest.link == "https://github.com/princeton-nlp/intercode"
    assert "InterCode's published results, licence MIT" in manifest.description
    assert manifest.suites == {"intercode": project.suite("intercode").manifest.version}


def test_a_later_turn_takes_the_last_command_so_far(project: Project, clone: Path) -> None:
    """At turn 2 an episode of three actions gives its second action, and an episode of one action gives that action."""
    write_episodes(clone, "gpt-4", MULTITURN, episode(0, ["one", "two", "three"]), episode(1, ["only"], [1.0]))
    assert slugs(import_answers(project, "intercode", clone, turn=2)) == ["local-intercode-gpt-4-turn-2"]
    assert commands(project, "local-intercode-gpt-4-turn-2") == {"fs1-000": [b"two"], "fs1-001": [b"only"]}


def test_the_last_command_stands_after_a_turn_without_one(project: Project, clone: Path) -> None:
    """`submit` ends an episode of ReAct and is no command, so the command before it is the answer."""
    name = "ic_bash_react_10_turns_fs_1.json"
    write_episodes(
        clone, "gpt-3.5", name, episode(0, ["execute[one]", "execute[two]", "submit"]), episode(1, ["submit"])
    )
    (imported,) = import_answers(project, "intercode", clone, strategies=["react"], turn=10)
    assert commands(project, imported.slug) == {"fs1-000": [b"two"], "fs1-001": []}


def test_each_strategy_becomes_a_submission_of_its_own(project: Project, clone: Path) -> None:
    """The ReAct wrapper is removed from an action. Files with the entries below `logs` are read too."""
    write_episodes(
        clone, "gpt-3.5", "ic_bash_react_10_turns_fs_1.json", episode(0, ["execute[echo [x]\ndate]", "submit"])
    )
    write_episodes(clone, "gpt-3.5", "ic_bash_plan_solve_fs_1.json", episode(0, ["ls /"]), logs=True)
    write_episodes(clone, "gpt-3.5", "ic_bash_plan_solve_refine_3_turns.json", episode(0, ["ls /x"]), logs=True)
    imported = import_answers(project, "intercode", clone, strategies=["react", "plan-solve"])
    assert slugs(imported) == ["local-intercode-gpt-3-5-react", "local-intercode-gpt-3-5-plan-solve"]
    assert commands(project, "local-intercode-gpt-3-5-react") == {"fs1-000": [b"echo [x]\ndate"]}
    assert commands(project, "local-intercode-gpt-3-5-plan-solve") == {"fs1-000": [b"ls /"]}


def test_an_action_that_is_no_command_leaves_the_task_unanswered(project: Project, clone: Path) -> None:
    """A request that the model's server blocked, and the word `submit`, are no answers. Other text is an answer."""
    blocked = episode(0, ["blocked"], [0], observations=[])
    said = episode(3, ["blocked"], [0])
    write_episodes(clone, "chat-bison-001", MULTITURN, blocked, episode(1, ["submit"], [0.3]), said)
    (imported,) = import_answers(project, "intercode", clone)
    assert imported.answered == 1
    assert commands(project, imported.slug) == {"fs1-000": [], "fs1-001": [], "fs1-003": [b"blocked"]}


def test_a_second_import_replaces_the_first(project: Project, clone: Path) -> None:
    """The files of a submission are those of the last import. A submission that it does not name stays."""
    write_episodes(clone, "gpt-4", MULTITURN, episode(0, ["old"]), episode(1, ["old"]))
    write_episodes(clone, "vicuna", MULTITURN, episode(0, ["kept"]))
    import_answers(project, "intercode", clone)
    (clone / "data/results/bash/vicuna" / MULTITURN.format("vicuna")).unlink()
    write_episodes(clone, "gpt-4", MULTITURN, episode(0, ["new"]))
    import_answers(project, "intercode", clone)
    assert commands(project, "local-intercode-gpt-4") == {"fs1-000": [b"new"]}
    assert commands(project, "local-intercode-vicuna") == {"fs1-000": [b"kept"]}


def test_a_folder_that_is_no_import_is_not_replaced(project: Project, clone: Path) -> None:
    """A person's own folder with the name of an import stays, and no other submission is written."""
    folder = project.root / "submissions" / "local-intercode-vicuna"
    folder.mkdir(parents=True)
    (folder / "submission.toml").write_text("format = 1\n")
    for system in ("gpt-4", "vicuna"):
        write_episodes(clone, system, MULTITURN, episode(0, ["ls"]))
    with pytest.raises(UsageError, match="local-intercode-vicuna is no import of"):
        import_answers(project, "intercode", clone)
    assert [path.name for path in folder.parent.iterdir()] == ["local-intercode-vicuna"]
    assert (folder / "submission.toml").read_text() == "format = 1\n"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({**episode(0, ["ls"]), "task_id": 4}, "no task of the suite belongs to entry 4"),
        ({**episode(0, ["ls"]), "dataset": "other.json"}, "no task of the suite belongs to entry 0"),
        ({**episode(0, ["ls"]), "query": "something else"}, "its query is not the instruction of fs1-000"),
        ({**episode(0, ["ls"]), "task_id": "x"}, "task_id: Input should be a valid integer"),
        (episode(0, []), "turn_history.actions: List should have at least 1 item"),
        (episode(0, ["a\0b"]), "a command with a NUL byte"),
        (episode(0, ["a\ud800b"]), "a command with a lone surrogate"),
        (episode(0, ["a" * 16_385]), "a command of 16,385 bytes, expected at most 16,384"),
        (episode(0, ["a"], rewards=["high"]), "turn_history.rewards.0: Input should be a valid number"),  # type: ignore[list-item]
    ],
)
def test_an_invalid_entry_is_refused_with_its_line(
    project: Project, clone: Path, entry: dict[str, Any], expected: str
) -> None:
    """The error names the file, the line of the entry and the expected value. No submission is written."""
    write_episodes(clone, "chat-bison-001", MULTITURN, episode(0, ["ls"]))
    path = write_episodes(clone, "vicuna", MULTITURN, episode(1, ["ls"]), entry)
    line = path.read_text().splitlines().index('  "1": {') + 1
    with pytest.raises(FormatError) as caught:
        import_answers(project, "intercode", clone)
    (problem,) = caught.value.problems
    assert (problem.path, problem.line) == (path, line)
    assert expected in problem.message
    assert not (project.root / "submissions").exists()


def test_a_file_that_ends_early_is_refused_with_its_line(project: Project, clone: Path) -> None:
    """Half a file gives one error with the line at which the JSON ends."""
    path = write_episodes(clone, "vicuna", MULTITURN, episode(1, ["ls"]))
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    with pytest.raises(FormatError) as caught:
        import_answers(project, "intercode", clone)
    (problem,) = caught.value.problems
    assert problem.path == path
    assert problem.line == path.read_text().count("\n") + 1


def test_wrong_names_and_clones_are_refused(project: Project, clone: Path, tmp_path: Path) -> None:
    """An unknown publication, strategy or folder gives an error that lists the possible values."""
    with pytest.raises(UsageError, match="there are: intercode, tellina"):
        import_answers(project, "spider", clone)
    with pytest.raises(UsageError, match="there are: 'try-again'"):
        import_answers(project, "intercode", clone, strategies=["reflexion"])
    with pytest.raises(UsageError, match="expected files of episodes"):
        import_answers(project, "intercode", clone)
    with pytest.raises(UsageError, match="expected a clone of InterCode"):
        import_answers(project, "intercode", tmp_path / "checkout")
    with pytest.raises(UsageError, match="found no folder"):
        import_answers(project, "intercode", tmp_path / "nowhere")
    with pytest.raises(UsageError, match="type: bashboard suite add nl2bash"):
        import_answers(project, "tellina", clone)


def test_git_ignores_an_imported_submission() -> None:
    """Git ignores the folder of a local submission in this repository, so nobody commits it by accident."""
    path = "submissions/local-intercode-gpt-4/intercode.jsonl"
    assert subprocess.run(["git", "check-ignore", "--quiet", "--no-index", path], cwd=ROOT).returncode == 0


@pytest.fixture
def nl2bash(tmp_path: Path) -> tuple[Project, Path]:
    """A checkout with the suite nl2bash, and the clone that the suite comes from."""
    clone, project = tmp_path / "nl2bash", Project(tmp_path / "checkout")
    (clone / "data").mkdir(parents=True)
    (project.root / "fixtures").mkdir(parents=True)
    pairs = [*NL2BASH, ("Print  the first 2 lines of notes.txt", "sed 2q notes.txt")]
    (clone / "data" / "all.nl").write_text("".join(f"{nl}\n" for nl, _ in pairs))
    (clone / "data" / "all.cm").write_text("".join(f"{command}\n" for _, command in pairs))
    declare_suite(project, "nl2bash", clone)
    add_suite(project, "nl2bash", clone, NullProgress())
    return project, clone


def test_judged_outputs_become_candidates_in_their_order(nl2bash: tuple[Project, Path]) -> None:
    """Both systems become submissions. An instruction that two tasks ask is answered in both, another one is left."""
    project, clone = nl2bash
    rows = [("Print the first 2 lines of notes.txt", f"head -n {n} notes.txt") for n in (3, 2, 1)]
    rows.append(("An instruction that the suite does not ask", "true"))
    text = HEADER + "".join(f'"{nl}","{command}","t",y,n\n' for nl, command in rows)
    for system in ("tellina", "stc"):
        (clone / f"manual.evaluations.test.{system}.csv").write_text(text)
    imported = import_answers(project, "tellina", clone)
    assert slugs(imported) == ["local-tellina-tellina", "local-tellina-st-copynet"]
    expected = [b"head -n 3 notes.txt", b"head -n 2 notes.txt", b"head -n 1 notes.txt"]
    for slug in slugs(imported):
        assert commands(project, slug, "nl2bash") == {"1": expected, "10": expected}


def test_a_broken_table_of_outputs_is_refused_with_its_line(nl2bash: tuple[Project, Path]) -> None:
    """A row without a command gives the line of the row, and a file without a column gives line 1."""
    project, clone = nl2bash
    path = clone / "manual.evaluations.test.tellina.csv"
    (clone / "manual.evaluations.test.stc.csv").write_text(HEADER)
    path.write_text(f"{HEADER}Print the first 2 lines of notes.txt,ls,t,y,y\nonly this\n")
    with pytest.raises(FormatError, match=f"{path.name}:3: expected a row with a description and a prediction"):
        import_answers(project, "tellina", clone)
    path.write_text("nl,prediction\n")
    with pytest.raises(FormatError, match=f"{path.name}:1: expected a column 'description'"):
        import_answers(project, "tellina", clone)
    with pytest.raises(UsageError, match="neither strategies nor turns"):
        import_answers(project, "tellina", clone, turn=2)
    assert not (project.root / "submissions").exists()
