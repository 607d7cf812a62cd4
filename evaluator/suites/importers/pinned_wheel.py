"""This module reads the files of a Python wheel.

The wheel is a file, or an exact download from the package index that pip on this machine is configured to use.
"""

from __future__ import annotations

import stat
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Final

from evaluator.errors import MissingError, UsageError
from evaluator.escaping import printable
from evaluator.records import PackageSource
from evaluator.suites.importers.source_files import MAX_BYTES, MAX_ENTRIES, MAX_FILE_BYTES, SourceEntry

TIMEOUT_S: Final = 120.0


class WheelTree:
    """The files of a wheel with known bytes."""

    def __init__(self, data: bytes, label: str) -> None:
        self.label = label
        self.remark = ""
        self._data = data

    @cached_property
    def entries(self) -> Mapping[str, SourceEntry]:
        """Return all files of the wheel. Raises UsageError if it is not a ZIP archive or has too many files."""
        try:
            with zipfile.ZipFile(BytesIO(self._data)) as archive:
                infos = [info for info in archive.infolist() if not info.is_dir()]
        except zipfile.BadZipFile as error:
            raise UsageError(f"{self.label} does not read as a wheel: {error}") from error
        if len(infos) > MAX_ENTRIES:
            raise UsageError(f"{self.label} holds more than {MAX_ENTRIES:,} files: expected a wheel of the benchmark")
        return {info.filename: _entry(info) for info in infos}

    def read(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Return the contents of the named files. Raises UsageError if the archive is damaged."""
        try:
            with zipfile.ZipFile(BytesIO(self._data)) as archive:
                contents = {}
                for path in paths:
                    with archive.open(path) as file:  # the declared size of a file may be false
                        contents[path] = file.read(MAX_FILE_BYTES)
                return contents
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
            raise UsageError(f"{self.label} does not read as a wheel: {error}") from error


def _entry(info: zipfile.ZipInfo) -> SourceEntry:
    mode = info.external_attr >> 16
    return SourceEntry(info.file_size, bool(mode & 0o100), stat.S_ISLNK(mode))


def read_wheel_file(path: Path) -> WheelTree:
    """Read the wheel at `path`. Raises UsageError if the file cannot be read or is too large."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path}: expected a wheel of at most {MAX_BYTES:,} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    return WheelTree(data, str(path))


def download_wheel(pinned: PackageSource, folder: Path, environment: Mapping[str, str] | None = None) -> WheelTree:
    """Download a wheel with pip into `folder`. pip verifies the hash and installs nothing.

    pip runs in `environment`, or in the current environment if this is None. Raises MissingError if the download fails.
    """
    requirements = folder / "wanted.txt"
    requirements.write_text(f"{pinned.package}=={pinned.version} --hash=sha256:{pinned.sha256}\n")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download", "--quiet"]
    command += ["--no-deps", "--only-binary=:all:", "--require-hashes", "--dest", str(folder), "-r", str(requirements)]
    try:
        pip = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=environment)
        message = pip.stderr.strip() or pip.stdout.strip()
    except subprocess.TimeoutExpired:
        message = f"no answer within {TIMEOUT_S:.0f} s"
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        last = message.splitlines()[-1] if message else "pip printed no message"
        raise MissingError(f"{pinned.package} {pinned.version} could not be fetched ({printable(last)})")
    return read_wheel_file(wheels[0])
