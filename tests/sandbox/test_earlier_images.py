"""Tests of the earlier images of a suite's base: the latest images are kept, and older images are removed.

No other image is removed.
"""

from __future__ import annotations

import io
import secrets
import tarfile
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from evaluator.records import Base, Limits, SuiteManifest
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.image import BASE_LABEL, KEPT, earlier_images, prune_images
from evaluator.sandbox.image_recipe import REPOSITORY, declared_base, image_reference

pytestmark = pytest.mark.engine

Make = Callable[[str, str], str]


@pytest.fixture
def suite(manifest: SuiteManifest) -> SuiteManifest:
    """The manifest of a suite with an image of its own, because no other suite has its clock."""
    return other_base(manifest)


def other_base(manifest: SuiteManifest) -> SuiteManifest:
    """Return the manifest with another clock, an input of the image."""
    return manifest.model_copy(update={"clock": manifest.clock + timedelta(seconds=1 + secrets.randbelow(10**9))})


def tag_of(name: str) -> str:
    return f"{REPOSITORY}:trixie-test{secrets.token_hex(4)}-{name}"


@pytest.fixture
def make(engine: Engine) -> Iterator[Make]:
    """A function that makes a small image with this tag and with this value of its label."""
    tags = []

    def create(tag: str, base: str) -> str:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.addfile(tarfile.TarInfo(secrets.token_hex(4)))
        changes = [f"LABEL {BASE_LABEL}={base}"]
        engine.client.api.import_image_from_data(packed.getvalue(), repository=tag, changes=changes)
        tags.append(tag)
        return tag

    yield create
    for tag in tags:
        if is_there(engine, tag):
            engine.client.images.remove(tag, force=True)


def is_there(engine: Engine, tag: str) -> bool:
    return bool(engine.client.images.list(name=tag))


def test_the_latest_stay_and_older_ones_go(engine: Engine, suite: SuiteManifest, make: Make) -> None:
    """The latest images are kept, and older images are removed. The current image is kept however old it is."""
    current = make(image_reference(suite), declared_base(suite))
    tags = [make(tag_of(str(number)), declared_base(suite)) for number in range(KEPT + 2)]
    assert earlier_images(engine, suite) == tags[::-1]
    assert set(prune_images(engine, suite)) == set(tags[:2])
    assert [is_there(engine, tag) for tag in (current, *tags)] == [True, False, False, *[True] * KEPT]
    assert prune_images(engine, suite) == []


def test_none_goes_that_a_container_is_made_of(engine: Engine, suite: SuiteManifest, make: Make) -> None:
    """An image with a container is not removed, because another checkout may still use the container."""
    tags = [make(tag_of(str(number)), declared_base(suite)) for number in range(KEPT + 2)]
    container = engine.client.containers.create(tags[0], ["true"], network_mode="none")
    try:
        assert prune_images(engine, suite) == [tags[1]]
    finally:
        container.remove(force=True)


def test_what_is_not_ours_stays(engine: Engine, suite: SuiteManifest, make: Make) -> None:
    """Images of another base, with a foreign tag, or with our tag but without our label are kept."""
    others = [
        *(make(tag_of(f"more-{number}"), declared_base(other_base(suite))) for number in range(KEPT + 1)),
        *(make(f"bashboard-test:{secrets.token_hex(4)}-{number}", declared_base(suite)) for number in range(KEPT + 1)),
        *(make(tag_of(f"foreign-{number}"), "") for number in range(KEPT + 1)),
    ]
    assert prune_images(engine, suite) == []
    assert all(is_there(engine, tag) for tag in others)


def test_suites_with_equal_inputs_share_an_image(manifest: SuiteManifest) -> None:
    """Neither the name nor the limits of a suite are inputs of its image. Its packages, clock and release are."""
    other = manifest.model_copy(update={"name": "other", "version": "9.0.0", "limits": Limits(cpu_s=1)})
    assert image_reference(other) == image_reference(manifest)
    assert image_reference(manifest).startswith(f"{REPOSITORY}:trixie-")
    bases = [Base(packages=("jq",)), Base(release="bookworm", packages=manifest.base.packages)]
    others = [manifest.model_copy(update={"base": base}) for base in bases]
    assert len({image_reference(each) for each in (manifest, *others, other_base(manifest))}) == 4
