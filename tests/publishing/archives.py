"""Archives like those of the judging job, for the current state of a checkout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluator.pipeline.publishing.archive import ArchiveHeader, PublishArchive, blob_name
from evaluator.records import Outcome
from tests.publishing.hosted_checkout import HostedCheckout, verdicts

IMAGES = b'{"format": 1, "images": {}}\n'
ANSWERED = {
    "first": (
        ("files-1", "ls -l a", Outcome.FAIL),
        ("files-1", "ls a", Outcome.PASS),
        ("files-2", "cat b", Outcome.PASS),
    ),
    "second": (("files-1", "ls -l a", Outcome.FAIL), ("files-2", "cat c", Outcome.FAIL)),
}


def verdicts_at(slug: str) -> str:
    return f"submissions/{slug}/tiny.verdicts.jsonl"


def bundle_at(slug: str) -> str:
    return f"submissions/{slug}/tiny.jsonl.gz"


def judged(hosted: HostedCheckout, slug: str) -> dict[str, str | None]:
    """Return the blob names of the files that judging a submission read: its manifest, predictions and verdict file."""
    paths = [f"submissions/{slug}/{name}" for name in ("submission.toml", "tiny.jsonl", "tiny.verdicts.jsonl")]
    contents = {path: hosted.root / path for path in paths}
    return {path: blob_name(file.read_bytes()) if file.is_file() else None for path, file in contents.items()}


def archive(
    hosted: HostedCheckout,
    *slugs: str,
    judge_version: int = 1,
    files: Mapping[str, bytes] | None = None,
    **header: Any,
) -> PublishArchive:
    """Return an archive with verdicts and evidence of these submissions. `header` adds header fields."""
    named = slugs or tuple(ANSWERED)
    made = {verdicts_at(slug): verdicts(*ANSWERED[slug], judge_version=judge_version) for slug in named}
    kept = {bundle_at(slug): f"evidence of {slug} {judge_version}".encode() for slug in named}
    said = ArchiveHeader(format=1, judged={slug: judged(hosted, slug) for slug in named}, **header)
    return PublishArchive(said, {**made, **(files or {})}, {**kept, "images.json": IMAGES})
