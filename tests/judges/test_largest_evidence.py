"""Evidence at the runner's limits is judged whatever a command printed. Long numbers do not stop the judge."""

from __future__ import annotations

import pytest

from evaluator.judges import find_judge
from evaluator.judges.consensus.effects import EffectKey, differences
from evaluator.judges.consensus.file_facets import FileFacet
from evaluator.records import Outcome
from evaluator.sandbox.runner.fs_changes import MAX_ENTRIES
from evaluator.testing.evidence import added, case, evidence, task


@pytest.mark.parametrize("rows", ["{} a\n1 b\n5 total\n", "1 a\n1 b\n{} total\n", "{} a\n{} b\n{} total\n"])
def test_a_number_that_python_does_not_read_is_a_word(rows: str) -> None:
    shown = "1 a\n2 b\n3 c\n"
    finding = find_judge("consensus").judge(
        case([evidence(shown), evidence(shown)], evidence(rows.replace("{}", "9" * 5_000)), task("set"))
    )
    assert finding.outcome is Outcome.FAIL


class CountedKey(EffectKey):
    """A key that counts how often it is compared with another key."""

    compared = 0

    def __lt__(self, other: tuple[object, ...]) -> bool:
        CountedKey.compared += 1
        return tuple.__lt__(self, other)


def test_the_first_of_many_differences_is_found_without_sorting_all() -> None:
    CountedKey.compared = 0
    keys = [CountedKey(b"/srv/%05d" % (number * 7919 % MAX_ENTRIES), FileFacet.KIND) for number in range(MAX_ENTRIES)]
    first = next(differences(dict.fromkeys(keys, True), [{}]))
    assert first.key.subject == b"/srv/00000"
    assert CountedKey.compared < 3 * MAX_ENTRIES


def test_all_differences_come_in_the_order_of_their_keys() -> None:
    keys = [EffectKey(b"/srv/%05d" % (number * 7919 % 1_000), FileFacet.KIND) for number in range(1_000)]
    assert [each.key for each in differences(dict.fromkeys(keys, True), [{}])] == sorted(keys)


@pytest.mark.slow
def test_the_reason_names_the_first_of_20_000_paths() -> None:
    changes = [added(b"/srv/%05d" % number) for number in range(MAX_ENTRIES)]
    finding = find_judge("consensus").judge(case([evidence("a"), evidence("a")], evidence("a", changes=changes)))
    assert finding.reason == "adds '/srv/00000' as a file, which no reference touches"
