"""A double of `pip install` that downloads nothing. It uses the packages of the test's interpreter.

The machine of a job has this module instead of pip. The double fails if a package does not have the requested version.
It installs a checkout as pip does: as a copy of the files in the wheel, or with a path file if the installation is
editable. So a job cannot import a checkout that the job has not installed.
"""

from __future__ import annotations

import compileall
import hashlib
import re
import shutil
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

SITE = Path(__file__).parents[1]
_QUIET = {"--quiet", "--disable-pip-version-check", "--no-input"}
_PIN = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)(?:\s*;\s*([^\\]*?))?\s*\\?")


def main(words: list[str]) -> str | None:
    """Run one call of pip. Return the error message, or None."""
    arguments = [word for word in words if word not in _QUIET]
    if arguments[:3] == ["install", "--require-hashes", "-r"] and len(arguments) == 4:
        return install_pinned(Path(arguments[3]))
    if arguments == ["install", "--no-deps", "--no-build-isolation", "."]:
        install_copy(Path.cwd())
    elif arguments == ["install", "--no-deps", "--no-build-isolation", "--editable", "."]:
        install_editable(Path.cwd())
    else:
        return f"this double of pip does not know {' '.join(words)}"
    return None


def install_pinned(file: Path) -> str | None:
    """Make the packages of the test importable. If versions differ from those that a file pins, return an error."""
    installed = (SITE / "pip" / "installed").read_text()
    versions = {_name(package.metadata["Name"]): package.version for package in distributions(path=[installed])}
    wrong = [
        f"{name}=={version} (found {versions.get(_name(name))})"
        for name, version in _pins(file.read_text())
        if versions.get(_name(name)) != version
    ]
    if wrong:
        return f"{file}: not installed here: {', '.join(wrong)}"
    (SITE / "installed.pth").write_text(f"{installed}\n")
    return None


def _pins(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pinned names and versions. Omit a pin with a marker, because it may be for another machine."""
    for line in text.splitlines():
        match = _PIN.fullmatch(line.strip())
        if match and not match[3]:
            yield match[1], match[2]


def _name(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()


def install_copy(folder: Path) -> None:
    """Install the wheel of a checkout, and its commands. The wheel of an equal checkout is not built again."""
    unpacked = Path((SITE / "pip" / "wheels").read_text()) / _digest(folder)
    if not unpacked.exists():
        _build(unpacked)
    shutil.copytree(unpacked, SITE, dirs_exist_ok=True)
    _install_commands(folder)


def _digest(folder: Path) -> str:
    """Return the digest of the files of a checkout that its wheel is built from, with their names."""
    files = [folder / name for name in ("pyproject.toml", "README.md", "LICENSE")]
    files += sorted((folder / "evaluator").rglob("*"))
    digest = hashlib.sha256()
    for file in filter(Path.is_file, files):
        digest.update(f"{file.relative_to(folder)}\n{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _build(unpacked: Path) -> None:
    """Build the wheel of the checkout in the present folder, and unpack and compile it."""
    from hatchling.build import build_wheel

    with tempfile.TemporaryDirectory() as built, zipfile.ZipFile(Path(built, build_wheel(built))) as wheel:
        wheel.extractall(unpacked)
    compileall.compile_dir(unpacked, quiet=2)


def install_editable(folder: Path) -> None:
    """Put a checkout first on the import path, and install its commands."""
    (SITE / "editable.pth").write_text(f"{folder}\n")
    _install_commands(folder)


def _install_commands(folder: Path) -> None:
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    for name, target in project["scripts"].items():
        module, _, function = target.partition(":")
        program = Path(sys.prefix) / "bin" / name
        program.write_text(f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
        program.chmod(0o755)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
