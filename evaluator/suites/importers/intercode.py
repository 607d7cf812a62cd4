"""This module imports InterCode-Bash and its fork InterCode-ALFA: lists of tasks, each list with a set-up script.

Each list of tasks has one script that creates a file system. Each file system becomes one world. The script runs on
the publisher's base image if an image registry has it, and otherwise on this project's base image. It is also stored in
the folder `/`, because some tasks read it. The packages and the environment variable of the publisher's Dockerfiles are
kept. The other parts of the Dockerfiles are left out: they only create the Git repository with which the publisher
detects changes. Commands start in `/`.

Some tasks ask for files that are older than five minutes or younger than two hours. Therefore each file that the script
creates with the current time is ninety minutes old.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.records import Base, SuiteSource, Task
from evaluator.suites.importers.command_traits import output_mode_of, topic_of
from evaluator.suites.importers.draft import CLOCK, ENVIRONMENT, CommandReader, Draft, DraftWorld, external_manifest
from evaluator.suites.importers.extra_variants import VARIANTS, extra_setup

UBUNTU_PACKAGES: Final = (
    *("bash", "bsdmainutils", "coreutils", "cpio", "cron", "curl", "dnsutils", "git", "imagemagick", "iputils-ping"),
    *("jq", "net-tools", "psmisc", "python3", "tree"),
)
PACKAGES: Final = (
    # named in the publisher's Dockerfiles, with Debian's packages for `cal` and the resolver's tools
    *("psmisc", "bsdextrautils", "ncal", "cron", "imagemagick", "bind9-dnsutils", "git", "tree", "net-tools"),
    *("iputils-ping", "curl", "cpio", "jq", "python3"),
    # part of its base image or recommended packages, or called by references without being installed there
    *("procps", "openssl", "openssh-client", "file", "lsof", "perl", "wtmpdb", "gawk", "bc", "less", "patch"),
)
ALFA_BASES: Final = {
    "ubuntu-24-04": Base(distribution="ubuntu", release="noble-20240429", packages=UBUNTU_PACKAGES),
    "alpine-3-20": Base(distribution="alpine", release="3.20.0", packages=("bash", "git")),
}
"""The images and packages of the publisher's Dockerfiles. Our jail starts bash, so it is added on Alpine."""

INTERCODE_BASES: Final = {"ubuntu-22-04": Base(distribution="ubuntu", release="22.04", packages=UBUNTU_PACKAGES)}
"""The publisher's Dockerfile names `ubuntu:latest`, which was this release when InterCode was published in 2023."""

FILES: Final = "/testbed/hello.c /testbed/FooBar.html"
"""An environment variable of the first Dockerfile that a task uses. Here one environment serves the whole suite."""

_AGE_MINUTES: Final = 90
_TITLE: Final = "File system {} of the publisher's, made by its own script, and with more in it"
_SCRIPT: Final = re.compile(r"(?:^|/)setup_nl2b_fs_(\d)\.sh$")
_TASKS: Final = re.compile(r"(?:^|/)nl2bash_fs_(\d)\.json$")
_TEST_FILES: Final = {"setup_fs.sh": "setup_nl2b_fs_5.sh", "test_queries.json": "nl2bash_fs_5.json"}
"""The files of the test queries, with the names that they would have as a further file system."""


def draft_nl2sh_alfa(read: CommandReader, path: Path) -> Draft:
    """Return the draft of NL2SH-ALFA from the files `nl2bash_fs_N.json` and `setup_nl2b_fs_N.sh` in a folder."""
    bases = {str(number): "ubuntu-24-04" for number in range(1, 5)} | {"5": "alpine-3-20"}
    return _draft("nl2sh-alfa", "NL2SH-ALFA", _files(path), read, ALFA_BASES, bases)


def draft_intercode(read: CommandReader, path: Path) -> Draft:
    """Return the draft of InterCode-Bash from the files `nl2bash_fs_N.json` and `setup_nl2b_fs_N.sh` in a folder."""
    bases = dict.fromkeys("1234", "ubuntu-22-04")
    return _draft("intercode", "InterCode-Bash", _files(path), read, INTERCODE_BASES, bases)


def draft_intercode_test(read: CommandReader, path: Path) -> Draft:
    """Return the draft of InterCode's 24 test queries from the files `test_queries.json` and `setup_fs.sh`.

    No published result uses these queries, so they are a suite of their own. NL2SH-ALFA has corrected editions of most
    of them in its fifth file system.
    """
    files = {_TEST_FILES[file.name]: file.read_bytes() for file in sorted(path.rglob("*")) if file.name in _TEST_FILES}
    bases = {"alpine-3-20": ALFA_BASES["alpine-3-20"]}
    return _draft("intercode-test", "InterCode-Bash, test queries", files, read, bases, {"5": "alpine-3-20"})


def _files(path: Path) -> dict[str, bytes]:
    """Return the lists of tasks and the scripts below a folder, by path."""
    found = [file for file in sorted(path.rglob("*nl2b*")) if _SCRIPT.search(str(file)) or _TASKS.search(str(file))]
    return {str(file.relative_to(path)): file.read_bytes() for file in found}


def _draft(
    name: str,
    title: str,
    files: Mapping[str, bytes],
    read: CommandReader,
    bases: Mapping[str, Base],
    base_of: Mapping[str, str],
) -> Draft:
    """Return the draft of a suite from the files of its publisher.

    `bases` holds the publisher's base images by name, and `base_of` maps the number of a file system to such a name.
    """
    source = SuiteSource(name=title, version="files", licence="MIT")
    scripts = {match[1]: data for file, data in files.items() if (match := _SCRIPT.search(file))}
    lists = {match[1]: (file, data) for file, data in sorted(files.items()) if (match := _TASKS.search(file))}
    if not lists or lists.keys() - scripts.keys():
        without = ", ".join(sorted(lists.keys() - scripts.keys())) or "any number"
        raise UsageError(
            f"{title}: expected nl2bash_fs_N.json with setup_nl2b_fs_N.sh, found {len(lists)} lists of tasks "
            f"and {len(scripts)} scripts; no pair for {without}"
        )
    tasks = [task for number, (file, data) in sorted(lists.items()) for task in _tasks(number, file, data, read)]
    worlds = {
        f"fs{number}": DraftWorld(
            _TITLE.format(number), _build(number, scripts[number]), variants=VARIANTS, base=base_of.get(number)
        )
        for number in sorted(lists)
    }
    description = f"{len(tasks)} tasks of {title} in {len(worlds)} file systems, under our rules."
    environment = {**ENVIRONMENT, "FILES": FILES}
    manifest = external_manifest(
        name, title, description, source, packages=PACKAGES, environment=environment, bases=bases
    )
    return Draft(manifest, worlds, tasks, Counter())


def _tasks(number: str, file: str, data: bytes, read: CommandReader) -> Iterator[Task]:
    for index, entry in enumerate(_entries(file, data)):
        references = _references(entry)
        if not references or not str(entry.get("query", "")).strip():
            problem = f"entry {index}: expected query and gold, found {sorted(entry)}"
            raise FormatError([Problem(Path(file), 0, problem)])
        setup = extra_setup(references, read)
        yield Task(
            id=f"fs{number}-{index:03d}",
            nl=str(entry["query"]).strip(),
            references=references,
            world=f"fs{number}",
            output=output_mode_of(references, read),
            topic=topic_of(references[0], read),
            difficulty=min(5, int(entry.get("difficulty", 0)) + 1),
            setup=setup,
            variants=(VARIANTS[0].name,),  # the import adds the variants in which the references agree
        )


def _entries(file: str, data: bytes) -> list[dict[str, Any]]:
    try:
        entries = json.loads(data)
    except ValueError as error:
        raise FormatError([Problem(Path(file), 0, f"does not read as JSON: {error}")]) from error
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise FormatError([Problem(Path(file), 0, "expected a list of objects with query and gold")])
    return entries


def _references(entry: Mapping[str, Any]) -> tuple[bytes, ...]:
    """Return the references in an entry of the publisher's list. `gold` may be a list of commands, run in sequence."""
    references = []
    for name in ("gold", "gold2"):
        gold = entry.get(name)
        text = "; ".join(map(str, gold)) if isinstance(gold, Sequence) and not isinstance(gold, str) else gold
        if isinstance(text, str) and text.strip():
            references.append(text.strip().encode())
    return tuple(references)


def _build(number: str, script: bytes) -> str:
    """Return a world's build script. It runs the publisher's script, and then makes new files ninety minutes old."""
    text = script.decode()
    mark = "END_OF_THEIR_SCRIPT"
    while mark in text:
        mark += "_"
    path = PurePosixPath(f"/setup_nl2b_fs_{number}.sh")
    trim = "" if text.endswith("\n") else f"truncate -s -1 {path}\n"
    old = int(CLOCK.timestamp()) - _AGE_MINUTES * 60
    # the fifth script was written for Alpine: it needs an `echo -e` as in bash, which dash does not have
    return f"""#!/bin/bash
# shellcheck disable=all
set -eu
# what their base has and ours has not: a resolver, logs older than a day, a record of the boot
printf 'nameserver 192.0.2.53\\n' > /etc/resolv.conf
mkdir -p /var/log/apt
for log in alternatives.log bootstrap.log dpkg.log apt/history.log apt/term.log; do
  printf '2025-03-01 08:00:00 installed\\n' > /var/log/$log
done
find /var/log -exec touch -d '2025-03-01 08:00' {{}} +
wtmpdb boot >/dev/null || true
cat > {path} <<'{mark}'
{text if text.endswith(chr(10)) else text + chr(10)}{mark}
{trim}chmod 755 {path}
cd /
# some of its commands fail on any system: the audit tells which
bash {path} >/dev/null || true
find / -xdev -depth -mmin -30 ! -regex '/\\(dev\\|proc\\|sys\\)\\(/.*\\)?' \\
  -exec touch -h -d @{old} {{}} +
"""
