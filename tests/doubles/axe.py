"""axe-core, a script that checks the accessibility of a page in a browser.

The script is part of the npm package `axe-core`. npm downloads it once into `.bashboard/axe`:

    python -m tests.doubles.axe
"""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path
from typing import Final

from evaluator.errors import MissingError
from evaluator.files import write_whole
from tests.doubles.npm_packages import brought

PACKAGE: Final = "axe-core@4.14.1"
INTEGRITY: Final = "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
_MEMBER: Final = "package/axe.min.js"
KEPT: Final = Path(".bashboard") / "axe" / f"axe-{PACKAGE.rpartition('@')[2]}.js"
"""The path of the script, relative to the root of the repository."""


def fetch(kept: Path) -> None:
    """Download axe-core with npm, check its integrity and write its script to a file.

    Raises MissingError without npm or a network.
    """
    with brought({PACKAGE: INTEGRITY}) as archives, tarfile.open(archives[PACKAGE]) as archive:
        member = archive.extractfile(_MEMBER)
        assert member is not None
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, member.read())


if __name__ == "__main__":
    try:
        if not KEPT.is_file():
            fetch(KEPT)
    except MissingError as error:
        sys.exit(f"{error}")
