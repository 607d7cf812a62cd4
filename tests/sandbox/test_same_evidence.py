"""Tests that the same input gives the same evidence on another worker, at another time and in another order.

Exceptions are fields with random values from the kernel, and the output of a task that declares its output volatile.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

import pytest

from evaluator.pipeline.grading.cache_keys import worlds_of_suite
from evaluator.records import Evidence, Output, Task
from evaluator.sandbox.container import ContainerWorker, WorkerPlan
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.pool import Pool
from evaluator.sandbox.requests import Request
from evaluator.suites.load import Suite
from tests.sandbox_harness import SandboxHarness

pytestmark = pytest.mark.engine

SPACING_S = 31.0
SAMPLE = 5
Keys = dict[tuple[str, str, bytes], Request]
Run = Callable[[Sequence[Request]], dict[int, Evidence]]


def reference_requests(suite: Suite, tasks: Sequence[str]) -> Keys:
    """Return a request for every reference of these tasks in every variant."""
    return {
        (task.id, variant, command): Request.of(
            world,
            command,
            verify=task.verify,
            observe=frozenset(observation.value for observation in task.observe),
            text_files=frozenset(path.encode() for path in task.text_files),
        )
        for task in map(suite.task, tasks)
        for variant, world in worlds_of_suite(suite, task.world, task.setup).items()
        for command in task.references
    }


def steady(task: Task, evidence: Evidence) -> Evidence:
    """Return the evidence, without the output if the task declares its output volatile."""
    return evidence if task.volatile is None else evidence.model_copy(update={"stdout": Output()})


def digests(
    engine: Engine, plan: WorkerPlan, suite: Suite, requests: Keys, seed: int
) -> dict[tuple[str, str, bytes], str]:
    """Execute the requests on new workers in a random order given by `seed`, and return the digest of each evidence."""
    keys = sorted(requests)
    random.Random(seed).shuffle(keys)  # noqa: S311 - the order is no secret
    cpus = sorted(os.sched_getaffinity(0))

    def start(slot: int) -> ContainerWorker:
        return ContainerWorker(engine, replace(plan, cpu=cpus[(slot + seed) % len(cpus)]))

    numbered = [replace(requests[key], run_key=(str(number), 0)) for number, key in enumerate(keys)]
    results = {}
    with Pool(start, len(cpus), plan.manifest.limits.wall_s) as pool:
        for request, answer in pool.execute(numbered):
            assert isinstance(answer, Evidence), answer
            key = keys[int(request.run_key[0])]
            results[key] = steady(suite.task(key[0]), answer).digest
    return results


def test_a_sample_of_references_shows_the_same_twice(engine: Engine, plan: WorkerPlan, core: Suite) -> None:
    """A sample of references gives the same evidence on other workers, on another CPU and in another order."""
    tasks = [task.id for task in core.tasks[:: len(core.tasks) // SAMPLE]]
    requests = reference_requests(core, tasks)
    first = digests(engine, plan, core, requests, 1)
    assert first.keys() == requests.keys()
    assert digests(engine, plan, core, requests, 2) == first


@pytest.mark.soak
def test_all_references_show_the_same_at_another_time(engine: Engine, plan: WorkerPlan, core: Suite) -> None:
    """All references of the suite give the same evidence half a minute later."""
    requests = reference_requests(core, [task.id for task in core.tasks])
    first = digests(engine, plan, core, requests, 1)
    assert first.keys() == requests.keys()
    time.sleep(SPACING_S)
    assert digests(engine, plan, core, requests, 2) == first


COMMANDS = """
date; date +%s%N
uptime
free -m
vmstat
w; who
top -bn1 | head -20
ps aux
ps -ef
ps -eo pid,ppid,stat,etime,time,rss,args
pstree -p
cat /proc/self/status
cat /proc/self/stat
cat /proc/self/maps
cat /proc/self/mountinfo
cat /proc/mounts
cat /proc/self/cgroup
cat /proc/stat /proc/meminfo /proc/cpuinfo /proc/loadavg /proc/uptime /proc/vmstat
cat /proc/net/dev /proc/net/tcp /proc/net/unix
cat /proc/sys/kernel/random/uuid
cat /proc/locks
cat /proc/pressure/cpu
ls -l /proc/self/fd
ls -l /proc/self/ns
ls -la /
ls -la /dev
ls -la /etc
ls -laR /srv
ls -lai /etc
ls -U /usr/bin
ls -lt /usr/lib
ls -lc /etc
ls -lu /etc
stat /etc/passwd
stat file
stat -c '%n %s %U %G %a %x %y %z %w' file /etc/hosts
stat -f /
df -h
df -i
du -sh /usr
du -a /srv
find / -xdev -type f -newer file
find / -xdev -mmin -10
find /etc -printf '%p %i %n %s %t %c %a\\n'
mount
id; whoami; groups
uname -a
hostname; hostnamectl
nproc; lscpu
ulimit -a
env
set
declare -p
echo $RANDOM $RANDOM
echo $SRANDOM
echo $$ $PPID $BASHPID
echo $EPOCHREALTIME
shuf -i 1-100
sort -R /etc/passwd
head -c 16 /dev/urandom | xxd
mktemp
mktemp -d
mktemp -u XXXXXXXXXX
awk 'BEGIN { srand(); print rand() }'
perl -e 'print rand, " ", time, " ", $$'
perl -e '%h = map { $_ => 1 } 1 .. 20; print join ",", keys %h'
perl -e 'print \\my $x'
tar czf a.tgz full; sha256sum a.tgz
zip -qr a.zip full; sha256sum a.zip
gzip -k file; sha256sum file.gz
tar cf - full | sha256sum
cpio -o < /dev/null 2>&1 | sha256sum
rsync -av full/ copy/
cp -a full copy; ls -la --time-style=full-iso copy
touch x; stat x
sleep 1; touch x; stat x; date
(echo a & echo b & wait)
seq 20 | xargs -P8 -n1 echo
for i in 1 2 3; do (sleep 0.1; echo $i) & done; wait
sleep 5 & jobs -l; kill %1
time true
{ time sleep 0.2; } 2>&1
timeout 1 sleep 3; echo $?
getconf -a
locale -a
ldd /bin/ls
file /bin/ls
sha256sum /etc/* 2>/dev/null
md5sum /usr/bin/* | sort | tail -3
dpkg -l | tail -5
sudo id
su - tess -c 'id; pwd' 2>&1
cat /etc/passwd /etc/shadow
jq -n 'now'
bc <<< 'scale=20; 4*a(1)' -l
diff <(ls /etc) <(ls /usr)
readlink /proc/self/exe /proc/self/cwd /proc/self/root
""".strip().splitlines()


@pytest.fixture
def other_sandbox(engine: Engine, sandbox: SandboxHarness) -> Iterator[SandboxHarness]:
    """A second worker, on another CPU if there is one."""
    cpus = os.sched_getaffinity(0)
    cpu = max(cpus - {sandbox.plan.cpu} or cpus)
    with ExitStack() as stack:
        harness = SandboxHarness(engine, replace(sandbox.plan, cpu=cpu))
        stack.callback(harness.close)
        yield harness


VOLATILE = {
    "cat /proc/self/status": "counts of context switches and memory, the processor's number",
    "cat /proc/self/stat": "counts of page faults",
    "cat /proc/pressure/cpu": "how busy the machine is",
    "cat /proc/self/maps": "device numbers",
    "cat /proc/self/mountinfo": "device and mount numbers",
    "ls -l /proc/self/fd": "pipe numbers",
    "ls -l /proc/self/ns": "namespace numbers",
    "(echo a & echo b & wait)": "who comes first",
    "seq 20 | xargs -P8 -n1 echo": "who comes first",
    "for i in 1 2 3; do (sleep 0.1; echo $i) & done; wait": "who comes first",
    "ps aux": "resident memory and time",
    "ps -ef": "time spent",
    "ps -eo pid,ppid,stat,etime,time,rss,args": "resident memory and time",
    "top -bn1 | head -20": "time spent",
    "time true": "time spent",
    "{ time sleep 0.2; } 2>&1": "time spent",
}
"""The commands with evidence that may differ, and the reason: machine-wide numbers of the kernel, counts, or races."""


def differing(first: dict[str, Evidence], second: dict[str, Evidence]) -> set[str]:
    return {command for command in first if first[command].digest != second[command].digest}


def test_only_what_is_known_to_differ_does(sandbox: SandboxHarness, other_sandbox: SandboxHarness) -> None:
    """A hundred commands that print time, random numbers, machine and order give the same evidence on two workers.

    The only exceptions are the commands in VOLATILE.
    """
    first = {command: sandbox.run(command) for command in COMMANDS}
    second = {command: other_sandbox.run(command) for command in reversed(COMMANDS)}
    assert differing(first, second) <= set(VOLATILE)


@pytest.mark.soak
def test_only_what_is_known_to_differ_does_so_at_another_time(
    sandbox: SandboxHarness, other_sandbox: SandboxHarness
) -> None:
    """The same commands give the same evidence half a minute later, with the same exceptions."""
    first = {command: sandbox.run(command) for command in COMMANDS}
    time.sleep(SPACING_S)
    second = {command: other_sandbox.run(command) for command in COMMANDS}
    assert differing(first, second) <= set(VOLATILE)


def test_no_more_kinds_differ_than_promised() -> None:
    """There are at most thirteen reasons for different evidence, and each has one of the commands above."""
    assert set(VOLATILE) <= set(COMMANDS)
    assert len(set(VOLATILE.values())) <= 13
