"""GitHub's own parser of workflow files. It reports the faults for which GitHub would refuse a file.

The parser is the npm package `@actions/languageservice` with its dependencies. npm downloads them once into
`.bashboard/github`:

    python -m tests.doubles.workflow_parser
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from evaluator.errors import MissingError
from tests.doubles.npm_packages import brought, unpack

PACKAGES: Final[Mapping[str, str]] = {
    "@actions/languageservice@0.3.61": (
        "sha512-PoBYhLZ3JG74ZBTAwvrs/V6JdpscCpXv8rprc4yzEQN7Z0FMEso0rewdmMUqwUxYKe7nq6J4RPp+ZVCRL82Zfg=="
    ),
    "@actions/expressions@0.3.61": (
        "sha512-Ig+tXELvTjlqxQAWBQnLNn2dPpNraLMdSnT+vDzDPmJtbNUhIAH/Z9kVT8pZ8UtJi9vUGs8hwHE8JFJmbOnLEA=="
    ),
    "@actions/workflow-parser@0.3.61": (
        "sha512-NBjJrbwwrEN3LSN0NAISLpCWQLcPSBjmAIkLXHgjGX8Yql4PiD33ifSAvr9sIMU9uIs8wZiGUnvo9yPIMIfKdg=="
    ),
    "cronstrue@2.61.0": (
        "sha512-ootN5bvXbIQI9rW94+QsXN5eROtXWwew6NkdGxIRpS/UFWRggL0G5Al7a9GTBFEsuvVhJ2K3CntIIVt7L2ILhA=="
    ),
    "vscode-languageserver-textdocument@1.0.16": (
        "sha512-qeNEuOi9a3qkqRf7Gfez2WL2VwlBTLCNekHBGO9kxPVUp9XuY15yfTJ9jwvOwKI0I2MhUUfZq95NSp+LK1CLQg=="
    ),
    "vscode-languageserver-types@3.18.5": (
        "sha512-kPd6+JQNz3HMJvjKlqUxERSlZHAntl/aGpsk7ImwIh0ewDKDcjgAEyVSYciPiOJD3ftbK9IrfiqUeTZLSbCizw=="
    ),
    "vscode-uri@3.2.0": (
        "sha512-m2gXo3bn0G1kT9InzMf07fTbqMbGtyckj3bH5ktLO+1Ssv+yiATZ4dhwaQv9UZWxJh6E9IFGnQyjgWVDWVBDrg=="
    ),
    "yaml@2.9.1": ("sha512-3NxN8+78OdzbT7C/WjGsyfPAtJaN3FNDsWxv7Y7mcDsT/oOmgW8BpyQQFFBnvZE3j9Y2Sdz1ULFLezL7Eb2yFw=="),
}
"""The parser's package and its dependencies, with the integrity of each."""

KEPT: Final = Path(".bashboard") / "github" / f"parser-{next(iter(PACKAGES)).rpartition('@')[2]}"
"""The folder of the installed packages, relative to the root of the repository."""

_SCRIPT: Final = Path(__file__).with_suffix(".mjs")
_TIMEOUT_S: Final = 120


def fetch(kept: Path) -> None:
    """Install the parser into a folder with npm. Raises MissingError without npm or a network."""
    with brought(PACKAGES) as archives:
        making = kept.with_name(f"{kept.name}.part")
        shutil.rmtree(making, ignore_errors=True)
        for package, archive in archives.items():
            unpack(archive, making / "node_modules" / package.rpartition("@")[0])
        making.rename(kept)


def findings(kept: Path, root: Path, files: Iterable[str]) -> list[str]:
    """Return the parser's findings as `path:line: message`. The paths of the files are relative to `root`.

    Raises MissingError without Node, or if the parser itself fails.
    """
    node = shutil.which("node")
    if node is None:
        raise MissingError("this machine lacks Node; type: sudo apt-get install -y npm")
    run = subprocess.run(
        # with --eval, Node searches for packages from the working folder
        [node, "--input-type=module", "--eval", _SCRIPT.read_text(), "--", str(root.resolve()), *files],
        cwd=kept,
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    if run.returncode or run.stderr:
        raise MissingError(f"GitHub's parser did not run: {run.stderr.strip()[-300:]!r}")
    return run.stdout.splitlines()


if __name__ == "__main__":
    try:
        if not KEPT.is_dir():
            fetch(KEPT)
    except MissingError as error:
        sys.exit(f"{error}")
