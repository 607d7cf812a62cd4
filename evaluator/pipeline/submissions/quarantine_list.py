"""The quarantine list `submissions/quarantine.json`: the submissions that are neither executed nor shown.

`bashboard quarantine` writes the file, and a maintainer commits it. The folder of a submission stays in the repository.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.files import write_whole
from evaluator.pipeline.project import Project
from evaluator.records import Quarantined, read_format
from evaluator.submissions.names import QUARANTINE


def quarantine_path(project: Project) -> Path:
    """Return the path of `submissions/quarantine.json`."""
    return project.root / "submissions" / QUARANTINE


def quarantined(project: Project) -> frozenset[str]:
    """Return the slugs in the quarantine list. Raises FormatError for an invalid file."""
    path = quarantine_path(project)
    try:
        data = path.read_bytes()
        read_format(TypeAdapter(dict[str, object]).validate_json(data), QUARANTINE)
        return frozenset(Quarantined.model_validate_json(data).submissions)
    except FileNotFoundError:
        return frozenset()
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        raise FormatError([Problem(path, 0, fault["msg"]) for fault in faults]) from error
    except (OSError, ValueError) as error:
        raise FormatError([Problem(path, 0, str(error))]) from error


def write_quarantined(project: Project, slugs: Iterable[str]) -> None:
    """Write the quarantine list with these slugs, or remove the file if there are none."""
    path = quarantine_path(project)
    document = {"format": 1, "submissions": sorted(slugs)}
    try:
        if document["submissions"]:
            write_whole(path, f"{json.dumps(document, indent=2)}\n".encode())
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
