"""A file is replaced as a whole, so that no reader sees a part of it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from evaluator.files import write_whole


def test_a_file_holds_what_was_written(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


def test_nothing_else_is_left_in_the_folder(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", b"old")
    write_whole(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"untouched")
    (tmp_path / "file").symlink_to("outside")
    write_whole(tmp_path / "file", b"new")
    assert (tmp_path / "outside").read_bytes() == b"untouched"
    assert not (tmp_path / "file").is_symlink()


def test_a_write_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError):  # noqa: PT011 - the error depends on the system
        write_whole(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    texts = [letter * 300_000 for letter in (b"a", b"b")]
    write_whole(path, texts[0])

    def write() -> None:
        for turn in range(40):
            write_whole(path, texts[turn % 2])

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    while writer.is_alive():
        seen.append(path.read_bytes())
    writer.join()
    assert set(seen) <= set(texts)
    assert len(seen) > 1


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    name = "x" * os.pathconf(tmp_path, "PC_NAME_MAX")
    write_whole(tmp_path / name, b"new")
    assert (tmp_path / name).read_bytes() == b"new"
