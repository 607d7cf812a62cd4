"""Boards of published verdicts have the same numbers as a scored board and read only committed files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.leaderboard.board import SuiteBoard
from evaluator.metrics.human_time import human_time
from evaluator.pipeline.boards.published_boards import NO_VERDICT, judged_by, published_boards
from evaluator.pipeline.boards.scored_boards import make_boards
from evaluator.pipeline.grading.verdict_files import VerdictFile, verdict_bytes, verdicts_path
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.records import Base, Evidence, Finding, JudgedBy, Outcome, Standing, Step, Unranked, VerdictsHeader
from evaluator.testing.checkouts import small_checkout, small_task, write_submission, write_suite
from evaluator.testing.evidence import added, evidence
from evaluator.testing.executor import FINGERPRINT, fake_boards
from evaluator.testing.verdict_files import JUDGE, header_of, verdict_file, write_verdicts

TASKS = [
    small_task("files-1", references=("ls a", "echo a")),
    small_task("files-2", references=("cat b", "echo b")),
    small_task("files-3", references=("touch c", ": > c"), output="none"),
]
SHOWN: dict[str, Evidence | str] = {
    **dict.fromkeys(("ls a", "echo a", "cat a"), "a\n"),
    **dict.fromkeys(("cat b", "echo b"), "b\n"),
    "nosuch": evidence(status=127, stderr="bash: line 1: nosuch: command not found\n"),
    "echo (": evidence(status=2, stderr="bash: -c: line 1: syntax error near unexpected token `('\n"),
    "true": "",
    "touch c": evidence(changes=[added("/srv/c")]),
    ": > c": evidence(changes=[added("/srv/c")]),
    "touch c d": evidence(changes=[added("/srv/c"), added("/srv/d")]),
}
ANSWERS = {
    "good": {"files-1": ["echo a"], "files-2": ["echo b"], "files-3": [": > c"]},
    "late": {"files-1": ["true", "ls a"], "files-2": ["nosuch", "cat b"], "files-3": ["touch c d"]},
    "lazy": {"files-1": ["echo ("], "files-2": [""]},
    "still": {"files-1": ["true"], "files-2": ["true"], "files-3": ["true"]},
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return small_checkout(tmp_path, TASKS, ANSWERS)


@pytest.fixture
def scored(project: Project) -> SuiteBoard:
    """Return the board as it is scored here, and delete the store with all evidence and verdicts."""
    (board,) = fake_boards(project, SHOWN)
    project.store_path.unlink()
    return board


def publish(project: Project, scored: SuiteBoard, *slugs: str) -> None:
    for slug in slugs or ANSWERS:
        write_verdicts(project, scored, slug)


def published(project: Project) -> SuiteBoard:
    (board,) = published_boards(project).boards
    return board


def row(board: SuiteBoard, slug: str) -> Standing:
    return next(each for each in board.standings if each.submission == slug)


def plain(standing: Standing) -> Standing:
    """Return a row without the field that only published rows have."""
    return standing.model_copy(update={"judged_by": None})


def test_every_number_is_that_of_the_board_that_was_scored(project: Project, scored: SuiteBoard) -> None:
    """Each field of each row and result is the same as on the scored board, although no evidence is left."""
    publish(project, scored)
    board = published(project)
    assert [plain(each) for each in board.standings] == list(scored.standings)
    assert [each.to_json() for each in board.results] == [each.to_json() for each in scored.results]
    assert (board.resolution, board.utilities, board.times) == (scored.resolution, scored.utilities, scored.times)


def test_nothing_else_than_the_files_is_read(project: Project, scored: SuiteBoard) -> None:
    """The board reads neither the store nor an engine. The store here holds other results, and they have no effect."""
    publish(project, scored)
    wrong = fake_boards(project, lambda call: "elsewhere\n")[0]
    assert [plain(each) for each in published(project).standings] != list(wrong.standings)
    assert [plain(each) for each in published(project).standings] == list(scored.standings)


def test_scoring_does_not_read_what_is_published(project: Project) -> None:
    """`score`, `standings` and `build` ignore verdict files, even unreadable ones and ones of other commands."""
    (before,) = fake_boards(project, SHOWN)
    passing = verdict_file(before, "good").verdicts
    claimed = VerdictFile(header_of(before), tuple(each.model_copy(update={"run": None}) for each in passing))
    verdicts_path(project, "late", "tiny").write_bytes(verdict_bytes(claimed))
    verdicts_path(project, "still", "tiny").write_text("nonsense\n")
    (stored,) = make_boards(project, NullProgress(), execute=False)
    (scored,) = fake_boards(project, SHOWN)
    assert (stored.standings, scored.standings) == (before.standings, before.standings)
    assert (stored.published, stored.awaiting) == (False, ())


def test_without_run_times_the_latency_alone_counts(project: Project) -> None:
    """A scored board adds the run time of commands to the latency. A published board has only the latency."""
    path = project.root / "submissions" / "good" / "tiny.jsonl"
    (person_s,) = {human_time(task).human_s for task in project.suite("tiny").tasks}
    rows = [json.loads(line) | {"latency_s": person_s - 1.3} for line in path.read_text().splitlines()]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    slow = {name: shown if isinstance(shown, Evidence) else evidence(shown) for name, shown in SHOWN.items()}
    slow = {name: each.model_copy(update={"wall_ms": 5000.0}) for name, each in slow.items()}
    (timed,) = fake_boards(project, slow)
    publish(project, timed)
    before, after = (row(board, "good").figures.horizon[0] for board in (timed, published(project)))
    assert (before.within, after.within) == ({1: 0.0, 2: 1.0, 4: 1.0}, {1: 1.0, 2: 1.0, 4: 1.0})
    assert before.excess_s == pytest.approx(3.7)
    assert after.excess_s == pytest.approx(-1.3)
    assert row(published(project), "late").figures.horizon[0].within is None


def test_what_has_no_line_is_no_score_and_leaves_its_row_unranked(project: Project, scored: SuiteBoard) -> None:
    """A command that changed after its verdict was published has no verdict, and its row is unranked."""
    publish(project, scored)
    write_submission(project.root, "good", {**ANSWERS["good"], "files-2": ["cat b"]})
    board = published(project)
    standing = row(board, "good")
    assert (standing.passed, standing.infra_errors, standing.unranked) == (2, 1, Unranked.INFRA_ERRORS)
    (open_result,) = [each for each in board.results if each.finding.outcome is Outcome.INFRA_ERROR]
    assert (open_result.task, open_result.finding) == ("files-2", NO_VERDICT)


@pytest.mark.parametrize(("given", "before"), [([""], []), ([], [""])])
def test_nothing_and_an_empty_command_are_not_taken_for_each_other(
    project: Project, given: list[str], before: list[str]
) -> None:
    """An unanswered task and an empty command have the same digest, but a verdict on one is not used for the other."""
    write_submission(project.root, "good", {**ANSWERS["good"], "files-2": before})
    publish(project, fake_boards(project, SHOWN)[0])
    write_submission(project.root, "good", {**ANSWERS["good"], "files-2": given})
    assert row(published(project), "good").infra_errors == 1


def test_who_has_no_file_awaits_its_verdicts(project: Project, scored: SuiteBoard) -> None:
    """A submission without a verdict file has no row and no result, and the board lists it as awaiting verdicts."""
    publish(project, scored, "good", "still")
    board = published(project)
    assert {each.submission for each in board.standings} == {"good", "still"}
    assert {each.submission for each in board.results} == {"good", "still"}
    assert board.awaiting == ("late", "lazy")


def test_before_anything_is_published_everybody_awaits(project: Project) -> None:
    """Without published verdicts the board has no rows and says so."""
    board = published(project)
    assert (board.standings, board.awaiting) == ((), tuple(sorted(ANSWERS)))
    assert "no verdict is published yet" in board.environment["Judge"]


STALE = [
    ({"judge_version": JUDGE.version - 1}, ("judge",)),
    ({"judge": "exact"}, ("judge",)),
    ({"suite_version": "0.9.0"}, ("suite",)),
    ({"fingerprint": "a" * 64}, ("environment",)),
    ({"judge_version": 1, "suite_version": "0.9.0", "fingerprint": "a" * 64}, ("judge", "suite", "environment")),
    ({}, ()),
]


@pytest.mark.parametrize(("header", "differs"), STALE)
def test_a_row_says_by_what_it_was_judged(
    project: Project, scored: SuiteBoard, header: dict[str, object], differs: tuple[str, ...]
) -> None:
    """A row lists whether its judge, suite or environment differs. The most frequent environment is the current one."""
    publish(project, scored)
    write_verdicts(project, scored, "late", **header)
    found = row(published(project), "late").judged_by
    told = {"judge": JUDGE.name, "judge_version": JUDGE.version, "suite_version": "1.0.0", "fingerprint": FINGERPRINT}
    assert found == JudgedBy.model_validate({**told, **header, "differs": differs})
    assert row(published(project), "good").judged_by == JudgedBy.model_validate({**told, "differs": ()})


def test_the_machine_is_what_the_headers_say(project: Project, scored: SuiteBoard) -> None:
    """If rows have different judges or environments, the board counts the rows of each."""
    publish(project, scored)
    write_verdicts(project, scored, "late", judge_version=JUDGE.version - 1, fingerprint="a" * 64)
    told = published(project).environment
    assert (
        told["Judge"] == f"consensus, version {JUDGE.version} (3 rows); consensus, version {JUDGE.version - 1} (1 row)"
    )
    assert "fingerprint ffffffffffffffff (3 rows); fingerprint aaaaaaaaaaaaaaaa (1 row)" in told["Base"]


def test_a_fingerprint_tells_which_bases_were_missing(project: Project, scored: SuiteBoard) -> None:
    """A row names the base that replaced the publisher's, from the fingerprint in its verdict file alone."""
    publish(project, scored)
    suite = published(project).manifest
    further = {
        "noble": Base(distribution="ubuntu", release="noble"),
        "small": Base(distribution="alpine", release="3.20.0"),
    }
    manifest = suite.model_copy(update={"bases": further})
    lacking = manifest.mark_missing_bases("a" * 64, ["noble"])
    assert lacking != manifest.mark_missing_bases("a" * 64, [])
    assert manifest.missing_bases(lacking) == ("noble",)
    assert manifest.replaced_bases(manifest.mark_missing_bases("a" * 64, [])) == ""
    assert suite.mark_missing_bases("a" * 64, []) == "a" * 64
    loaded = replace(project.suite("tiny"), manifest=manifest)
    values = {"suite": "tiny", "suite_version": "1.0.0", "judge": JUDGE.name, "judge_version": JUDGE.version}
    header = VerdictsHeader.model_validate({"format": 4, **values, "fingerprint": lacking})
    assert judged_by(header, JUDGE, loaded, lacking).base == "debian trixie instead of ubuntu noble"


def test_what_is_measured_of_todays_judge_is_not_said_of_an_older_ones_row(
    project: Project, scored: SuiteBoard
) -> None:
    """The range of accuracy for errors of the judge is shown only for rows of the measured judge."""
    root = Path(__file__).parents[2]
    (project.root / "site" / "assets").mkdir(parents=True)
    (project.root / "site" / "assets" / "judges.json").write_bytes((root / "site/assets/judges.json").read_bytes())
    publish(project, scored)
    write_verdicts(project, scored, "late", judge_version=JUDGE.version - 1)
    board = published(project)
    assert row(board, "good").figures.judge_low is not None
    assert row(board, "late").figures.judge_low is None


def test_a_panels_decisions_are_counted_from_the_verdicts(project: Project, scored: SuiteBoard) -> None:
    """Verdict files do not name the panel's models, so the board counts only decisions."""
    publish(project, scored)
    file = verdict_file(scored, "still")
    found = [Finding(outcome=Outcome.FAIL, step=Step.PANEL), Finding(outcome=Outcome.UNDECIDED)]
    lines = [each.model_copy(update={"finding": finding}) for each, finding in zip(file.verdicts, found, strict=False)]
    changed = type(file)(file.header, (*lines, *file.verdicts[2:]))
    verdicts_path(project, "still", "tiny").write_bytes(verdict_bytes(changed))
    assert published(project).environment["Panel"] == "decided 1 of 2 answers left undecided by execution"


def test_a_file_of_another_suite_is_left_out_and_named_at_its_header(project: Project, scored: SuiteBoard) -> None:
    """A copied verdict file of another suite is left out, and the other rows are published."""
    write_verdicts(project, scored, "good", suite="other")
    write_verdicts(project, scored, "lazy")
    told: list[str] = []
    (board,) = published_boards(project, say=told.append).boards
    assert {each.submission for each in board.standings} == {"lazy"}
    assert "good" in board.awaiting
    (line,) = told
    assert line.startswith("left out, as its verdicts cannot be read: good: ")
    assert "good/tiny.verdicts.jsonl:1: suite: expected 'tiny'" in line


def test_a_suite_of_somebody_elses_has_a_board_where_anything_of_it_is_published(
    project: Project, scored: SuiteBoard
) -> None:
    """A foreign suite without published verdicts has no board, so the public pages are the same on each machine."""
    write_suite(project.root, TASKS, name="theirs")
    path = project.root / "fixtures" / "theirs" / "suite.toml"
    source = 'foreign = true\n\n[source]\nname = "Elsewhere"\nversion = "1"\nlicence = "MIT"\n\n[base]'
    path.write_text(path.read_text().replace("format = 1", "format = 2").replace("[base]", source))
    write_submission(project.root, "guest", ANSWERS["good"], suite="theirs")
    assert [board.name for board in published_boards(project).boards] == ["tiny"]
    write_verdicts(project, replace(scored, manifest=project.suite("theirs").manifest), "guest")
    assert [board.name for board in published_boards(project).boards] == ["theirs", "tiny"]


def test_a_submission_that_is_broken_keeps_no_other_from_its_place(project: Project, scored: SuiteBoard) -> None:
    """A broken submission is left out and reported, and the other submissions stay on the board."""
    publish(project, scored)
    (project.root / "submissions" / "late" / "tiny.jsonl").write_text("\x1b[31mnonsense\n")
    told: list[str] = []
    (board,) = published_boards(project, say=told.append).boards
    assert {each.submission for each in board.standings} == {"good", "lazy", "still"}
    (line,) = told
    assert line.startswith("left out, as it cannot be scored: late: ")
    assert "tiny.jsonl:1: " in line
    assert "\x1b" not in line
