"""The inputs of a suite's sandbox image, and two digests of these inputs. This module does not use the engine.

The image's tag is the digest of all inputs. So an image with this tag is up to date, and a changed input file gives
another tag. Commands can observe only some inputs. The *fingerprint* is the digest of these inputs: the architecture,
the version of the runner's protocol, and the package versions of the base image. The cache key of evidence contains the
fingerprint and not the tag. So it does not matter if the base image came from a mirror or from a registry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from evaluator.records import Base, SuiteManifest, canonical_json, digest_of
from evaluator.sandbox.runner import PROTOCOL

REPOSITORY: Final = "bashboard-suite"
WORLD_BASES: Final = "bashboard-world-base"
"""The repository of our images of further bases."""

_COPIES: Final = b"# FURTHER BASES\n"
"""The line of the Dockerfile that is replaced by the instructions to copy the further bases."""


def fingerprint(architecture: str, packages: tuple[str, ...]) -> str:
    """Return the digest of the image inputs that commands can observe: architecture, runner protocol, base packages."""
    return digest_of(canonical_json({"architecture": architecture, "protocol": PROTOCOL, "packages": list(packages)}))


def _files(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _files(entry, f"{prefix}{entry.name}/")
        elif entry.is_file():
            yield f"{prefix}{entry.name}", entry.read_bytes()


def build_context(world_bases: Mapping[str, str] | None = None) -> Mapping[str, bytes]:
    """Return the content of every file that the image is built from. The keys are the names in the build's context.

    `world_bases` maps the names of further bases to their images. Each of them is copied to `/bases/NAME`.
    """
    sandbox = resources.files("evaluator.sandbox")
    context = {f"image/{name}": data for name, data in _files(sandbox / "image")}
    copies = "".join(f"COPY --from={image} / /bases/{name}\n" for name, image in sorted((world_bases or {}).items()))
    context["Dockerfile"] = context.pop("image/Dockerfile").replace(_COPIES, copies.encode())
    context["runner/__init__.py"] = context["runner/sandbox/__init__.py"] = b""
    for name, data in _files(sandbox / "runner"):
        context[f"runner/sandbox/runner/{name}"] = data
    return context


def build_arguments(manifest: SuiteManifest) -> dict[str, str]:
    """Return the build arguments of a suite's image: the packages, the time of the suite's clock and further bases."""
    return {
        "PACKAGES": " ".join(sorted(manifest.base.packages)),
        "EPOCH": str(int(manifest.clock.timestamp())),
        "BASES": " ".join(sorted(manifest.bases)),
    }


def runner_digest() -> str:
    """Return the digest of the programs inside the sandbox: the runner, its protocol, and the files of the image."""
    context = build_context()
    return digest_of(
        str(PROTOCOL).encode(), *(part for name in sorted(context) for part in (name.encode(), context[name]))
    )


def world_base_context() -> Mapping[str, bytes]:
    """Return the content of the files that the image of a further base is built from, by name."""
    folder, script = resources.files("evaluator.sandbox") / "image", "prepare_world_base.sh"
    return {"Dockerfile": (folder / "world_base.Dockerfile").read_bytes(), script: (folder / script).read_bytes()}


def world_base_reference(base: Base) -> str:
    """Return the repository and tag of our image of a further base. The tag contains a digest of the image's inputs."""
    inputs = canonical_json({"image": base.image, "packages": sorted(base.packages)})
    digest = digest_of(inputs, *(data for _, data in sorted(world_base_context().items())))
    return f"{WORLD_BASES}:{base.distribution}-{base.release}-{digest[:16]}"


def image_reference(manifest: SuiteManifest) -> str:
    """Return the repository and tag of a suite's image. The tag contains the digest of the image's inputs.

    Suites with equal inputs share one image.
    """
    context = build_context()
    parts = [part for name in sorted(context) for part in (name.encode(), context[name])]
    return f"{REPOSITORY}:{manifest.base.release}-{digest_of(_declared_inputs(manifest), *parts)[:24]}"


def declared_base(manifest: SuiteManifest) -> str:
    """Return the digest of the image inputs that a suite declares. The files of this package are not part of it."""
    return digest_of(_declared_inputs(manifest))


def _declared_inputs(manifest: SuiteManifest) -> bytes:
    bases = {f"base {name}": world_base_reference(base) for name, base in manifest.bases.items()}
    return canonical_json({**build_arguments(manifest), "release": manifest.base.release, **bases})
