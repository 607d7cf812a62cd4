"""The base image: the Debian root file system that commands see, and the choice of its source.

The first available source in this list is used:

1. The image with our own tag, from an earlier run of this program. So a later run needs no network and uses the same
   base image.
2. Debian's official slim image from an image registry, if the engine reaches a registry.
3. The engine's own copy of the official slim image.
4. A root file system from the Debian mirror in this machine's apt configuration (see `bootstrap`).

A registry is tested with a pull, because the engine and this process may reach different networks. The registry must
begin to answer within ten seconds. An image with our tag is used only if its origin is known: it must have the digest
of a registry or the label that we give to an image from a mirror. Any other image with our tag is replaced.
"""

from __future__ import annotations

import queue
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from docker.errors import APIError, DockerException, ImageNotFound

from evaluator.errors import EngineError, MissingError
from evaluator.sandbox.bootstrap import find_sources, make_archive, prepared_archive
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.host import Host, Progress, ThisMachine

REPOSITORY: Final = "bashboard-base"
LABEL: Final = "bashboard.base"
"""The label of an image made from a mirror. Its value is the release."""

FIRST_ANSWER_S: Final = 10.0
PAUSE_S: Final = 120.0
"""The longest pause of a registry after its first answer, for example while a layer is unpacked."""


@dataclass(frozen=True, slots=True)
class BaseImage:
    """An image with the root file system of a Debian release.

    `reference` is our name and tag for the image. `digest` is the registry's manifest digest, or the engine's image
    digest if the image comes from a mirror. `why` describes the origin in a sentence.
    """

    reference: str
    image_id: str
    source: Literal["registry", "mirror"]
    digest: str
    why: str


def find_base(engine: Engine, release: str, repository: str = REPOSITORY) -> BaseImage | None:
    """Return the existing base image of `release` (a code name such as "trixie"), or None if no trusted one exists.

    Raises EngineError if the engine does not answer.
    """
    try:
        attributes = engine.client.images.get(f"{repository}:{release}").attrs
    except ImageNotFound:
        return None
    except DockerException as error:
        raise EngineError(f"the engine could not say whether it has {repository}:{release}: {error}") from error
    return base_of(attributes, f"{repository}:{release}", release)


def base_of(attributes: Mapping[str, Any], reference: str, release: str) -> BaseImage | None:
    """Return the base image that the engine describes by `attributes`, or None if the image's origin is unknown."""
    image_id = attributes["Id"]
    if digest := registry_digest(attributes, "debian"):
        return BaseImage(reference, image_id, "registry", digest, f"the image registry's debian:{release}-slim")
    labels = (attributes.get("Config") or {}).get("Labels") or {}
    if labels.get(LABEL) == release:
        why = "no image registry answered: bootstrapped from the mirror in this machine's apt configuration"
        return BaseImage(reference, image_id, "mirror", image_id, why)
    return None


def registry_digest(attributes: Mapping[str, Any], name: str) -> str | None:
    """Return the digest that a registry gave an image of this name, or None if no registry gave it.

    `attributes` is the engine's description of the image.
    """
    pairs = (digest.partition("@") for digest in attributes.get("RepoDigests") or ())
    return next((digest for repository, _, digest in pairs if repository.rsplit("/", 1)[-1] == name), None)


def ensure_base(
    engine: Engine,
    release: str,
    progress: Progress,
    *,
    machine: Host | None = None,
    repository: str = REPOSITORY,
    image: str = "debian",
) -> BaseImage:
    """Return the base image of the Debian release `release`. If the image is missing, fetch or build it first.

    `image` is the registry's name for Debian.

    Raises:
        MissingError: neither a registry nor this machine's apt has the release. The message ends with the
            command that the user should run.
        ImageError: mmdebstrap could not make the image. The message contains the last lines of its output.
        EngineError: the engine refused an image.
    """
    if base := find_base(engine, release, repository):
        return base
    reference = f"{image}:{release}-slim"
    progress(f"requesting {reference} from the image registry")
    refusal = pull(engine, reference, progress)
    try:
        engine.client.images.get(reference).tag(repository, release)
    except ImageNotFound:
        progress(f"no image registry ({refusal}); bootstrapping {release} from this machine's mirror")
        bootstrap(engine, release, progress, machine or ThisMachine(), repository, refusal)
    except APIError as error:
        raise EngineError(f"the engine would not tag {reference}: {error.explanation}") from error
    if base := find_base(engine, release, repository):
        return base
    raise EngineError(f"{repository}:{release} was made, but the engine does not list it")


def pull(engine: Engine, reference: str, progress: Progress, first_answer_s: float = FIRST_ANSWER_S) -> str:
    """Pull an image. Return the reason if this fails, otherwise an empty text.

    A thread reads the engine's messages, because docker-py has no time limit for a pull. An engine without a network
    may wait minutes for a registry that never answers.
    """
    messages: queue.Queue[Mapping[str, Any] | None] = queue.Queue()
    threading.Thread(target=_read_messages, args=(engine, reference, messages), daemon=True).start()
    timeout_s, last_status = first_answer_s, ""
    while True:
        try:
            message = messages.get(timeout=timeout_s)
        except queue.Empty:
            return f"no answer within {timeout_s:.0f} s"
        if message is None:
            return ""
        if reason := message.get("error"):
            return str(reason).strip().splitlines()[-1]
        if (status := str(message.get("status", ""))) != last_status and "id" not in message:
            progress(status)
            last_status = status
        timeout_s = PAUSE_S


def _read_messages(engine: Engine, reference: str, messages: queue.Queue[Mapping[str, Any] | None]) -> None:
    repository, _, tag = reference.rpartition(":")
    try:
        for message in engine.client.api.pull(repository, tag, stream=True, decode=True):
            messages.put(message)
    except (DockerException, OSError) as error:
        messages.put({"error": getattr(error, "explanation", None) or str(error)})
    messages.put(None)


def bootstrap(engine: Engine, release: str, progress: Progress, machine: Host, repository: str, refusal: str) -> None:
    """Make the base image from this machine's mirror, and import it into the engine with our tag and label.

    An archive that `prepare` made beside the installation of the packages is used and then deleted. `refusal` is the
    reason why no registry gave the image. The error message repeats it. Raises the errors of `ensure_base`.
    """
    if (archive := prepared_archive(release)) is not None:
        import_archive(engine, release, archive, progress, repository)
        archive.unlink(missing_ok=True)
        return
    sources = find_sources(machine, release)
    if not sources:
        raise MissingError(
            f"no image registry answers ({refusal}), and this machine's apt has no mirror of Debian {release}; "
            f"with a network, run:\n{engine.name} pull debian:{release}-slim"
        )
    with tempfile.TemporaryDirectory(prefix="bashboard-base-") as folder:
        archive = Path(folder) / "root.tar"
        make_archive(machine, release, archive, sources, progress)
        import_archive(engine, release, archive, progress, repository)


def import_archive(engine: Engine, release: str, archive: Path, progress: Progress, repository: str) -> None:
    """Import the archive of a root file system into the engine with our tag and label."""
    progress(f"importing {archive.stat().st_size / 1e6:.0f} MB as {repository}:{release}")
    changes = [f"LABEL {LABEL}={release}", 'CMD ["bash"]']
    try:  # podman ignores a tag that is not part of `repository`
        engine.client.api.import_image(src=str(archive), repository=f"{repository}:{release}", changes=changes)
    except DockerException as error:
        raise EngineError(f"the engine would not import {repository}:{release}: {error}") from error
