"""Save and load the sandbox images of a board, so that only one job of a workflow run builds them.

A job that runs no untrusted command saves the images, and the other jobs load them. `images.json` on the branch
`evidence` names the digest of the published image file. A cached file is loaded only if it has this digest, because a
job that runs untrusted commands can write to the cache.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import TypeAdapter, ValidationError

from evaluator.errors import FormatError, ImageError, InfraError, Problem, UsageError
from evaluator.pipeline.evidence.bundle import file_digest
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.board_suites import one_line, readable_suites, suites_on_board
from evaluator.pipeline.submissions.repository import load_sound
from evaluator.progress import Progress
from evaluator.records import Digest, Images, KnownImage, canonical_json, read_format
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import Store
from evaluator.suites.load import Suite

if TYPE_CHECKING:
    from evaluator.sandbox.engine import Engine

IMAGES: Final = "images.json"

_MAX_BYTES: Final = 1024 * 1024
_DIGEST: Final = TypeAdapter[str](Digest)


class ImageFile(NamedTuple):
    """A file that holds sandbox images: the names of these images, and the SHA-256 of the file."""

    references: tuple[str, ...]
    sha256: str


def fetched_images(project: Project) -> Path:
    """Return the path where `bashboard fetch` stores the file `images.json` of the branch `evidence`."""
    return project.store_path.with_name("evidence") / IMAGES


def read_images(path: Path) -> Images:
    """Read the list of published images. Without a file, the list is empty. Raises FormatError for an invalid file."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return Images(format=1)
    try:
        if len(data) > _MAX_BYTES:
            raise ValueError(f"has more than {_MAX_BYTES} bytes")
        read_format(TypeAdapter(dict[str, object]).validate_json(data), IMAGES)
        return Images.model_validate_json(data)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        messages = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults]
        raise FormatError([Problem(path, 0, message[:300]) for message in messages]) from error
    except ValueError as error:
        raise FormatError([Problem(path, 0, str(error))]) from error


def write_images(images: Images) -> bytes:
    """Return the content of the file `images.json` for these images."""
    return canonical_json(images.model_dump(mode="json")) + b"\n"


def known_image(images: Images, reference: str) -> KnownImage | None:
    """Return the entry of an image in the list of published images, or None if the list lacks the image."""
    return images.images.get(reference)


def known_digest(images: Images, suites: Sequence[Suite]) -> str | None:
    """Return the SHA-256 of the published file with all these suites' images, or None if there is no such file."""
    known = [known_image(images, image_reference(suite.manifest)) for suite in suites]
    digests = {image.sha256 if image else None for image in known}
    return digests.pop() if len(digests) == 1 else None


def published_images(suites: Sequence[Suite], fingerprints: Mapping[str, str], sha256: str) -> Images:
    """Return the list of published images, with an entry for the image of each suite.

    An entry holds the fingerprint of the image, and the SHA-256 of the one file that holds all these images.
    """
    known = {
        image_reference(suite.manifest): KnownImage(fingerprint=fingerprints[suite.manifest.name], sha256=sha256)
        for suite in suites
    }
    return Images(format=1, images=known)


def image_suites(project: Project, names: Sequence[str] = ()) -> list[Suite]:
    """Return the named suites, or all suites on the board if `names` is empty. Ignore invalid submissions."""
    if names:
        return [project.suite(name) for name in dict.fromkeys(names)]
    return list(suites_on_board(project, load_sound(project).submissions).suites)


def named_images(project: Project, names: Sequence[str] = ()) -> tuple[list[str], str | None]:
    """Return the names of these suites' images, and the SHA-256 of the published file that holds all these images.

    The SHA-256 is None if no published file holds all of them.
    """
    chosen = image_suites(project, names)
    digest = known_digest(read_images(fetched_images(project)), chosen)
    return _references(chosen), digest


def _references(suites: Sequence[Suite]) -> list[str]:
    """Return the names of suites' images. An image that several suites share is named once."""
    return list(dict.fromkeys(image_reference(suite.manifest) for suite in suites))


def save(project: Project, progress: Progress, path: Path, suites: Sequence[str] = ()) -> ImageFile:
    """Save the images of the named suites, or of all suites on the board, to one file. First build missing images.

    If the image of an external suite cannot be built, this suite is left out. Its submissions then have no evidence.
    """
    from evaluator.sandbox.engine import find_engine
    from evaluator.sandbox.image import ensure_image
    from evaluator.sandbox.image_files import save_images

    engine = find_engine(os.environ)
    chosen = []
    for suite in image_suites(project, suites):
        try:
            ensure_image(engine, suite.manifest, progress.say)
            chosen.append(suite)
        except InfraError as error:
            if not suite.manifest.foreign or suites:
                raise
            progress.say(f"suite {suite.manifest.name} is left out: {one_line(error)}")
    _set_fingerprints(project, engine, chosen)
    references = _references(chosen)
    progress.say(f"saving {', '.join(references)}")
    return ImageFile(tuple(references), save_images(engine, references, path))


def load(project: Project, progress: Progress, path: Path, sha256: str, suites: Sequence[str] = ()) -> ImageFile:
    """Load the images of the named suites, or of all suites on the board, from a file with this SHA-256.

    If the file has another digest, raises FormatError before the engine reads the file. Raises ImageError if the file
    lacks an image or contains an image that no suite here uses.
    """
    try:
        _DIGEST.validate_python(sha256)
    except ValidationError as error:
        raise UsageError(f"--sha256 {sha256!r:.100}: expected 64 hexadecimal digits in lower case") from error
    return _load(project, progress, path, sha256, suites, Images(format=1))


def load_known(project: Project, progress: Progress, path: Path, suites: Sequence[str] = ()) -> ImageFile | str:
    """Load the suites' images from a file if it is the published file. Otherwise, load nothing and return the reason.

    The published file is the file with the SHA-256 that `images.json` states. Raises ImageError for the same reasons as
    `load`, and also if an image's fingerprint differs from the published fingerprint.
    """
    images = read_images(fetched_images(project))
    chosen = image_suites(project, suites)
    digest = known_digest(images, chosen)
    if digest is None:
        names = ", ".join(_references(chosen))
        return f"no file with {names} is published, or it was not fetched (bashboard fetch)"
    if not path.is_file():
        return f"{path} is not there"
    if (actual := file_digest(path)) != digest:
        return f"{path} has the SHA-256 {actual}: published is {digest}"
    return _load(project, progress, path, digest, suites, images)


def _load(
    project: Project, progress: Progress, path: Path, sha256: str, suites: Sequence[str], published: Images
) -> ImageFile:
    from evaluator.sandbox.engine import find_engine
    from evaluator.sandbox.image_files import load_images

    chosen = image_suites(project, suites)
    here = readable_suites(project)
    expected = {image_reference(suite.manifest) for suite in here.suites}
    engine = find_engine(os.environ)
    progress.say(f"loading {path}")
    others = bool(here.errors.keys() & project.external_suites().keys())
    loaded = load_images(engine, path, sha256, expected, others=others)
    missing = [suite for suite in chosen if image_reference(suite.manifest) not in loaded]
    names = ", ".join(suite.manifest.name for suite in missing)
    if any(suites or not suite.manifest.foreign for suite in missing):
        raise ImageError(f"{path} holds no image of suite {names}: expected all suites on the board")
    if missing:
        progress.say(f"{path} holds no image of suite {names}")
    present = [suite for suite in chosen if image_reference(suite.manifest) in loaded]
    _set_fingerprints(project, engine, present, published)
    return ImageFile(tuple(loaded), sha256)


def _set_fingerprints(
    project: Project, engine: Engine, suites: Sequence[Suite], published: Images | None = None
) -> None:
    """Store the fingerprints of the suites' images. Raises ImageError if a published fingerprint is different."""
    from evaluator.sandbox.image import find_image

    with contextlib.closing(Store(project.store_path)) as store:
        for suite in suites:
            image = find_image(engine, suite.manifest)
            if image is None:
                raise ImageError(f"{image_reference(suite.manifest)} was loaded, but the engine does not list it")
            known = known_image(published, image.reference) if published else None
            if known and known.fingerprint != image.fingerprint:
                raise ImageError(
                    f"{image.reference} has the fingerprint {image.fingerprint}: published is {known.fingerprint}"
                )
            store.set_fingerprint(image.reference, image.fingerprint)
