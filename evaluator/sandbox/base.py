"""The Debian release that commands see: the one place that decides where its root file system comes from.

Asked in this order, the first that holds is taken:

1. Our own tag from an earlier time, so that a second run neither waits for a network nor sees another base.
2. The image registry, if the engine reaches one: the official slim image, with the digest it resolved to.
3. A copy of that image which the engine already has.
4. `mmdebstrap`, from the mirror in this machine's own apt configuration, without documentation and translations,
   as the slim image is.

A registry is tried by pulling, since the engine may reach what we do not and the other way round; it has ten
seconds for its first word. The tag alone proves nothing: what came from a registry carries its digest, what came
from a mirror our label, and anything else under that name is replaced.
"""

from __future__ import annotations

import queue
import re
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from docker.errors import APIError, DockerException, ImageNotFound

from evaluator.errors import EngineError, ImageError, MissingError
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.host import CompletedCommand, Host, Progress, ThisMachine, install_packages

REPOSITORY: Final = "bashboard-base"
LABEL: Final = "bashboard.base"
"""On an image made from a mirror; its value is the release."""

FIRST_WORD_S: Final = 10.0
SILENCE_S: Final = 120.0
"""A registry that has begun to answer may pause while a layer is unpacked."""

BOOTSTRAP_TIMEOUT_S: Final = 1200.0
"""20 to 40 s with a near mirror; the bound is for one that trickles."""

KEYRING: Final = "/usr/share/keyrings/debian-archive-keyring.gpg"
APT_HELPER: Final = "/usr/lib/apt/apt-helper"
POCKET: Final = re.compile(r"[a-z]+(?P<pocket>|-updates|-security)")
"""The names of a release's parts; `bookworm-backports` and `bookworm-proposed-updates` are not among them."""

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
"""What of the machine's apt configuration a mirror may need to be usable at all, now and in later image builds."""


@dataclass(frozen=True, slots=True)
class BaseImage:
    """The root of a Debian release, as the engine has it.

    `reference` is our tag, `digest` the registry's for its manifest or, from a mirror, the engine's for the image;
    `why` says in a sentence where it came from.
    """

    reference: str
    image_id: str
    source: Literal["registry", "mirror"]
    digest: str
    why: str


class AptSource(NamedTuple):
    """One line of apt's sources."""

    uri: str
    suite: str
    components: tuple[str, ...]

    def __str__(self) -> str:
        """As sources.list has it."""
        return f"deb {self.uri} {self.suite} {' '.join(self.components)}"


def find_base(engine: Engine, release: str, repository: str = REPOSITORY) -> BaseImage | None:
    """The base of `release` (a code name such as "trixie") that is there already, if it is ours to trust."""
    try:
        attributes = engine.client.images.get(f"{repository}:{release}").attrs
    except ImageNotFound:
        return None
    except DockerException as error:
        raise EngineError(f"the engine could not say whether it has {repository}:{release}: {error}") from error
    return base_of(attributes, f"{repository}:{release}", release)


def base_of(attributes: Mapping[str, Any], reference: str, release: str) -> BaseImage | None:
    """The record of an image from the engine's description of it; None where nothing shows its origin. Pure."""
    image_id = attributes["Id"]
    for repository, _, digest in (name.partition("@") for name in attributes.get("RepoDigests") or ()):
        if repository.rsplit("/", 1)[-1] == "debian":
            why = f"the image registry's debian:{release}-slim"
            return BaseImage(reference, image_id, "registry", digest, why)
    labels = (attributes.get("Config") or {}).get("Labels") or {}
    if labels.get(LABEL) == release:
        why = "no image registry answered: bootstrapped from the mirror in this machine's apt configuration"
        return BaseImage(reference, image_id, "mirror", image_id, why)
    return None


def ensure_base(
    engine: Engine,
    release: str,
    progress: Progress,
    *,
    machine: Host | None = None,
    repository: str = REPOSITORY,
    image: str = "debian",
) -> BaseImage:
    """The base of `release`, fetched or made if it is not there; `image` is the registry's name for it.

    Raises:
        MissingError: neither a registry nor this machine's apt has the release; it ends with the line to type.
        ImageError: the bootstrap failed; the message holds its last lines.
        EngineError: the engine refused an image.
    """
    if found := find_base(engine, release, repository):
        return found
    reference = f"{image}:{release}-slim"
    progress(f"asking the image registry for {reference}")
    refusal = pull(engine, reference, progress)
    try:
        engine.client.images.get(reference).tag(repository, release)
    except ImageNotFound:
        progress(f"no image registry ({refusal}); bootstrapping {release} from this machine's mirror")
        bootstrap(engine, release, progress, machine or ThisMachine(), repository, refusal)
    except APIError as error:
        raise EngineError(f"the engine would not tag {reference}: {error.explanation}") from error
    if made := find_base(engine, release, repository):
        return made
    raise EngineError(f"{repository}:{release} was made, but the engine does not show it")


def pull(engine: Engine, reference: str, progress: Progress, first_word_s: float = FIRST_WORD_S) -> str:
    """Pull an image; the reason why it could not be had, or nothing.

    A thread listens to the engine, because docker-py gives a pull no time limit, and an engine without a network
    may wait minutes for an answer that never comes.
    """
    words: queue.Queue[Mapping[str, Any] | None] = queue.Queue()
    threading.Thread(target=_listen, args=(engine, reference, words), daemon=True).start()
    retry_policy, told = first_word_s, ""
    while True:
        try:
            word = words.get(timeout=retry_policy)
        except queue.Empty:
            return f"no answer within {retry_policy:.0f} s"
        if word is None:
            return ""
        if reason := word.get("error"):
            return str(reason).strip().splitlines()[-1]
        if (status := str(word.get("status", ""))) != told and "id" not in word:
            progress(status)
            told = status
        retry_policy = SILENCE_S


def _listen(engine: Engine, reference: str, words: queue.Queue[Mapping[str, Any] | None]) -> None:
    repository, _, tag = reference.rpartition(":")
    try:
        for word in engine.client.api.pull(repository, tag, stream=True, decode=True):
            words.put(word)
    except (DockerException, OSError) as error:
        words.put({"error": getattr(error, "explanation", None) or str(error)})
    words.put(None)


def bootstrap(engine: Engine, release: str, progress: Progress, machine: Host, repository: str, refusal: str) -> None:
    """Make the base with mmdebstrap and import it under our tag and label; raise as `ensure_base` says."""
    sources = find_sources(machine, release)
    if not sources:
        raise MissingError(
            f"no image registry answers ({refusal}) and this machine's apt knows no mirror of Debian {release}; "
            f"with a network, type:\n{engine.name} pull debian:{release}-slim"
        )
    needed = {"mmdebstrap": "mmdebstrap", KEYRING: "debian-archive-keyring"}
    if lacking := [package for path, package in needed.items() if not machine.has(path)]:
        install_packages(machine, lacking, progress)
    with tempfile.TemporaryDirectory(prefix="bashboard-base-") as folder:
        archive = Path(folder) / "root.tar"
        done = machine.run(
            *bootstrap_command(release, archive, sources, apt_settings(machine)), timeout_s=BOOTSTRAP_TIMEOUT_S
        )
        if done.status != 0:
            raise ImageError(f"mmdebstrap could not make a root of {release}:\n{done.tail()}")
        progress(f"importing {archive.stat().st_size / 1e6:.0f} MB as {repository}:{release}")
        _import(engine, archive, repository, release)


def _import(engine: Engine, archive: Path, repository: str, release: str) -> None:
    changes = [f"LABEL {LABEL}={release}", 'CMD ["bash"]']
    try:  # name and tag go in one: podman does not hear of a tag that is sent apart
        engine.client.api.import_image(src=str(archive), repository=f"{repository}:{release}", changes=changes)
    except DockerException as error:
        raise EngineError(f"the engine would not import {repository}:{release}: {error}") from error


def bootstrap_command(release: str, archive: Path, sources: Sequence[AptSource], settings: Sequence[str]) -> list[str]:
    """The command line that makes the root; pure.

    Its name and name servers are this machine's, so they go; certificates come only where a mirror needs them,
    so that the list of packages is otherwise the slim image's.
    """
    certificates = ["--include=ca-certificates"] if any(s.uri.startswith("https:") for s in sources) else []
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
    """Where apt's own mirrors have `release`, with its updates and security parts if apt uses those of its own.

    A mirror is asked with apt's own downloader, so that proxies, credentials and certificates are apt's. Nothing
    is returned where the release itself is not to be had.
    """
    listing = machine.run(
        "apt-get",
        "indextargets",
        "--format",
        "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)",
        "Identifier: Packages",
    )
    wanted = candidate_sources(listing, release)
    found = [source for source in wanted if has_release(machine, source)]
    return found if any(source.suite == release for source in found) else []


def candidate_sources(listing: CompletedCommand, release: str) -> list[AptSource]:
    """Sources of `release` to ask for, one for each of the host's own, from apt's list of indexes; pure.

    Only `main` counts. Where apt has fetched its lists it names each origin, and foreign ones are left out.
    """
    sources: dict[AptSource, None] = {}
    for line in listing.output.splitlines() if listing.status == 0 else ():
        match line.split(" "):
            case [uri, suite, "main", origin] if origin in ("Debian", "$(ORIGIN)"):
                if part := POCKET.fullmatch(suite):
                    sources[AptSource(uri.rstrip("/"), release + part["pocket"], ("main",))] = None
    return list(sources)


def has_release(machine: Host, source: AptSource) -> bool:
    """Whether the mirror has it and it is Debian's; signatures are mmdebstrap's to check."""
    with tempfile.TemporaryDirectory(prefix="bashboard-mirror-") as folder:
        copy = Path(folder) / "InRelease"
        limits = (
            "-o",
            "Acquire::http::Timeout=10",
            "-o",
            "Acquire::https::Timeout=10",
            "-o",
            "Acquire::Retries=1",
        )
        address = f"{source.uri}/dists/{source.suite}/InRelease"
        done = machine.run(APT_HELPER, *limits, "download-file", address, str(copy), timeout_s=60)
        return done.status == 0 and copy.is_file() and is_release(copy.read_text(errors="replace"), source.suite)


def is_release(text: str, suite: str) -> bool:
    """Whether an InRelease file is Debian's for the suite of that code name; pure."""
    fields = dict(line.split(": ", 1) for line in text.splitlines()[:40] if ": " in line)
    return fields.get("Origin") == "Debian" and fields.get("Codename") == suite


def apt_settings(machine: Host) -> list[str]:
    """Those of apt's settings here without which its mirror might not be usable, in apt's own notation."""
    dump = machine.run("apt-config", "dump", "--no-empty", "--format", '%F "%v";%n')
    return [line for line in dump.output.splitlines() if line.split(" ", 1)[0] in APT_SETTINGS]
