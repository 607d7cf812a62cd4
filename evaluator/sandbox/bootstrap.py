"""Make the root file system of a Debian release from the mirror in this machine's apt configuration.

`mmdebstrap` makes an archive. Documentation and translations are left out, as in Debian's slim image.

This module needs only the standard library. So a machine without an engine can install the engine's packages and make
the archive while its Python packages are still being installed:

    python3 -m evaluator.sandbox.bootstrap

The archive is then in the user's cache. `base` imports it if the engine has no base image and no registry answers.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from evaluator.errors import BashboardError, ImageError
from evaluator.sandbox.host import CompletedCommand, Host, Progress, ThisMachine, install_packages, uses_apt

BOOTSTRAP_TIMEOUT_S: Final = 1200.0
"""The limit of a bootstrap. It takes 20 to 40 s with a near mirror, and longer with a slow one."""

KEYRING: Final = "/usr/share/keyrings/debian-archive-keyring.gpg"
APT_HELPER: Final = "/usr/lib/apt/apt-helper"
POCKET: Final = re.compile(r"[a-z]+(?P<pocket>|-updates|-security)")
"""The suite names of a release, without parts such as `bookworm-backports` or `bookworm-proposed-updates`."""

SLIM: Final = (
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/groff/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/linda/*",
    "path-exclude=/usr/share/lintian/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/man/*",
)
APT_SETTINGS: Final = frozenset(
    {"Acquire::Check-Valid-Until", "Acquire::Check-Date", "Acquire::http::Proxy", "Acquire::https::Proxy"}
)
"""Settings of the machine's apt that a mirror may need, in the bootstrap and in later image builds."""


ENGINE_PACKAGES: Final = ("docker.io", "mmdebstrap", "debian-archive-keyring")
"""The packages of the distribution that a machine without an engine and without a registry needs."""

MAX_AGE_S: Final = 24 * 3600.0
"""The age at which an archive in the cache is too old, because its packages may have security fixes since."""


class AptSource(NamedTuple):
    """One entry of apt's list of package sources."""

    uri: str
    suite: str
    components: tuple[str, ...]

    def __str__(self) -> str:
        """Return the entry as a line of sources.list."""
        return f"deb {self.uri} {self.suite} {' '.join(self.components)}"


def cached_archive(release: str) -> Path:
    """Return the place of the archive of a release in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "bashboard" / f"base-{release}.tar"


def prepared_archive(release: str) -> Path | None:
    """Return the archive of a release from the cache, or None if there is none that is new enough and ours alone."""
    archive = cached_archive(release)
    try:
        status = archive.lstat()
    except OSError:
        return None
    is_ours = archive.is_file() and not archive.is_symlink() and status.st_uid == os.geteuid()
    return archive if is_ours and time.time() - status.st_mtime < MAX_AGE_S else None


def prepare(machine: Host, releases: Sequence[str], environment: Mapping[str, str], progress: Progress) -> list[Path]:
    """Install the engine's packages, and make an archive of each release. Return the archives that were made.

    Do nothing if the machine has an engine, if `DOCKER_HOST` names one, or if we may not install packages. Raises
    MissingError if the packages cannot be installed, and ImageError if an archive cannot be made.
    """
    has_engine = environment.get("DOCKER_HOST") or machine.has("dockerd") or machine.has("podman")
    if has_engine or not (machine.is_root and uses_apt(machine)):
        return []
    install_packages(machine, ENGINE_PACKAGES, progress)
    archives = []
    for release in releases:
        sources = find_sources(machine, release)
        if sources and prepared_archive(release) is None:
            archive = cached_archive(release)
            archive.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = archive.with_suffix(f".{os.getpid()}.tar")
            try:
                make_archive(machine, release, part, sources, progress)
                part.replace(archive)
            finally:
                part.unlink(missing_ok=True)
            archives.append(archive)
    return archives


def make_archive(machine: Host, release: str, archive: Path, sources: Sequence[AptSource], progress: Progress) -> None:
    """Write the root file system of a release to a tar file. Install mmdebstrap first if it is missing.

    Raises MissingError if mmdebstrap cannot be installed, and ImageError with the last lines of its output if it fails.
    """
    required = {"mmdebstrap": "mmdebstrap", KEYRING: "debian-archive-keyring"}
    if missing := [package for path, package in required.items() if not machine.has(path)]:
        install_packages(machine, missing, progress)
    progress(f"bootstrapping {release} from this machine's mirror")
    command = bootstrap_command(release, archive, sources, apt_settings(machine))
    result = machine.run(*command, timeout_s=BOOTSTRAP_TIMEOUT_S)
    if result.status != 0:
        raise ImageError(f"mmdebstrap could not make a root file system of {release}:\n{result.tail()}")


def bootstrap_command(release: str, archive: Path, sources: Sequence[AptSource], settings: Sequence[str]) -> list[str]:
    """Return the mmdebstrap command that makes the root file system of a base image.

    A hook removes the host name and the name servers, because mmdebstrap copies those of this machine. Certificates are
    installed only if a mirror needs them. All other packages are those of the slim image.
    """
    https = any(source.uri.startswith("https:") for source in sources)
    certificates = ["--include=ca-certificates"] if https else []
    return [
        "mmdebstrap",
        "--variant=minbase",
        "--format=tar",
        f"--keyring={KEYRING}",
        "--skip=check/signed-by",
        *certificates,
        *(f"--dpkgopt={option}" for option in SLIM),
        *(f"--aptopt={setting}" for setting in settings),
        '--customize-hook=rm -f "$1/etc/hostname" "$1/etc/resolv.conf"',
        release,
        str(archive),
        *(str(source) for source in sources),
    ]


def find_sources(machine: Host, release: str) -> list[AptSource]:
    """Return the package sources of `release` on the mirrors that this machine's apt uses.

    The sources of updates and security fixes are included if apt uses them for the machine's own release. apt's own
    downloader sends the requests, with apt's proxies, credentials and certificates. The list is empty if no mirror has
    the release itself.
    """
    columns = "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)"
    listing = machine.run("apt-get", "indextargets", "--format", columns, "Identifier: Packages")
    sources = [source for source in candidate_sources(listing, release) if has_release(machine, source)]
    return sources if any(source.suite == release for source in sources) else []


def candidate_sources(listing: CompletedCommand, release: str) -> list[AptSource]:
    """Return the package sources of `release` that the mirrors in apt's list may have.

    `listing` is apt's list of its indexes. Only sources with the component `main` and the origin Debian are used. A
    source is also used if its origin is unknown, because apt has not fetched the index yet.
    """
    sources: dict[AptSource, None] = {}
    for line in listing.output.splitlines() if listing.status == 0 else ():
        match line.split(" "):
            case [uri, suite, "main", origin] if origin in ("Debian", "$(ORIGIN)"):
                if part := POCKET.fullmatch(suite):
                    sources[AptSource(uri.rstrip("/"), release + part["pocket"], ("main",))] = None
    return list(sources)


def has_release(machine: Host, source: AptSource) -> bool:
    """Return whether the source exists on its mirror and comes from Debian. mmdebstrap checks signatures later."""
    with tempfile.TemporaryDirectory(prefix="bashboard-mirror-") as folder:
        copy = Path(folder) / "InRelease"
        limits = ("Acquire::http::Timeout=10", "Acquire::https::Timeout=10", "Acquire::Retries=1")
        options = [word for limit in limits for word in ("-o", limit)]
        address = f"{source.uri}/dists/{source.suite}/InRelease"
        result = machine.run(APT_HELPER, *options, "download-file", address, str(copy), timeout_s=60)
        return result.status == 0 and copy.is_file() and is_release(copy.read_text(errors="replace"), source.suite)


def is_release(text: str, suite: str) -> bool:
    """Return whether the text is Debian's InRelease file of the Debian suite `suite`, such as `trixie-updates`."""
    fields = dict(line.split(": ", 1) for line in text.splitlines()[:40] if ": " in line)
    return fields.get("Origin") == "Debian" and fields.get("Codename") == suite


def apt_settings(machine: Host) -> list[str]:
    """Return this machine's values of the apt settings that `APT_SETTINGS` names, in apt's own notation."""
    dump = machine.run("apt-config", "dump", "--no-empty", "--format", '%F "%v";%n')
    return [line for line in dump.output.splitlines() if line.split(" ", 1)[0] in APT_SETTINGS]


def main(fixtures: Path = Path("fixtures")) -> int:
    """Prepare this machine for the suites below `fixtures`. Return 0 even after a failure, which `doctor` repeats."""
    manifests = (tomllib.loads(path.read_text("utf-8")) for path in sorted(fixtures.glob("*/suite.toml")))
    releases = dict.fromkeys(manifest["base"]["release"] for manifest in manifests)
    try:
        prepare(ThisMachine(), list(releases), os.environ, lambda sentence: print(sentence, flush=True))  # noqa: T201
    except (BashboardError, OSError) as error:
        print(error, file=sys.stderr)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
