"""What `check` warns about in commands: each mark of a chat, a terminal or a file format, and each odd character."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from evaluator.pipeline.project import Project
from evaluator.submissions import SuiteInfo, check_submission
from evaluator.submissions.doubts.answer_doubt import AnswerDoubt
from evaluator.submissions.doubts.answer_shapes import odd_shape
from evaluator.submissions.doubts.code_points import odd_code_points
from evaluator.submissions.predictions import MOST_PARSED, Doubts
from tests.submissions.submission_folders import SUITES, make_folder, manifest_with

ROOT: Final = Path(__file__).parents[2]
DATA: Final = Path(os.environ.get("BASHBOARD_ORACLES", ROOT.parent / "shared" / "data"))
REAL_ANSWERS: Final = DATA / "real_answers_dev.jsonl"


def doubts_of(command: str, instruction: str = "") -> list[AnswerDoubt]:
    return [*odd_shape(command), *odd_code_points(command, instruction)]


SHAPES: Final = {
    "fence": [
        "```bash ls -la```", "```bash\nls -la", "ls -la\n```", "````\nls\n````", "```ls```", "~~~\nls\n~~~",
        "ls -la```",
        "Here's the command:\n```bash\nls\n```\nIt's done.", "ls -la # list files```", "'''bash\nls\n'''",
        '"""\nls\n"""',
    ],
    "JSON, which": [
        '{"command": "ls -la"}', '[{"cmd": "ls"}]', "{'command': 'ls'}", '["ls", "-la"]', '["ls -la"]',
        '"command": "ls"', "{command: ls -la}",
        '{\n  "command": "ls"\n}', '{"name": "bash", "arguments": {"command": "ls"}}',
    ],
    "call in another language": [
        'os.system("ls")', 'bash("ls")', 'bash(command="ls")', 'subprocess.run(["ls", "-la"])',
        "import os; x()",
    ],
    "prompt sign": [
        "$ ls", "  $ ls", "$ cd x\n$ ls", "cd x\n$ ls", "% ls", "user@host:~$ ls", "user@host ~ $ ls",
        "root@x:/# ls -la",
        "[user@host ~]$ ls", "[root@x tmp]# ls", "bash-5.1$ ls", "sh-4.2# ls", "~/dir$ ls", "(venv) $ ls",
        "user$ ls", "bash> ls",
        "(base) user@h:~$ ls", "➜ ls", "PS C:\\Users> ls", "C:\\Users\\me> dir", ">>> ls", "In [1]: !ls", "!ls -la",
        "$> ls", "$>ls", "%ls", "> ls", ">ls", "> find . -name x", "$ls -la", "host:~ user$ ls", "dev@box:/srv/app$ ls",
    ],
    "bash executes nothing": ["# ls", "#ls -la", "# ls -la\n# cd x", "#!/bin/bash ls", "## Command"],
    "LaTeX": ["\\boxed{ls}", "$\\boxed{ls -la}$"],
    "a tag is left": [
        "<command>ls</command>", "ls</s>", "ls<|im_end|>", "ls<end_of_turn>",
        "<|im_start|>assistant\nls", "hm</think>\nls", "ls<br>pwd",
        "<answer>ls</answer>", "[INST] ls [/INST]", "ls<｜end▁of▁sentence｜>",
    ],
    "begins with a label": [
        "Command: ls", "command: ls", "**Command:** ls", "**Command**: ls", "Answer: ls -la", "Bash command: ls",
        "A: ls", "Solution:\nls", "Final answer: ls", "Here is the command: ls", "command = ls", "bash: ls",
    ],
    "name of a language": ["bash\nls -la", "sh\nls", "Bash\nls", "console\nls", "assistant\nls", 'json\nls'],
    "name of a shell stands": ["bash ls -la", "sh find . -name x", "/bin/bash ls"],
    "is a list": [
        "1. ls", "1) ls -la", "1. ls\n2. pwd", "- ls", "* ls", "• ls", "a) ls", "(1) ls", "1: ls", "👉 ls", "✅ ls",
    ],
    "bold": ["**ls -la**", "__ls__", "ls -la\n\n**Explanation:** long", "**`ls -la`**", "*ls -la*", "***ls***"],
    "inline code": ["`ls -la`", "``ls -la``", "`ls -la`.", "`ls -la` lists all files", "`ls -la`: lists"],
    "single backquote": ["ls -la`", "`ls -la"],
    "in quotes": ["'ls -la'", '"ls -la"', "\"find . -name '*.txt'\""],
    "is prose": [
        "To list files, use ls -la", "to list files, use ls -la", "You can use `ls -la`.", "Use ls -la",
        "Sure! ls -la",
        "Here is ls", "here's ls", "I'm sorry, I can't do that.", "I cannot help",
        "list all files in the folder with ls", "Sorry, no.", "---\nls", "Ls -la",
        "This command lists files: ls", "Um Dateien aufzulisten, benutze ls", "使用 ls -la 列出文件", "N/A", "None",
        "Чтобы показать файлы: ls", "As an AI language model, I cannot",
    ],
    "an explanation": [
        "ls -la\n\nThis command lists all files.", "ls -la\n\nExplanation: long",
        "ls -la\nNote that this will show hidden files", "ls -la\n\n- `-l`: long",
        "ls -la This command lists all files",
        "ls -la (lists all files)", "ls -la lists all files", "ls -la\n\nHope this helps!", "ls\n---\nLists all files.",
        "ls -la - lists all files",
        "ls -la\nwhere -l is long\n\nThe command lists the files.",
    ],
    "entity of HTML": [
        "ls &gt; out", "cat a &amp;&amp; ls", "find . -name &quot;x&quot;", "awk '$1 &gt; 5' f", "echo &#39;hi&#39;",
        "ls 2&gt;&amp;1",
    ],
    "letter n": ["cd /tmp\\nls -la", "ls -la\\n", "\\nls -la", "cd x \\n ls", "tr \\n ' '"],
    "escape of JSON": ["ls \\u0026\\u0026 pwd"],
    "bash refuses the command": [
        "find -name '*.jpg", 'ln -s "a b', "(ls", "ls |", "ls &&", "for f in *; do echo $f", "if true; then ls",
        "echo $(ls", "ps -fp <pid>", "find . ( -name a -o -name b )", "{ ls", 'echo "```"', "[[ -f x", "ls )",
    ],
    "has no end": ["cat > f <<EOF\nhi", "cat <<'EOF' > README.md\n# Title", "cat <<-EOF\n\thi", "cat <<A"],
}  # fmt: skip


@pytest.mark.parametrize("kind", SHAPES)
def test_a_mark_of_a_chat_or_a_terminal_gives_one_warning(kind: str) -> None:
    found = {command: [doubt.what for doubt in doubts_of(command)] for command in SHAPES[kind]}
    assert {command: what for command, what in found.items() if len(what) != 1 or kind not in what[0]} == {}


CHARACTERS: Final = {
    "U+FEFF ZERO WIDTH NO-BREAK SPACE": ["\ufeffls"],
    "U+00A0 NO-BREAK SPACE": ["ls\u00a0-la", "grep 'a\u00a0b' f", "awk '{print\u00a0$1}' f"],
    "U+200B ZERO WIDTH SPACE": ["ls\u200b -la", 'echo "a\u200bb"'],
    "U+000D CARRIAGE RETURN": ["ls -la\r", "ls\r\npwd\r\n", "ls -la\r\n", "cat <<EOF\r\nhi\r\nEOF\r\n"],
    "U+201C LEFT DOUBLE QUOTATION MARK": ["echo “hi”"],
    "U+2018 LEFT SINGLE QUOTATION MARK": ["find . -name ‘*.txt’"],
    "U+2019 RIGHT SINGLE QUOTATION MARK": ["sed -i ’s/a/b/’ f"],
    "U+00AB LEFT-POINTING DOUBLE ANGLE QUOTATION MARK": ["echo «x»"],
    "U+2013 EN DASH": ["ls –la", "find . –name x", "ls --max–depth=1"],
    "U+2014 EM DASH": ["ls —all"],
    "U+2212 MINUS SIGN": ["find . −name x"],
    "U+2011 NON-BREAKING HYPHEN": ["chmod o‑w f"],
    "U+202E RIGHT-TO-LEFT OVERRIDE": ["ls \u202e-la", 'echo "\u202eabc"', "ls # \u202eabc", "cat <<A\n\u202e\nA"],
    "U+2066 LEFT-TO-RIGHT ISOLATE": ["ls\u2066x"],
    "U+200E LEFT-TO-RIGHT MARK": ["ls\u200e"],
    "U+00AD SOFT HYPHEN": ["ls\u00ad-la"],
    "U+2060 WORD JOINER": ["l\u2060s"],
    "U+E006C TAG LATIN SMALL LETTER L": ["ls \U000e006c\U000e0073", 'echo "a\U000e006c"'],
    "U+3000 IDEOGRAPHIC SPACE": ["ls\u3000-la"],
    "U+2028 LINE SEPARATOR": ["ls\u2028pwd"],
    "U+FF4C FULLWIDTH LATIN SMALL LETTER L": ["ｌｓ -la"],
    "U+FF5C FULLWIDTH VERTICAL LINE": ["ls ｜ wc"],
    "U+FB01 LATIN SMALL LIGATURE FI": ["\ufb01nd . -name x"],
    "U+1D5C5 MATHEMATICAL SANS-SERIF SMALL L": ["\U0001d5c5\U0001d5cc -a"],
    "U+2223 DIVIDES": ["ls ∣ wc"],
    "U+037E GREEK QUESTION MARK": ["ls\u037e pwd"],
    "U+03BF GREEK SMALL LETTER OMICRON": ["ech\u03bf x"],
    "U+FF1B FULLWIDTH SEMICOLON": ["ls；pwd"],
    "U+0430 CYRILLIC SMALL LETTER A": ["c\u0430t f"],
    "U+000C FORM FEED": ["ls\x0c-la"],
    "U+001B ESCAPE": ["\x1b[0mls"],
    "U+FFFD REPLACEMENT CHARACTER": ['grep "x\ufffd" f'],
}  # fmt: skip


@pytest.mark.parametrize("name", CHARACTERS)
def test_a_character_that_bash_takes_as_part_of_a_word_gives_one_warning(name: str) -> None:
    found = {command: [doubt.what for doubt in doubts_of(command)] for command in CHARACTERS[name]}
    assert {command: what for command, what in found.items() if len(what) != 1 or not what[0].startswith(name)} == {}


MEANT: Final = [
    "ls -la", "# List files\nls -la", "#!/bin/bash\nls", "> out.txt", "> /tmp/x", ">file.txt", "> test", "{ ls; }",
    '{ echo "a: b"; }', '[ "x" = "x" ] && ls', "( cd x; ls )", "! grep x f", "echo '```'", "printf '```\\n'",
    "cat <<EOF > README.md\n```bash\nls\n```\nEOF", "cat <<'E' > x\nHere is it, to use it:\n$ ls\n**bold**\nE",
    "cat <<-EOF\n\thi\n\tEOF", "cat <<A <<B\n1\nA\n2\nB", "cat <<\"END OF\"\nx\nEND OF", "cat << EOF |\nx\nEOF\nsort",
    "echo '<<EOF'", 'cat "$(cat <<A\nx\nA\n)"', "sed 's/&amp;/\\&/g' f", "sed 's/&lt;/</g; s/&gt;/>/g' f",
    'echo "a\\nb"', "tr '\\n' ' ' < f", 'x="$(tr "\\n" " " < f)"', "echo -e 'a\\nb'", "\\nano f", "tr , \\\\\\n",
    "sed -e's/ + $/\\n/' f", "grep '**bold**' f", "ls **/*.py", "case $1 in\n1) ls;;\n*) pwd;;\nesac",
    "bash script.sh",
    "sh install.sh x", "bash test -v", "sh -c ls", "bash", "TO=x; echo $TO", "Rscript a.R", "FOO=bar ls", "$cmd -v",
    "Foo() { ls; }; Foo", "for f in *; do\n  echo This is it\ndone", "time ls", "`which python3` x.py", '"my prog"',
    '"$HOME/bin/x" a', "cat <in >out", "sort <in.txt>out.txt", "diff <(ls) <(ls -a)", "echo '</s>'", "grep '<br>' f",
    "echo $((1<<2))", "x=$((y << z)); echo", "(( a << b ))", "let x=1<<2", "cat <<< hi",
    "awk '/```/{f=!f} f' README.md",
    "grep -c '^# ' f", "git commit -m \"Fix: the bug of this\"", "ssh user@host ls", "scp user@host:f .",
    "echo 1. ls",
    "ls -la  # This command lists all the files", "echo To list all the files use ls", "echo Done. This is the end",
    "echo '{\"command\": \"ls\"}'", 'a=("x" "y")', 'f "x"', "echo \"It's\"", "/bin/ls > out", "/bin/ls # list",
    "~/bin/x > out", "cd ~ && ls", "[ -f x ] && echo \"Here's a file\"", "run() { ls; }\nrun now\nrun again",
    "echo 'café'", "grep '–' f", "sed 's/“/\"/g' f", "tr -d '\u200b' < f", "sed 's/\u00a0/ /g' f",
    "sed '1s/^\ufeff//' f",
    "tr -d '\r' <f", "echo '👨\u200d👩\u200d👧'", 'echo "naïve “quotes”"', "touch файл.txt", "mkdir 文件夹",
    "echo It’s fine",
    "echo 你好，世界！", "ls # “comment” – here", "cat <<EOF\n“quoted” – text\nEOF", "echo Done – ok", "echo ❤\ufe0f",
    "echo '🏴\U000e0067\U000e0062\U000e007f'", "ls Привет", "echo '（x）'", "grep '[—–]' f", "printf '\x1b[31mred'",
    "awk '/[\u1100-\u115f\u2e80-\u303e]/' f", "ls 文件（1）.txt", "awk -F'，' 1 f", "echo 'می\u200cخواهم'",
    "ls\t-la",
    "if this; then that is it; fi", "espeak this file", "echo m²", "cat <<A\n  A\nA",
    "echo '1\ufe0f\u20e3'", "echo `a` `b`", "echo \"`ls`\"", "echo \\`", "echo '`'", "ls\n",
]  # fmt: skip


@pytest.mark.parametrize("command", MEANT)
def test_a_command_that_may_be_meant_gives_no_warning(command: str) -> None:
    assert doubts_of(command) == []


def test_a_file_of_long_commands_is_parsed_in_part() -> None:
    doubts = Doubts()
    assert doubts.may_parse("x" * MOST_PARSED)
    assert not doubts.may_parse("x")
    assert [*odd_shape("ls |", parses=False)] == []


def test_a_character_of_the_instruction_is_meant() -> None:
    assert doubts_of("touch a–b", "Create the file a–b") == []
    assert len(doubts_of("touch a–b", "Create the file a-b")) == 1


def answers(*lines: Mapping[str, object]) -> bytes:
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def messages(folder: Path) -> list[str]:
    return [str(problem).removeprefix(f"{folder}/") for problem in check_submission(folder, SUITES)]


def test_a_warning_names_the_place_the_character_and_what_is_executed(tmp_path: Path) -> None:
    """The line is the file's. The column is the command's. Hidden characters are escaped. Equal kinds are counted."""
    odd = {"candidates": [{"command": "ls\npwd\u00a0-P"}]}
    lines = ({"task": "find-1", "output": "ls"}, {"task": "find-2", **odd}, {"task": "text-1", **odd})
    assert messages(make_folder(tmp_path, predictions=answers(*lines))) == [
        "core.jsonl:2: warning: candidates[0].command, line 2, column 4: U+00A0 NO-BREAK SPACE: bash does not take it "
        "as a blank, but as part of a word; executed as it stands: 'ls\\npwd\\xa0-P' (2 lines like this)"
    ]


def test_a_long_command_is_shown_around_its_place(tmp_path: Path) -> None:
    lines = answers({"task": "find-1", "output": f"{'x' * 500}\u202e{'y' * 500}"})
    (warning,) = [each for each in messages(make_folder(tmp_path, predictions=lines)) if "U+202E" in each]
    assert "column 501: U+202E RIGHT-TO-LEFT OVERRIDE" in warning
    assert f"executed as it stands: …'{'x' * 30}\\u202e{'y' * 29}'…" in warning


@pytest.mark.parametrize(
    ("end", "warnings"), [("\nEOF", []), ("", ["the here-document 'EOF' has no end, so the command may be cut off"])]
)
def test_a_fence_inside_a_here_document_cuts_a_command_only_without_its_end(
    tmp_path: Path, end: str, warnings: list[str]
) -> None:
    reply = f"So:\n```bash\ncat > README.md <<'EOF'\n# Title\n```\nls\n```{end}\nwc -l README.md\n```\n"
    manifest = manifest_with('method = "rules"', 'method = "rules"\nextraction = "markdown"')
    lines = answers(
        {"task": "find-1", "output": reply}, {"task": "find-2", "output": "ls"}, {"task": "text-1", "output": "ls"}
    )
    found = messages(make_folder(tmp_path, manifest, lines))
    assert len(found) == len(warnings)
    assert all(warning in message for warning, message in zip(warnings, found, strict=True))


def test_equal_candidates_are_counted(tmp_path: Path) -> None:
    """ "Within 5" would be "within 2"."""
    commands = ["ls -l", "ls  '-l' # all", "{ ls -l; }\n", "pwd", "/bin/ls -l"]
    line = {"task": "find-1", "candidates": [{"command": command} for command in commands]}
    found = messages(make_folder(tmp_path, predictions=answers(line)))
    assert 'core.jsonl:1: warning: 5 candidates are 2 different commands: "within 5" is "within 2", and each copy ' \
        "counts in the calibration; keep one of each" in found  # fmt: skip


def test_many_odd_lines_give_one_warning_a_kind(tmp_path: Path) -> None:
    tasks = tuple(f"task-{number}" for number in range(3000))
    lines = answers(*({"task": task, "output": "```bash ls```"} for task in tasks))
    problems = check_submission(make_folder(tmp_path, predictions=lines), {"core": SuiteInfo("2.1.0", tasks)})
    assert [problem.message.endswith("(3,000 lines like this)") for problem in problems] == [True]


def committed_commands() -> Iterator[tuple[str, str]]:
    for path in sorted(ROOT.glob("submissions/*/*.jsonl")):
        if not path.name.endswith(".verdicts.jsonl"):
            for line in map(json.loads, path.read_text("utf-8").split("\n")[:-1]):
                yield from ((each["command"], line.get("nl", "")) for each in line.get("candidates", ()))


def references() -> Iterator[tuple[str, str]]:
    for name in ("core", "programs"):
        for task in Project(ROOT).suite(name).tasks:
            yield from ((reference.decode(), task.nl) for reference in task.references)


@pytest.mark.parametrize("commands", [committed_commands, references])
def test_our_own_commands_give_no_warning(commands: Callable[[], Iterable[tuple[str, str]]]) -> None:
    found = [(command, doubts_of(command, instruction)) for command, instruction in commands()]
    assert len(found) > 600
    assert [(command, doubts) for command, doubts in found if doubts] == []


@pytest.mark.skipif(
    not REAL_ANSWERS.exists(), reason="the real answers are not here: set BASHBOARD_ORACLES to a folder with them"
)
def test_real_answers_give_a_warning_only_for_a_cause() -> None:
    """The three answers with a warning are scripts that lost their line ends. Two of them are one comment each."""
    lines = [json.loads(line) for line in REAL_ANSWERS.read_text("utf-8").split("\n") if line]
    found = {line["command"]: doubts_of(line["command"], line["nl"]) for line in lines}
    odd = {command: doubts for command, doubts in found.items() if doubts}
    assert len(lines) > 200
    assert [command for command in odd if not command.startswith("#!/bin/bash ") and " if [ " not in command] == []
    causes = sorted(doubt.what for doubts in odd.values() for doubt in doubts)
    assert causes[0].startswith("bash refuses the command, as it expects a command")
    assert ["executes nothing" in cause for cause in causes[1:]] == [True, True]
