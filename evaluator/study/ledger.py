"""This module writes the measurements of a study to a file and reads them. Each measurement is one line of JSON.

A measurement is on disk before its participant sees the result of the command."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.records import Measurement
from evaluator.records.record_lines import read_record_lines


class Ledger:
    """A thread-safe writer of measurements to one file. It locks the file, so that no other study can write to it."""

    def __init__(self, path: Path) -> None:
        """Open or create the file of measurements, and lock it. Raises UsageError if it cannot be opened or locked."""
        self._lock = threading.Lock()
        try:
            self._file: BinaryIO = path.open("a+b")
        except OSError as error:
            raise UsageError(f"{path} cannot be written to: {error.strerror}; name another file with --out") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise UsageError(f"another study writes to {path}; name another file with --out") from error
        self._drop_partial_line()

    def _drop_partial_line(self) -> None:
        """Remove an incomplete last line, for example after a power cut, so that the next line does not continue it."""
        self._file.seek(0)
        data = self._file.read()
        complete = data.rfind(b"\n") + 1
        if complete < len(data):
            self._file.truncate(complete)

    def append(self, measurement: Measurement) -> None:
        """Write a measurement as one line, and wait until the line is on disk."""
        with self._lock:
            self._file.write(measurement.to_json().encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()


def read_measurements(paths: Iterable[Path]) -> list[Measurement]:
    """Read all measurements in these files. Raises FormatError with every problem, or UsageError for a missing file."""
    measurements: list[Measurement] = []
    problems: list[Problem] = []
    for path in paths:
        lines = read_record_lines(path, Measurement, problems, expected="a measurement")
        measurements += [measurement for _, measurement in lines]
    if problems:
        raise FormatError(problems)
    return measurements
