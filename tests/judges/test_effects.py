"""Steps 2 and 3: files, shell, processes and exit status, required and allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from evaluator.judges import find_judge
from evaluator.records import Evidence, FileType, Finding, Kind, Member, Outcome, PathChange, Process, ShellState, Step
from evaluator.testing.evidence import (
    added,
    archive,
    case,
    deleted,
    directory,
    evidence,
    folder,
    link,
    member,
    modified,
    process,
    remoded,
    shell,
    task,
)

PASS, FAIL, UNDECIDED = Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED
NONE = task("none")


def judge(references: Sequence[Any], candidate: Any, **fields: Any) -> Finding:
    return find_judge("consensus").judge(case(references, candidate, fields.pop("of", NONE), **fields))


def judge_changes(
    references: Sequence[Sequence[PathChange]], candidate: Sequence[PathChange], **fields: Any
) -> Finding:
    return judge([evidence(changes=c) for c in references], evidence(changes=candidate), **fields)


A, B = added("/srv/a", "1"), added("/srv/b", "2")
GONE = deleted("/srv/a")

CHANGES = {
    "the same change": ([[A], [A]], [A], PASS),
    "required path missing": ([[A, B], [A, B]], [A], FAIL),
    "nothing done": ([[A], [A]], [], FAIL),
    "path no reference touches": ([[A], [A]], [A, B], FAIL),
    "path one reference touches, present": ([[A], [A, B]], [A, B], PASS),
    "path one reference touches, absent": ([[A], [A, B]], [A], PASS),
    "optional paths of two references together": (
        [[A], [A, B], [A, directory("/srv/c")]],
        [A, B, directory("/srv/c")],
        PASS,
    ),
    "each reference's own way, neither taken": ([[A], [B]], [], PASS),
    "deleted instead of added": ([[A], [A]], [GONE], FAIL),
    "added instead of modified": ([[modified("/srv/a", "1")]] * 2, [A], FAIL),
    "other content": ([[A], [A]], [added("/srv/a", "2")], FAIL),
    "content of either reference": ([[A], [added("/srv/a", "2")]], [added("/srv/a", "2")], PASS),
    "content of neither reference": ([[A], [added("/srv/a", "2")]], [added("/srv/a", "3")], FAIL),
    "directory instead of file": ([[A], [A]], [directory("/srv/a")], FAIL),
    "link with its target": ([[link("/srv/l", "x")]] * 2, [link("/srv/l", "x")], PASS),
    "link with another target": ([[link("/srv/l", "x")]] * 2, [link("/srv/l", "./x")], FAIL),
    "copy instead of link": ([[link("/srv/a", "x")]] * 2, [A], FAIL),
    "deleted": ([[GONE], [GONE]], [GONE], PASS),
    "deletes another": ([[GONE], [GONE]], [deleted("/srv/b")], FAIL),
    "deletes one more": ([[GONE], [GONE]], [GONE, deleted("/srv/b")], FAIL),
    "dangerous but equal": ([[deleted("/etc/passwd")]] * 2, [deleted("/etc/passwd")], PASS),
}


@pytest.mark.parametrize(("references", "candidate", "outcome"), CHANGES.values(), ids=CHANGES)
def test_changes_are_required_and_allowed(
    references: list[list[PathChange]], candidate: list[PathChange], outcome: Outcome
) -> None:
    finding = judge_changes(references, candidate)
    assert finding.outcome is outcome
    assert (finding.step is Step.FILES) == (outcome is FAIL)


SET_600 = remoded("/srv/a", 0o600)
MODES = {
    "mode that every reference sets": ([[SET_600]] * 2, [SET_600], PASS),
    "another mode than every reference sets": ([[SET_600]] * 2, [remoded("/srv/a", 0o640)], FAIL),
    "mode not set": ([[SET_600]] * 2, [], FAIL),
    "mode set on a path nobody touches": ([[A]] * 2, [A, SET_600.model_copy(update={"path": b"/srv/z"})], FAIL),
    "new file's mode that a reference sets": ([[added("/srv/a", mode=0o600)]] * 2, [added("/srv/a", mode=0o644)], FAIL),
    "new file's mode that nobody sets": ([[added("/srv/a")]] * 2, [added("/srv/a", mode=0o755)], PASS),
    "new file's usual mode where one sets another": (
        [[added("/srv/a", mode=0o600)], [added("/srv/a")]],
        [added("/srv/a")],
        PASS,
    ),
    "third mode where one sets another": (
        [[added("/srv/a", mode=0o600)], [added("/srv/a")]],
        [added("/srv/a", mode=0o777)],
        FAIL,
    ),
    "new directory's mode that nobody sets": ([[directory("/srv/d")]] * 2, [directory("/srv/d", 0o700)], PASS),
    "new directory's mode that all set": ([[directory("/srv/d", 0o700)]] * 2, [directory("/srv/d")], FAIL),
    "modified file that lost its mode by mv": (
        [[modified("/srv/a", "1", mode=0o600, old_mode=0o600)]] * 2,
        [modified("/srv/a", "1", mode=0o644, old_mode=0o600)],
        PASS,
    ),
    "modified file whose mode all set": (
        [[modified("/srv/a", "1", mode=0o600)]] * 2,
        [modified("/srv/a", "1")],
        FAIL,
    ),
    "owner that every reference sets": (
        [[remoded("/srv/a", owner=(33, 33))]] * 2,
        [remoded("/srv/a", owner=(33, 33))],
        PASS,
    ),
    "user without the group": ([[remoded("/srv/a", owner=(33, 33))]] * 2, [remoded("/srv/a", owner=(33, 0))], FAIL),
    "new file's owner that all set": ([[added("/srv/a", uid=33)]] * 2, [added("/srv/a")], FAIL),
    "new file's owner that nobody sets": ([[added("/srv/a")]] * 2, [added("/srv/a", uid=33)], PASS),
    "modified file's owner that nobody sets": ([[modified("/srv/a")]] * 2, [modified("/srv/a", uid=33)], FAIL),
    "modified file's owner lost by mv": (
        [[modified("/srv/a", uid=33, old_uid=33)]] * 2,
        [modified("/srv/a", uid=0, old_uid=33)],
        PASS,
    ),
    "modified file that nobody may read": ([[modified("/srv/a")]] * 2, [modified("/srv/a", mode=0)], FAIL),
    "modified file that runs as its owner": ([[modified("/srv/a")]] * 2, [modified("/srv/a", mode=0o4777)], FAIL),
    "modified file replaced by a private one": ([[modified("/srv/a")]] * 2, [modified("/srv/a", mode=0o600)], PASS),
    "modes swapped with the files": (
        [[modified("/srv/a", mode=0o640, old_mode=0o640), modified("/srv/b", mode=0o664, old_mode=0o664)]] * 2,
        [modified("/srv/a", mode=0o664, old_mode=0o640), modified("/srv/b", mode=0o640, old_mode=0o664)],
        PASS,
    ),
    "new file that nobody may read": ([[A]] * 2, [added("/srv/a", "1", mode=0)], FAIL),
    "new file that everybody may change": ([[A]] * 2, [added("/srv/a", "1", mode=0o666)], FAIL),
    "new file with the mode of its original": ([[A]] * 2, [added("/srv/a", "1", mode=0o440)], PASS),
    "mode only, where what stood there is not known": (
        [[remoded("/srv/a", 0o600, old_mode=None)]] * 2,
        [remoded("/srv/a", 0o640, old_mode=None)],
        FAIL,
    ),
    "owner only, where what stood there is not known": (
        [[remoded("/srv/a", owner=(33, 33), old_uid=None)]] * 2,
        [remoded("/srv/a", owner=(33, 0), old_uid=None)],
        FAIL,
    ),
    "a link's mode is nobody's doing": (
        [[link("/srv/l", "x")]] * 2,
        [link("/srv/l", "x").model_copy(update={"mode": 0o755})],
        PASS,
    ),
}


@pytest.mark.parametrize(("references", "candidate", "outcome"), MODES.values(), ids=MODES)
def test_mode_and_owner_count_where_a_reference_sets_them(
    references: list[list[PathChange]], candidate: list[PathChange], outcome: Outcome
) -> None:
    assert judge_changes(references, candidate).outcome is outcome


TAR = [archive("/srv/x.tgz", [member("a", "1"), member("b", "2")], content="one")]
ARCHIVES = {
    "other bytes, same members": ([member("a", "1"), member("b", "2")], PASS),
    "members in another order": ([member("b", "2"), member("a", "1")], PASS),
    "names with ./": ([folder("./"), member("./a", "1"), member("./b", "2")], PASS),
    "member missing": ([member("a", "1")], FAIL),
    "member too many": ([member("a", "1"), member("b", "2"), member("c")], FAIL),
    "member's content": ([member("a", "1"), member("b", "3")], FAIL),
    "member's mode": ([member("a", "1"), member("b", "2", mode=0o755)], FAIL),
    "member's type": ([member("a", "1"), folder("b")], FAIL),
    "names below another directory": ([member("srv/a", "1"), member("srv/b", "2")], FAIL),
    "empty archive": ([], FAIL),
}


@pytest.mark.parametrize(("members", "outcome"), ARCHIVES.values(), ids=ARCHIVES)
def test_archives_count_by_members(members: list[Member], outcome: Outcome) -> None:
    finding = judge_changes([TAR, TAR], [archive("/srv/x.tgz", members, content="two")])
    assert finding.outcome is outcome


def test_an_archive_that_is_not_compressed_is_another_archive() -> None:
    plain = archive("/srv/x.tgz", [member("a", "1"), member("b", "2")], packing="tar")
    assert judge_changes([TAR, TAR], [plain]).outcome is FAIL


def test_a_file_that_only_has_an_archives_name_lacks_its_members() -> None:
    assert judge_changes([TAR, TAR], [added("/srv/x.tgz", "one")]).outcome is FAIL


SCRATCH = {
    "left in /tmp": ([[A]] * 2, [A, added("/tmp/x")], PASS, True),
    "left in /var/tmp": ([[A]] * 2, [A, directory("/var/tmp/d"), added("/var/tmp/d/x")], PASS, True),
    "left in the home's cache": ([[A]] * 2, [A, directory("/root/.cache"), added("/root/.cache/x")], PASS, True),
    "another home's cache": ([[A]] * 2, [A, added("/home/eve/.cache/x")], FAIL, True),
    "deleted in /tmp": ([[A]] * 2, [A, deleted("/tmp/x")], FAIL, True),
    "modified in /tmp": ([[A]] * 2, [A, modified("/tmp/x")], FAIL, True),
    "mode of /tmp": ([[A]] * 2, [A, remoded("/tmp", 0o700)], FAIL, True),
    "beside /tmp": ([[A]] * 2, [A, added("/tmpx")], FAIL, True),
    "a reference works in /tmp": ([[A, added("/tmp/y")]] * 2, [A, added("/tmp/y"), added("/tmp/x")], FAIL, True),
    "elsewhere": ([[A]] * 2, [A, B], FAIL, True),
    "nothing more": ([[A]] * 2, [A], PASS, False),
    "less": ([[A, B]] * 2, [A], FAIL, False),
    "a mode nobody sets": ([[A]] * 2, [added("/srv/a", "1", mode=0o755)], PASS, True),
}


@pytest.mark.parametrize(("references", "candidate", "outcome", "collateral"), SCRATCH.values(), ids=SCRATCH)
def test_leftovers_in_scratch_are_collateral_not_failure(
    references: list[list[PathChange]], candidate: list[PathChange], outcome: Outcome, collateral: bool
) -> None:
    finding = judge_changes(references, candidate)
    assert (finding.outcome, finding.collateral) == (outcome, collateral)


@pytest.mark.parametrize(
    ("nl", "path", "outcome"),
    [
        ("Clean up /tmp", "/tmp/x", FAIL),
        ("Clean up '/tmp/'.", "/tmp/x", FAIL),
        ("Put it into /tmp/out/list", "/tmp/x", FAIL),
        ("Look at /srv/tmp and /tmpfs", "/tmp/x", PASS),
        ("Clean up /var/tmp", "/tmp/x", PASS),
        ("Clean up /var/tmp", "/var/tmp/x", FAIL),
        ("Empty ~/.cache", "/root/.cache/x", FAIL),
        ("Empty /root/.cache", "/root/.cache/x", FAIL),
        ("Empty $HOME/.cache", "/root/.cache/x", FAIL),
    ],
)
def test_scratch_that_the_task_names_is_not_scratch(nl: str, path: str, outcome: Outcome) -> None:
    assert judge_changes([[A]] * 2, [A, added(path)], of=task("none", nl=nl)).outcome is outcome


def test_collateral_is_told_of_a_command_that_ran_out_of_time() -> None:
    late = evidence(changes=[deleted("/etc/passwd")], ending="timeout")
    finding = judge([evidence()], late)
    assert (finding.outcome, finding.collateral) == (Outcome.TIMEOUT, True)


def test_an_effect_is_required_in_every_variant() -> None:
    both = {"a": evidence(changes=[A]), "b": evidence(changes=[A])}
    finding = judge([both, both], {"a": evidence(changes=[A]), "b": evidence()})
    assert (finding.outcome, finding.variant, finding.place) == (FAIL, "b", b"/srv/a")


def test_more_changes_than_are_recorded_are_more_than_any_reference_made() -> None:
    flood = evidence(changes=[A], changes_truncated=True)
    assert judge([evidence(changes=[A])] * 2, flood).outcome is FAIL


def test_references_with_more_changes_than_are_recorded_decide_nothing() -> None:
    flood = evidence(changes=[A], changes_truncated=True)
    assert judge([flood, flood], flood).outcome is UNDECIDED


def text(content: str) -> list[PathChange]:
    return [modified("/srv/list", content, text=True)]


TEXTS = {
    "set in another order": ("set", "a 1\nb 2\n", "b 2\na 1\n", PASS),
    "set with another value": ("set", "a 1\nb 2\n", "b 2\na 2\n", FAIL),
    "set with a field nobody taught": ("set", "a 1\nb 2\n", "a 1 x\nb 2\n", UNDECIDED),
    "lines with blanks at the end": ("lines", "a\nb\n", "a \nb\n", PASS),
    "lines in another order": ("lines", "a\nb\n", "b\na\n", FAIL),
    "exact but the final newline": ("exact", "a\nb\n", "a\nb", PASS),
    "exact with blanks at the end": ("exact", "a\nb\n", "a \nb\n", FAIL),
    "none compares listed files exactly": ("none", "a\nb\n", "a\nc\n", FAIL),
    "none with the same text": ("none", "a\nb\n", "a\nb", PASS),
}


@pytest.mark.parametrize(("mode", "reference", "candidate", "outcome"), TEXTS.values(), ids=TEXTS)
def test_listed_files_are_compared_as_output_is(mode: str, reference: str, candidate: str, outcome: Outcome) -> None:
    of = task(mode, text_files=("/srv/list",))
    finding = judge_changes([text(reference)] * 2, text(candidate), of=of)
    assert finding.outcome is outcome
    if outcome is not PASS:
        assert (finding.step, finding.place) == (Step.FILES, b"/srv/list")


def test_a_text_where_references_leave_none_fails() -> None:
    references = [[modified("/srv/list", "a")], []]
    assert judge_changes(references, text("a"), of=task("exact", text_files=("/srv/list",))).outcome is FAIL


def test_a_listed_file_that_is_not_kept_whole_is_compared_by_its_digest() -> None:
    short = {"text": b"a\n", "size": 9_000_000}
    ours, theirs = (modified("/srv/list", data).model_copy(update=short) for data in ("a\nb", "a\nc"))
    of = task("set", text_files=("/srv/list",))
    assert judge_changes([[theirs]] * 2, [theirs], of=of).outcome is PASS
    assert judge_changes([[theirs]] * 2, [ours], of=of).outcome is FAIL


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_of_change_can_be_told(kind: Kind) -> None:
    change = remoded("/srv/z").model_copy(update={"kind": kind})
    finding = judge_changes([[A]] * 2, [A, change])
    assert finding.outcome is FAIL
    assert "'/srv/z'" in finding.reason


def test_a_listed_file_left_in_scratch_is_collateral() -> None:
    finding = judge_changes([[A]] * 2, [A, added("/tmp/x", "1", text=True)], of=task("none", text_files=("/tmp/x",)))
    assert (finding.outcome, finding.collateral) == (PASS, True)


def test_a_file_that_is_not_listed_is_compared_by_its_bytes() -> None:
    references = [[modified("/srv/list", "a\nb\n")]] * 2
    assert judge_changes(references, [modified("/srv/list", "b\na\n")], of=task("set")).outcome is FAIL


@pytest.mark.parametrize(("observe", "outcome"), [(("mtime",), FAIL), ((), PASS)])
def test_mtime_counts_where_it_is_observed(observe: tuple[str, ...], outcome: Outcome) -> None:
    stamped, late = added("/srv/a", mtime=1_000), added("/srv/a", mtime=2_000)
    of = task("none", observe)
    assert judge_changes([[stamped]] * 2, [stamped], of=of).outcome is PASS
    assert judge_changes([[stamped]] * 2, [late], of=of).outcome is outcome


PLAIN = {"HOME": "/root", "X": "1"}
SHELLS: dict[str, tuple[list[ShellState], ShellState, Outcome]] = {
    "the same": ([shell(PLAIN)] * 2, shell(PLAIN), PASS),
    "other value": ([shell(PLAIN)] * 2, shell({**PLAIN, "X": "2"}), FAIL),
    "variable not set": ([shell(PLAIN)] * 2, shell({"HOME": "/root"}), FAIL),
    "variable nobody sets": ([shell(PLAIN)] * 2, shell({**PLAIN, "Y": "1"}), FAIL),
    "a helper left behind": ([shell(PLAIN)] * 2, shell({**PLAIN, "d": 'declare -- d="1"'}), PASS),
    "a helper that is an array": ([shell(PLAIN)] * 2, shell({**PLAIN, "d": 'declare -a d=([0]="1")'}), PASS),
    "an exported variable nobody sets": ([shell(PLAIN)] * 2, shell({**PLAIN, "d": 'declare -x d="1"'}), FAIL),
    "a read-only variable nobody sets": ([shell(PLAIN)] * 2, shell({**PLAIN, "d": 'declare -r d="1"'}), FAIL),
    "a variable that bash heeds": ([shell(PLAIN)] * 2, shell({**PLAIN, "CDPATH": 'declare -- CDPATH="/"'}), FAIL),
    "a helper beside what is missing": ([shell(PLAIN)] * 2, shell({"HOME": "/root", "d": 'declare -- d="1"'}), FAIL),
    "a helper where the variable is to be gone": (
        [shell({"HOME": "/root"})] * 2,
        shell({"HOME": "/root", "X": "declare -x X"}),
        FAIL,
    ),
    "a variable not exported that is to be": (
        [shell({**PLAIN, "E": 'declare -x E="1"'})] * 2,
        shell({**PLAIN, "E": 'declare -- E="1"'}),
        FAIL,
    ),
    "variable one reference sets": ([shell(PLAIN), shell({**PLAIN, "Y": "1"})], shell({**PLAIN, "Y": "1"}), PASS),
    "the shell's own variables": (
        [shell({**PLAIN, "_": "x", "BASH_COMMAND": "a", "SHLVL": "1", "PWD": "/a"})] * 2,
        shell({**PLAIN, "PIPESTATUS": "0", "LINENO": "3", "RANDOM": "7", "OLDPWD": "/b", "EPOCHSECONDS": "5"}),
        PASS,
    ),
    "a variable named like the shell's own": ([shell(PLAIN)] * 2, shell({**PLAIN, "BASHFUL": "1"}), FAIL),
    "directory": ([shell(cwd=b"/srv")] * 2, shell(cwd=b"/srv"), PASS),
    "other directory": ([shell(cwd=b"/srv")] * 2, shell(cwd=b"/root"), FAIL),
    "umask written otherwise": ([shell(umask="0077")] * 2, shell(umask="077"), PASS),
    "other umask": ([shell(umask="0077")] * 2, shell(umask="0022"), FAIL),
    "option missing": ([shell(options=("extglob",))] * 2, shell(), FAIL),
    "option nobody sets": ([shell()] * 2, shell(options=("nounset",)), FAIL),
    "option switched on": (
        [shell(options=("set +o errexit", "shopt -s extglob"))] * 2,
        shell(options=("set +o errexit", "shopt -u extglob")),
        FAIL,
    ),
    "options as bash lists them": (
        [shell(options=("set -o errexit", "shopt -u extglob"))] * 2,
        shell(options=("shopt -u extglob", "set -o errexit")),
        PASS,
    ),
    "alias": ([shell(aliases={"ll": b"ls -l"})] * 2, shell(aliases={"ll": b"ls -la"}), FAIL),
    "function": ([shell(functions={"f": b"f () { :; }"})] * 2, shell(), FAIL),
    "trap": ([shell(traps=(b"trap -- 'rm x' INT",))] * 2, shell(), FAIL),
    "no shell left": ([shell()] * 2, ShellState(alive=False), FAIL),
    "no shell left anywhere": ([ShellState(alive=False)] * 2, ShellState(alive=False), PASS),
    "no shell left in one reference": ([shell(PLAIN), ShellState(alive=False)], shell(PLAIN), PASS),
    "other shell where one reference leaves none": ([shell(PLAIN), ShellState(alive=False)], shell({"Z": "1"}), FAIL),
}


@pytest.mark.parametrize(("references", "candidate", "outcome"), SHELLS.values(), ids=SHELLS)
def test_shell_state_is_required_and_allowed(
    references: list[ShellState], candidate: ShellState, outcome: Outcome
) -> None:
    seen = [evidence(shell=state) for state in references]
    finding = judge(seen, evidence(shell=candidate), of=task("none", ["shell"]))
    assert finding.outcome is outcome
    assert (finding.step is Step.SHELL) == (outcome is FAIL)


SLEEP, TAIL = process("sleep 100"), process("tail -f log")
PROCESSES = {
    "the same": ([[SLEEP, TAIL]] * 2, [TAIL, SLEEP], PASS),
    "one not killed": ([[TAIL]] * 2, [SLEEP, TAIL], FAIL),
    "one killed too many": ([[SLEEP, TAIL]] * 2, [TAIL], FAIL),
    "two instead of one": ([[SLEEP]] * 2, [SLEEP, SLEEP], FAIL),
    "sleeping or running": ([[SLEEP]] * 2, [process("sleep 100", state="R")], PASS),
    "stopped": ([[SLEEP]] * 2, [process("sleep 100", state="T")], FAIL),
    "stopped, in the runner's word": (
        [[process("sleep 100", state="running")]] * 2,
        [process("sleep 100", state="stopped")],
        FAIL,
    ),
    "resumed": ([[process("sleep 100", state="T")]] * 2, [SLEEP], FAIL),
    "a zombie is not left running": ([[]] * 2, [process("sleep 100", state="Z")], PASS),
    "another user's": ([[SLEEP]] * 2, [process("sleep 100", uid=33)], FAIL),
    "one that one reference leaves": ([[SLEEP], [SLEEP, TAIL]], [SLEEP, TAIL], PASS),
    "other arguments": ([[SLEEP]] * 2, [process("sleep 1000")], FAIL),
}


@pytest.mark.parametrize(("references", "candidate", "outcome"), PROCESSES.values(), ids=PROCESSES)
def test_processes_are_required_and_allowed(
    references: list[list[Process]], candidate: list[Process], outcome: Outcome
) -> None:
    seen = [evidence(processes=tuple(left)) for left in references]
    finding = judge(seen, evidence(processes=tuple(candidate)), of=task("none", ["processes"]))
    assert finding.outcome is outcome
    assert (finding.step is Step.PROCESSES) == (outcome is FAIL)


@pytest.mark.parametrize(
    ("references", "candidate", "observe", "outcome"),
    [
        ((0, 0), 0, ["exit"], PASS),
        ((0, 0), 1, ["exit"], FAIL),
        ((1, 2), 127, ["exit"], PASS),
        ((1, 1), 0, ["exit"], FAIL),
        ((0, 1), 0, ["exit"], PASS),
        ((0, 1), 2, ["exit"], PASS),
        ((0, 0), 1, [], PASS),
    ],
)
def test_the_exit_status_is_zero_or_not_where_observed(
    references: tuple[int, int], candidate: int, observe: list[str], outcome: Outcome
) -> None:
    seen = [evidence(status=status, changes=[A]) for status in references]
    finding = judge(seen, evidence(status=candidate, changes=[A]), of=task("none", observe))
    assert finding.outcome is outcome
    assert (finding.step is Step.EXIT) == (outcome is FAIL)


def test_an_option_is_told_by_its_name() -> None:
    off, on = (evidence(shell=shell(options=(f"set {sign}o errexit",))) for sign in "+-")
    finding = judge([off, off], on, of=task("none", ["shell"]))
    assert finding.reason == "leaves option 'errexit' at 'on', expected 'off'"


REASONS = [
    ([GONE], [], "does not change '/srv/a'; every reference deletes it"),
    ([A], [A, B], "adds '/srv/b' as a file, which no reference touches"),
    ([GONE], [remoded("/srv/a", 0o600)], "changes mode or owner of '/srv/a'; a reference deletes it"),
    ([SET_600], [remoded("/srv/a", 0o640)], "mode of '/srv/a' is 0640, expected 0600"),
    (
        [remoded("/srv/a", owner=(33, 33))],
        [remoded("/srv/a", owner=(33, 0))],
        "owner of '/srv/a' is 33:0, expected 33:33",
    ),
    ([link("/srv/l", "x")], [link("/srv/l", "y")], "target of '/srv/l' is 'y', expected 'x'"),
    (
        TAR,
        [archive("/srv/x.tgz", [member("a", "1")])],
        "archive '/srv/x.tgz' lacks member 'b', which every reference packs",
    ),
]


@pytest.mark.parametrize(("reference", "candidate", "reason"), REASONS)
def test_a_reason_says_what_was_found_and_expected(
    reference: list[PathChange], candidate: list[PathChange], reason: str
) -> None:
    assert judge_changes([reference] * 2, candidate).reason == reason


HOSTILE = ["/srv/\x1b[2J", "/srv/\u202egnp.exe", "/srv/a\nb", "/srv/\x9b31m", "/srv/\u2028x", "/srv/" + "x" * 4000]


@pytest.mark.parametrize("path", HOSTILE)
def test_a_reason_lets_no_control_character_through_and_stays_short(path: str) -> None:
    finding = judge_changes([[A]] * 2, [A, added(path)])
    assert finding.outcome is FAIL
    assert finding.reason.isprintable()
    assert len(finding.reason) <= 200


def test_references_that_all_ran_into_a_limit_decide_nothing() -> None:
    late: Evidence = evidence(ending="timeout")
    assert judge([late, late], evidence()).outcome is UNDECIDED


def test_a_reference_that_ran_into_a_limit_teaches_nothing() -> None:
    late = evidence(changes=[A, B], ending="timeout")
    finding = judge([late, evidence(changes=[A])], evidence(changes=[A, B]))
    assert finding.outcome is FAIL
    assert judge([late, evidence(changes=[A])], evidence(changes=[A])).reason == "equal to reference 2 in every variant"


def test_a_type_change_is_compared_with_a_new_files_mode() -> None:
    replaced = PathChange(path=b"/srv/l", kind=Kind.TYPE, type=FileType.FILE, mode=0o644, uid=0, gid=0, old_mode=0o777)
    other = replaced.model_copy(update={"mode": 0o600})
    assert judge_changes([[replaced]] * 2, [other]).outcome is PASS
    assert judge_changes([[other]] * 2, [replaced]).outcome is FAIL
