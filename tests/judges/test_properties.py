"""Laws that hold for all outputs and all changes of files."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.judges import find_judge
from evaluator.judges.consensus.assignment import assign
from evaluator.judges.consensus.nondeterministic import NOTHING, Text, text_of, volatile_words
from evaluator.judges.consensus.outputs import compare_lines
from evaluator.judges.consensus.rows import RowKey, table_of
from evaluator.judges.reasons import reason, shown
from evaluator.records import Evidence, Finding, Observation, Outcome, OutputMode, PathChange
from evaluator.testing.evidence import (
    added,
    case,
    deleted,
    directory,
    evidence,
    modified,
    output,
    process,
    remoded,
    shell,
    task,
    trial,
)
from tests.properties import examples

WORD = st.text(alphabet="abc123./K-", min_size=1, max_size=4)
ROW = st.lists(WORD, min_size=1, max_size=4)
ROWS = st.lists(ROW, max_size=6)
PATH = st.sampled_from(["/srv/a", "/srv/b", "/srv/c", "/tmp/d"])
CHANGE = st.one_of(
    st.builds(added, PATH, WORD),
    st.builds(modified, PATH, WORD, mode=st.sampled_from([0o600, 0o644])),
    st.builds(deleted, PATH),
    st.builds(remoded, PATH, st.sampled_from([0o600, 0o755])),
    st.builds(directory, PATH),
)
CHANGES = st.lists(CHANGE, max_size=4, unique_by=lambda change: change.path)
MODES = st.sampled_from(list(OutputMode))


@st.composite
def seen(draw: st.DrawFn) -> Evidence:
    """Draw the evidence of a command that ended by itself."""
    return evidence(
        draw(st.binary(max_size=30)),
        changes=draw(CHANGES),
        status=draw(st.integers(0, 2)),
        stderr=draw(st.binary(max_size=10)),
        shell=shell(draw(st.dictionaries(st.sampled_from(["X", "Y"]), WORD)), cwd=draw(WORD).encode()),
        processes=tuple(map(process, draw(st.lists(WORD, max_size=2)))),
    )


def judge(mode: OutputMode | str, references: Any, candidate: Any, **fields: Any) -> Finding:
    return find_judge("consensus").judge(case(references, candidate, task(mode, **fields)))


def text(rows: list[list[str]]) -> str:
    return "".join(f"{' '.join(row)}\n" for row in rows)


def place(data: bytes, masked: Any = NOTHING) -> Text:
    return text_of(output(data), masked)


@given(st.lists(seen(), min_size=1, max_size=3), st.integers(0, 2), MODES, st.sets(st.sampled_from(list(Observation))))
def test_a_references_own_evidence_always_passes(
    found: list[Evidence], index: int, mode: OutputMode, observe: set[Observation]
) -> None:
    # a reference without output or changes cannot make a candidate pass
    marked = [each.model_copy(update={"changes": (*each.changes, added("/z"))}) for each in found]
    assert judge(mode, marked, marked[index % len(found)], observe=tuple(observe)).outcome is Outcome.PASS


@given(st.lists(seen(), min_size=1, max_size=3), seen(), MODES)
def test_every_judge_answers_whatever_is_shown(found: list[Evidence], candidate: Evidence, mode: OutputMode) -> None:
    for name in ("exact", "consensus"):
        finding = find_judge(name).judge(case(found, candidate, task(mode, tuple(Observation))))
        assert finding.outcome in (Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED, Outcome.INVALID)
        assert finding.reason.isprintable()
        assert 0 < len(finding.reason) <= 200


@given(st.lists(seen(), min_size=2, max_size=3), seen(), MODES)
def test_the_order_of_references_decides_nothing(found: list[Evidence], candidate: Evidence, mode: OutputMode) -> None:
    assert judge(mode, found, candidate).outcome is judge(mode, found[::-1], candidate).outcome


@given(ROWS.filter(len), st.randoms(use_true_random=False))
def test_any_order_of_a_references_rows_passes_in_a_set(rows: list[list[str]], dice: random.Random) -> None:
    shuffled = dice.sample(rows, len(rows))
    assert judge("set", [text(rows)] * 2, text(shuffled)).outcome is Outcome.PASS


@given(st.lists(WORD, max_size=6), st.lists(WORD, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_a_candidates_rows_decides_nothing_in_a_set(
    reference: list[str], candidate: list[str], dice: random.Random
) -> None:
    shuffled = dice.sample(candidate, len(candidate))
    printed = [text([[word] for word in words]) for words in (reference, candidate, shuffled)]
    before, after = (judge("set", [printed[0]] * 2, shown_rows).outcome for shown_rows in printed[1:])
    assert before is after


@given(ROWS, ROW)
def test_an_item_more_never_passes_in_a_set(rows: list[list[str]], more: list[str]) -> None:
    assert judge("set", [text(rows)] * 2, text([*rows, more])).outcome is not Outcome.PASS


@given(ROWS.filter(len), st.integers(0, 5))
def test_an_item_less_never_passes_in_a_set(rows: list[list[str]], index: int) -> None:
    less = [row for number, row in enumerate(rows) if number != index % len(rows)]
    assert judge("set", [text(rows)] * 2, text(less)).outcome is Outcome.FAIL


def bags(rows: list[list[str]]) -> dict[RowKey, int]:
    return {bag: len(same) for bag, same in table_of(place(text(rows).encode())).by_key.items()}


@given(st.lists(st.sampled_from([b"a b", b"b a", b"a  b", b"a", b"", b" ", b"c/ ./a"])))
def test_each_row_of_a_table_is_that_of_its_line_alone(lines: list[bytes]) -> None:
    """A repeated line keeps its own number and the order of its own fields."""
    table = table_of(place(b"\n".join(lines)))
    alone = [(number, row) for number, line in enumerate(lines, start=1) for row in table_of(place(line)).rows]
    assert table.rows == tuple(row._replace(line=number) for number, row in alone)
    assert sorted(row.line for group in table.by_key.values() for row in group) == [row.line for row in table.rows]
    assert all(sorted(row.fields) == list(key.fields) for key, group in table.by_key.items() for row in group)


@given(ROWS.filter(len), st.integers(0, 5), WORD)
def test_another_value_never_passes_in_a_set(rows: list[list[str]], index: int, value: str) -> None:
    number = index % len(rows)
    other = [[*row[:-1], value] if n == number else row for n, row in enumerate(rows)]
    same = bags(rows) == bags(other)
    outcome = judge("set", [text(rows)] * 2, text(other), nl="Print exactly this").outcome
    assert (outcome is Outcome.PASS) == same or outcome is Outcome.FAIL


@given(st.lists(CHANGES, min_size=1, max_size=3), CHANGE)
def test_an_effect_no_reference_has_never_passes_outside_scratch(
    sets: list[list[PathChange]], more: PathChange
) -> None:
    elsewhere = more.model_copy(update={"path": b"/etc/more"})
    candidate = evidence(changes=[*sets[0], elsewhere])
    finding = judge("none", [evidence(changes=changes) for changes in sets], candidate)
    assert (finding.outcome, finding.collateral) == (Outcome.FAIL, True)


@given(CHANGES.filter(len), CHANGES)
def test_doing_nothing_fails_where_every_reference_does_something(
    first: list[PathChange], second: list[PathChange]
) -> None:
    both = [
        evidence(changes=first),
        evidence(changes=[*first, *(c for c in second if c.path not in {f.path for f in first})]),
    ]
    assert judge("none", both, evidence()).outcome is Outcome.FAIL


@given(st.binary(max_size=20), st.binary(max_size=20), st.binary(max_size=20), st.binary(max_size=20))
def test_masking_is_symmetric(left: bytes, left_again: bytes, right: bytes, right_again: bytes) -> None:
    for mode in (OutputMode.EXACT, OutputMode.LINES):
        ours = place(left, volatile_words(left, left_again, mode))
        theirs = place(right, volatile_words(right, right_again, mode))
        assert compare_lines(ours, theirs, mode).match is compare_lines(theirs, ours, mode).match


@given(st.binary(max_size=30))
def test_equal_runs_have_no_volatile_words(data: bytes) -> None:
    assert not any(volatile_words(data, data, mode) for mode in OutputMode)


@given(seen(), seen(), MODES)
def test_a_second_run_never_makes_a_candidate_pass(reference: Evidence, candidate: Evidence, mode: OutputMode) -> None:
    before = judge(mode, [reference], candidate).outcome
    after = judge(mode, [reference], trial(candidate, reference)).outcome
    assert before is after or (before is Outcome.FAIL and after is Outcome.UNDECIDED)


@settings(max_examples=examples(60))
@given(st.lists(st.integers(1, 3), max_size=4), st.lists(st.integers(1, 3), max_size=4), st.data())
def test_an_assignment_is_complete_exactly_where_one_exists(
    items: list[int], rows: list[int], data: st.DataObject
) -> None:
    edges = [
        data.draw(st.lists(st.sampled_from(range(len(rows))), unique=True) if rows else st.just([])) for _ in items
    ]
    found = assign(items, rows, edges)
    assert found.is_complete == exists(items, rows, edges)
    for row, flow in found.flow.items():
        assert found.free[row] + sum(flow.values()) == rows[row]
        assert all(row in edges[item] for item in flow)


def exists(items: list[int], rows: list[int], edges: list[list[int]]) -> bool:
    """Return whether rows can be assigned to items completely, by trying every assignment."""
    if sum(items) != sum(rows):
        return False
    needy = next((number for number, need in enumerate(items) if need), None)
    if needy is None:
        return True
    return any(
        exists(
            [need - (number == needy) for number, need in enumerate(items)],
            [free - (number == row) for number, free in enumerate(rows)],
            edges,
        )
        for row in edges[needy]
        if rows[row]
    )


@given(st.text(max_size=300) | st.binary(max_size=300))
def test_whatever_is_shown_is_printable_and_short(value: str | bytes) -> None:
    assert shown(value).isprintable()
    assert len(reason(f"{shown(value)} {'x' * 300}")) == 200
