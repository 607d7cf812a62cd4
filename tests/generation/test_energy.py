"""Energy of replies: the counters of RAPL in a folder in the form of the kernel's, those of NVML, and its division."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import MissingError, UsageError
from evaluator.files import write_whole
from evaluator.generation.energy_meter import (
    EnergyMeter,
    Reading,
    energies_of,
    is_on_this_machine,
    nvml_read,
    open_meter,
)
from evaluator.model_server.client import ModelReply
from evaluator.model_server.reply_log import LoggedReply, MeasuredEnergy
from evaluator.pipeline.generation.generate_submission import generate
from evaluator.pipeline.generation.recipe import endpoint_of
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import check_folders
from evaluator.progress import NullProgress
from evaluator.records import EnergyCounter
from tests.doubles.model_server import Act, JudgeServer, ReceivedRequest, Said, completion
from tests.generation.generation_harness import TASKS, echoes, options_for

RANGE_UJ = 100_000_000


class Powercap:
    """A folder in the form of /sys/class/powercap, with two packages whose counters begin near their largest value.

    The zones `psys`, `core` and `intel-rapl-mmio` count energy that the packages count too.
    """

    ZONES = ("intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1", "intel-rapl:2", "intel-rapl-mmio:0")
    NAMES = ("package-0", "core", "package-1", "psys", "package-0")

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._values = dict.fromkeys(self.ZONES, RANGE_UJ - 1_000_000)
        for zone, name in zip(self.ZONES, self.NAMES, strict=True):
            (root / zone).mkdir(parents=True)
            (root / zone / "name").write_text(f"{name}\n")
            (root / zone / "max_energy_range_uj").write_text(f"{RANGE_UJ}\n")
            self.spend(zone, 0)

    def spend(self, zone: str, joules: float) -> None:
        with self._lock:
            self._values[zone] = (self._values[zone] + int(joules * 1e6)) % RANGE_UJ
            write_whole(self.root / zone / "energy_uj", f"{self._values[zone]}\n".encode())

    def spending(self, act: Act, joules: float = 3.0) -> Act:
        """Return an act that uses these joules in each package, and many in the other zones."""

        def answer(asked: ReceivedRequest) -> Said:
            for zone, name in zip(self.ZONES, self.NAMES, strict=True):
                self.spend(zone, joules if name.startswith("package") and "mmio" not in zone else 17.0)
            return act(asked)

        return answer


@pytest.fixture
def powercap(tmp_path: Path) -> Powercap:
    return Powercap(tmp_path / "powercap")


def counted(tokens: Callable[[ReceivedRequest], int]) -> Act:
    """Answer with as many output tokens as the function says."""

    def answer(asked: ReceivedRequest) -> Said:
        body = json.loads(completion("ls").body)
        body["usage"]["completion_tokens"] = tokens(asked)
        return Said(200, json.dumps(body).encode())

    return answer


def run(project: Project, powercap: Powercap, server: JudgeServer, **options: Any) -> list[float | None]:
    """Generate answers, and return the energy of each."""
    options = {"energy": "rapl", **options}
    generate(project, options_for(server, "parser", powercap=powercap.root, **options), NullProgress())
    lines = (project.root / "submissions" / "my-model" / "tiny.jsonl").read_text().splitlines()
    return [json.loads(line).get("energy_j") for line in lines]


def test_the_energy_of_all_packages_is_counted_beyond_the_end_of_their_range(
    project: Project, powercap: Powercap
) -> None:
    with JudgeServer(powercap.spending(echoes)) as server:
        found = run(project, powercap, server)
    assert found == [pytest.approx(6.0)] * TASKS
    manifest = (project.root / "submissions" / "my-model" / "submission.toml").read_text()
    assert 'energy = "rapl"' in manifest
    faults = [each.message for each in check_folders(project, [project.root / "submissions" / "my-model"])]
    assert [fault for fault in faults if "authors" not in fault] == []


def test_a_run_is_divided_among_its_tasks_by_output_tokens(project: Project, powercap: Powercap) -> None:
    tokens = counted(lambda asked: 30 if "number 0" in asked.messages[-1]["content"] else 10)
    with JudgeServer(powercap.spending(tokens)) as server:
        assert run(project, powercap, server, limit=2) == [9.0, 3.0]


def test_a_reply_of_the_log_keeps_its_energy(project: Project, powercap: Powercap) -> None:
    with JudgeServer(powercap.spending(echoes, 5.0), [powercap.spending(echoes, 3.0)] * 2) as server:
        assert run(project, powercap, server, limit=2) == [6.0, 6.0]
        assert run(project, powercap, server, limit=4) == [6.0, 6.0, 10.0, 10.0]
        assert run(project, powercap, server, limit=4) == [6.0, 6.0, 10.0, 10.0]
        assert len(server.asked) == 4


def test_a_reply_that_was_not_measured_has_no_energy(project: Project, powercap: Powercap) -> None:
    with JudgeServer(powercap.spending(echoes)) as server:
        assert run(project, powercap, server, limit=2, energy=None) == [None, None]
        with pytest.raises(UsageError, match=r"made in another way \(energy\)"):
            run(project, powercap, server, limit=3)
        assert run(project, powercap, server, limit=3, replace=True) == [None, None, 6.0]


def test_a_server_that_counts_no_tokens_leaves_the_energy_undivided(project: Project, powercap: Powercap) -> None:
    with JudgeServer(powercap.spending(lambda _: completion("ls", usage=False))) as server:
        assert run(project, powercap, server, limit=2) == [None, None]


def test_a_counter_that_disappears_ends_the_measurement_and_not_the_run(project: Project, powercap: Powercap) -> None:
    def answer(asked: ReceivedRequest) -> Said:
        if "number 2" not in asked.messages[-1]["content"]:
            return powercap.spending(echoes)(asked)
        (powercap.root / "intel-rapl:1" / "energy_uj").unlink()
        return echoes(asked)

    with JudgeServer(answer) as server:
        assert run(project, powercap, server, limit=3, parallel=1) == [6.0, 6.0, None]


def without_folder(root: Path) -> None:
    root.rename(root.with_name("elsewhere"))


def without_names(root: Path) -> None:
    for zone in root.iterdir():
        (zone / "name").unlink()


def with_unreadable_counter(root: Path) -> None:
    """Put a folder in the place of a counter, because root can read each file."""
    (root / "intel-rapl:1" / "energy_uj").unlink()
    (root / "intel-rapl:1" / "energy_uj").mkdir()


def with_another_text(root: Path) -> None:
    (root / "intel-rapl:0" / "max_energy_range_uj").write_text("much\n")


BROKEN: dict[Callable[[Path], None], str] = {
    without_folder: "has no counter .* run `sudo modprobe intel_rapl_msr`",
    without_names: "has no counter",
    with_unreadable_counter: r"cannot be read .* run `sudo chmod a\+r .*/intel-rapl:\*/energy_uj`, or leave out",
    with_another_text: "expected a number of microjoules, found 'much'",
}


@pytest.mark.parametrize(("breaks", "message"), BROKEN.items())
def test_a_missing_counter_is_refused_before_the_first_request(
    breaks: Callable[[Path], None], message: str, project: Project, powercap: Powercap
) -> None:
    breaks(powercap.root)
    with JudgeServer(echoes) as server:
        with pytest.raises(MissingError, match=message):
            generate(project, options_for(server, energy="rapl", powercap=powercap.root), NullProgress())
        assert server.asked == []


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("http://127.0.0.1:8080/v1", True),
        ("http://localhost/v1", True),
        ("http://192.0.2.7/v1", False),
        ("https://server.invalid/v1", False),
    ],
)
def test_only_a_server_of_this_machine_can_be_measured(base_url: str, expected: bool) -> None:
    assert is_on_this_machine(base_url) is expected


def test_a_server_elsewhere_is_refused(project: Project, powercap: Powercap) -> None:
    with JudgeServer(echoes) as server:
        options = options_for(server, energy="rapl", powercap=powercap.root)
    options = replace(options, endpoint=endpoint_of("http://192.0.2.7/v1", "a-model", key_variable="MY_KEY"))
    with pytest.raises(UsageError, match=r"http://192\.0\.2\.7/v1 is not on this machine"):
        generate(project, options, NullProgress())


def test_a_counter_that_goes_round_during_one_long_request_is_read_often_enough() -> None:
    values = iter(range(0, 1_000_000_000, 60_000_000))

    def read() -> dict[str, Reading]:
        return {"package-0": Reading(next(values) % RANGE_UJ, RANGE_UJ)}

    async def wait() -> EnergyMeter:
        meter = EnergyMeter(EnergyCounter.RAPL, read, every_s=0.001)
        meter.begin()
        task = asyncio.create_task(meter.keep_updated())
        while meter.joules < 500:
            await asyncio.sleep(0)
        task.cancel()
        return meter

    assert asyncio.run(wait()).joules % 60 == pytest.approx(0)


def test_each_run_is_divided_alone() -> None:
    def reply(key: str, run: str | None, joules: float, tokens: int, counter: str = "rapl") -> LoggedReply:
        energy = MeasuredEnergy(counter=EnergyCounter(counter), run=run, joules=joules) if run else None
        received = ModelReply("ls", "stop", True, input_tokens=9, output_tokens=tokens, usd=0.0, latency_s=1.0)
        return LoggedReply(key=key * 64, energy=energy, **received._asdict())

    replies = [
        reply("a", "one", 1.0, 10),
        reply("b", "one", 3.0, 30),
        reply("c", "two", 7.0, 5),
        reply("d", None, 0.0, 5),
        reply("e", "three", 5.0, 5, "nvml"),
        reply("f", "two", 1.0, 0),
    ]
    assert energies_of(replies, EnergyCounter.RAPL) == {"a" * 64: 1.0, "b" * 64: 3.0, "c" * 64: 8.0}


class Nvml:
    """A double of the module pynvml with the energies of its devices in millijoules, or None for an old device."""

    class NVMLError(Exception):
        """The error of the driver."""

    def __init__(self, *energies: int | None, driver: bool = True) -> None:
        self.energies, self._driver = list(energies), driver

    def nvmlInit(self) -> None:  # noqa: N802 - the name in the library
        if not self._driver:
            raise self.NVMLError("NVML Shared Library Not Found")

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.energies)

    def nvmlDeviceGetHandleByIndex(self, number: int) -> int:  # noqa: N802
        return number

    def nvmlDeviceGetTotalEnergyConsumption(self, device: int) -> int:  # noqa: N802
        energy = self.energies[device]
        if energy is None:
            raise self.NVMLError("Not Supported")
        return energy


def test_the_energy_of_all_devices_is_counted() -> None:
    library = Nvml(1_000_000, 5_000)
    meter = EnergyMeter(EnergyCounter.NVML, nvml_read(library))
    library.energies = [1_002_500, 6_000]
    energy = meter.take()
    assert energy is not None
    assert energy.joules == pytest.approx(3.5)
    library.energies = [0, 6_000]
    assert meter.take() is None
    assert "the driver was loaded again" in meter.failure


@pytest.mark.parametrize(
    ("library", "message"),
    [
        (Nvml(driver=False), r"no driver of NVIDIA answers \(NVML Shared Library Not Found\)"),
        (Nvml(), "no device of NVIDIA"),
        (Nvml(1, None), r"device 1 has no readable energy counter \(Not Supported\)"),
    ],
)
def test_a_machine_without_such_devices_is_refused(library: Nvml, message: str) -> None:
    with pytest.raises(MissingError, match=message):
        EnergyMeter(EnergyCounter.NVML, nvml_read(library))


@pytest.mark.parametrize("counter", EnergyCounter)
def test_this_machine_is_measured_or_refused_with_what_to_do(counter: EnergyCounter) -> None:
    try:
        refusal = "" if open_meter(counter).take() else "no energy"
    except MissingError as error:
        refusal = str(error)
    assert not refusal or "or leave out --energy" in refusal
