"""What of a landing still stands: while it was judged, main went on.

Verdicts are of predictions as they were. Where a submission has others by now, or is gone, or its verdict file became
another, nothing of it is published: the run that the newer commit has begun judges what stands there now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from evaluator.errors import UsageError
from evaluator.github.commits import blob_names, branch_head
from evaluator.github.connection import Connection
from evaluator.pipeline.evidence.bundle import SUFFIX
from evaluator.pipeline.publishing.archive import Landing, blob_name
from evaluator.submissions.names import MANIFEST_NAME, VERDICTS

MAIN: Final = "main"

Names = Mapping[str, str | None]
"""Git's names of files, by path; None where no file is."""


@dataclass(frozen=True, slots=True)
class Current:
    """What holds at a commit of main: `landing` without what does not, and why not, by submission.

    `changing` are the submissions of which a file on main becomes another by it.
    """

    head: str
    landing: Landing
    left_out: Mapping[str, str]
    changing: tuple[str, ...]


def main_head(connection: Connection) -> str:
    """The commit that main is at. Raises UsageError where there is no such branch."""
    head = branch_head(connection, MAIN)
    if head is None:
        raise UsageError(f"{connection.name}: there is no branch {MAIN!r}")
    return head


def current_at(connection: Connection, head: str, landing: Landing) -> Current:
    """Compare what was judged with what stands at a commit of main. Raises PermissionMissingError, GitHubError."""
    names = blob_names(connection, head, sorted(_paths(landing)))
    left_out = {slug: why for slug in landing.header.judged if (why := _moved(landing, slug, names))}
    kept = _without_returned(landing.without(set(left_out)), names, _judged_at(connection, landing))
    changed = {path for path, content in kept.on_main().items() if names[path] != _name(content)}
    changing = {path.split("/")[1] for path in changed}
    return Current(head, kept, left_out, tuple(sorted(changing)))


def _judged_at(connection: Connection, landing: Landing) -> Names:
    """Names of the submissions' files of which something is to be removed, at the commit that was judged."""
    wanted = {path for each in (*landing.header.gone, *landing.header.gone_evidence) for path in _given(each)}
    commit = landing.header.commit
    return blob_names(connection, commit, sorted(wanted)) if wanted and commit else dict.fromkeys(wanted)


def _paths(landing: Landing) -> set[str]:
    judged = {path for blobs in landing.header.judged.values() for path in blobs}
    gone = (*landing.header.gone, *landing.header.gone_evidence)
    return judged | set(landing.on_main()) | {path for each in gone for path in _given(each)}


def _name(content: bytes | None) -> str | None:
    return None if content is None else blob_name(content)


def _given(path: str) -> tuple[str, ...]:
    """The submission's own files that a verdict file or a bundle is of; none for what is of no submission."""
    if not path.startswith("submissions/"):
        return ()
    folder, name = path.rsplit("/", 1)
    suite = name.removesuffix(VERDICTS).removesuffix(SUFFIX)
    return f"{folder}/{MANIFEST_NAME}", f"{folder}/{suite}.jsonl"


def _moved(landing: Landing, slug: str, names: Names) -> str:
    """Why what was judged of a submission is not what stands there; empty where it is."""
    blobs, ours = landing.header.judged[slug], landing.on_main()
    given = {path: blob for path, blob in blobs.items() if not path.endswith(VERDICTS)}
    if any(given.values()) and not any(names[path] for path in given):
        return "was withdrawn since it was judged"
    if any(names[path] != blob for path, blob in given.items()):
        return "was changed since it was judged; the run of that change judges it anew"
    for path in blobs.keys() - given.keys():
        # ours stands there already where this was done before
        if names[path] != blobs[path] and (path not in ours or names[path] != _name(ours[path])):
            return "has another verdict file than when it was judged; the next run looks at it again"
    return ""


def _without_returned(landing: Landing, names: Names, judged_at: Names) -> Landing:
    """Nothing is removed of a submission that is another by now: it may have come back."""
    header = landing.header

    def kept(paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(each for each in paths if all(names[path] == judged_at[path] for path in _given(each)))

    changes = {"gone": kept(header.gone), "gone_evidence": kept(header.gone_evidence)}
    return replace(landing, header=header.model_copy(update=changes))


def left_out_markdown(left_out: Mapping[str, str]) -> str:
    """Which submissions are left out, and why; slugs and words of ours."""
    return "\n".join(f"- `{slug}` {why}" for slug, why in left_out.items())
