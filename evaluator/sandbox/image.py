"""The sandbox image of a suite: the container image in which the suite's commands run.

An image is built once for each set of inputs (packages, clock and files). Another checkout or an earlier commit may
need an image of earlier inputs, so the latest few images are kept. A build and `doctor --fix` remove older images.
They never remove an image without our label and tag, or an image that a container uses.
"""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from docker.errors import APIError, ImageNotFound

from evaluator.errors import ImageError
from evaluator.records import SuiteManifest
from evaluator.sandbox.base import BaseImage, ensure_base
from evaluator.sandbox.daemon import engine_errors
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.image_recipe import REPOSITORY, build_arguments, build_context, fingerprint, image_reference
from evaluator.sandbox.leftovers import LABEL, owner_label

PACKAGES_FILE: Final = "/opt/bashboard/packages"

SUITE_LABEL: Final = "bashboard.suite"
"""The label of our images. Its value is the name of the image's suite."""

KEPT: Final = 3
"""The number of images of a suite's earlier inputs that stay."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SuiteImage:
    """An image for the commands of a suite. `packages` lists the packages that commands see, as `name=version`."""

    reference: str
    image_id: str
    architecture: str
    packages: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """Return the digest of the image's properties that can affect the evidence of a command."""
        return fingerprint(self.architecture, self.packages)


def find_image(engine: Engine, manifest: SuiteManifest) -> SuiteImage | None:
    """Return the suite's image, or None if it does not exist. Raises EngineError if the engine fails."""
    reference = image_reference(manifest)
    with engine_errors(f"the engine could not show {reference}"):
        try:
            attributes = engine.client.images.get(reference).attrs
        except ImageNotFound:
            return None
        packages = _read_file(engine, reference, PACKAGES_FILE).decode().split()
    return SuiteImage(reference, attributes["Id"], attributes["Architecture"], tuple(packages))


def ensure_image(engine: Engine, manifest: SuiteManifest, progress: Progress) -> SuiteImage:
    """Return the suite's image, and build it first if it is missing.

    Raises ImageError if the build fails. The message contains the last lines of the build's output.
    """
    if image := find_image(engine, manifest):
        return image
    base = ensure_base(engine, manifest.base.release, progress)
    _build(engine, base, manifest, progress)
    if image := find_image(engine, manifest):
        prune_images(engine, manifest)
        return image
    raise ImageError(f"{image_reference(manifest)} was built, but the engine does not list it")


def earlier_images(engine: Engine, manifest: SuiteManifest) -> list[str]:
    """Return the tags of the suite's images with other inputs (packages, clock or files), the latest first."""
    current, name = image_reference(manifest), manifest.name
    with engine_errors("the engine could not list the sandbox images"):
        images = engine.client.images.list(filters={"label": f"{SUITE_LABEL}={name}"})
    images.sort(key=lambda image: str(image.attrs["Created"]), reverse=True)
    tags = [tag.rpartition("/")[2] for image in images for tag in image.tags]  # podman puts a registry before them
    return [tag for tag in tags if tag.startswith(f"{REPOSITORY}:{name}-") and tag != current]


def prune_images(engine: Engine, manifest: SuiteManifest) -> list[str]:
    """Remove the tags of the suite's earlier images except the latest few, and return the removed tags.

    The engine removes an image when the image loses its last tag.
    """
    removed = []
    for tag in earlier_images(engine, manifest)[KEPT:]:
        with contextlib.suppress(APIError):  # a container uses it, or another process removed it first
            engine.client.images.remove(tag)
            removed.append(tag)
    return removed


def _pack(context: Mapping[str, bytes]) -> io.BytesIO:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, data in sorted(context.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    file.seek(0)
    return file


def _build(engine: Engine, base: BaseImage, manifest: SuiteManifest, progress: Progress) -> None:
    progress(f"building the sandbox image of suite {manifest.name} (once; a minute or two)")
    lines: list[str] = []
    with engine_errors("the engine went away while it built the sandbox image"):
        try:
            stream = engine.client.api.build(
                fileobj=_pack(build_context()),
                custom_context=True,
                tag=image_reference(manifest),
                buildargs={"ROOT": base.reference, **build_arguments(manifest)},
                labels={SUITE_LABEL: manifest.name},
                network_mode="host",
                rm=True,
                forcerm=True,
                decode=True,
            )
        except APIError as error:
            raise ImageError(f"the engine would not build the sandbox image: {error}") from error
        for message in stream:
            text = str(message.get("stream") or message.get("error") or "").rstrip()
            lines += [text] if text else []
            if text.startswith("Step "):
                progress(text)
            if "error" in message:
                raise ImageError("the sandbox image could not be built:\n" + "\n".join(lines[-20:]))


def _read_file(engine: Engine, image: str, path: str) -> bytes:
    """Return the content of a file in an image. It is read through a container that is never started."""
    container = engine.client.api.create_container(image, ["true"], labels={LABEL: owner_label(os.getpid())})
    try:
        chunks, _ = engine.client.api.get_archive(container["Id"], path)
        with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
            member = archive.extractfile(path.rsplit("/", 1)[-1])
            if member is None:
                raise ImageError(f"{image} has no file {path}")
            return member.read()
    finally:
        engine.client.api.remove_container(container["Id"], force=True)
