"""The command in a model's reply: code blocks, inline code, prompt signs, reasoning, and bash's own parser."""

from __future__ import annotations

import pytest

from evaluator.submissions.reply_parser import Found, bash_error, parse_reply_text

UTILITIES = {"ls", "find", "grep", "cat", "awk"}


@pytest.mark.parametrize(
    ("reply", "command", "found"),
    [
        ("ls -la", "ls -la", Found.TEXT),
        ("  ls -la \n", "ls -la", Found.TEXT),
        ("Here it is:\n```bash\nls -la\n```\nThis lists all.", "ls -la", Found.BLOCK),
        ("First `cat x`, or rather\n```\nls\n```", "ls", Found.BLOCK),
        ("```sh\nls\n```\n```sh\ncat x\n```", "ls", Found.BLOCK),
        ("Use `ls -la` to list all files, not `ls`.", "ls -la", Found.INLINE),
        ("Find all files with ``echo `date` `` here", "echo `date`", Found.INLINE),
        ("ls `cat names`", "ls `cat names`", Found.TEXT),
        ("for f in *; do cat `ls $f`; done", "for f in *; do cat `ls $f`; done", Found.TEXT),
        ("x=`date`; echo $x", "x=`date`; echo $x", Found.TEXT),
        ("./run.sh `date`", "./run.sh `date`", Found.TEXT),
        ("<think>Maybe `rm -rf /`?\n```\nrm x\n```\n</think>\nls -la", "ls -la", Found.TEXT),
        ("I should list.</think>\n\nls", "ls", Found.TEXT),
        ("<think>never ends with `ls`", "", Found.NOTHING),
        ("<think>a<reasoning>b</reasoning>c</THINK>ls<think>d</think>", "ls<think>d</think>", Found.TEXT),
        ("Use ```` and ``ls `date` `` here", "ls `date`", Found.INLINE),
        (
            "<|channel|>analysis<|message|>so `rm`<|end|><|start|>assistant<|channel|>final<|message|>ls<|return|>",
            "ls",
            Found.TEXT,
        ),
        ("", "", Found.NOTHING),
        ("# a comment\nls", "# a comment\nls", Found.TEXT),
        ("I cannot do that.", "I cannot do that.", Found.TEXT),
    ],
)
def test_the_first_code_is_the_command(reply: str, command: str, found: Found) -> None:
    parsed = parse_reply_text(reply, UTILITIES)
    assert (parsed.command, parsed.found) == (command, found)
    assert not parsed.has_prompt_sign


@pytest.mark.parametrize(
    ("reply", "command"),
    [
        ("$ ls -la", "ls -la"),
        ("```console\n$ ls -la\ntotal 0\n```", "ls -la"),
        ("```\nuser@host:~$ ls\na b\nuser@host:~$ cat a\n```", "ls\ncat a"),
        ("$ find . \\\n>   -name x\n./x", "find . \\\n  -name x"),
        ("# ls -la", "ls -la"),
        ("root@host:/srv# cat x", "cat x"),
    ],
)
def test_prompt_signs_and_the_output_of_a_session_are_removed(reply: str, command: str) -> None:
    parsed = parse_reply_text(reply, UTILITIES)
    assert parsed.command == command
    assert parsed.has_prompt_sign


@pytest.mark.parametrize("reply", ["$HOME/bin/x -l", "$(date)", "#!/bin/bash\nls", "$x"])
def test_a_dollar_without_a_blank_is_no_prompt_sign(reply: str) -> None:
    assert parse_reply_text(reply, UTILITIES).command == reply


@pytest.mark.parametrize(
    "command",
    [
        *("ls | wc -l", "cat <<E\nx\nE", "for f in *; do :; done", "cat <<E\nx"),
        *(
            "rm -v !(*.conf|*.bak)",
            "[[ a == *.@(md|txt) ]]",
            "ls +([0-9]).log ?(a|b) *(c)",
            "echo $((ls || true) && echo x)",
        ),
    ],
)
def test_bash_reads_a_command(command: str) -> None:
    assert bash_error(command) is None


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "no command"),
        ("  \n", "no command"),
        ("ls |", "unexpected end of file"),
        ("for f in *; do", "unexpected end of file"),
        ("echo 'x", "matching"),
        ("ls\0", "NUL"),
        ("if then", "unexpected token"),
    ],
)
def test_the_message_of_the_parser_says_what_is_wrong(command: str, message: str) -> None:
    assert message in (bash_error(command) or "")


def test_reading_a_command_executes_nothing(tmp_path: object) -> None:
    assert bash_error(f"touch {tmp_path}/made; $(touch {tmp_path}/made)") is None
    assert list(tmp_path.iterdir()) == []  # type: ignore[attr-defined]


def test_a_long_reply_takes_no_long_time() -> None:
    parsed = parse_reply_text("`" * 1_000_000, UTILITIES)
    assert len(parsed.command) <= 1_000_000
    assert parse_reply_text("<think>" * 100_000, UTILITIES).found is Found.NOTHING
    fences = "```\n" * 100_000
    assert parse_reply_text(f"```\ncat <<E\n{fences}E\n```\n", UTILITIES).command.endswith("E")
    assert parse_reply_text("<think>" + "'</think>'" * 50_000, UTILITIES).found is Found.TEXT
    assert parse_reply_text("<<'a'\n" * 100_000 + "</think>ls", UTILITIES).command == "ls"
