"""Tests of collection: evidence of a submission is accepted only if the submission's own job announced its digest."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pytest

from evaluator.errors import GitHubError, PermissionMissingError, UsageError
from evaluator.pipeline.publishing.collect import EXECUTE, NOTICE, CollectResult, collect
from tests.doubles.github import InjectedFault, WorkflowRun
from tests.publishing.hosted_checkout import HostedCheckout

FIRST, SECOND = (
    ("submissions/first/tiny.jsonl.gz", b"evidence of first"),
    (
        "submissions/second/tiny.jsonl.gz",
        b"evidence of second",
    ),
)


def packed(*files: tuple[str, bytes]) -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as archive:
        for name, content in files:
            archive.writestr(name, content)
    return kept.getvalue()


def announced(slug: str, content: bytes, suite: str = "tiny") -> tuple[str, str]:
    return NOTICE, f"{slug} {suite} {sha256(content).hexdigest()}"


def executed(hosted: HostedCheckout, run: WorkflowRun, slug: str, file: tuple[str, bytes]) -> None:
    """Add a job that executed a submission, announced its bundle and uploaded it."""
    hosted.github.add_job(run, f"{EXECUTE} ({slug})", notices=[announced(slug, file[1])])
    hosted.github.upload(run, f"evidence-{slug}", packed(file))


@pytest.fixture
def run(hosted: HostedCheckout) -> WorkflowRun:
    """A run of the publish workflow with a valid job and artifact of `first`."""
    made = hosted.github.start(hosted.board, "publish", "push", hosted.head() or "")
    hosted.github.add_job(made, "prepare")
    executed(hosted, made, "first", FIRST)
    return made


def collected(hosted: HostedCheckout, run: WorkflowRun, expected: list[str] | None = None) -> CollectResult:
    return collect(hosted.project, hosted.connect(), run.id, hosted.root / "evidence", expected)


def written(hosted: HostedCheckout) -> Mapping[str, bytes]:
    folder = hosted.root / "evidence"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_was_announced_is_taken(hosted: HostedCheckout, run: WorkflowRun) -> None:
    """The announced bundles of each submission are written to their paths. Other annotations of a job are ignored."""
    executed(hosted, run, "second", SECOND)
    run.jobs[-1].annotations += [type(run.jobs[-1].annotations[0])("notice", "3 of 4 commands", "progress")]
    found = collected(hosted, run)
    assert (found.taken, found.left_out) == ({"first": ("tiny",), "second": ("tiny",)}, {})
    assert written(hosted) == dict([FIRST, SECOND])


def test_bundles_of_several_suites_are_taken_together(hosted: HostedCheckout, run: WorkflowRun) -> None:
    hosted.write({"submissions/second/other.jsonl": b"{}\n"})
    other = ("submissions/second/other.jsonl.gz", b"other evidence")
    notices = [announced("second", SECOND[1]), announced("second", other[1], "other")]
    hosted.github.add_job(run, f"{EXECUTE} (second)", notices=notices)
    hosted.github.upload(run, "evidence-second", packed(SECOND, other))
    assert collected(hosted, run).taken["second"] == ("other", "tiny")
    assert written(hosted) == dict([FIRST, SECOND, other])


CONTENT = b"evidence"
Files = tuple[tuple[str, bytes], ...]


class Case(NamedTuple):
    """The jobs and artifacts of one submission in a run, and the reason for which the submission is left out.

    The text SLUG is replaced by the submission's name.
    """

    reason: str
    forged: bool
    jobs: tuple[tuple[str | None, tuple[tuple[str, str], ...]], ...] = (("success", (announced("SLUG", CONTENT),)),)
    artifacts: tuple[Files, ...] = ((("submissions/SLUG/tiny.jsonl.gz", CONTENT),),)
    size: int | None = None
    expired: bool = False


GOOD = announced("SLUG", CONTENT)
FILE = ("submissions/SLUG/tiny.jsonl.gz", CONTENT)


def said(*notices: tuple[str, str]) -> tuple[tuple[str, tuple[tuple[str, str], ...]]]:
    return (("success", notices),)


CASES = [
    Case("0 jobs of the run are its own: expected one", False, jobs=()),
    Case("2 jobs of the run are its own", False, jobs=(*said(GOOD), *said(GOOD))),
    Case("its job ended with failure", False, jobs=(("failure", (GOOD,)),)),
    Case("its job ended with cancelled", False, jobs=(("cancelled", (GOOD,)),)),
    Case("its job ended with nothing yet", False, jobs=((None, (GOOD,)),)),
    Case("announced no evidence", False, jobs=said()),
    Case("announced no evidence", False, jobs=said(("other", GOOD[1]))),
    Case("announced suite tiny more than once", True, jobs=said(GOOD, GOOD)),
    Case("announced suite tiny more than once", True, jobs=said(GOOD, announced("SLUG", b"x"))),
    Case("expected SLUG alone", True, jobs=said(announced("first", CONTENT))),
    Case("expected SLUG alone", True, jobs=said((NOTICE, f"{GOOD[1]}\n"))),
    Case("expected SLUG alone", True, jobs=said((NOTICE, GOOD[1].replace("tiny", "Tiny")))),
    Case("expected SLUG alone", True, jobs=said(announced("SLUG", CONTENT, "tiny.verdicts"))),
    Case("suite core, which it does not answer", True, jobs=said(announced("SLUG", CONTENT, "core"))),
    Case("the run has no artifact 'evidence-SLUG'", False, artifacts=()),
    Case("artifact 'evidence-SLUG' has expired", False, expired=True),
    Case("expected at most", False, size=1 << 40),
    Case("its job announced", True, artifacts=(((FILE[0], b"another"),),)),
    Case("its job announced", True, artifacts=((FILE,), ((FILE[0], b"another"),))),
    Case("holds 'x', which its job did not announce", True, artifacts=((FILE, ("x", b"x")),)),
    Case("which its job did not announce", True, artifacts=((FILE, FIRST),)),
    Case("lacks submissions/SLUG/tiny.jsonl.gz", True, artifacts=((("tiny.jsonl.gz", CONTENT),),)),
    Case("lacks submissions/SLUG/tiny.jsonl.gz", True, artifacts=(((f"../{FILE[0]}", CONTENT),),)),
    Case("has 136314880 bytes: expected at most 134217728", False, artifacts=(((FILE[0], b"bomb"),),)),
]


def bomb(name: str) -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w") as member:
        for _ in range(130):
            member.write(bytes(1 << 20))
    return kept.getvalue()


def happened(hosted: HostedCheckout, run: WorkflowRun, slug: str, case: Case) -> None:
    """Add the jobs and artifacts of a case to the run, for the submission of this name."""

    def named(text: str) -> str:
        return text.replace("SLUG", slug)

    for conclusion, notices in case.jobs:
        made = [(title, named(message)) for title, message in notices]
        hosted.github.add_job(run, f"{EXECUTE} ({slug})", conclusion, made)
    for files in case.artifacts:
        members = [(named(name), content) for name, content in files]
        archive = bomb(members[0][0]) if members[0][1] == b"bomb" else packed(*members)
        hosted.github.upload(run, f"evidence-{slug}", archive, case.size).expired = case.expired


def test_what_was_not_announced_so_is_left_out(hosted: HostedCheckout, run: WorkflowRun) -> None:
    """A submission with faulty jobs or artifacts is left out with the reason, and possible forgery is marked.

    Another submission is still collected.
    """
    cases = {f"row-{number:02}": case for number, case in enumerate(CASES)}
    hosted.write({f"submissions/{slug}/tiny.jsonl": b"{}\n" for slug in cases})
    for slug, case in cases.items():
        happened(hosted, run, slug, case)
    found = collected(hosted, run, ["first", *cases])
    assert list(found.left_out) == list(cases)
    wrong = {
        slug: (case, found.left_out[slug])
        for slug, case in cases.items()
        if case.reason.replace("SLUG", slug) not in found.left_out[slug].reason
        or found.left_out[slug].forged != case.forged
    }
    assert wrong == {}
    assert found.taken == {"first": ("tiny",)}
    assert written(hosted) == dict([FIRST])
    assert not found.failed


def test_an_escape_forges_its_own_row_only(hosted: HostedCheckout, run: WorkflowRun) -> None:
    """A job that escaped from the sandbox cannot replace the evidence of another submission.

    The job may upload any artifact and announce anything, but then both submissions are left out.
    """
    executed(hosted, run, "second", SECOND)
    hosted.github.upload(run, "evidence-first", packed((FIRST[0], b"forged")))
    run.jobs[-1].annotations += [type(run.jobs[-1].annotations[0])("notice", announced("first", b"forged")[1], NOTICE)]
    found = collected(hosted, run)
    assert {slug: each.forged for slug, each in found.left_out.items()} == {"first": True, "second": True}
    assert found.failed
    assert written(hosted) == {}


def test_only_the_last_attempt_counts(hosted: HostedCheckout, run: WorkflowRun) -> None:
    """If a job ran again, only its last announcement and its last artifact count."""
    executed(hosted, run, "second", SECOND)
    run.attempt = 2
    again = ("submissions/second/tiny.jsonl.gz", b"executed again")
    executed(hosted, run, "first", FIRST)
    executed(hosted, run, "second", again)
    assert collected(hosted, run).taken == {"first": ("tiny",), "second": ("tiny",)}
    assert written(hosted) == dict([FIRST, again])


def test_where_nothing_was_expected_nothing_is_asked_of_artifacts(hosted: HostedCheckout) -> None:
    """If no job was planned, no artifact is requested, and this is not a failure."""
    run = hosted.github.start(hosted.board, "publish", "push", hosted.head() or "")
    hosted.github.add_job(run, "execute", "skipped")
    found = collected(hosted, run)
    assert (found.taken, found.left_out, found.failed) == ({}, {}, False)
    assert not [each for each in hosted.github.exchanges if "artifacts" in each.path]


def test_a_name_that_is_none_is_left_out(hosted: HostedCheckout, run: WorkflowRun) -> None:
    """A name in the plan that is not a valid submission name is left out, and no path is made from it."""
    found = collected(hosted, run, ["first", "../../etc"])
    assert found.left_out["../../etc"].reason == "is not the name of a submission"


@pytest.mark.parametrize("name", ["execute (second)", f"other / {EXECUTE} (second)", f"{EXECUTE} (second) (1)"])
def test_a_job_of_another_name_announces_nothing(hosted: HostedCheckout, run: WorkflowRun, name: str) -> None:
    """The announcement of a job with another name is ignored.

    GitHub puts the calling job's name before the name of a called job, so a job of another caller has another name.
    """
    hosted.github.add_job(run, name, notices=[announced("second", SECOND[1])])
    hosted.github.upload(run, "evidence-second", packed(SECOND))
    assert set(collected(hosted, run).taken) == {"first"}
    left_out = collect(hosted.project, hosted.connect(), run.id, hosted.root / "again", ["second"]).left_out
    assert "0 jobs of the run are its own" in left_out["second"].reason


def test_a_folder_that_holds_something_is_wrong_use(hosted: HostedCheckout, run: WorkflowRun) -> None:
    (hosted.root / "evidence").mkdir()
    (hosted.root / "evidence" / "older").write_bytes(b"")
    with pytest.raises(UsageError, match="expected an empty folder"):
        collected(hosted, run)


def test_what_github_refuses_is_an_error_of_ours(hosted: HostedCheckout, run: WorkflowRun) -> None:
    """A failed request to GitHub is an error of the collection. No submission is left out because of it."""
    with pytest.raises(PermissionMissingError, match="checks: read"):
        collect(hosted.project, hosted.connect({"actions": "read"}), run.id, hosted.root / "evidence")
    hosted.github.faults += [InjectedFault(502, path="/zip")] * 4
    with pytest.raises(GitHubError, match=r"502|does not answer"):
        collected(hosted, run)


def test_the_command_tells_what_was_left_out(hosted: HostedCheckout, run: WorkflowRun, tmp_path: Path) -> None:
    """`publish collect` reports each submission that is left out in one line and in the summary, and exits with 0.

    Text of a submission is shown as code, so the job's runner does not interpret it as a command.
    """
    hosted.github.add_job(run, f"{EXECUTE} (second)", notices=[(NOTICE, "`@all`\n::error::x")])
    summary = tmp_path / "summary.md"
    words = ["publish", "collect", "--run", str(run.id), "--out", "evidence", "--summary"]
    code, said = hosted.command(*words, "--expect", '["first", "second"]', GITHUB_STEP_SUMMARY=str(summary))
    assert code == 0
    assert "second: its job announced" in said
    assert not [line for line in said.splitlines() if line.lstrip().startswith("::")]
    assert "Evidence of 1 of 2 submissions" in summary.read_text()
    assert "treat it as a vulnerability" in summary.read_text()


@pytest.mark.parametrize(
    ("expect", "code"), [('["second"]', 3), ("[]", 0), ('["second"', 2), ('"second"', 2), ("[1]", 2)]
)
def test_the_command_ends_with_what_was_found(hosted: HostedCheckout, run: WorkflowRun, expect: str, code: int) -> None:
    words = ["publish", "collect", "--run", str(run.id), "--out", "evidence", "--expect", expect]
    assert hosted.command(*words)[0] == code
