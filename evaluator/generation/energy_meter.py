"""Measure the energy that this machine uses for replies, with a counter of its hardware.

    rapl   the packages of all processors: `intel-rapl:N/energy_uj` in /sys/class/powercap (Intel and AMD)
    nvml   all devices of NVIDIA: their total energy consumption, read with the package nvidia-ml-py

A counter counts all work of the machine, and its idle power. So the numbers are right only if the model server runs on
this machine, and nothing else does. There is no estimate for a machine without a counter.

A counter cannot tell parallel requests apart. So the energy of a run is divided among its new replies by their numbers
of output tokens. A reply is logged together with the energy since the reply before, so a run that is killed loses only
the energy after its last reply.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from evaluator.errors import MissingError
from evaluator.model_server.reply_log import LoggedReply, MeasuredEnergy
from evaluator.records.generation import EnergyCounter
from evaluator.wording import excerpt

POWERCAP: Final = Path("/sys/class/powercap")
READ_EVERY_S: Final = 10.0
"""The smallest range of a RAPL counter is about 65 kJ, which lasts more than a minute at 1 kW."""

_WITHOUT: Final = "or leave out --energy"


class Reading(NamedTuple):
    """The value of a counter in microjoules. After `largest` it begins at 0 again, or never if this is None."""

    microjoules: int
    largest: int | None


Read = Callable[[], Mapping[str, Reading]]
"""Read all counters of a kind, by name. Raises MissingError if one of them cannot be read."""


class EnergyMeter:
    """Sums the counters of one kind during one run. `joules` is the sum, from `begin` to the last reading.

    `failure` is the reason why a counter could not be read, or "". After a failure nothing more is measured. The
    constructor raises MissingError if a counter cannot be read.
    """

    def __init__(self, counter: EnergyCounter, read: Read, every_s: float = READ_EVERY_S) -> None:
        self.counter, self._read, self._every_s = counter, read, every_s
        self.failure = ""
        self.joules = 0.0
        self._taken = 0.0
        self._run = secrets.token_hex(8)
        self._before = read()

    def begin(self) -> None:
        """Forget what the counters counted until now. Raises MissingError if they cannot be read."""
        self._before = self._read()

    def update(self) -> None:
        """Add what the counters counted since the last reading. Call it before a counter overflows twice."""
        if self.failure:
            return
        try:
            now = self._read()
            counted = sum(_difference(name, reading, now[name]) for name, reading in self._before.items())
        except (MissingError, KeyError) as error:
            self.failure = str(error)
            return
        self._before = now
        self.joules += counted / 1e6

    async def keep_updated(self) -> None:
        """Update the sum at intervals, until the task is cancelled."""
        while True:
            self.update()
            await asyncio.sleep(self._every_s)

    def take(self) -> MeasuredEnergy | None:
        """Return the energy since the last call, or since `begin`, or None after a failure."""
        self.update()
        if self.failure:
            return None
        joules, self._taken = self.joules - self._taken, self.joules
        return MeasuredEnergy(counter=self.counter, run=self._run, joules=joules)


def _difference(name: str, before: Reading, now: Reading) -> int:
    """Return the microjoules between two readings. Raises MissingError if a counter without a range went back."""
    if now.microjoules >= before.microjoules:
        return now.microjoules - before.microjoules
    if before.largest is None:
        raise MissingError(f"the counter of {name} went back, because the driver was loaded again")
    return before.largest - before.microjoules + now.microjoules


def energies_of(replies: Iterable[LoggedReply], counter: EnergyCounter) -> dict[str, float]:
    """Return the energy of each reply in joules, by its key: its share of its run by output tokens.

    A reply is left out if it was not measured with this counter, or if the server did not count its tokens.
    """
    runs: dict[str, list[tuple[LoggedReply, float]]] = defaultdict(list)
    for reply in replies:
        if reply.energy is not None and reply.energy.counter is counter:
            runs[reply.energy.run].append((reply, reply.energy.joules))
    energies: dict[str, float] = {}
    for run in runs.values():
        joules, tokens = sum(each for _, each in run), sum(reply.output_tokens for reply, _ in run)
        energies |= {reply.key: joules * reply.output_tokens / tokens for reply, _ in run if reply.output_tokens}
    return energies


def open_meter(counter: EnergyCounter, powercap: Path = POWERCAP) -> EnergyMeter:
    """Return a meter of this machine. Raises MissingError, with what to do, if a counter is missing or unreadable."""
    if counter is EnergyCounter.RAPL:
        return EnergyMeter(counter, lambda: dict(_rapl(powercap)))
    return EnergyMeter(counter, nvml_read(_pynvml()))


def _rapl(powercap: Path) -> Iterator[tuple[str, Reading]]:
    """Yield the reading of each package. The other zones, such as `psys` and `core`, count some of the same energy."""
    packages = [zone for zone in sorted(powercap.glob("intel-rapl:*")) if _is_package(zone)]
    if not packages:
        raise MissingError(
            f"--energy rapl: this machine has no counter {powercap}/intel-rapl:*/energy_uj: run `sudo modprobe "
            f"intel_rapl_msr` (a virtual machine usually has no counter), {_WITHOUT}"
        )
    for zone in packages:
        yield zone.name, Reading(_number(zone / "energy_uj"), _number(zone / "max_energy_range_uj"))


def _is_package(zone: Path) -> bool:
    """Return whether a zone is a processor. A zone `intel-rapl:0:1` is a part of `intel-rapl:0`."""
    try:
        return zone.name.count(":") == 1 and (zone / "name").read_text().startswith("package")
    except (OSError, ValueError):
        return False


def _number(path: Path) -> int:
    try:
        text = path.read_text("ascii").strip()
    except (OSError, ValueError) as error:
        raise MissingError(
            f"--energy rapl: {path} cannot be read ({error}): run `sudo chmod a+r {path.parent.parent}/intel-rapl:*/"
            f"{path.name}`, {_WITHOUT}"
        ) from error
    if not text.isdecimal():
        raise MissingError(f"--energy rapl: {path}: expected a number of microjoules, found {excerpt(text)}")
    return int(text)


def _pynvml() -> Any:
    try:
        import pynvml
    except ImportError as error:
        raise MissingError(f"--energy nvml: run `pip install nvidia-ml-py`, {_WITHOUT}") from error
    return pynvml


def nvml_read(library: Any) -> Read:
    """Return a function that reads all devices. `library` is the module pynvml.

    Raises MissingError if the driver or a device is missing. The function raises it for a missing counter.
    """
    try:
        library.nvmlInit()
        devices = [library.nvmlDeviceGetHandleByIndex(number) for number in range(library.nvmlDeviceGetCount())]
    except library.NVMLError as error:
        raise MissingError(f"--energy nvml: no driver of NVIDIA answers ({error}): install one, {_WITHOUT}") from error
    if not devices:
        raise MissingError(f"--energy nvml: this machine has no device of NVIDIA: use another machine, {_WITHOUT}")

    def read() -> dict[str, Reading]:
        return {f"device {number}": _device_reading(library, number, device) for number, device in enumerate(devices)}

    return read


def _device_reading(library: Any, number: int, device: Any) -> Reading:
    try:
        return Reading(1000 * int(library.nvmlDeviceGetTotalEnergyConsumption(device)), None)
    except library.NVMLError as error:
        raise MissingError(
            f"--energy nvml: device {number} has no readable energy counter ({error}), as devices before Volta have "
            f"none: use another machine, {_WITHOUT}"
        ) from error


def is_on_this_machine(base_url: str) -> bool:
    """Return whether a server has an address of this machine, on which a socket could listen."""
    url = urlsplit(base_url)
    try:
        found = socket.getaddrinfo(url.hostname, 0, type=socket.SOCK_DGRAM)
    except OSError:
        return False
    return any(_is_own(family, address) for family, _, _, _, address in found)


def _is_own(family: socket.AddressFamily, address: tuple[Any, ...]) -> bool:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind(address)
    except OSError:
        return False
    return True
