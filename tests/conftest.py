"""Fixtures for all tests: the engine, the suite's image, workers and a browser.

`make test` starts the engine, so these tests fail on a machine without one. BASHBOARD_WITHOUT_ENGINE=1 skips them.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from evaluator.records import SuiteManifest
from evaluator.sandbox.container import WorkerPlan
from evaluator.sandbox.engine import Engine, find_engine
from evaluator.sandbox.image import SuiteImage, ensure_image
from evaluator.suites.load import Suite, load_suite
from tests.sandbox_harness import SandboxHarness, planned

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


# There is no deadline, so that a busy machine fails no test. `--hypothesis-profile=quick` selects the second profile.
settings.register_profile("thorough", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=25)
settings.load_profile("thorough")


def pytest_configure() -> None:
    """Reset signals, umask and the descriptor limit, because the tested programs inherit them from pytest."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGCHLD, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.umask(0o022)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


NEEDS = {"engine": "engine", "chromium": "browser", "build": "slow", "built": "slow"}
"""The mark of a test, by the name of a fixture. The test may use the fixture directly or through another fixture."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that selects the tests of one job of the workflow ci."""
    parser.addoption("--job", choices=("check", "engine", "browser", "workflows"), help="run the tests of a job of ci")


def job_of(item: pytest.Item) -> str:
    """Return the job of the workflow ci that runs a test. Each test belongs to one job."""
    if item.get_closest_marker("browser") or item.get_closest_marker("npm"):
        return "browser"
    if item.get_closest_marker("engine"):
        return "workflows" if item.path.parent.name in ("workflows", "publishing") else "engine"
    return "browser" if item.get_closest_marker("slow") else "check"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by their fixtures. Run the longest tests first, so that parallel processes end at the same time.

    Leave out the tests of other jobs if a job is selected.
    """
    for item in items:
        for fixture, mark in NEEDS.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(mark)
    if job := config.getoption("--job"):
        config.hook.pytest_deselected(items=[item for item in items if job_of(item) != job])
        items[:] = [item for item in items if job_of(item) == job]
    items.sort(key=lambda item: (not item.get_closest_marker("early"), not item.get_closest_marker("engine")))


def process_scope(nodeid: str) -> str:
    """Return what a test shares its process with: its file, or all files that share the workers for attacks."""
    file = nodeid.split("::")[0]
    return "tests/hostile" if file.startswith("tests/hostile/") else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    """Return the scheduling of parallel processes. It keeps the tests of one scope in one process."""
    scheduling = LoadFileScheduling(config, log)
    scheduling._split_scope = process_scope
    return scheduling


def pytest_collection_finish() -> None:
    """Exempt all present objects from garbage collection, because they exist until the end and take long to search."""
    gc.collect()
    gc.freeze()


CORE = Path(__file__).parents[1] / "fixtures" / "core"


@pytest.fixture(scope="session")
def engine() -> Engine:
    if os.environ.get("BASHBOARD_WITHOUT_ENGINE") == "1":
        pytest.skip("BASHBOARD_WITHOUT_ENGINE=1 says that this machine has no engine")
    return find_engine(os.environ)


@pytest.fixture(scope="session")
def core() -> Suite:
    return load_suite(CORE)


@pytest.fixture(scope="session")
def manifest(core: Suite) -> SuiteManifest:
    return core.manifest


@pytest.fixture(scope="session")
def image(engine: Engine, manifest: SuiteManifest) -> SuiteImage:
    return ensure_image(engine, manifest, print)


@pytest.fixture(scope="session")
def plan(image: SuiteImage, manifest: SuiteManifest) -> WorkerPlan:
    """A plan with the suite's own limits. Parallel processes use different CPUs, because a worker stays on its own."""
    cpus = sorted(os.sched_getaffinity(0))
    process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return planned(WorkerPlan(image, manifest, cpus[process % len(cpus)]), cpu_s=manifest.limits.cpu_s)


@pytest.fixture(scope="session")
def hasty_sandbox(engine: Engine, plan: WorkerPlan) -> Iterator[SandboxHarness]:
    """A worker that waits at most three seconds for a command."""
    harness = SandboxHarness(engine, planned(plan, cpu_s=0.3))
    yield harness
    harness.close()


@pytest.fixture(scope="session")
def sandbox(engine: Engine, plan: WorkerPlan) -> Iterator[SandboxHarness]:
    """A worker with one CPU second per command and little memory, so that tests reach the limits soon."""
    harness = SandboxHarness(engine, planned(plan, cpu_s=1.0, memory_mb=64))
    yield harness
    harness.close()


@pytest.fixture(scope="module")
def without_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Name an empty folder as that of the certificates.

    Each client of a model server loads all certificates otherwise. This takes longer than its requests to a double,
    which have no TLS.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
        yield


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser for one test module. The event loop of the browser's driver blocks every other loop in this thread."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS.split())
        yield browser
        browser.close()
