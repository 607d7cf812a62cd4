"""The output, the stored files and the exit codes of the commands about judges and rulings."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evaluator.judges import JUDGES
from evaluator.pipeline.maintenance.answer_labels import answer_labels_path, answer_part
from evaluator.pipeline.maintenance.blind_set import blind_part
from evaluator.pipeline.project import Project
from evaluator.records import command_digest
from tests.cli.command_runs import Bashboard

WHY = "prints what was asked for"


def test_every_judge_is_listed(bashboard: Bashboard) -> None:
    rows = json.loads(bashboard("judges", "list", "--json").stdout)
    assert [row["name"] for row in rows] == list(JUDGES)
    assert all(f"{name} " in bashboard("judges", "list").stdout for name in JUDGES)


def test_figures_are_printed_and_kept(bashboard: Bashboard, judged: Project) -> None:
    found = bashboard("judges", "validate", "--judge", "tfidf", "--json")
    assert found.returncode == 0
    figures = {each["kind"]: each for each in json.loads(found.stdout)["figures"]}
    assert figures["near-misses"]["wrong_passed"] + figures["near-misses"]["wrong_failed"] == 2
    assert figures["near-misses"]["recall"] is None
    kept = json.loads((judged.root / ".bashboard" / "judges.json").read_text())["figures"]
    assert {each["judge"] for each in kept} == {"tfidf"}


def test_the_table_names_every_set(bashboard: Bashboard) -> None:
    found = bashboard("judges", "validate", "--judge", "bleu", "--mistakes")
    assert found.stdout.count(" bleu ") == 2
    assert "bleu: tiny files-1: " in found.stdout


def test_the_hardest_pairs_are_told_with_the_reason(bashboard: Bashboard) -> None:
    """The command lists the hardest pairs of the ranking judge, or of the first measured judge if the ranking judge is
    not measured.
    """
    found = bashboard("judges", "validate", "--judge", "tfidf", "--judge", "bleu")
    lines = found.stdout.partition("hardest for tfidf, and how many other judges are wrong there:\n")[2].splitlines()
    assert re.match(r"  [01]  tiny files-1: wrong, but pass: ", lines[0])
    assert len(lines) <= 10
    given = json.loads(bashboard("judges", "validate", "--judge", "tfidf", "--judge", "bleu", "--json").stdout)
    assert [each["task"] for each in given["hardest"]][:1] == ["files-1"]


def test_labels_are_judged_instead_of_the_suites(bashboard: Bashboard, tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"suite": "tiny", "task": "files-1", "command": "ls a", "label": true}\n')
    found = json.loads(bashboard("judges", "validate", "--judge", "bleu", "--pairs", str(path), "--json").stdout)
    assert [(each["kind"], each["equivalent_passed"]) for each in found["figures"]] == [("labelled", 1)]


def test_real_answers_are_measured_and_the_missing_ones_are_named(bashboard: Bashboard, judged: Project) -> None:
    """The labels are of a command of a local submission, and of a command that no submission has."""
    digests = {command: command_digest(command.encode()) for command in ("ls a", "rm a")}
    for command, answer in (("ls a", "yes"), ("rm a", "no")):
        part = answer_part("tiny", "files-1")
        path = answer_labels_path(judged, "tiny", part)
        path.parent.mkdir(parents=True, exist_ok=True)
        line = {"format": 1, "label_set": 1, "task": "files-1", "command_digest": digests[command], "label": answer}
        with path.open("a") as file:
            file.write(f"{json.dumps(line)}\n")
    found = bashboard("judges", "validate", "--set", "real-answers", "--judge", "consensus")
    assert found.returncode == 0
    assert "1 command of 2 not available; run: bashboard submit import tiny CLONE" in found.stderr
    assert "1.00 0.21-1.00" in found.stdout
    assert re.search(r"tiny +\S+ +consensus +pass +equal +– +1 +0", found.stdout)
    told = json.loads(bashboard("judges", "validate", "--set", "real-answers", "--judge", "consensus", "--json").stdout)
    assert [(row["judge"], row["passes_right"]["part"]) for row in told["answers"]] == [("consensus", 1)]
    assert told["figures"] == []


def test_people_are_compared_with_judges_of_texts(bashboard: Bashboard, tmp_path: Path) -> None:
    (tmp_path / "all.nl").write_text("list\ncount\n")
    (tmp_path / "all.cm").write_text("ls -l\nwc -l x\n")
    (tmp_path / "people.csv").write_text("description,prediction,correct command\nlist,ls -l,y\ncount,du -h,n\n")
    given = (
        "--human",
        str(tmp_path / "people.csv"),
        "--references",
        str(tmp_path / "all.nl"),
        str(tmp_path / "all.cm"),
    )
    found = json.loads(bashboard("judges", "validate", "--judge", "tfidf", *given, "--json").stdout)
    agreements = {each["measure"]: each for each in found["agreements"]}
    assert (agreements["tfidf above 0.75"]["kappa"], agreements["always no"]["raw"]) == (1.0, 0.5)
    assert found["figures"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("judges", "validate", "--human", "people.csv"), "belong together"),
        (("judges", "validate", "--judge", "oracle"), "no judge is named 'oracle'"),
        (("judges", "validate", "--suite", "huge"), "no suite is named 'huge'"),
        (("judges", "validate", "--set", "easy"), "--set 'easy': expected one of blind, real-answers, table-4"),
        (("judges", "validate", "--half", "both"), "--half 'both': expected dev or held"),
        (("judges", "validate", "--half", "held", "--no-held-back"), "omit --half held"),
        (
            ("judges", "attack", "pack", "new", "--suite", "tiny", "--tasks", "3"),
            "a number of tasks from 1 to 2, found 3",
        ),
        (("judges", "attack", "score", "nowhere.jsonl", "--suite", "tiny"), "nowhere.jsonl"),
        (("judges", "validate", "--publish", "--no-held-back"), "omit --no-held-back"),
        (("judges", "validate", "--pairs", "nowhere.jsonl"), "nowhere.jsonl"),
        (("adjudicate", "lazy", "files-1", "maybe", "--suite", "tiny", "--because", WHY), "expected pass or fail"),
        (("adjudicate", "nobody", "files-1", "pass", "--suite", "tiny", "--because", WHY), "no submission is named"),
    ],
)
def test_wrong_use_is_one_line(bashboard: Bashboard, words: tuple[str, ...], message: str) -> None:
    found = bashboard(*words)
    assert (found.returncode, found.stderr.count("\n")) == (2, 1)
    assert message in found.stderr


def test_a_ruling_is_written_and_explained(bashboard: Bashboard) -> None:
    found = bashboard("adjudicate", "always-true", "files-1", "pass", "--suite", "tiny", "--because", WHY)
    assert found.returncode == 0
    assert "submitted by always-true, lazy; written to fixtures/overrides/tiny/adjudications.jsonl" in found.stdout
    shown = json.loads(bashboard("explain", "always-true", "files-1", "--suite", "tiny", "--json").stdout)
    assert (shown["finding"]["outcome"], shown["finding"]["step"]) == ("pass", "adjudication")
    assert WHY in shown["finding"]["reason"]
    assert bashboard("check").returncode == 0


def test_rulings_that_contradict_each_other_fail_the_check(bashboard: Bashboard, judged: Project) -> None:
    bashboard("adjudicate", "always-true", "files-1", "pass", "--suite", "tiny", "--because", WHY)
    path = judged.root / "fixtures" / "overrides" / "tiny" / "adjudications.jsonl"
    path.write_text(path.read_text() + path.read_text().replace('"pass"', '"fail"'))
    found = bashboard("check")
    assert found.returncode == 1
    assert "adjudications.jsonl:2: rules the command of line 1 on files-1 again" in found.stdout


def blind_line(task: str, kind: str, command: str) -> dict[str, object]:
    row = {"task": task, "kind": kind, "command": command, "differs": "an empty file"}
    return {**row, "format": 1, "label_set": 1, "reader": kind}


def test_the_blind_set_is_measured_by_half(bashboard: Bashboard, judged: Project) -> None:
    """Both tasks of the checkout belong to different halves, so each half has one wrong answer."""
    assert [blind_part(task).value for task in ("files-1", "files-2")] == ["written-from", "held-back"]
    lines = [blind_line("files-1", "wrong", "cat a"), blind_line("files-2", "wrong", "true")]
    path = judged.root / "fixtures" / "tiny" / "blind.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    given = ("judges", "validate", "--set", "blind", "--judge", "bleu")
    found = json.loads(bashboard(*given, "--json").stdout)
    assert [(row["part"], row["wrong_passed"]["whole"]) for row in found["blind"]] == [("written-from", 1)]
    both = bashboard(*given, "--half", "dev", "--half", "held")
    assert both.returncode == 0
    assert re.search(r"tiny +written-from +all +bleu +0 of 1: 0.00 0.00-0.79 +0 of 0: – +0 of 1: ", both.stdout)
    assert re.search(r"tiny +held-back +all +bleu +0 of 1: ", both.stdout)
    kept = json.loads((judged.root / ".bashboard" / "judges.json").read_text())["blind"]
    assert [row["part"] for row in kept] == ["written-from", "held-back"]


def test_an_attack_is_written_scored_and_labelled(bashboard: Bashboard, judged: Project) -> None:
    written = bashboard("judges", "attack", "pack", "pack", "--suite", "tiny", "--tasks", "2")
    assert (written.returncode, written.stdout.splitlines()[0]) == (0, "2 tasks in pack/01.md to pack/01.md")
    answers = judged.root / "pack" / "answers" / "01.jsonl"
    lines = [
        {"task": "files-1", "kind": "wrong", "command": "cat a", "differs": "an empty file"},
        {"task": "files-2", "kind": "wrong", "command": "cat a", "differs": "an empty file"},
        {"task": "files-1", "kind": "right", "command": "ls a", "differs": "an old command"},
    ]
    answers.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    score = ("judges", "attack", "score", str(answers), "--suite", "tiny", "--judge", "tfidf")
    scored = json.loads(bashboard(*score, "--mistakes", "--json").stdout)
    (row,) = scored["figures"]
    assert (row["part"], row["tasks"], row["label_set"]) == ("all", 2, None)
    assert (row["wrong_passed"]["whole"], row["right_failed"]["whole"], row["undecided"]["whole"]) == (2, 1, 3)
    assert len(scored["mistakes"]) == row["wrong_passed"]["part"] + row["right_failed"]["part"]
    assert f"{row['wrong_passed']['part']} of 2: " in bashboard(*score).stdout
    assert not (judged.root / ".bashboard" / "judges.json").exists()

    asked = bashboard("judges", "attack", "review", "review", str(answers), "--suite", "tiny")
    assert asked.stdout.splitlines()[0] == "3 answers in review/01.md to review/02.md"
    labels = judged.root / "review" / "labels" / "01.jsonl"
    texts = "".join(map(Path.read_text, (judged.root / "review").glob("*.md")))
    keys = re.findall("^### (.*)$", texts, re.MULTILINE)
    (right,) = [key for key in keys if re.search(f"{key}\n\n[^#]*ls a", texts)]
    given = {key: "unsure" if key == right else "wrong" for key in keys}
    labels.write_text("".join(f"{json.dumps({'row': key, 'label': given[key]})}\n" for key in keys))
    label = ("judges", "attack", "label", "--labels", "review/labels", str(answers), "--suite", "tiny")
    told = bashboard(*label, "--write")
    assert told.stdout == (
        "files-1: right, but the reader says unsure\n    ls a\n2 of 3 labels agree, 1 are unsure, kappa of the rest –\n"
    )
    assert told.stderr == "written to fixtures/tiny/blind.jsonl\n"
    assert len((judged.root / "fixtures" / "tiny" / "blind.jsonl").read_text().splitlines()) == 3
    assert json.loads(bashboard(*label, "--json").stdout)["agreed"] == 2
