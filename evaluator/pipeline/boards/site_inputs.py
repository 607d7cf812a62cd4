"""Digests of everything that the site depends on, so that a build does nothing if nothing changed.

A file is read again only if its size, its time of modification or its inode differs from the last build, as Git's index
does it. A file that was modified just before it was read is read again as well, because a second change at the same
time would not show.

The module imports little, because a build that has nothing to do must end before everything else is imported.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import time
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, NamedTuple

from evaluator.errors import MissingError
from evaluator.pipeline.git import run_git

CACHE: Final = Path(".bashboard/site")
"""The folder in a project with everything that builds of the site keep."""

_PACKAGE: Final = Path(__file__).parents[2]
_STORE: Final = Path(".bashboard/store.sqlite")
_REPLIES: Final = Path(".bashboard/panel.jsonl")
"""The places of `Project.store_path` and `LEDGER`. To import these takes longer than a build that changes nothing."""
_LAST: Final = "last.json"
_RECENT_NS: Final = 100_000_000
"""Nanoseconds within which a second change of a file may leave its time of modification as it is."""

_MAKERS: Final = (
    *("altair", "Jinja2", "Markdown", "MarkupSafe", "mkdocs", "mkdocs-material", "numpy", "polars", "pydantic"),
    *("Pygments", "pymdown-extensions", "scipy", "vl-convert-python"),
)
"""The distributions on which the bytes of the site depend."""

_VARIABLES: Final = ("BASHBOARD_SITE_URL", "GITHUB_SERVER_URL", "GITHUB_REPOSITORY")

Stamp = tuple[int, int, int]
"""The size, the time of modification in nanoseconds, and the inode of a file."""


@dataclass
class FileDigests:
    """The SHA-256 of files, kept in the file `path` from build to build."""

    path: Path
    _known: dict[str, tuple[Stamp, int, str]] = field(default_factory=dict)
    _seen: dict[str, tuple[Stamp, int, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            entries = json.loads(self.path.read_bytes())
            self._known = {name: (tuple(stamp), read, digest) for name, (stamp, read, digest) in entries.items()}
        except (OSError, ValueError, TypeError):
            self._known = {}

    def of(self, file: os.DirEntry[str] | Path, compute: Callable[[Path], str] | None = None) -> str:
        """Return the digest of a file, or of the target of a link. `compute` replaces the SHA-256 of the content."""
        name, stamp, now = os.fspath(file), stamp_of(file.stat(follow_symlinks=False)), time.time_ns()
        if name in self._seen:
            return self._seen[name][2]
        known = self._known.get(name)
        if known is None or known[0] != stamp or stamp[1] + _RECENT_NS > known[1]:
            known = (stamp, now, (compute or _digest_of_file)(Path(name)))
        self._seen[name] = known
        return known[2]

    def save(self) -> None:
        """Write the digests of all files that were asked for since the object was made."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self._seen), "utf-8")
        new.replace(self.path)


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the fields of a file's status that change with its content."""
    return status.st_size, status.st_mtime_ns, status.st_ino


def _digest_of_file(path: Path) -> str:
    if path.is_symlink():
        return hashlib.sha256(b"link " + os.fsencode(path.readlink())).hexdigest()
    if not path.is_file():  # such as a FIFO, which nothing may open
        return "no file"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def entries_below(folder: str | Path, skipped: Collection[str] = ()) -> Iterator[os.DirEntry[str]]:
    """Yield all files and folders below a folder in the order of their paths. Links are files.

    Folders whose paths or names are in `skipped` are left out.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder and (entry.path in skipped or entry.name in skipped):
            continue
        yield entry
        if is_folder:
            yield from entries_below(entry.path, skipped)


@dataclass
class SiteInputs:
    """Everything that the site of the project in the folder `root` depends on.

    If `published` is false, the site shows the verdicts of this machine, by `judge` or by the project's judge.
    """

    root: Path
    environ: Mapping[str, str]
    published: bool = True
    judge: str | None = None

    @cached_property
    def digests(self) -> FileDigests:
        """Return the digests of files, kept in the project's cache."""
        return FileDigests(self.root / CACHE / "digests.json")

    def _digest(self, *places: str | Path, skipped: Collection[str] = ()) -> str:
        """Return the digest of the names and contents of these files, and of all files below these folders."""
        state = hashlib.sha256()
        for place in places:
            path = self.root / place
            for entry in entries_below(path, skipped) if path.is_dir() else [path] if path.is_file() else []:
                is_folder = isinstance(entry, os.DirEntry) and entry.is_dir(follow_symlinks=False)
                digest = "folder" if is_folder else self.digests.of(entry)
                state.update(f"{os.fspath(entry)}\0{digest}\n".encode("utf-8", "surrogateescape"))
        return state.hexdigest()

    @cached_property
    def code(self) -> str:
        """Return the digest of the programs that make the site: this package and the libraries."""
        return digest_of_texts([self._digest(_PACKAGE, skipped={"__pycache__"}), sys.version, *map(_version, _MAKERS)])

    @cached_property
    def context(self) -> str:
        """Return the digest of all files but those of submissions on which the data of a submission depend."""
        return digest_of_texts([self.code, self._digest("fixtures", "pyproject.toml", "site/assets/judges.json")])

    @cached_property
    def folders(self) -> Mapping[str, str]:
        """Return the digest of the folder of each submission, by name."""
        try:
            entries = sorted(os.scandir(self.root / "submissions"), key=lambda entry: entry.name)
        except OSError:
            return {}
        return {entry.name: self._digest(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)}

    @cached_property
    def verdicts(self) -> str:
        """Return the digest of the verdicts of this machine. Published verdicts are in the folders of submissions."""
        if self.published:
            return "published"
        store, unmerged = self.root / _STORE, (self.root / _STORE).with_name(f"{_STORE.name}-wal")
        if unmerged.is_file():  # another process writes, so the state of the file itself says nothing
            digest = _digest_of_store(store)
        else:
            digest = self.digests.of(store, _digest_of_store) if store.is_file() else "no store"
        return digest_of_texts([f"by {self.judge}", digest, self._digest(_REPLIES)])

    @cached_property
    def whole(self) -> str:
        """Return the digest of everything. The commit stands for the history, which gives dates."""
        try:
            commit = run_git(self.root, "rev-parse", "HEAD", "--is-shallow-repository") or b""
        except MissingError:
            commit = b""
        variables = (self.environ.get(name, "") for name in _VARIABLES)
        others = self._digest("mkdocs.yml", "submissions/owners.json", "submissions/quarantine.json")
        pages = self._digest("site", skipped={os.fspath(self.root / "site" / "board")})
        names = (f"{name} {digest}" for name, digest in self.folders.items())
        beside = _names_in(self.root / "submissions")
        return digest_of_texts(
            [self.context, self.verdicts, others, pages, commit.decode(), *variables, *names, *beside]
        )

    @property
    def depends_on_time(self) -> bool:
        """Return whether a final phase is declared. Until it ends, some submissions wait."""
        try:
            settings = tomllib.loads((self.root / "pyproject.toml").read_text("utf-8"))
        except (OSError, ValueError):
            return False
        return "final" in settings.get("tool", {}).get("bashboard", {})


def digest_of_texts(texts: Iterable[str]) -> str:
    """Return one digest of several texts."""
    return hashlib.sha256("\n".join(texts).encode("utf-8", "surrogateescape")).hexdigest()


def _digest_of_store(path: Path) -> str:
    from evaluator.store import Store

    with contextlib.closing(Store(path)) as store:
        return store.digest()


def _names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _version(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} none"


class LastBuild(NamedTuple):
    """What the last build of the site read, wrote and said, and the submissions that it left out."""

    inputs: str
    outputs: str
    said: tuple[str, ...]
    left_out: tuple[str, ...]


def unchanged_build(inputs: SiteInputs) -> LastBuild | None:
    """Return the last build if the site is as it left it and nothing changed that it depends on. Otherwise, None."""
    try:
        last = LastBuild(*json.loads((inputs.root / CACHE / _LAST).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    if inputs.depends_on_time or last.inputs != inputs.whole or last.outputs != outputs_stamp(_outputs(inputs.root)):
        return None
    inputs.digests.save()
    return last


def note_build(inputs: SiteInputs, said: Iterable[str], left_out: Iterable[str]) -> None:
    """Remember a build of the site. `inputs.whole` must be known since before it."""
    last = LastBuild(inputs.whole, outputs_stamp(_outputs(inputs.root)), tuple(said), tuple(left_out))
    (inputs.root / CACHE / _LAST).write_text(json.dumps(last), "utf-8")


def forget_builds(root: Path) -> None:
    """Remove everything that builds keep for the next one. The site and its parts stay until the next build."""
    shutil.rmtree(root / CACHE, ignore_errors=True)
    (root / "site" / "board" / ".units.json").unlink(missing_ok=True)


def _outputs(root: Path) -> tuple[Path, ...]:
    return (root / "build" / "site",)


def outputs_stamp(folders: Iterable[Path]) -> str:
    """Return the digest of the sizes, times and inodes of all files below these folders."""
    state = hashlib.sha256()
    for folder in folders:
        for entry in entries_below(folder):
            if not entry.is_dir(follow_symlinks=False):
                stamp = stamp_of(entry.stat(follow_symlinks=False))
                state.update(f"{entry.path}\0{stamp}\n".encode("utf-8", "surrogateescape"))
    return state.hexdigest()
