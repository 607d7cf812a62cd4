"""Tests of sandbox images as files, with the real engine: a saved image is loaded only if its digest is confirmed."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import secrets
import tarfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evaluator.errors import ImageError
from evaluator.pipeline.evidence.images import published_images, write_images
from evaluator.pipeline.project import Project
from evaluator.records import Images, KnownImage
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.image import BASE_LABEL, PACKAGES_FILE, SuiteImage, find_image
from evaluator.sandbox.image_files import load_images, save_images
from evaluator.sandbox.image_recipe import declared_base, fingerprint, image_reference
from evaluator.store import Store
from evaluator.suites.load import Suite, load_suite
from evaluator.testing.checkouts import small_task, write_submission, write_suite
from tests.publishing.evidence_harness import run

pytestmark = pytest.mark.engine

CORE = Path(__file__).parents[2] / "fixtures" / "core"
PACKAGES = ("base-files=1", "bash=5")


@dataclass
class Carried:
    """A checkout with one suite. The engine has a tiny image under the name of the suite's image."""

    engine: Engine
    project: Project
    suite: Suite
    file: Path

    @property
    def reference(self) -> str:
        return image_reference(self.suite.manifest)

    def build(self, reference: str, packages: tuple[str, ...] = PACKAGES) -> None:
        """Import an image that has only the package list and the label, which are the parts that `find_image` reads."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            entry, data = tarfile.TarInfo(PACKAGES_FILE.lstrip("/")), "\n".join(packages).encode()
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        label = [f"LABEL {BASE_LABEL}={declared_base(self.suite.manifest)}"]
        self.engine.client.api.import_image_from_data(packed.getvalue(), repository=reference, changes=label)

    def remove(self, *references: str) -> None:
        for reference in references:
            if self.is_there(reference):
                self.engine.client.images.remove(reference, force=True)

    def is_there(self, reference: str) -> bool:
        return bool(self.engine.client.images.list(name=reference))

    def fingerprint(self) -> str | None:
        with closing(Store(self.project.store_path)) as store:
            return store.fingerprint(self.reference)

    def publish(self, sha256: str, packages: tuple[str, ...] = PACKAGES) -> None:
        """Write the digest of the published image file to the fetched files."""
        folder = self.project.store_path.with_name("evidence")
        folder.mkdir(parents=True, exist_ok=True)
        made = fingerprint(self.engine.architecture, packages)
        (folder / "images.json").write_bytes(
            write_images(published_images([self.suite], {self.suite.manifest.name: made}, sha256))
        )


def other_clock() -> str:
    """Return a clock that no other suite has, so that the suite's image is not shared."""
    return (datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=secrets.randbelow(10**9))).isoformat()


@pytest.fixture
def carried(engine: Engine, tmp_path: Path) -> Iterator[Carried]:
    name = f"test{secrets.token_hex(4)}"
    write_suite(tmp_path, [small_task("files-1")], name=name, clock=other_clock())
    write_submission(tmp_path, "first", {"files-1": ["right"]}, suite=name)
    project = Project.find(tmp_path)
    (suite,) = project.suites()
    made = Carried(engine, project, suite, tmp_path / "prepared" / "image.tar.gz")
    made.build(made.reference)
    yield made
    made.remove(made.reference)


def test_what_was_saved_is_loaded_and_is_the_suites_image(carried: Carried, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    saved = run(tmp_path, "image", "save", str(carried.file), "--outputs", GITHUB_OUTPUT=str(outputs))
    assert saved.exit_code == 0, saved.output
    digest = saved.stdout.strip()
    assert digest == hashlib.sha256(carried.file.read_bytes()).hexdigest() == outputs.read_text().splitlines()[1]
    carried.remove(carried.reference)
    carried.project.store_path.unlink()
    loaded = run(tmp_path, "image", "load", str(carried.file), "--sha256", digest)
    assert (loaded.exit_code, loaded.stdout.strip()) == (0, digest), loaded.output
    assert carried.is_there(carried.reference)
    assert carried.fingerprint() == fingerprint(carried.engine.architecture, PACKAGES)
    again = run(tmp_path, "image", "save", str(tmp_path / "again.tar.gz"))
    assert again.stdout.strip() == digest, "the same image makes the same file"


def test_another_file_never_reaches_the_engine(carried: Carried, tmp_path: Path) -> None:
    run(tmp_path, "image", "save", str(carried.file))
    carried.remove(carried.reference)
    found = run(tmp_path, "image", "load", str(carried.file), "--sha256", "0" * 64)
    assert (found.exit_code, "it was not loaded" in found.stderr) == (1, True)
    assert not carried.is_there(carried.reference)


def test_an_image_of_another_name_is_taken_from_the_engine_again(carried: Carried, tmp_path: Path) -> None:
    """A file with an image of another name is refused even with its correct digest, and the image is removed.

    Otherwise the file could replace the image of another program.
    """
    stranger = f"test{secrets.token_hex(4)}:latest"
    carried.build(stranger)
    with gzip.open(tmp_path / "both.tar.gz", "wb") as packed:
        for piece in carried.engine.client.images.get(stranger).save(named=True):
            packed.write(piece)
    carried.remove(stranger)
    digest = hashlib.sha256((tmp_path / "both.tar.gz").read_bytes()).hexdigest()
    found = run(tmp_path, "image", "load", str(tmp_path / "both.tar.gz"), "--sha256", digest)
    assert (found.exit_code, f"holds {stranger}: expected {carried.reference}" in found.stderr) == (3, True)
    assert not carried.is_there(stranger)


def test_the_image_of_a_suite_that_was_not_fetched_is_passed_over(carried: Carried, tmp_path: Path) -> None:
    """A file of an earlier job loads the images of the other suites, and removes the tag of this image."""
    other = f"bashboard-suite:trixie-absent{secrets.token_hex(4)}"
    carried.build(other, (*PACKAGES, "other=1"))
    file = tmp_path / "both.tar.gz"
    digest = save_images(carried.engine, [carried.reference, other], file)
    carried.remove(carried.reference, other)
    with pytest.raises(ImageError, match=f"holds {other}"):
        load_images(carried.engine, file, digest, [carried.reference])
    assert load_images(carried.engine, file, digest, [carried.reference], others=True) == [carried.reference]
    assert not carried.is_there(other)


def test_what_the_engine_cannot_load_is_said(carried: Carried, tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(b"junk")
    digest = hashlib.sha256(b"junk").hexdigest()
    found = run(tmp_path, "image", "load", str(tmp_path / "junk"), "--sha256", digest)
    assert (found.exit_code, str(tmp_path / "junk") in found.stderr) == (3, True)


def test_a_cached_file_is_taken_if_it_is_the_published_one(carried: Carried, tmp_path: Path) -> None:
    digest = run(tmp_path, "image", "save", str(carried.file)).stdout.strip()
    carried.remove(carried.reference)
    load = ("image", "load", str(carried.file), "--known")
    unpublished = run(tmp_path, *load)
    assert (unpublished.exit_code, "is published" in unpublished.stderr) == (1, True)
    carried.publish("0" * 64)
    other = run(tmp_path, *load)
    assert (other.exit_code, f"has the SHA-256 {digest}: published is {'0' * 64}" in other.stderr) == (1, True)
    assert not carried.is_there(carried.reference)
    carried.publish(digest)
    assert run(tmp_path, *load).exit_code == 0
    assert carried.is_there(carried.reference)


def test_a_published_image_has_the_fingerprint_that_is_published(carried: Carried, tmp_path: Path) -> None:
    digest = run(tmp_path, "image", "save", str(carried.file)).stdout.strip()
    carried.publish(digest, ("bash=6",))
    found = run(tmp_path, "image", "load", str(carried.file), "--known")
    assert (found.exit_code, "published is" in found.stderr) == (3, True)


def test_what_is_not_in_the_cache_is_built_and_saved(carried: Carried, tmp_path: Path) -> None:
    """With `--or-build`, one command makes the image and its file available if the cache has no file."""
    outputs = tmp_path / "outputs"
    load = ("image", "load", str(carried.file), "--known", "--or-build", "--outputs")
    found = run(tmp_path, *load, GITHUB_OUTPUT=str(outputs))
    assert found.exit_code == 0, found.output
    assert outputs.read_text().splitlines()[1] == hashlib.sha256(carried.file.read_bytes()).hexdigest()


def test_the_published_file_is_named_without_an_engine(carried: Carried, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    words, environment = (
        ("image", "reference", "--outputs"),
        {"GITHUB_OUTPUT": str(outputs), "DOCKER_HOST": "tcp://x:1"},
    )
    assert run(tmp_path, *words, **environment).stdout.strip() == carried.reference
    carried.publish("5" * 64)
    assert run(tmp_path, *words, **environment).exit_code == 0
    assert outputs.read_text().splitlines()[1::3] == [carried.reference, "", carried.reference, "5" * 64]


@pytest.mark.parametrize("options", [[], ["--known", "--sha256", "0" * 64], ["--sha256", "0" * 64, "--or-build"]])
def test_an_image_is_loaded_by_digest_or_not_at_all(carried: Carried, tmp_path: Path, options: list[str]) -> None:
    found = run(tmp_path, "image", "load", str(carried.file), *options)
    assert (found.exit_code, "an image is taken by digest" in found.stderr) == (2, True)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"format":2,"images":{}}',
        b'{"format":1,"images":{"a b":{}}}',
        b'{"format":1,"images":{"a:b":{"fingerprint":"x","sha256":"y"}}}',
        b'{"format":1,"images":{},"more":1}',
        b" " * (1 << 20) + b"{}",
    ],
    ids=repr,
)
def test_a_broken_list_of_images_is_refused_with_its_path(carried: Carried, tmp_path: Path, content: bytes) -> None:
    carried.publish("0" * 64)
    (tmp_path / ".bashboard" / "evidence" / "images.json").write_bytes(content)
    found = run(tmp_path, "image", "load", str(carried.file), "--known")
    assert (found.exit_code, ".bashboard/evidence/images.json: " in found.stderr) == (1, True)


def test_one_file_of_several_suites_is_known_where_all_were_published_by_it(carried: Carried, tmp_path: Path) -> None:
    """A file with the images of several suites is known only if it was published for all of these suites."""
    write_suite(tmp_path, [small_task("files-1")], name="another", clock=other_clock())
    listed = run(tmp_path, "image", "reference").stdout.split()
    assert carried.reference in listed
    assert len(listed) == 2
    known = KnownImage(fingerprint="f" * 64, sha256="1" * 64)
    folder = carried.project.store_path.with_name("evidence")
    folder.mkdir(parents=True)
    for images, said in (({listed[0]: known}, "no file with them"), (dict.fromkeys(listed, known), "1" * 64)):
        (folder / "images.json").write_text(json.dumps(Images(format=1, images=images).model_dump(mode="json")))
        assert said in run(tmp_path, "image", "reference").stderr


def test_suites_with_one_image_are_saved_and_loaded_together(carried: Carried, tmp_path: Path) -> None:
    """The file holds the shared image once, and both suites can use it."""
    clock = carried.suite.manifest.clock.isoformat()
    folder = write_suite(tmp_path, [small_task("files-2")], name="another", clock=clock)
    assert image_reference(load_suite(folder).manifest) == carried.reference
    names = (carried.suite.manifest.name, "another")
    chosen = [option for name in names for option in ("--suite", name)]
    saved = run(tmp_path, "image", "save", str(carried.file), *chosen)
    assert run(tmp_path, "image", "reference", *chosen).stdout.split() == [carried.reference]
    carried.remove(carried.reference)
    loaded = run(tmp_path, "image", "load", str(carried.file), "--sha256", saved.stdout.strip(), *chosen)
    assert (loaded.exit_code, carried.is_there(carried.reference)) == (0, True), loaded.output


@pytest.mark.soak
def test_a_suites_real_image_goes_into_a_file_and_back(engine: Engine, image: SuiteImage, tmp_path: Path) -> None:
    """A saved image is equal after loading, and saving it twice gives the same bytes."""
    first = save_images(engine, [image.reference], tmp_path / "first.tar.gz")
    assert save_images(engine, [image.reference], tmp_path / "second.tar.gz") == first
    assert load_images(engine, tmp_path / "first.tar.gz", first, {image.reference}) == [image.reference]
    found = find_image(engine, load_suite(CORE).manifest)
    assert found == image
