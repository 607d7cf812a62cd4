"""One file out of one artifact of a run.

A fork's pull request runs its own version of the workflow, so an artifact may be anything: too large, no archive,
a bomb, links, paths that lead elsewhere. Of it one file of a known name is read, up to a limit, into memory; nothing
is unpacked. What is wrong with it is a value, because it is the submitter's doing and the report says it.

The library refuses to follow GitHub to the host where artifacts are kept, which is none of GitHub's names. So it is
asked for the address alone, which is signed, and the file is fetched without the token.
"""

from __future__ import annotations

import io
import itertools
import stat
import zipfile
import zlib
from dataclasses import dataclass
from typing import Final

import requests
from github.Artifact import Artifact

from evaluator.github.connection import Connection, speaking
from evaluator.printable import printable

_READ: Final = "actions: read"
_CHUNK: Final = 65_536
_MOST_ARTIFACTS: Final = 100
"""Artifacts of a run that are looked at; a stranger's workflow may upload any number."""

_MOST_MEMBERS: Final = 64


@dataclass(frozen=True, slots=True)
class ArtifactLimits:
    """Bytes of the archive as it is sent, and of the one file that is read from it."""

    archive_bytes: int = 8 * 1024 * 1024
    file_bytes: int = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    """The file's bytes, or None and why there are none."""

    content: bytes | None
    fault: str = ""


_DEFAULT: Final = ArtifactLimits()


def read_artifact(
    connection: Connection, run: int, artifact: str, file: str, limits: ArtifactLimits = _DEFAULT
) -> ArtifactFile:
    """The file of that name in the run's newest artifact of that name. Raises PermissionMissingError, GitHubError."""
    with speaking(connection, f"reading artifact {artifact!r} of run {run}", _READ):
        listed = connection.hosted.get_workflow_run(run)
        listed.update()
        named = [each for each in itertools.islice(listed.get_artifacts(), _MOST_ARTIFACTS) if each.name == artifact]
        if not named:
            return ArtifactFile(None, f"the run has no artifact {artifact!r}")
        newest = max(named, key=lambda each: each.id)
        if newest.expired:
            return ArtifactFile(None, f"artifact {artifact!r} has expired")
        if newest.size_in_bytes > limits.archive_bytes:
            return ArtifactFile(None, _too_large(f"artifact {artifact!r}", newest.size_in_bytes, limits.archive_bytes))
        archive = _download(connection, newest, limits.archive_bytes)
    if archive.content is None:
        return archive
    return _member(archive.content, artifact, file, limits.file_bytes)


def _too_large(what: str, size: int, most: int) -> str:
    return f"{what} has {size} bytes: expected at most {most}"


def _download(connection: Connection, artifact: Artifact, most: int) -> ArtifactFile:
    """The archive's bytes, unless there are more than GitHub said and than are wanted."""
    requester = connection.github.requester
    address = f"{connection.hosted.url}/actions/artifacts/{artifact.id}/zip"
    status, headers, body = requester.requestJson("GET", address)
    if status == 410:
        return ArtifactFile(None, f"artifact {artifact.name!r} has expired")
    if status != 302 or "location" not in headers:
        raise requester.createException(status, headers, {"message": body[:300]})
    kept = io.BytesIO()
    with requests.Session() as session:
        # neither the token nor what a .netrc of this machine holds
        session.auth = _no_credentials
        with session.get(headers["location"], stream=True, timeout=connection.patience.timeout_s) as answer:
            answer.raise_for_status()
            for chunk in answer.iter_content(_CHUNK):
                kept.write(chunk)
                if kept.tell() > most:
                    return ArtifactFile(None, _too_large(f"artifact {artifact.name!r}", kept.tell(), most))
    return ArtifactFile(kept.getvalue())


def _no_credentials(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _member(archive: bytes, artifact: str, file: str, most: int) -> ArtifactFile:
    """One member's bytes; the library checks them against the length and checksum that its header says."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            members = [each for each in opened.infolist() if each.filename == file]
            fault = _member_fault(opened, members, artifact, file, most)
            if fault:
                return ArtifactFile(None, fault)
            with opened.open(members[0]) as stream:
                # never more than its header says, and no more than that is unpacked at a time
                return ArtifactFile(stream.read(most))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        return ArtifactFile(None, f"artifact {artifact!r} does not read as a zip: {printable(str(error))[:200]}")


def _member_fault(opened: zipfile.ZipFile, members: list[zipfile.ZipInfo], artifact: str, file: str, most: int) -> str:
    place = f"{file!r} in artifact {artifact!r}"
    if len(opened.infolist()) > _MOST_MEMBERS:
        return f"artifact {artifact!r} has more than {_MOST_MEMBERS} files"
    if len(members) != 1:
        return f"artifact {artifact!r} has {len(members)} files {file!r}: expected one"
    if members[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"{place} is compressed in a way that GitHub does not use"
    mode = members[0].external_attr >> 16
    if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
        return f"{place} is no regular file"
    size = members[0].file_size
    return _too_large(place, size, most) if size > most else ""
