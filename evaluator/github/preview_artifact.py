"""A preview as the artifact of a run that a stranger's pull request has made: read as what may be forged."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import ValidationError

from evaluator.errors import FormatError, Problem
from evaluator.escaping import printable
from evaluator.records import Preview

PREVIEW_NAME: Final = "preview.json"
"""The artifact's one file."""
PREVIEW_BYTES: Final = 2_097_152
"""A preview is no longer; a longer file is not read."""
_TOLD: Final = 10
_SHOWN: Final = 200


def read_preview(data: bytes, submission: str) -> Preview:
    """The preview of this submission. Raises FormatError where it is another's, does not add up, or is none."""
    if len(data) > PREVIEW_BYTES:
        raise _refused(f"{len(data):,} bytes: expected at most {PREVIEW_BYTES:,}")
    try:
        preview = Preview.model_validate_json(data)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        told = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in faults[:_TOLD]]
        raise _refused(*told) from None
    if preview.submission != submission:
        raise _refused(f"is of submission {preview.submission!r}: expected {submission!r}")
    return preview


def _refused(*faults: str) -> FormatError:
    return FormatError([Problem(Path(PREVIEW_NAME), 0, printable(each)[:_SHOWN]) for each in faults])
