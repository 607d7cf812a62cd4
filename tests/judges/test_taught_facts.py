"""Facts that count only if all references agree about them: links, archives' owners and times, unobserved processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from evaluator.judges import find_judge
from evaluator.records import Evidence, FileType, Finding, Kind, Member, Outcome, PathChange, Task
from evaluator.testing.evidence import added, archive, case, directory, evidence, member, modified, process, task

PASS, FAIL = Outcome.PASS, Outcome.FAIL
NONE = task("none")
COPY, LINKED = added("/srv/b", "1"), added("/srv/b", "1", links=2)


def stated(name: str, content: str = "1", **fields: int) -> Member:
    values = {"uid": 0, "gid": 0, "mtime": 1_700_000_000, **fields}
    return member(name, content).model_copy(update=values)


def tar(*members: Member, **fields: int) -> list[PathChange]:
    return [archive("/srv/x.tar", members, "tar").model_copy(update=fields)]


def touched(mtime: int) -> PathChange:
    return modified("/srv/a").model_copy(update={"kind": Kind.TOUCHED, "mtime": mtime})


def with_list(**lists: str) -> PathChange:
    return directory("/srv/d", 0o2770).model_copy(update=lists)


def judge(references: Sequence[Sequence[PathChange]], candidate: Sequence[PathChange], of: Task = NONE) -> Finding:
    shown = [evidence(changes=changes) for changes in references]
    return find_judge("consensus").judge(case(shown, evidence(changes=candidate), of))


ONE = tar(stated("a"))
COPIED = stated("a").model_copy(update={"mtime": None})
CASES: dict[str, tuple[list[list[PathChange]], list[PathChange], Outcome]] = {
    "a hard link for a copy": ([[COPY], [COPY]], [LINKED], FAIL),
    "a copy for a hard link": ([[LINKED], [LINKED]], [COPY], FAIL),
    "a hard link where a reference makes one": ([[COPY], [LINKED]], [LINKED], PASS),
    "another number of links where references differ": (
        [[COPY], [LINKED]],
        [COPY.model_copy(update={"links": 3})],
        PASS,
    ),
    "another owner inside": ([ONE, ONE], tar(stated("a", uid=65534)), FAIL),
    "another time inside": ([ONE, ONE], tar(stated("a", mtime=0)), FAIL),
    "a time inside on which references differ": ([ONE, tar(stated("a", mtime=5))], tar(stated("a", mtime=9)), PASS),
    "an owner inside on which references differ": ([ONE, tar(stated("a", gid=4))], tar(stated("a", gid=5)), PASS),
    "the time of a copy inside": ([ONE, ONE], tar(COPIED), PASS),
    "an original's time inside where references pack copies": ([tar(COPIED), tar(COPIED)], ONE, PASS),
    "root inside": ([tar(stated("a", uid=33))] * 2, tar(stated("a")), PASS),
    "another order inside": (
        [tar(stated("a"), stated("b"))] * 2,
        tar(stated("b"), stated("a")),
        PASS,
    ),
    "a member twice": ([ONE, ONE], tar(stated("a"), stated("a")), PASS),
    "another member under the same name": ([ONE, ONE], tar(stated("a", "secret"), stated("a")), FAIL),
    "bytes after the end": ([ONE, ONE], tar(stated("a"), after_end=512), FAIL),
    "a time set": ([[COPY], [COPY]], [COPY, touched(0)], FAIL),
    "a time that a reference sets": ([[COPY, touched(5)], [COPY]], [COPY, touched(0)], PASS),
    "a time that every reference sets": ([[COPY, touched(5)]] * 2, [COPY], FAIL),
    "another time than every reference sets": ([[COPY, touched(5)]] * 2, [COPY, touched(6)], FAIL),
    "the time of the only reference": ([[COPY, touched(5)]], [COPY, touched(5)], PASS),
    "another time than the only reference's": ([[COPY, touched(5)]], [COPY, touched(6)], FAIL),
    "links of the only reference": ([[LINKED]], [COPY], PASS),
    "an owner inside of the only reference": ([ONE], tar(stated("a", uid=33)), PASS),
    "a default list": ([[with_list()]] * 2, [with_list(default_acl="other::rwx")], FAIL),
    "a list": ([[with_list()]] * 2, [with_list(acl="user:33:rwx")], FAIL),
    "a list that stood there": (
        [[with_list(acl="user:33:rwx", old_acl="user:33:rwx")]] * 2,
        [with_list(acl="user:33:rwx", old_acl="user:33:rwx")],
        PASS,
    ),
    "a list that every reference sets": ([[with_list(acl="user:33:rwx")]] * 2, [with_list()], FAIL),
}


@pytest.mark.parametrize(("references", "candidate", "outcome"), CASES.values(), ids=CASES)
def test_references_teach_facts_by_agreement(
    references: list[list[PathChange]], candidate: list[PathChange], outcome: Outcome
) -> None:
    assert judge(references, candidate).outcome is outcome


def test_the_order_inside_counts_where_the_instruction_asks_for_one() -> None:
    of = task("none", nl="Pack the files of srv into x.tar in alphabetical order")
    references = [tar(stated("a"), stated("b"))] * 2
    assert judge(references, tar(stated("b"), stated("a")), of).outcome is FAIL
    assert judge(references, tar(stated("a"), stated("b")), of).outcome is PASS


REASONS: dict[str, tuple[list[PathChange], list[PathChange], str]] = {
    "links": ([COPY], [LINKED], "'/srv/b' has 2 hard links; in the references it is a file of its own"),
    "owner": (ONE, tar(stated("a", uid=33)), "owner of member 'a' of '/srv/x.tar' is 33:0, expected 0:0"),
    "time": (
        ONE,
        tar(stated("a", mtime=0)),
        "time of member 'a' of '/srv/x.tar' is 1970-01-01 00:00:00, expected 2023-11-14 22:13:20",
    ),
    "end": (
        ONE,
        tar(stated("a"), after_end=9),
        "archive '/srv/x.tar' has 9 bytes after its end, which no program unpacks",
    ),
    "set time": (
        [COPY],
        [COPY, touched(0)],
        "sets the time of '/srv/a' to 1970-01-01 00:00:00, which no reference does",
    ),
    "list": (
        [with_list()],
        [with_list(default_acl="other::rwx")],
        "access control list of '/srv/d' is 'none and default other::rwx', expected none",
    ),
}


@pytest.mark.parametrize(("reference", "candidate", "reason"), REASONS.values(), ids=REASONS)
def test_a_reason_names_the_taught_fact(reference: list[PathChange], candidate: list[PathChange], reason: str) -> None:
    assert judge([reference, reference], candidate).reason == reason


def left(*names: str, state: str = "S") -> Evidence:
    return evidence("ok\n", processes=tuple(process(name, state=state) for name in names))


def stopped(*names: str) -> Evidence:
    return left(*names, state="T")


LEFT: dict[str, tuple[Callable[[], list[Evidence]], Callable[[], Evidence], Outcome]] = {
    "the same": (lambda: [left("a"), left("a")], lambda: left("a"), PASS),
    "one ended": (lambda: [left("a"), left("a")], left, FAIL),
    "one stopped": (lambda: [left("a"), left("a")], lambda: stopped("a"), FAIL),
    "one more": (lambda: [left("a"), left("a")], lambda: left("a", "b"), FAIL),
    "one on which references differ": (lambda: [left("a"), left()], lambda: left("a", "a"), PASS),
}


@pytest.mark.parametrize(("references", "candidate", "outcome"), LEFT.values(), ids=LEFT)
def test_processes_count_where_references_agree(
    references: Callable[[], list[Evidence]], candidate: Callable[[], Evidence], outcome: Outcome
) -> None:
    """A task that does not observe processes compares them nevertheless, if the evidence lists them."""
    finding = find_judge("consensus").judge(case(references(), candidate(), task("exact")))
    assert finding.outcome is outcome


def test_a_link_has_no_number_of_links() -> None:
    change = PathChange(path=b"/srv/l", kind=Kind.ADDED, type=FileType.LINK, target=b"x", mode=0o777, uid=0, gid=0)
    assert judge([[change], [change]], [change]).outcome is PASS
