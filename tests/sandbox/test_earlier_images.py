"""Tests of the images of a suite's earlier inputs: the latest images are kept, and older images are removed.

No other image is removed.
"""

from __future__ import annotations

import io
import secrets
import tarfile
from collections.abc import Callable, Iterator

import pytest

from evaluator.records import SuiteManifest
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.image import KEPT, SUITE_LABEL, earlier_images, prune_images
from evaluator.sandbox.image_recipe import REPOSITORY, image_reference

pytestmark = pytest.mark.engine

Make = Callable[[str, str], str]


@pytest.fixture
def suite(manifest: SuiteManifest) -> SuiteManifest:
    """The manifest of a suite for this test, with a name of its own."""
    return manifest.model_copy(update={"name": f"test{secrets.token_hex(4)}"})


@pytest.fixture
def make(engine: Engine) -> Iterator[Make]:
    """A function that makes a small image with this tag and with this suite in its label."""
    tags = []

    def create(tag: str, suite: str) -> str:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.addfile(tarfile.TarInfo(secrets.token_hex(4)))
        changes = [f"LABEL {SUITE_LABEL}={suite}"]
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
    current = make(image_reference(suite), suite.name)
    tags = [make(f"{REPOSITORY}:{suite.name}-{number}", suite.name) for number in range(KEPT + 2)]
    assert earlier_images(engine, suite) == tags[::-1]
    assert sorted(prune_images(engine, suite)) == tags[:2]
    assert [is_there(engine, tag) for tag in (current, *tags)] == [True, False, False, *[True] * KEPT]
    assert prune_images(engine, suite) == []


def test_none_goes_that_a_container_is_made_of(engine: Engine, suite: SuiteManifest, make: Make) -> None:
    """An image with a container is not removed, because another checkout may still use the container."""
    tags = [make(f"{REPOSITORY}:{suite.name}-{number}", suite.name) for number in range(KEPT + 2)]
    container = engine.client.containers.create(tags[0], ["true"], network_mode="none")
    try:
        assert prune_images(engine, suite) == [tags[1]]
    finally:
        container.remove(force=True)


def test_what_is_not_ours_stays(engine: Engine, suite: SuiteManifest, make: Make) -> None:
    """Images of another suite, with a foreign tag, or with our tag but without our label are kept."""
    others = [
        *(make(f"{REPOSITORY}:{suite.name}-more-{number}", f"{suite.name}-more") for number in range(KEPT + 1)),
        *(make(f"bashboard-test:{suite.name}-{number}", suite.name) for number in range(KEPT + 1)),
        *(make(f"{REPOSITORY}:{suite.name}-foreign-{number}", "") for number in range(KEPT + 1)),
    ]
    assert prune_images(engine, suite) == []
    assert all(is_there(engine, tag) for tag in others)
