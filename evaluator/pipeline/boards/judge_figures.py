"""The figures of judges that the project publishes: where they are, and reading them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import ValidationError

from evaluator.errors import FormatError, Problem
from evaluator.records import Validation

PUBLISHED: Final = Path("site/assets/judges.json")
"""Where the figures are that the site shows."""


def read_validation(path: Path) -> Validation:
    """The figures in a file; none where there is no file. Raises FormatError where it is something else."""
    if not path.is_file():
        return Validation(format=1)
    try:
        return Validation.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise FormatError([Problem(path, 0, f"does not read as figures of judges: {error}")]) from error
