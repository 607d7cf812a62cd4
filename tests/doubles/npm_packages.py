"""Download of npm packages for tests. The caller pins version and integrity, and npm runs no script of a package."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from evaluator.errors import MissingError

TIMEOUT_S: Final = 300


@contextmanager
def brought(packages: Mapping[str, str]) -> Iterator[Mapping[str, Path]]:
    """Download packages, given as `name@version` and integrity, and yield the path of each archive.

    The archives are deleted at the end of the block. Raises MissingError if npm or the network is missing, or if an
    archive does not have the given integrity.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise MissingError("this machine lacks npm; type: sudo apt-get install -y npm")
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [npm, "pack", "--loglevel=error", "--fetch-retries=1", *packages],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
        if run.returncode:
            raise MissingError(f"npm did not bring {', '.join(packages)}: {run.stderr.strip()[:200]!r}")
        found = {_integrity(path): path for path in Path(folder).glob("*.tgz")}
        if strange := [each for each, integrity in packages.items() if integrity not in found]:
            raise MissingError(f"{', '.join(strange)}: what npm brought is not of the integrity that was chosen")
        yield {each: found[integrity] for each, integrity in packages.items()}


def unpack(packed: Path, folder: Path) -> None:
    """Write the files of a package's archive into a folder, which is created if necessary."""
    with tarfile.open(packed) as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member)
            if content is not None:
                path = folder.joinpath(*Path(member.name).parts[1:])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())


def _integrity(path: Path) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
