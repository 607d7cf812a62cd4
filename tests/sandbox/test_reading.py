"""Tests of parsers without a container: digests of files with holes, and reports of shells."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.sandbox.runner.fs_changes import CHUNK, content_digest
from evaluator.sandbox.runner.reading_budget import ReadingBudget
from evaluator.sandbox.runner.shell_state import HOOK, STATE_FD, read_state
from tests.properties import examples

PIECES = st.lists(
    st.tuples(st.integers(0, 4 * CHUNK), st.sampled_from([b"x", b"ab" * 50, b"\0", b"\0" * 9000])), max_size=5
)


def write(file: Path, size: int, pieces: list[tuple[int, bytes]], *, holes: bool) -> bytes:
    """Write the pieces to a file at their offsets, and return the complete content.

    The rest of the file is a hole, or zeros if `holes` is false.
    """
    with file.open("wb") as out:
        if not holes:
            out.write(bytes(size))
        for offset, data in pieces:
            out.seek(offset)
            out.write(data)
        out.truncate(size)
    return file.read_bytes()


def digest(file: Path) -> str:
    with file.open("rb") as opened:
        return content_digest(opened.fileno(), os.fstat(opened.fileno()).st_size, ReadingBudget())


@settings(max_examples=examples(60))
@given(sizes=st.tuples(*[st.integers(0, 5 * CHUNK)] * 2), one=PIECES, other=PIECES, holes=st.booleans())
def test_digests_are_equal_where_contents_are(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: tuple[int, int],
    one: list[tuple[int, bytes]],
    other: list[tuple[int, bytes]],
    holes: bool,
) -> None:
    """Two files have the same digest exactly if they have the same content, with and without holes."""
    folder = tmp_path_factory.getbasetemp()
    files = folder / "one", folder / "other", folder / "same"
    contents = [
        write(files[0], sizes[0], one, holes=holes),
        write(files[1], sizes[1], other, holes=True),
        write(files[2], sizes[0], one, holes=not holes),
    ]
    assert contents[0] == contents[2]
    digests = [digest(file) for file in files]
    assert digests[0] == digests[2]
    assert (digests[0] == digests[1]) == (contents[0] == contents[1])


def report(**sections: bytes) -> bytes:
    parts = {"cwd": b"/\n", "umask": b"0022\n", "options": b"", "aliases": b"", "traps": b"", "functions": b""}
    parts |= {"variables": b""} | sections
    return b"".join(b"\0" + name.encode() + b"\0" + text for name, text in parts.items())


@given(st.binary(max_size=300))
def test_no_report_breaks_the_reader(text: bytes) -> None:
    """A text that is not a complete report gives no state and no error.

    A command can write any text to the descriptor of the report.
    """
    assert read_state(text) == {"alive": False} or text.count(b"\0") >= 14


@pytest.mark.parametrize("text", [b"", b"\0cwd\0/", report()[:-12], b"x" * 100, report() + report(extra=b"")])
def test_half_a_report_is_no_state(text: bytes) -> None:
    """An incomplete report gives no state. The shell ended during its report, so it counts as not alive."""
    assert read_state(text) == {"alive": False}


def test_a_whole_report_is_the_state() -> None:
    """Each section of a complete report becomes a field of the state."""
    state = read_state(
        report(
            cwd=b"/a\nb\n",
            options=b"set -o b\nset +o a\n",
            aliases=b"alias l='ls\n-l'\nalias -- -='cd -'\n",
            functions=b"f () \n{ \n    :\n}\ng () \n{ \n    :\n}\n",
            variables=b"declare -x A=\"1\"\ndeclare -- B=$'two\\nlines'\n",
            traps=b"trap -- 'x' SIGINT\n",
        )
    )
    assert state["cwd"] == "/a\nb"
    assert state["options"] == ["set +o a", "set -o b"]
    assert set(state["aliases"]) == {"l", "-"}
    assert list(state["functions"]) == ["f", "g"]
    assert state["variables"] == {"A": 'declare -x A="1"', "B": "declare -- B=$'two\\nlines'"}
    assert state["traps"] == ["trap -- 'x' SIGINT"]


def test_the_hook_is_one_quoted_text() -> None:
    """The hook writes to the descriptor that the jail opens for it, and unsets BASH_ENV."""
    assert f">&{STATE_FD}".encode() in HOOK
    assert HOOK.startswith(b"unset BASH_ENV;")
