"""Define the records of the observed results of executing a command."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from evaluator.records.record import Bytes, Digest, Record, canonical_json, digest_of


class Kind(StrEnum):
    """The kind of change that a command made to a path."""

    ADDED = "added"
    MODIFIED = "modified"
    MODE = "mode"
    DELETED = "deleted"
    TYPE = "type"
    TOUCHED = "touched"


class FileType(StrEnum):
    """The type of the file at a path."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    FIFO = "fifo"
    SOCKET = "socket"
    CHARACTER = "character"
    BLOCK = "block"


class Member(Record):
    """One entry of an archive that a command wrote. `content` is the digest of the entry's bytes.

    `uid`, `gid` and `mtime` are those that the archive states. A time during the command is not recorded. A zip states
    no owner.
    """

    name: Bytes
    type: FileType
    mode: int
    content: Digest | None = None
    target: Bytes | None = None
    uid: int | None = None
    gid: int | None = None
    mtime: int | None = None


class PathChange(Record):
    """One path that a command changed in its task's world (the files with which the command starts).

    For deletions only `path` and `kind` are set. `mode` holds permission bits. `content` is the digest of the first
    64 MB of a regular file. `text` holds these bytes if the task compares the file. `members` lists the entries
    of an archive or compressed file, and `packing` names its format (`tar`, `gzip+tar`, `zip`, `gzip`, ...).
    `after_end` is the number of bytes after the end of an archive. `target` is the text of a symbolic link. `links` is
    the number of a regular file's hard links. `acl` and `default_acl` hold access control lists. If the path existed
    and keeps its type, the `old_` fields hold its mode, owner and access control lists before the command.

    The kind is `touched` if a file has only another time. If the task does not observe times, such a change is recorded
    only if the command set the time to a time that is not during the command.
    """

    path: Bytes
    kind: Kind
    type: FileType | None = None
    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    size: int | None = None
    content: Digest | None = None
    target: Bytes | None = None
    text: Bytes | None = None
    members: tuple[Member, ...] | None = None
    mtime: int | None = None
    packing: str | None = None
    after_end: int = 0
    links: int = 1
    acl: str | None = None
    default_acl: str | None = None
    old_mode: int | None = None
    old_uid: int | None = None
    old_gid: int | None = None
    old_acl: str | None = None
    old_default_acl: str | None = None


class Output(Record):
    """The first bytes of a command's output stream, up to a size limit, with the size and digest of the full stream."""

    data: Bytes = b""
    size: int = 0
    digest: Digest = hashlib.sha256(b"").hexdigest()

    @property
    def truncated(self) -> bool:
        """Return whether the command printed more bytes than are stored."""
        return self.size > len(self.data)


class Ending(StrEnum):
    """The cause of a command's end: the command itself or a limit."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    DISK = "disk"
    CRASH = "crash"


class ShellState(Record):
    """The state of the shell when the command ended. `alive` is false if bash did not report its state."""

    alive: bool
    cwd: Bytes = b""
    umask: str = ""
    variables: Mapping[str, Bytes] = Field(default_factory=dict)
    functions: Mapping[str, Bytes] = Field(default_factory=dict)
    aliases: Mapping[str, Bytes] = Field(default_factory=dict)
    options: tuple[str, ...] = ()
    traps: tuple[Bytes, ...] = ()


class Process(Record):
    """A process that still existed after the command's end.

    `arguments` are joined by NUL, as in `/proc/<pid>/cmdline`. `truncated` is true if the process has more arguments
    than are stored.
    """

    arguments: Bytes
    uid: int
    state: str
    truncated: bool = False


class Evidence(Record):
    """The observed results of executing one command once in one variant of its task's world.

    `status` is bash's exit status (128 + n after signal n). `changes` are sorted by path. `verifier` is the exit status
    of the task's verifier script, and `verifier_message` is the beginning of the script's standard error. `cpu_ms` and
    `wall_ms` are for information only and are not part of `digest`.
    """

    ending: Ending
    status: int | None = None
    stdout: Output = Output()
    stderr: Output = Output()
    changes: tuple[PathChange, ...] = ()
    changes_truncated: bool = False
    shell: ShellState | None = None
    processes: tuple[Process, ...] | None = None
    verifier: int | None = None
    verifier_message: Bytes = b""
    cpu_ms: float = 0.0
    wall_ms: float = 0.0

    @property
    def digest(self) -> str:
        """Return the digest of the evidence without its durations. Runs with equal results have equal digests."""
        return digest_of(
            canonical_json(self.model_dump(mode="json", exclude={"cpu_ms", "wall_ms"}, exclude_defaults=True))
        )


class Trial(Record):
    """A command's runs in one variant of its task's world: the first run, and a repeated run if there was one."""

    first: Evidence
    again: Evidence | None = None
