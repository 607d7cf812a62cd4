"""This module downloads one exact Python wheel from the package index that pip on this machine is configured to use."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.errors import MissingError, UsageError

TIMEOUT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class PinnedWheel:
    """One exact wheel in a package index: the package, the version, and the SHA-256 of the wheel's bytes."""

    package: str
    version: str
    digest: str


def read_wheel(
    pinned: PinnedWheel, path: Path | None = None, environment: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """Return the files of a wheel by name. The wheel is `path`, or else pip downloads it.

    pip runs in `environment`, or in the current environment if this is None. Raises MissingError if the download fails,
    and UsageError if the file at `path` is not this wheel.
    """
    if path is not None:
        return _unpack(pinned, path)
    with tempfile.TemporaryDirectory() as folder:
        return _unpack(pinned, _download(pinned, Path(folder), environment))


def _download(pinned: PinnedWheel, folder: Path, environment: Mapping[str, str] | None) -> Path:
    """Download the wheel with pip, which verifies the hash and installs nothing."""
    requirements = folder / "wanted.txt"
    requirements.write_text(f"{pinned.package}=={pinned.version} --hash=sha256:{pinned.digest}\n")
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
        raise MissingError(
            f"{pinned.package} {pinned.version} could not be fetched ({last}); "
            "get the wheel where there is a network, then: bashboard suite add nl2sh-alfa PATH-OF-THE-WHEEL"
        )
    return wheels[0]


def _unpack(pinned: PinnedWheel, path: Path) -> dict[str, bytes]:
    try:
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        if digest != pinned.digest:
            raise UsageError(
                f"{path}: expected the wheel of {pinned.package} {pinned.version} with SHA-256 {pinned.digest}, "
                f"found {digest}"
            )
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    except (OSError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path} does not read as a wheel: {error}") from error
