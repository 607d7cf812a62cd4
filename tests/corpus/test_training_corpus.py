"""Training pairs: merged, deduplicated, checked, compared with tasks, and written as chats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.corpus.deconflict import Conflict, TaskText, contaminated_tasks
from evaluator.corpus.pair_lines import corpus_pair
from evaluator.corpus.similar_texts import earlier_matches, nearest_matches
from evaluator.shell.reconstruction import is_reconstructed
from evaluator.submissions import load_submission
from evaluator.suites.load import load_suite
from evaluator.testing.checkouts import small_checkout, small_task
from tests.command_runner import CommandRunner
from tests.submissions.submission_folders import MANIFEST, SUITES, make_folder

LONG = (
    "Count the lines of the file notes.txt in the folder reports of the user anna, and print the number of lines alone"
)
TEXTS = [
    LONG,
    "Show all processes of the user anna, sorted by their memory",
    f"{LONG}.",
    LONG.lower().replace(" file ", "   File "),
    LONG.replace("the user ", "user "),
    "Remove every empty folder below /srv/data",
]


def lines(pairs: list[dict[str, str]]) -> str:
    return "".join(f"{json.dumps(pair)}\n" for pair in pairs)


def corpus(*arguments: str | Path, text: str | None = None) -> Result:
    return CommandRunner().invoke(app, ["corpus", *map(str, arguments)], input=text)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tasks = [
        small_task("files-001", ("wc -l notes.txt", "cat notes.txt | wc -l"), nl=TEXTS[0]),
        small_task("files-002", ("ps -u anna", "ps -u  anna --sort rss"), nl=TEXTS[1]),
    ]
    monkeypatch.chdir(small_checkout(tmp_path, tasks, {}).root)
    return tmp_path


def test_a_text_is_near_to_the_first_of_its_kind_only() -> None:
    found = {match.text: match.other for match in earlier_matches(TEXTS)}
    assert found == {2: 0, 3: 0, 4: 0}
    assert {match.text: match.other for match in earlier_matches(TEXTS, 1.0)} == {2: 0, 3: 0}
    assert {match.text: match.other for match in earlier_matches(TEXTS, skipped=[0, 3])} == {4: 2}


def test_the_nearest_of_the_others_is_found_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(nearest_matches(TEXTS[2:], TEXTS[:2]))
    assert [(match.text, match.other) for match in whole] == [(0, 0), (1, 0), (2, 0)]
    monkeypatch.setattr("evaluator.corpus.similar_texts._BLOCK", 1)
    assert list(nearest_matches(TEXTS[2:], TEXTS[:2])) == whole
    assert {match.text: match.other for match in earlier_matches(TEXTS)} == {2: 0, 3: 0, 4: 0}


def test_a_word_of_one_text_alone_lowers_the_similarity() -> None:
    text = "List the files of /srv/data"
    (same,) = nearest_matches([text], [text])
    assert same.cosine == 1
    assert list(nearest_matches([f"{text} which belong to nobody and were changed in March"], [text])) == []
    assert list(nearest_matches([], [text])) == list(nearest_matches([text], [])) == list(earlier_matches([])) == []


def test_dedupe_keeps_the_first_pair_of_each_kind(tmp_path: Path) -> None:
    pairs = [{"nl": text, "command": f"echo {number}"} for number, text in enumerate(TEXTS)]
    ended = corpus("dedupe", "-", text=lines(pairs))
    assert ended.stdout == lines([pairs[0], pairs[1], pairs[5]])
    assert "3 of 6 pairs kept\nleft out, same instruction: 2\nleft out, similar instruction: 1\n" in ended.stderr


def test_merge_names_the_source_of_each_pair(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(lines([{"nl": "a", "command": "ls"}]))
    (tmp_path / "two.jsonl").write_text(lines([{"nl": "b", "command": "ls", "source": "a book"}]))
    merged = [
        json.loads(line) for line in corpus("merge", tmp_path / "one.jsonl", tmp_path / "two.jsonl").stdout.splitlines()
    ]
    assert [pair["source"] for pair in merged] == ["one", "a book"]
    assert (
        json.loads(corpus("merge", "-", text=lines([{"nl": "a", "command": "ls"}])).stdout)["source"]
        == "standard input"
    )


def test_a_bad_line_of_one_corpus_stops_a_merge_before_a_pair_is_printed(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(lines([{"nl": "a", "command": "ls"}]))
    (tmp_path / "two.jsonl").write_text("{\n")
    ended = corpus("merge", tmp_path / "one.jsonl", tmp_path / "two.jsonl")
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert f"{tmp_path}/two.jsonl:1: broken JSON" in ended.stderr


def test_deconflict_drops_what_a_task_has(checkout: Path) -> None:
    pairs = [
        {
            "nl": LONG.lower(),
            "command": "awk 'END { print NR }' notes.txt",
        },
        {"nl": "how long is it?", "command": "cat notes.txt  |  wc -l"},
        {"nl": TEXTS[4], "command": "sed -n '$=' notes.txt"},
        {"nl": TEXTS[5], "command": "find /srv/data -type d -empty -delete"},
    ]
    ended = corpus("deconflict", "-", "--suite", "tiny", text=lines(pairs))
    assert ended.stdout == lines(pairs[3:])
    for reason in ("same instruction", "same command", "similar instruction"):
        assert f"left out, {reason}: 1\n" in ended.stderr
    assert ended.stderr.endswith(
        "tasks, same instruction (exact): files-001\ntasks, same command (exact): files-001\n"
        "tasks, similar instruction (cosine 0.9 or more): files-001\n"
    )


def test_the_report_of_contamination_names_tasks_and_the_digest_of_the_set(checkout: Path) -> None:
    pairs = [{"nl": TEXTS[4], "command": "x"}, {"nl": TEXTS[1], "command": "y"}, {"nl": TEXTS[5], "command": "z"}]
    arguments = ("contamination", "-", "--suite", "tiny")
    found: dict[str, Any] = json.loads(corpus(*arguments, "--json", text=lines(pairs)).stdout)
    (suite,) = found["suites"]
    assert (suite["same_instruction"], suite["same_command"], suite["similar"]) == (["files-002"], [], ["files-001"])
    counts = {"version": "1.0.0", "threshold": 0.9, "tiers": {}, "tasks": 2, "near_tasks": ["files-001", "files-002"]}
    assert suite["counts"] == counts | {"same_instruction": 1, "same_command": 0, "similar": 1}
    again = json.loads(corpus(*arguments, "--json", text=lines(pairs[::-1])).stdout)
    assert again["digest"] == found["digest"]
    expected = "tiny 1.0.0: 2 of 2 tasks near, 1 by the same instruction, 0 by the same command, 1 by a similar"
    ended = corpus(*arguments, text=lines(pairs))
    assert expected in ended.stdout
    assert ended.stdout.endswith(
        "tasks, same instruction (exact): files-002\ntasks, similar instruction (cosine 0.9 or more): files-001\n"
    )


@pytest.mark.parametrize("option", [[], ["--json"], ["--toml"]])
@pytest.mark.parametrize(("name", "text"), [("none.jsonl", ""), ("none.jsonl", "\n\n"), ("-", "")])
def test_a_training_set_without_pairs_is_refused(
    checkout: Path, tmp_path: Path, option: list[str], name: str, text: str
) -> None:
    (tmp_path / "none.jsonl").write_text(text)
    ended = corpus("contamination", name, "--suite", "tiny", *option, text=text)
    assert (ended.exit_code, ended.stdout) == (2, "")
    shown = "standard input" if name == "-" else name
    assert f'bashboard: {shown} has no pairs: expected JSON lines {{"nl", "command"}}' in ended.stderr


def test_one_pair_contaminates_every_task_that_it_is_near_to() -> None:
    tasks = [TaskText("a", LONG, ("wc -l x",)), TaskText("b", TEXTS[4], ("wc  -l x",)), TaskText("c", TEXTS[5], ("y",))]
    near = contaminated_tasks([corpus_pair(TEXTS[2], "z")], tasks)
    assert near == {"a": Conflict.INSTRUCTION, "b": Conflict.SIMILAR}
    assert contaminated_tasks([corpus_pair("how long?", "wc -l  x")], tasks) == dict.fromkeys("ab", Conflict.COMMAND)
    assert contaminated_tasks([], tasks) == {}


def test_the_printed_table_is_valid_in_a_manifest_and_counts_by_tier(tmp_path: Path) -> None:
    """A pair with the instruction of one task of core is counted in the tier of this task."""
    core = load_suite(Path(__file__).parents[2] / "fixtures" / "core")
    pair = {"nl": core.tasks[0].nl, "command": "frobnicate"}
    table = corpus("contamination", "-", "--toml", text=lines([pair])).stdout
    table = table.replace('base_model = ""', 'base_model = "small"').replace('data = ""', 'data = "ours"')
    manifest = MANIFEST.decode().replace("format = 1", "format = 3") + table
    found = load_submission(make_folder(tmp_path, manifest.encode()), SUITES).manifest.fine_tuning
    assert found is not None
    counts = found.contamination["core"]
    assert (counts.tasks, counts.same_instruction) == (len(core.tasks), 1)
    assert (counts.near_tasks, found.pair_count) == ((core.tasks[0].id,), 1)
    assert {tier for tier, each in counts.tiers.items() if each.same_instruction} == {core.tasks[0].tier}


def test_one_form_of_the_report_is_printed(checkout: Path) -> None:
    ended = corpus("contamination", "-", "--suite", "tiny", "--json", "--toml", text="")
    assert (ended.exit_code, "expected --json or --toml" in ended.stderr) == (2, True)


def test_a_chat_has_the_rules_the_instruction_and_the_command(checkout: Path) -> None:
    (line,) = corpus("chat", "-", "--suite", "tiny", text=lines([{"nl": "list", "command": "ls"}])).stdout.splitlines()
    messages = json.loads(line)["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant"]
    assert [message["content"] for message in messages[1:]] == ["list", "ls"]
    assert "one Bash command" in messages[0]["content"]


def test_checks_leave_out_what_no_parser_reads() -> None:
    pairs = [
        {"nl": "a", "command": "ls | wc -l"},
        {"nl": "b", "command": "frobnicate -x"},
        {"nl": "c", "command": "ls | | wc"},
    ]
    ended = corpus("filter", "-", "--check", "parses", "--check", "utilities", text=lines(pairs))
    assert ended.stdout == lines(pairs[:1])
    assert "left out, no parser reads the command: 1\n" in ended.stderr
    assert "left out, a utility is not installed: 1\n" in ended.stderr
    ended = corpus("filter", "-", "--check", "utilities", text=lines(pairs[2:]))
    assert "left out, no parser reads the command: 1\n" in ended.stderr


def test_a_command_without_a_utility_holds_the_checks() -> None:
    pairs = [{"nl": "empty a.txt", "command": "> a.txt"}, {"nl": "set x to 5", "command": "x=5"}]
    ended = corpus("filter", "-", "--check", "parses", "--check", "utilities", text=lines(pairs))
    assert ended.stdout == lines(pairs)


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("sqlite3 a.db .tables", True),
        ("cd /srv && umask 022", True),
        ("/usr/bin/sort names | ./deploy.sh", True),
        ("tell() { echo hi; }; tell", True),
        ("for i in 1 2; do ((i++)); done", True),
        ("python3 -c 'print(1)'", False),
        ("sudo curl localhost", False),
    ],
)
def test_a_utility_is_installed_if_the_base_of_core_has_it(command: str, kept: bool) -> None:
    pair = [{"nl": "a", "command": command}]
    assert corpus("filter", "-", "--check", "utilities", text=lines(pair)).stdout == (lines(pair) if kept else "")


def test_a_suite_without_a_list_has_the_utilities_with_known_options(checkout: Path) -> None:
    pairs = [{"nl": "a", "command": "curl localhost"}, {"nl": "b", "command": "sqlite3 a.db"}]
    ended = corpus("filter", "-", "--check", "utilities", "--suite", "tiny", text=lines(pairs))
    assert ended.stdout == lines(pairs[:1])


@pytest.mark.parametrize("check", ["wrong", ""])
def test_an_unknown_check_is_refused(check: str) -> None:
    ended = corpus("filter", "-", "--check", check, text=lines([{"nl": "a", "command": "ls"}]))
    assert ended.exit_code == 2
    assert "expected one of parses, utilities, reconstructs" in ended.stderr


@pytest.mark.parametrize(
    "command",
    [
        "ls -la | wc -l",
        "for f in *; do echo $f; done",
        "x=1 ls 2>/dev/null",
        "cat <<E\nhi\nE",
        "if true; then ls; fi",
        "(cd /x && ls) &",
        "f() { ls; }; f",
        "while read x; do :; done < f > g",
        "ls # all of them",
        "# first\nls",
        "echo $(date) `id`",
    ],
)
def test_a_command_is_reconstructed_from_its_tree(command: str) -> None:
    assert is_reconstructed(command)


@pytest.mark.parametrize("command", ["ls |", "find . -name 'x", "echo ${", "a=(1 2) ls"])
def test_a_command_that_is_not_read_whole_is_not_reconstructed(command: str) -> None:
    assert not is_reconstructed(command)
