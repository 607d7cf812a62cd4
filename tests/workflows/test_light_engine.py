"""The relay between the client and the engine: it replaces image files by names, and forwards all other requests."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.errors import FormatError, ImageError
from evaluator.sandbox.container import WorkerPlan
from evaluator.sandbox.engine import Engine, find_engine
from evaluator.sandbox.image import SuiteImage, find_image
from evaluator.sandbox.image_files import load_images, save_images
from tests.doubles.stub_image_engine import StubImageEngine

pytestmark = pytest.mark.engine


@pytest.fixture
def light(engine: Engine) -> Iterator[StubImageEngine]:
    with tempfile.TemporaryDirectory(prefix="light") as folder, StubImageEngine(engine, Path(folder)) as light:
        yield light


def test_images_come_and_go_as_names(
    light: StubImageEngine, image: SuiteImage, plan: WorkerPlan, tmp_path: Path
) -> None:
    """The relay saves an image as a small file and loads the image only if the file's digest is right."""
    relayed = find_engine({"DOCKER_HOST": light.host})
    assert find_image(relayed, plan.manifest) == image
    file = tmp_path / "image.tar.gz"
    sha256 = save_images(relayed, [image.reference], file)
    assert file.stat().st_size < 10_000
    assert load_images(relayed, file, sha256, [image.reference]) == [image.reference]
    assert (light.saved, light.loaded) == ([[image.reference]], [[image.reference]])
    with pytest.raises(FormatError, match="it was not loaded"):
        load_images(relayed, file, "0" * 64, [image.reference])


def test_an_image_that_is_not_there_is_not_loaded(light: StubImageEngine, tmp_path: Path) -> None:
    """A file does not load an image that the real engine lacks."""
    relayed = find_engine({"DOCKER_HOST": light.host})
    file = tmp_path / "image.tar.gz"
    sha256 = save_images(relayed, ["bashboard-suite:absent"], file)
    with pytest.raises(ImageError, match="no bashboard-suite:absent"):
        load_images(relayed, file, sha256, ["bashboard-suite:absent"])
