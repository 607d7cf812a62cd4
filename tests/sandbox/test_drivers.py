"""Tests of tasks with a driver: in a container, the driver calls the answer as a script, and a verifier decides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evaluator.records import Evidence
from evaluator.sandbox.requests import Request, evidence_key
from evaluator.sandbox.runner.protocol import SandboxJob
from tests.sandbox_harness import TESS, TINY, SandboxHarness

ANSWER = b"/srv/tiny/bin/answer.sh"
WORLD = replace(TINY, setup=b"mkdir -m 751 bin; chown 1500:1600 bin; touch -d '2024-02-03 04:05:06' bin")

CALLS = {
    "twice with arguments": ("bin/answer.sh 1 2; bin/answer.sh 3 4", "echo $(($1 + $2))", "3\n7\n"),
    "sourced": (". bin/answer.sh; echo $made", "made=here", "here\n"),
    "in another directory": ("cd /tmp; bash /srv/tiny/bin/answer.sh", "pwd", "/tmp\n"),
    "as another user": ("sudo -u tess bin/answer.sh", "id -un", "tess\n"),
    "not at all": ("echo quiet", "echo loud", "quiet\n"),
    "with what comes before and after": (
        "echo seed > kept; bin/answer.sh; cat kept",
        "[ -s kept ] && echo more >> kept",
        "seed\nmore\n",
    ),
    "with its own interpreter": ("bin/answer.sh", "#!/bin/sed 1d\nsecond", "second"),
    "of several lines with any bytes": (
        "bin/answer.sh",
        "echo one\nprintf '\\344%s' \"$0\"",
        "one\n\udce4bin/answer.sh",
    ),
}


@pytest.mark.engine
@pytest.mark.parametrize(("driver", "answer", "shown"), CALLS.values(), ids=CALLS)
def test_a_driver_calls_the_answer_in_its_own_way(
    sandbox: SandboxHarness, driver: str, answer: str, shown: str
) -> None:
    evidence = sandbox.run(answer, world=WORLD, driver=driver.encode(), answer=ANSWER)
    assert evidence.stdout.data == shown.encode(errors="surrogateescape")
    assert b"answer.sh" not in b" ".join(change.path for change in evidence.changes)


@pytest.mark.engine
@pytest.mark.parametrize(
    "answer", ['rm -- "$0"', 'echo true > "$0"', 'chmod 600 "$0"', 'mv "$0" "$0.old" && mv "$0.old" "$0"']
)
def test_the_answers_own_file_is_no_change(sandbox: SandboxHarness, answer: str) -> None:
    """A change of the answer's own file is not recorded, but a change beside it is."""
    evidence = sandbox.run(f"{answer}; echo x > bin/other", world=WORLD, driver=b"bin/answer.sh", answer=ANSWER)
    assert [(change.path, change.kind.value) for change in evidence.changes] == [(b"/srv/tiny/bin/other", "added")]


@pytest.mark.engine
def test_the_answer_belongs_to_the_worlds_user_and_its_folder_stays_as_it_was(sandbox: SandboxHarness) -> None:
    """The answer's file is executable, belongs to the user of the world, and has the suite's time."""
    driver = b"stat -c '%a %U %Y' /srv/tiny/bin/answer.sh; stat -c '%a %u:%g %Y' /srv/tiny/bin; date +%s; ls -A bin"
    shown = sandbox.run("true", world=WORLD, driver=driver, answer=ANSWER).stdout.data.decode().splitlines()
    assert shown == [f"755 root {shown[2]}", "751 1500:1600 1706933106", shown[2], "answer.sh"]
    own = sandbox.run("true", world=TESS, driver=b"stat -c '%a %u:%g' answer.sh", answer=b"/home/tess/answer.sh")
    assert own.stdout.data == b"755 1500:1600\n"


@pytest.mark.engine
def test_a_verifier_sees_what_the_driver_left(sandbox: SandboxHarness) -> None:
    """The verifier sees the files with the access times that the driver left, the answer, and a list of the changes.

    A line break in a path cannot forge a line of the list.
    """
    driver = b"touch -a -d 2024-01-01 file; bin/answer.sh; rm tool; chmod 600 full/one; mv link 'a b'"
    answer = "echo x > $'new\\nD \\\\file'; echo y >> full/two"
    verify = b"cat /run/verify/changes >&2; stat -c %X file >&2; head -c 11 bin/answer.sh >&2; exit 1"
    evidence = sandbox.run(answer, world=WORLD, driver=driver, answer=ANSWER, verify=verify)
    assert evidence.verifier == 1
    assert evidence.verifier_message.decode().splitlines() == [
        r"A /srv/tiny/a\040b",
        "M /srv/tiny/full/one",
        "C /srv/tiny/full/two",
        "D /srv/tiny/link",
        r"A /srv/tiny/new\012D\040\134file",
        "D /srv/tiny/tool",
        "1704067200",
        "#!/bin/bash",
    ]


@pytest.mark.engine
def test_a_verifiers_message_is_its_standard_error_up_to_a_limit(sandbox: SandboxHarness) -> None:
    told = sandbox.run("true", verify=b"echo shown; printf 'a\\033\\0\\377' >&2; exit 1")
    assert (told.verifier, told.verifier_message) == (1, b"a\x1b\0\xff")
    assert sandbox.run("true", verify=b"yes | head -c 9999 >&2").verifier_message == b"y\n" * 250


@pytest.mark.engine
@pytest.mark.parametrize(
    ("answer", "words"), [(b"/srv/tiny/file/answer.sh", "is not a directory"), (b"/not/there.sh", "No such file")]
)
def test_an_answer_without_a_folder_is_our_failure(sandbox: SandboxHarness, answer: bytes, words: str) -> None:
    """An answer's path that the world cannot hold is an error of the task. The next job runs normally."""
    reply = sandbox.ask(Request.of(WORLD, b"true", driver=b"true", answer=answer))
    assert words in str(reply["error"])
    assert sandbox.run("echo next").stdout.data == b"next\n"


@pytest.mark.engine
def test_the_limits_hold_for_a_driver_and_its_answers(hasty_sandbox: SandboxHarness) -> None:
    driver = b"bin/answer.sh; bin/answer.sh"
    evidence = hasty_sandbox.run("sleep 1000", world=WORLD, driver=driver, answer=ANSWER, wall_s=1)
    assert (evidence.ending.value, evidence.verifier) == ("timeout", None)


def test_a_driver_and_the_answers_path_are_in_the_key_of_the_evidence() -> None:
    requests = [
        Request.of(WORLD, b"true"),
        Request.of(WORLD, b"true", driver=b"a", answer=b"/b"),
        Request.of(WORLD, b"true", driver=b"a", answer=b"/c"),
        Request.of(WORLD, b"true", driver=b"b", answer=b"/b"),
    ]
    assert len({evidence_key(request, b"machine") for request in requests}) == 4


@pytest.mark.parametrize("path", [None, b"/srv/\xff"])
def test_a_job_with_a_driver_is_the_same_after_its_line(path: bytes | None) -> None:
    driver = None if path is None else b"\xff \0"
    job = SandboxJob("layer", b"true", None, frozenset(), frozenset(), driver, path)
    assert SandboxJob.from_line(job.to_line()) == job


def test_evidence_without_a_message_keeps_its_digest() -> None:
    """Evidence of an earlier version has no message of a verifier. It is read, and its digest stays the same."""
    earlier = Evidence.model_validate_json('{"ending":"exited","status":0,"verifier":1}')
    assert earlier.verifier_message == b""
    assert earlier.digest != earlier.model_copy(update={"verifier_message": b"why"}).digest
    assert "message" not in earlier.to_json()
