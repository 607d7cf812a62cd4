"""The runner of GitHub Actions finds exactly our commands in a log, and none that other text contains."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.errors import Problem, Severity
from evaluator.github.actions import annotation, commands_stopped, mask, write_output, write_summary

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
LINE_ENDS = re.compile(r"\r\n|\n|\r")


def unescaped(text: str, *, place: bool = False) -> str:
    """Undo the escaping of a command, as the runner does. The percent sign is replaced last."""
    pairs = [("%0D", "\r"), ("%0A", "\n"), *([("%3A", ":"), ("%2C", ",")] if place else []), ("%25", "%")]
    for written, meant in pairs:
        text = text.replace(written, meant)
    return text


def read_command(line: str) -> tuple[str, dict[str, str], str]:
    """Parse a command as the runner does: name and properties before the second `::`, the message after it."""
    head, _, message = line.lstrip().removeprefix("::").partition("::")
    name, _, rest = head.partition(" ")
    pairs = [pair.partition("=") for pair in rest.split(",") if pair]
    return name, {key: unescaped(value, place=True) for key, _, value in pairs}, unescaped(message)


def read_outputs(text: str) -> dict[str, str]:
    """Parse the file of a step's outputs, as the runner does."""
    found: dict[str, str] = {}
    lines = iter(text.split("\n"))
    for line in lines:
        if "<<" in line:
            name, _, delimiter = line.partition("<<")
            value = []
            for inner in lines:
                if inner == delimiter:
                    break
                value.append(inner)
            found[name] = "\n".join(value)
    return found


@given(message=TEXTS, severity=st.sampled_from(Severity), line=st.integers(0, 9))
def test_an_annotation_is_one_line_that_says_the_problem(message: str, severity: Severity, line: int) -> None:
    """Any message gives one command, with the problem's severity, place and message."""
    written = annotation(Problem(Path("submissions/a/core.jsonl"), line, message, severity))
    place = {"file": "submissions/a/core.jsonl", **({"line": str(line)} if line else {})}
    assert not LINE_ENDS.search(written)
    assert read_command(written) == (severity.value, place, message)


@given(name=TEXTS.filter(lambda text: text not in {"", ".", ".."} and "/" not in text and "\0" not in text))
def test_a_path_cannot_leave_its_property(name: str) -> None:
    """Commas, colons and line ends in a path stay inside the property `file`."""
    written = annotation(Problem(Path("submissions") / name, 1, "m"))
    assert not LINE_ENDS.search(written)
    assert read_command(written) == ("error", {"file": f"submissions/{name}", "line": "1"}, "m")


def test_a_mask_is_one_line() -> None:
    """The mask of a secret of two lines is one command and hides both lines."""
    assert mask("a\nb") == "::add-mask::a%0Ab"


def test_nothing_is_not_masked() -> None:
    """An empty mask is refused, because it would hide the whole log."""
    with pytest.raises(ValueError, match="empty"):
        mask(" ")


def test_what_is_printed_between_is_no_command() -> None:
    """The runner ignores commands in untrusted text, even if the text ends without a newline."""
    stream = io.StringIO()
    with commands_stopped(stream, lambda: "t0ken"):
        stream.write("  ::add-mask::x\n::stop-commands::x")
    assert stream.getvalue().split("\n") == [
        "::stop-commands::t0ken",
        "  ::add-mask::x",
        "::stop-commands::x",
        "::t0ken::",
        "",
    ]


def test_commands_are_read_again_after_a_failure() -> None:
    """The runner reads commands again after the block raised an exception."""
    stream = io.StringIO()
    with pytest.raises(KeyError), commands_stopped(stream, lambda: "t"):
        raise KeyError
    assert stream.getvalue().endswith("::t::\n")


@given(values=st.dictionaries(st.sampled_from(["a", "b-c", "_d"]), TEXTS.filter(lambda text: "\r" not in text)))
def test_outputs_are_read_back_as_written(tmp_path_factory: pytest.TempPathFactory, values: dict[str, str]) -> None:
    """A value with any number of lines is read back as one output and adds no other output."""
    file = tmp_path_factory.mktemp("outputs") / "output"
    file.touch()
    for name, value in values.items():
        write_output(file, name, value)
    assert read_outputs(file.read_text(encoding="utf-8")) == values


def test_a_value_cannot_end_its_own_block(tmp_path: Path) -> None:
    """If a value contains the delimiter, nothing is written."""
    with pytest.raises(ValueError, match="delimiter"):
        write_output(tmp_path / "output", "a", "x\nend-guessed\nadmin<<y\n1\ny", lambda: "guessed")
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize("name", ["", "a b", "a<<b", "a\nb", "1a", "a=b"])
def test_an_output_has_a_plain_name(tmp_path: Path, name: str) -> None:
    """A name with other characters is refused, because the runner could parse the line in another way."""
    with pytest.raises(ValueError, match="not the name of an output"):
        write_output(tmp_path / "output", name, "x")


def test_summaries_follow_each_other(tmp_path: Path) -> None:
    """An empty line separates two summaries, so that a Markdown table ends."""
    for text in ("| a |", "b\n"):
        write_summary(tmp_path / "summary", text)
    assert (tmp_path / "summary").read_text() == "| a |\n\nb\n\n"
