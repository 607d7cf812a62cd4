"""A reader for files in the artifacts of a workflow run. All artifacts are untrusted input.

A pull request from a fork runs its own version of the workflow, and can upload any file as an artifact. So can a
program that escapes its sandbox. The file can be too large, no archive, a zip bomb, or an archive with links or with
paths outside the archive. This module reads files into memory up to a limit. It unpacks nothing to disk. A fault in an
artifact is a return value and not an exception, because the contributor caused the fault and must see it.

GitHub redirects each download to a host outside its own domains, and the client library refuses to follow the redirect.
So this module requests the signed address and downloads the archive from that address without the token.
"""

from __future__ import annotations

import io
import itertools
import stat
import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import requests
from github.Artifact import Artifact

from evaluator.escaping import printable
from evaluator.github.connection import Connection, map_errors

_READ: Final = "actions: read"
_CHUNK: Final = 65_536
_MAX_ARTIFACTS: Final = 100
"""The maximum number of artifacts of a run that are listed. A workflow of a fork can upload any number."""

_MAX_MATRIX_ARTIFACTS: Final = 1_000
"""The same limit for a run with a job matrix, in which each of up to 256 jobs uploads several artifacts."""

_MAX_MEMBERS: Final = 64
_NAME_SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class ArtifactLimits:
    """The limits in bytes for the size of an archive, and for the total size of the files read from this archive."""

    archive_bytes: int = 8 * 1024 * 1024
    file_bytes: int = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    """The content of a file in an artifact. If the file could not be read, `content` is None and `fault` says why."""

    content: bytes | None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class ArtifactFiles:
    """The files of an artifact, as a mapping from name to content.

    If one file could not be read, `files` is None and `fault` gives the reason.
    """

    files: Mapping[str, bytes] | None
    fault: str = ""


_DEFAULT: Final = ArtifactLimits()


def read_artifact(
    connection: Connection, run: int, artifact: str, file: str, limits: ArtifactLimits = _DEFAULT
) -> ArtifactFile:
    """Return the content of one file in the artifact `artifact` of a workflow run.

    If several artifacts have this name, the newest is read. Raises PermissionMissingError if the token lacks a
    permission, and GitHubError if GitHub fails.
    """
    newest = _newest(connection, run, _MAX_ARTIFACTS).get(artifact)
    archive = _archive(connection, run, artifact, newest, limits.archive_bytes)
    if archive.content is None:
        return archive
    members = _files(archive.content, artifact, file, limits.file_bytes)
    return ArtifactFile(None, members.fault) if members.files is None else ArtifactFile(members.files[file])


def read_artifacts(
    connection: Connection, run: int, artifacts: Collection[str], limits: ArtifactLimits = _DEFAULT
) -> Iterator[tuple[str, ArtifactFiles]]:
    """Read the given artifacts of a workflow run. Yield the name and all files of each artifact.

    If several artifacts have the same name, the newest is read. GitHub lists the artifacts only once, at the first
    iteration. Raises PermissionMissingError if the token lacks a permission, and GitHubError if GitHub fails.
    """
    newest = _newest(connection, run, _MAX_MATRIX_ARTIFACTS)
    for name in artifacts:
        archive = _archive(connection, run, name, newest.get(name), limits.archive_bytes)
        if archive.content is None:
            yield name, ArtifactFiles(None, archive.fault)
        else:
            yield name, _files(archive.content, name, None, limits.file_bytes)


def _newest(connection: Connection, run: int, most: int) -> Mapping[str, Artifact]:
    """Map each name of a workflow run's artifacts to the newest artifact of this name.

    If a job is repeated, it uploads a second artifact of the same name.
    """
    with map_errors(connection, f"listing the artifacts of run {run}", _READ):
        workflow_run = connection.hosted.get_workflow_run(run)
        workflow_run.update()
        artifacts = list(itertools.islice(workflow_run.get_artifacts(), most))
        return {artifact.name: artifact for artifact in sorted(artifacts, key=lambda artifact: artifact.id)}


def _archive(connection: Connection, run: int, name: str, artifact: Artifact | None, most: int) -> ArtifactFile:
    with map_errors(connection, f"reading artifact {name!r} of run {run}", _READ):
        if artifact is None:
            return ArtifactFile(None, f"the run has no artifact {name!r}")
        if artifact.expired:
            return ArtifactFile(None, f"artifact {name!r} has expired")
        if artifact.size_in_bytes > most:
            return ArtifactFile(None, _too_large(f"artifact {name!r}", artifact.size_in_bytes, most))
        return _download(connection, artifact, most)


def _too_large(what: str, size: int, most: int) -> str:
    return f"{what} has {size} bytes: expected at most {most}"


def _download(connection: Connection, artifact: Artifact, most: int) -> ArtifactFile:
    """Download and return an artifact's archive. Return a fault if more than `most` bytes arrive.

    GitHub may state a smaller size than the archive has, so this function counts the bytes.
    """
    requester = connection.github.requester
    address = f"{connection.hosted.url}/actions/artifacts/{artifact.id}/zip"
    status, headers, body = requester.requestJson("GET", address)
    if status == 410:
        return ArtifactFile(None, f"artifact {artifact.name!r} has expired")
    if status != 302 or "location" not in headers:
        raise requester.createException(status, headers, {"message": body[:300]})
    content = io.BytesIO()
    with requests.Session() as session:
        # send neither the token nor the credentials of a .netrc on this machine
        session.auth = _no_credentials
        with session.get(headers["location"], stream=True, timeout=connection.wait_policy.timeout_s) as response:
            response.raise_for_status()
            for chunk in response.iter_content(_CHUNK):
                content.write(chunk)
                if content.tell() > most:
                    return ArtifactFile(None, _too_large(f"artifact {artifact.name!r}", content.tell(), most))
    return ArtifactFile(content.getvalue())


def _no_credentials(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _files(archive: bytes, artifact: str, file: str | None, most: int) -> ArtifactFiles:
    """Return all files of an artifact's zip archive, or only `file` if given. Python verifies the checksums."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            members = [info for info in opened.infolist() if file in (None, info.filename) and not info.is_dir()]
            fault = _fault(opened, members, artifact, file, most)
            if fault:
                return ArtifactFiles(None, fault)
            return ArtifactFiles({member.filename: _content(opened, member) for member in members})
    except Exception as error:  # a hostile zip may raise any error in zipfile, for example an empty name an IndexError
        return ArtifactFiles(None, f"artifact {artifact!r} is not a readable zip: {printable(str(error))[:200]}")


def _content(opened: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return the content of one file of the zip archive. Read no more bytes than the header of this file states."""
    with opened.open(member) as stream:
        return stream.read(member.file_size)


def _fault(opened: zipfile.ZipFile, members: list[zipfile.ZipInfo], artifact: str, file: str | None, most: int) -> str:
    if len(opened.infolist()) > _MAX_MEMBERS:
        return f"artifact {artifact!r} has more than {_MAX_MEMBERS} files"
    if file is not None and len(members) != 1:
        return f"artifact {artifact!r} has {len(members)} files {file!r}: expected one"
    names = [member.filename for member in members]
    if len(set(names)) != len(names):
        return f"artifact {artifact!r} has two files of the same name"
    faults = (_member_fault(member, artifact) for member in members)
    if fault := next(filter(None, faults), ""):
        return fault
    size = sum(member.file_size for member in members)
    what = f"artifact {artifact!r}" if file is None else f"{file!r} in artifact {artifact!r}"
    return _too_large(what, size, most) if size > most else ""


def _member_fault(member: zipfile.ZipInfo, artifact: str) -> str:
    name = f"{printable(member.filename)[:_NAME_SHOWN]!r} in artifact {artifact!r}"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"{name} has a compression method that GitHub does not use"
    mode = member.external_attr >> 16
    if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
        return f"{name} is not a regular file"
    return ""
