"""The further base images of a suite: other distributions, on which a publisher built some of the suite's worlds.

Such a base exists only in an image registry, so it needs one. It is the registry's image with the packages of the
suite. If the registry does not answer, or the packages cannot be installed, the worlds use the suite's own base. The
list of packages in the suite's image then says that the base is missing. So the fingerprint differs, and each board
names the missing bases.

The environment variable `BASHBOARD_REGISTRY` names a registry to use instead of the engine's default, such as
`127.0.0.1:5000`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from docker.errors import APIError, ImageNotFound

from evaluator.errors import ImageError
from evaluator.records import Base
from evaluator.sandbox.base import pull, registry_digest
from evaluator.sandbox.daemon import engine_errors
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.image_build import build_image
from evaluator.sandbox.image_recipe import world_base_context, world_base_reference

LABEL: Final = "bashboard.world-base"
"""The label of our images of further bases. Its value is the digest of the registry's image."""

REGISTRY: Final = "BASHBOARD_REGISTRY"


@dataclass(frozen=True, slots=True)
class WorldBase:
    """A further base of a suite. `reference` names our image of it, or is None if the base is missing.

    `why` is the image's origin, or the reason why the base is missing.
    """

    name: str
    reference: str | None
    why: str


def find_world_base(engine: Engine, name: str, base: Base) -> WorldBase:
    """Return the suite's base `name` with our image of it, if the engine has this image."""
    reference = world_base_reference(base)
    with engine_errors(f"the engine could not show {reference}"):
        try:
            attributes = engine.client.images.get(reference).attrs
        except ImageNotFound:
            return WorldBase(name, None, f"{base.image} is fetched from an image registry when it is needed")
    digest = ((attributes.get("Config") or {}).get("Labels") or {}).get(LABEL)
    if not digest:
        return WorldBase(name, None, f"{reference} was not made by Bashboard")
    return WorldBase(name, reference, f"the image registry's {base.image}, {digest}")


def ensure_world_base(engine: Engine, name: str, base: Base, progress: Callable[[str], None]) -> WorldBase:
    """Return the suite's base `name`. Fetch and prepare its image first if it is missing.

    A registry that does not answer, and packages that cannot be installed, are no errors: then the base has no image.
    """
    found = find_world_base(engine, name, base)
    if found.reference:
        return found
    registry = os.environ.get(REGISTRY, "").rstrip("/")
    image = f"{registry}/{base.image}" if registry else base.image
    progress(f"requesting {image} from the image registry")
    refusal = pull(engine, image, progress)
    digest = _pulled_digest(engine, image, base)
    if digest is None:
        return WorldBase(name, None, f"no image registry gave {image} ({refusal or 'it has no digest of a registry'})")
    arguments = {"ROOT": image, "PACKAGES": " ".join(sorted(base.packages))}
    try:
        build_image(engine, world_base_context(), world_base_reference(base), arguments, {LABEL: digest}, progress)
    except ImageError as error:
        return WorldBase(name, None, str(error))
    return find_world_base(engine, name, base)


def _pulled_digest(engine: Engine, image: str, base: Base) -> str | None:
    """Return the digest that a registry gave this image, or None if the engine lacks the image or made it itself."""
    with engine_errors(f"the engine could not show {image}"):
        try:
            attributes = engine.client.images.get(image).attrs
        except (ImageNotFound, APIError):
            return None
    return registry_digest(attributes, base.distribution)
