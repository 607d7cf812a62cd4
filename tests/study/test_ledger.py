"""The file of measurements, to which a study appends one line for each finished task."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.errors import FormatError, UsageError
from evaluator.records import Measurement
from evaluator.study.ledger import Ledger, read_measurements


def measurement(seconds: float = 12.5, **fields: object) -> Measurement:
    values = {"format": 1, "participant": "0" * 16, "suite": "core", "version": "2.0.0", "task": "t", "passed": True}
    return Measurement.model_validate({**values, "seconds": seconds, **fields})


def write(path: Path, *measurements: Measurement) -> None:
    ledger = Ledger(path)
    for each in measurements:
        ledger.append(each)
    ledger.close()


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    """Measurements are read from several files in order. A later study appends to the end of an existing file."""
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    write(one, measurement(1), measurement(2))
    write(one, measurement(3))
    write(two, measurement(4))
    assert [each.seconds for each in read_measurements([one, two])] == [1, 2, 3, 4]


def test_a_line_is_there_before_the_file_is_closed(tmp_path: Path) -> None:
    """A measurement is in the file as soon as it is appended, so a killed server loses none."""
    ledger = Ledger(tmp_path / "m.jsonl")
    ledger.append(measurement(7))
    assert [each.seconds for each in read_measurements([tmp_path / "m.jsonl"])] == [7]
    ledger.close()


def test_half_a_line_is_dropped_before_the_next(tmp_path: Path) -> None:
    """If a power cut leaves half a line, the next study drops this line and no other."""
    path = tmp_path / "m.jsonl"
    write(path, measurement(1), measurement(2))
    path.write_bytes(path.read_bytes()[:-9])
    write(path, measurement(3))
    assert [each.seconds for each in read_measurements([path])] == [1, 3]


def test_one_study_writes_to_a_file(tmp_path: Path) -> None:
    """A second study cannot open a file that another study still writes to."""
    path = tmp_path / "m.jsonl"
    ledger = Ledger(path)
    with pytest.raises(UsageError, match="another study writes to"):
        Ledger(path)
    ledger.close()
    Ledger(path).close()


def test_a_file_that_cannot_be_is_refused(tmp_path: Path) -> None:
    """A path that cannot be opened is refused. For writing, the error suggests the option `--out`."""
    with pytest.raises(UsageError, match="name another file with --out"):
        Ledger(tmp_path / "missing" / "m.jsonl")
    with pytest.raises(UsageError, match="cannot be read"):
        read_measurements([tmp_path / "missing.jsonl"])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"no json", "broken JSON at column 1"),
        (b"{}", "format: Field required"),
        (b'{"format": 2}', ".*has format 2; this bashboard reads format 1"),
        (measurement().to_json().replace("12.5", "-1").encode(), "seconds: .* found -1"),
        (measurement().to_json().replace("12.5", "1e999").encode(), "seconds: "),
        (measurement().to_json().replace("0" * 16, "Jane Doe").encode(), "participant: "),
        (measurement().to_json().replace("{", '{"address": "192.0.2.7", ').encode(), "address: Extra inputs"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: bytes, said: str) -> None:
    """The error for an invalid line names the file, the line and the invalid field. An unknown field is invalid too."""
    path = tmp_path / "m.jsonl"
    path.write_bytes(measurement().to_json().encode() + b"\n" + line + b"\n")
    with pytest.raises(FormatError, match=f"m.jsonl:2: {said}"):
        read_measurements([path])
