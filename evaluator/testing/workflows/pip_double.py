"""A `pip install` that downloads nothing: it takes what the test's own interpreter has, if it is what was asked for.

The machine of a job puts it in pip's place. What it installs it makes importable by a path file, so that a job whose
checkout was not installed cannot import it, and one whose checkout was changed imports the changed one.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

SITE = Path(__file__).parents[1]
_QUIET = {"--quiet", "--disable-pip-version-check", "--no-input"}
_PIN = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)(?:\s*;\s*([^\\]*?))?\s*\\?")


def main(words: list[str]) -> str | None:
    """Obey one call; what is wrong with it."""
    given = [each for each in words if each not in _QUIET]
    if given[:3] == ["install", "--require-hashes", "-r"] and len(given) == 4:
        return take_pinned(Path(given[3]))
    if given == ["install", "--no-deps", "--no-build-isolation", "--editable", "."]:
        return install_here(Path.cwd())
    return f"this double of pip does not know {' '.join(words)}"


def take_pinned(file: Path) -> str | None:
    """Make the test's packages importable, if they are those that a file pins."""
    installed = (SITE / "pip" / "installed").read_text()
    found = {_name(each.metadata["Name"]): each.version for each in distributions(path=[installed])}
    wrong = [
        f"{name}=={version} (found {found.get(_name(name))})"
        for name, version in _pins(file.read_text())
        if found.get(_name(name)) != version
    ]
    if wrong:
        return f"{file}: not installed here: {', '.join(wrong)}"
    (SITE / "installed.pth").write_text(f"{installed}\n")
    return None


def _pins(text: str) -> Iterator[tuple[str, str]]:
    """Names and versions; one with a marker is left out, since it may not be for this machine."""
    for line in text.splitlines():
        match = _PIN.fullmatch(line.strip())
        if match and not match[3]:
            yield match[1], match[2]


def _name(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()


def install_here(folder: Path) -> str | None:
    """Make a checkout's packages importable before all others, and its commands callable."""
    about = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    (SITE / "editable.pth").write_text(f"{folder}\n")
    for name, place in about["scripts"].items():
        module, _, function = place.partition(":")
        program = Path(sys.prefix) / "bin" / name
        program.write_text(f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
        program.chmod(0o755)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
