"""This module opens the source of an external suite and checks that it holds exactly the declared files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from evaluator.errors import BashboardError, FormatError, MissingError, Problem, UsageError
from evaluator.escaping import printable
from evaluator.records import ExternalSuite, GitSource, PackageSource
from evaluator.suites.file_lists import list_digest
from evaluator.suites.importers.data_set import (
    DATA_SET_SUITE,
    ENDINGS,
    LISTS_OF_TASKS,
    check_same_tasks,
    read_data_set,
)
from evaluator.suites.importers.folder_source import FolderTree
from evaluator.suites.importers.git_source import fetch_commit, is_repository
from evaluator.suites.importers.pinned_wheel import download_wheel, read_wheel_file
from evaluator.suites.importers.source_files import SourceFile, SourceTree, list_files, select_files
from evaluator.wording import pluralize

_ADDRESS: Final = re.compile(r"[a-z+]+://|[\w.-]+@[\w.-]+:")
_LISTED: Final = 5

InputPatterns = Mapping[str, re.Pattern[str]]
"""The pattern of the files that each importer reads, by the name of the suite."""


def open_source(suite: ExternalSuite, given: str | None, folder: Path, say: Callable[[str], None]) -> SourceTree:
    """Open a suite's source: `given`, or else the first declared source that answers.

    `given` is a path or an address. `folder` is an empty folder for downloads. Raises MissingError if no source
    answers, and UsageError if `given` does not exist.
    """
    if given is None:
        return _open_declared(suite, folder, say)
    path = Path(given)
    if path.is_dir():
        return _open_repository(suite, given, folder, say) if is_repository(path) else FolderTree(path)
    if path.suffix in ENDINGS and path.exists():
        return _open_data_set(suite, path, folder, say)
    if path.exists():
        return read_wheel_file(path)
    if _ADDRESS.match(given):
        return _open_repository(suite, given, folder, say)
    expected = f"expected a clone, a folder, a wheel or an address that holds {suite.name}"
    raise UsageError(f"{printable(given)} does not exist: {expected}")


def _open_data_set(suite: ExternalSuite, path: Path, folder: Path, say: Callable[[str], None]) -> SourceTree:
    """Open the declared source of NL2SH-ALFA, after a check that it has the tasks of a published table."""
    rows = read_data_set(path)
    if suite.name != DATA_SET_SUITE:
        hint = f"type: bashboard suite add {DATA_SET_SUITE} --source {path}"
        raise FormatError([Problem(path, 0, f"is a copy of {DATA_SET_SUITE}, not of {suite.name}; {hint}")])
    say(f"{printable(str(path))} has tasks, but no file systems: they come from the declared source")
    tree = _open_declared(suite, folder, say)
    check_same_tasks(path, rows, select_files(tree, LISTS_OF_TASKS))
    return tree


def _open_declared(suite: ExternalSuite, folder: Path, say: Callable[[str], None]) -> SourceTree:
    failures = []
    for number, source in enumerate(suite.sources):
        say(f"fetching {suite.name} from {_described(source)}")
        try:
            return _fetch(source, _subfolder(folder, str(number)))
        except MissingError as error:
            failures.append(str(error))
    raise MissingError(
        f"{suite.name} could not be fetched: {'; '.join(failures)}; get a copy of it where there is a network, then "
        f"type: bashboard suite add {suite.name} --source PATH"
    )


def _described(source: GitSource | PackageSource) -> str:
    if isinstance(source, GitSource):
        return f"{source.git} at commit {source.commit[:12]}"
    return f"the package {source.package} {source.version}"


def _fetch(source: GitSource | PackageSource, folder: Path) -> SourceTree:
    if isinstance(source, GitSource):
        return fetch_commit(source.git, source.commit, folder)
    return download_wheel(source, folder)


def _subfolder(folder: Path, name: str) -> Path:
    path = folder / name
    path.mkdir()
    return path


def _open_repository(suite: ExternalSuite, address: str, folder: Path, say: Callable[[str], None]) -> SourceTree:
    """Open the declared commit in a repository, or `HEAD` if the commit is missing there.

    If a clone has no readable commit, the files in its work tree are read like those of a plain folder. The check of
    the files decides in each case.
    """
    say(f"fetching {suite.name} from {printable(address)}")
    commits = [source.commit for source in suite.sources if isinstance(source, GitSource)]
    place = str(Path(address).absolute()) if Path(address).is_dir() else address
    failures = []
    for number, commit in enumerate([*commits, "HEAD"]):
        try:
            tree = fetch_commit(place, commit, _subfolder(folder, str(number)))
        except MissingError as error:
            failures.append(error)
            continue
        if commits and tree.commit not in commits:
            tree.remark = f"it does not have commit {commits[0]}, so its commit {tree.commit[:12]} was read"
        return tree
    if (Path(address) / ".git").exists():
        return FolderTree(Path(address))
    raise failures[0]


def read_declared_files(
    suite: ExternalSuite,
    tree: SourceTree,
    lists: Mapping[str, Mapping[str, str]],
    patterns: InputPatterns,
) -> dict[str, SourceFile]:
    """Read a suite's files from its source. `lists` maps each external suite to the digests of its files.

    Raises FormatError if the files differ from the declared files. The message names the missing, changed and
    unexpected files, or the other suite that the source holds.
    """
    files = select_files(tree, patterns[suite.name])
    found, expected = list_files(files), lists[suite.name]
    if found == expected:
        return files
    path, other = Path(tree.label), _recognised(suite.name, tree, lists, patterns)
    if other is not None:
        hint = f"type: bashboard suite add {other} --source {path}"
        raise FormatError([Problem(path, 0, f"is a copy of {other}, not of {suite.name}; {hint}")])
    count = f"{pluralize(len(expected), 'file')} with the digest {suite.digest}"
    message = f"is no copy of {suite.name} as declared: expected {count}, found {len(found)} with {list_digest(found)}"
    parts = [message, *_differences(expected, found), *([tree.remark] if tree.remark else [])]
    raise FormatError([Problem(path, 0, "; ".join(parts))])


def _recognised(
    name: str, tree: SourceTree, lists: Mapping[str, Mapping[str, str]], patterns: InputPatterns
) -> str | None:
    """Return the other suite that has more of the source's files than the suite `name`, if there is one.

    If no file has a known digest, the names of files decide.
    """
    scores = {suite: _score(tree, digests, patterns.get(suite)) for suite, digests in lists.items()}
    best = max(scores, key=lambda suite: scores[suite])
    return best if scores[best] > scores[name] else None


def _score(tree: SourceTree, digests: Mapping[str, str], pattern: re.Pattern[str] | None) -> tuple[int, bool]:
    """Return the number of files with a digest of the suite, and whether any file has a name of the suite."""
    if pattern is None:
        return 0, False
    try:
        found = list_files(select_files(tree, pattern))
    except BashboardError:
        return 0, False
    return len(found.items() & digests.items()), bool(found)


def _differences(expected: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    kinds = {
        "missing": expected.keys() - found.keys(),
        "changed": {name for name in expected.keys() & found.keys() if expected[name] != found[name]},
        "unexpected": found.keys() - expected.keys(),
    }
    return [f"{kind}: {_listed(names)}" for kind, names in kinds.items() if names]


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - _LISTED} more" if len(ordered) > _LISTED else ""
    return ", ".join(map(printable, ordered[:_LISTED])) + more
