"""A preview's numbers, from the artifact of a pull request's own run, which may have forged them.

What does not read, does not add up or is not of this board and this submission is not shown, and it is said why. What
remains can lie about its own submission and do nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from evaluator.errors import FormatError
from evaluator.github.artifacts import ArtifactLimits, read_artifact
from evaluator.github.connection import Connection
from evaluator.github.preview_artifact import PREVIEW_BYTES, PREVIEW_NAME, read_preview
from evaluator.pipeline.project import Project
from evaluator.records import Preview

ARTIFACT: Final = "preview"
"""The artifact in which the run leaves its preview."""
_TOLD: Final = 3
_UNUSED: Final = "the run left a preview that is not used: "


def read_numbers(
    project: Project, connection: Connection, run: int, slug: str, answered: Mapping[str, str]
) -> tuple[Preview | None, str]:
    """The preview that a run left of a submission, or None and why; `answered` are its suites with their versions.

    Raises PermissionMissingError, GitHubError.
    """
    limits = ArtifactLimits(archive_bytes=PREVIEW_BYTES, file_bytes=PREVIEW_BYTES)
    file = read_artifact(connection, run, ARTIFACT, PREVIEW_NAME, limits)
    if file.content is None:
        return None, file.fault
    try:
        preview = read_preview(file.content, slug)
    except FormatError as error:
        return None, _UNUSED + "; ".join(each.message for each in error.problems[:_TOLD])
    fault = _foreign(project, preview, answered)
    return (None, _UNUSED + fault) if fault else (preview, "")


def _foreign(project: Project, preview: Preview, answered: Mapping[str, str]) -> str:
    """Why a preview that adds up is none of this board and this submission; empty where it may be."""
    suites = {suite.manifest.name: suite for suite in project.suites()}
    if preview.suite not in suites or preview.suite not in answered:
        return f"it is of suite {preview.suite!r}, which the submission does not answer"
    suite = suites[preview.suite]
    if preview.suite_version != suite.manifest.version:
        return f"it is of {preview.suite} {preview.suite_version}, and the board asks {suite.manifest.version}"
    counted = preview.asked + preview.not_asked
    if counted > len(suite.tasks):
        return f"it counts {counted} tasks of {len(suite.tasks)}"
    slugs = {folder.name for folder in project.submission_folders()}
    strange = [each.submission for each in preview.rivals if each.submission not in slugs]
    return f"it compares with {', '.join(strange)}, which the board does not have" if strange else ""
