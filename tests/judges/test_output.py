"""Step 4: standard output in the modes `exact`, `lines`, `set` and `none`, and standard error if it is observed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from evaluator.judges import alignment_problem, find_judge
from evaluator.records import Finding, Outcome, Step
from evaluator.testing.evidence import added, case, evidence, modified, output, task

PASS, FAIL, UNDECIDED = Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED


def judge(mode: str, references: Sequence[Any], candidate: Any, observe: Sequence[str] = ()) -> Finding:
    return find_judge("consensus").judge(case(references, candidate, task(mode, observe)))


SEQUENCES = {
    "exact, same bytes": ("exact", ["a\nb\n"], "a\nb\n", PASS),
    "exact, final newline missing": ("exact", ["a\nb\n"], "a\nb", PASS),
    "exact, two final newlines": ("exact", ["a\nb\n"], "a\nb\n\n", FAIL),
    "exact, blank at the end": ("exact", ["a\nb\n"], "a \nb\n", FAIL),
    "exact, colour": ("exact", ["a\n"], "\x1b[31ma\x1b[0m\n", FAIL),
    "exact, other order": ("exact", ["a\nb\n"], "b\na\n", FAIL),
    "exact, nothing": ("exact", ["a\n"], "", FAIL),
    "exact, more": ("exact", ["a\n"], "a\nb\n", FAIL),
    "exact, either reference": ("exact", ["a\n", "b\n"], "b", PASS),
    "exact, invalid UTF-8": ("exact", [b"\xff\xfe"], b"\xff\xfd", FAIL),
    "lines, blanks at the end": ("lines", ["a\nb\n"], "a\t\nb  \n", PASS),
    "lines, blanks before": ("lines", ["a\nb\n"], " a\nb\n", FAIL),
    "lines, carriage return": ("lines", ["a\nb\n"], "a\r\nb\r\n", FAIL),
    "lines, other order": ("lines", ["a\nb\n"], "b\na\n", FAIL),
    "lines, one missing": ("lines", ["a\nb\n"], "a\n", FAIL),
    "lines, one repeated": ("lines", ["a\nb\n"], "a\na\nb\n", FAIL),
    "lines, joined": ("lines", ["a\nb\n"], "a b\n", FAIL),
    "lines, ./x": ("lines", ["x\n"], "./x\n", FAIL),
    "none, other output": (
        "none",
        [evidence("a\n", changes=[added("/x")])],
        evidence("b", changes=[added("/x")]),
        PASS,
    ),
    "none, no output": ("none", [evidence("a\n", changes=[added("/x")])], evidence("", changes=[added("/x")]), PASS),
}


@pytest.mark.parametrize(("mode", "references", "candidate", "outcome"), SEQUENCES.values(), ids=SEQUENCES)
def test_exact_lines_and_none(mode: str, references: Sequence[Any], candidate: Any, outcome: Outcome) -> None:
    assert judge(mode, references, candidate).outcome is outcome


def test_the_same_reference_must_agree_in_every_variant() -> None:
    references = [{"a": "1\n", "b": "1\n"}, {"a": "2\n", "b": "2\n"}]
    finding = judge("exact", references, {"a": "1\n", "b": "2\n"})
    assert (finding.outcome, finding.variant) == (FAIL, "b")


@pytest.mark.parametrize(
    ("candidate", "reason", "place"),
    [
        ("a\nc\n", "line 2 is 'c', expected 'b'", b"line 2"),
        ("", "prints nothing, expected line 1 to be 'a'", b"line 1"),
        ("a\n", "ends after 1 lines, expected line 2 to be 'b'", b"line 2"),
        ("a\nb\nc\n", "line 3 is 'c', expected no more than 2 lines", b"line 3"),
        ("a\n\x1b[2Jb\n", "line 2 is '\\x1b[2Jb', expected 'b'", b"line 2"),
        ("a\n\u202eb\n", "line 2 is '\\u202eb', expected 'b'", b"line 2"),
    ],
)
def test_the_first_line_that_differs_is_told(candidate: str, reason: str, place: bytes) -> None:
    finding = judge("exact", ["a\nb\n"] * 2, candidate)
    assert (finding.step, finding.reason, finding.place) == (Step.OUTPUT, reason, place)


def test_more_output_than_is_kept_is_compared_by_its_digest() -> None:
    long = evidence().model_copy(update={"stdout": output("a\n" * 50, cap=10)})
    other = evidence().model_copy(update={"stdout": output("a\n" * 50 + "b", cap=10)})
    assert judge("exact", [long, long], long).outcome is PASS
    assert judge("exact", [long, long], other).outcome is FAIL
    assert judge("set", [long, long], long).outcome is PASS
    assert judge("set", [long, long], other).outcome is UNDECIDED
    assert judge("set", ["a\n", "a\n"], other).outcome is FAIL


LONG = "-rw-r--r-- 1 root root 12 Mar 14 a.txt\n-rw-r--r-- 1 root root 7 Mar 14 b.txt\n"
NAMES = "a.txt\nb.txt\n"
SIZED = "12 ./a.txt\n7 ./b.txt\n"
TAUGHT = [LONG, NAMES, SIZED]

SETS = {
    "order of rows": (["a\nb\n"], "b\na\n", PASS),
    "order of fields": (["a 1\nb 2\n"], "1 a\n2 b\n", PASS),
    "width of blanks": (["a 1\n"], "   a\t 1\n", PASS),
    "blank lines": (["a\nb\n"], "a\n\nb\n\n", PASS),
    "colour": (["a\nb\n"], "\x1b[01;34ma\x1b[0m\nb\n", PASS),
    "trailing blanks": (["a\nb\n"], "a  \nb\t\n", PASS),
    "./x for x": (["a\nb\n"], "./a\n./b\n", PASS),
    "x for ./x": (["./a\n./b\n"], "a\nb\n", PASS),
    "spelling of sizes": (["4.0K a\n"], "4KiB a\n", PASS),
    "other size": (["4.0K a\n"], "4.1K a\n", FAIL),
    "size rounded": (["4.0K a\n"], "4096 a\n", FAIL),
    "decimal size": (["4.0K a\n"], "4.0kB a\n", FAIL),
    "item missing": (["a\nb\n"], "a\n", FAIL),
    "item too many": (["a\nb\n"], "a\nb\nc\n", FAIL),
    "item repeated": (["a\nb\n"], "a\nb\nb\n", FAIL),
    "item repeated instead of another": (["a\nb\n"], "a\na\n", FAIL),
    "repetition lost": (["a\na\nb\n"], "a\nb\n", FAIL),
    "repetition of another": (["a\na\nb\n"], "a\nb\nb\n", FAIL),
    "item replaced": (["a\nb\n"], "a\nc\n", FAIL),
    "core field missing": (["a 1\nb 2\n"], "a 1\nb\n", FAIL),
    "core field changed": (["a 1\nb 2\n"], "a 1\nb 3\n", FAIL),
    "values exchanged": (["a 1\nb 2\n"], "a 2\nb 1\n", FAIL),
    "values exchanged in one line": (["a 1\nb 2\n"], "a 2 b 1\n", UNDECIDED),
    "nothing": (["a\n", "a\n"], "", FAIL),
    "something for nothing": (["", ""], "a\n", FAIL),
    "core alone": (TAUGHT, "b.txt\na.txt\n", PASS),
    "core and a known field": (TAUGHT, "a.txt 12\nb.txt 7\n", PASS),
    "known fields of two references": (TAUGHT, "root 12 a.txt\nroot 7 b.txt\n", PASS),
    "known field of another item": (TAUGHT, "a.txt 7\nb.txt 12\n", UNDECIDED),
    "field nobody taught": (TAUGHT, "a.txt 12 1741944600\nb.txt 7 1741944600\n", UNDECIDED),
    "known fields without the core": (TAUGHT, "12\n7\n", FAIL),
    "taught, item missing": (TAUGHT, "a.txt 12\n", FAIL),
    "taught, item too many": (TAUGHT, LONG + "-rw-r--r-- 1 root root 9 Mar 14 c.txt\n", FAIL),
    "taught, heading": (TAUGHT, "total 8\n" + LONG, PASS),
    "a total that heads nothing": (TAUGHT, LONG + "total 8\n", FAIL),
    "a heading without its rows": (["a\n"], "total 0\n", FAIL),
    "a heading of nothing": (["", ""], "total 0\n", PASS),
    "folders marked": (["a\nd\n"], "a\nd/\n", PASS),
    "taught, empty item": (TAUGHT, "a.txt\n./\n", FAIL),
    "joined in one line": (["a\nb\nc\n"], "a b c\n", PASS),
    "joined in another order": (["a\nb\nc\n"], "c a b\n", PASS),
    "joined, where the longest row is no guide": (["a\nb c\na b\n"], "a b c a b\n", PASS),
    "joined, one missing": (["a\nb\nc\n"], "a b\n", FAIL),
    "joined, one too many": (["a\nb\n"], "a b c\n", FAIL),
    "split": (["3 a\n5 b\n"], "3\na\n5\nb\n", PASS),
    "rows joined": (["3 a\n5 b\n"], "5 b 3 a\n", PASS),
    "layout of the second reference": (["3 a\n5 b\n", "a\nb\n"], "a b\n", PASS),
    "joined with separators": (["a\nb\n"], "a, b\n", FAIL),
    "unaligned, one of them": (["a 1\nb 2\n", "total 3\n"], "2 b\n1 a\n", PASS),
    "unaligned, the other in layout": (["a 1\nb 2\n", "x\ny\nz\n"], "z x y\n", PASS),
    "unaligned, a stranger": (["a 1\nb 2\n", "total 3\n"], "a 1\nb 2\nc 9\n", FAIL),
    "unaligned, mixed": (["a 1\nb 2\n", "total 3\n"], "a 1\ntotal 3\n", UNDECIDED),
    "unaligned, what all show is missing": (["a 1\nb 1\n", "a total\n"], "b total\n", FAIL),
    "unaligned, nothing": (["a 1\nb 2\n", "total 3\n"], "", FAIL),
    "references print nothing or something": (["", "a\n"], "", PASS),
    "names with blanks": (["my file\nother file\n"], "other file\nmy file\n", PASS),
    "names with blanks taken apart": (["my file\nother file\n"], "my other\nfile file\n", FAIL),
    "carriage returns": (["a\nb\n"], "a\r\nb\r\n", FAIL),
    "other case": (["a\nb\n"], "A\nb\n", FAIL),
    "NUL instead of newline": (["a\nb\n"], "a\0b\0", FAIL),
}


@pytest.mark.parametrize(("references", "candidate", "outcome"), SETS.values(), ids=SETS)
def test_sets(references: list[str], candidate: str, outcome: Outcome) -> None:
    finding = judge("set", references if len(references) > 1 else references * 2, candidate)
    assert finding.outcome is outcome
    assert (finding.step is Step.OUTPUT) == (outcome is not PASS) or finding.outcome is PASS


@pytest.mark.parametrize(
    ("candidate", "reason", "place"),
    [
        ("a.txt 12\n", "no line shows the expected item '-rw-r--r-- 1 root root 7 Mar 14 b.txt'", None),
        ("a.txt\nb.txt\nc.txt\n", "line 3 is 'c.txt', which no reference shows", b"line 3"),
        ("a.txt 13\nb.txt\n", "line 1 also shows '13', which no reference shows there", b"line 1"),
        ("", "prints nothing, expected '-rw-r--r-- 1 root root 12 Mar 14 a.txt'", b"line 1"),
    ],
)
def test_what_is_absent_or_too_much_is_told(candidate: str, reason: str, place: bytes | None) -> None:
    finding = judge("set", TAUGHT, candidate)
    assert (finding.step, finding.reason, finding.place) == (Step.OUTPUT, reason, place)


def test_the_line_that_lacks_a_core_field_is_told() -> None:
    finding = judge("set", ["a 1 x\nb 2 y\n"] * 2, "a 1 x\nb 2 z\n")
    assert (finding.reason, finding.place) == ("line 2 is 'b 2 z', expected 'y' in it, as in 'b 2 y'", b"line 2")


def test_a_failure_in_a_later_variant_outranks_what_is_undecided_in_an_earlier_one() -> None:
    references = [{"a": "x 1\n", "b": "x 2\n"}] * 2
    finding = judge("set", references, {"a": "x 1 new\n", "b": "y 9\n"})
    assert (finding.outcome, finding.variant) == (FAIL, "b")


def test_files_come_before_output() -> None:
    finding = judge("exact", [evidence("1\n", changes=[added("/srv/a")])] * 2, evidence("2\n"))
    assert finding.step is Step.FILES


def test_many_equal_rows_cost_no_more_than_one() -> None:
    rows = "a 1\n" * 5_000
    assert judge("set", [rows, rows], rows + "a 1\n").outcome is FAIL
    assert judge("set", [rows, "1 x a\n" * 5_000], "x 1 a\n" * 5_000).outcome is PASS


ALIGNMENTS = [
    ("set", TAUGHT, None),
    ("set", ["a\nb\n", "b\na\n"], None),
    ("set", ["", ""], None),
    ("set", ["a\n"], None),
    ("exact", ["a\n", "b\n"], None),
    (
        "set",
        ["a\nb\n", "a\nb\nc\n"],
        "variant one, standard output: references 1 and 2 do not align one to one: 2 rows",
    ),
    ("set", ["a\nb\n", "x\ny\n"], "variant one, standard output: references 1 and 2 do not align one to one: their"),
    ("set", ["a 1\nb 2\n", "a 2\nb 1\n"], "variant one, standard output: references 1 and 2 do not align"),
    ("set", ["a 1\n", "a\n", "1\n"], "variant one, standard output: no field of line 1, 'a 1', is in every reference"),
    ("set", ["a\na\nb\n", "a\nb\nb\n"], "variant one, standard output: references 1 and 2 do not align"),
    ("exact", ["a\n", evidence("a\n", ending="timeout")], "a reference ran into a limit"),
]


@pytest.mark.parametrize(("mode", "references", "problem"), ALIGNMENTS)
def test_references_that_teach_nothing_are_told(mode: str, references: Sequence[Any], problem: str | None) -> None:
    found = alignment_problem(case(references, None, task(mode)))
    assert found == problem if problem is None else found is not None and found.startswith(problem)


def test_listed_files_that_do_not_align_are_told() -> None:
    references = [evidence(changes=[modified("/srv/l", data, text=True)]) for data in ("a\n", "b\nc\n")]
    found = alignment_problem(case(references, None, task("set", text_files=("/srv/l",))))
    assert found == "variant one, '/srv/l': references 1 and 2 do not align one to one: 1 rows against 2"


STDERR = {
    "the same": ("bash: line 1: x: not found\n", "bash: line 1: x: not found\n", PASS),
    "other script line": ("bash: line 1: x: not found\n", "bash: line 3: x: not found\n", PASS),
    "blanks and colour": ("warning: y\n", "\x1b[33mwarning:\x1b[0m y \n", PASS),
    "nothing": ("warning: y\n", "", FAIL),
    "something for nothing": ("", "warning: y\n", FAIL),
    "other message": ("bash: line 1: x: not found\n", "bash: line 1: x: permission denied\n", FAIL),
}


@pytest.mark.parametrize(("reference", "candidate", "outcome"), STDERR.values(), ids=STDERR)
def test_standard_error_counts_where_it_is_observed(reference: str, candidate: str, outcome: Outcome) -> None:
    references, shows = [evidence("1\n", stderr=reference)] * 2, evidence("1\n", stderr=candidate)
    finding = judge("exact", references, shows, ["stderr"])
    assert finding.outcome is outcome
    assert (finding.step is Step.STDERR) == (outcome is FAIL)
    assert judge("exact", references, shows).outcome is PASS
