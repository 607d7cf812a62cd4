"""The NLC2CMD metric on pairs that were scored by hand, and its algebraic laws.

COMMANDS draws readable commands. ANY also draws commands that may be refused or unreadable.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.nlc2cmd import TaskScore, score_candidate, score_task
from evaluator.shell.nlc2cmd.score import Signature, flag_score, reading_of, score_pair

FLAGS = st.frozensets(st.sampled_from(["-a", "-b", "-c", "-d", "-e"]))
COMMANDS = st.lists(
    st.tuples(
        st.sampled_from(["ls", "sort", "grep", "cat"]), st.lists(st.sampled_from(["-n", "-r", "-u", "x"]), max_size=3)
    ),
    min_size=1,
    max_size=4,
).map(lambda stages: " | ".join(" ".join([name, *words]) for name, words in stages))


ANY = st.lists(
    st.sampled_from(
        ["ls", "-l", "|", "sort", "-n", ">", "f", ";", "$(date -u)", "foo", "'", "xargs", "sudo", "find", "."]
    ),
    max_size=8,
).map(" ".join)


@pytest.mark.parametrize(
    ("prediction", "reference", "confidence", "score"),
    [
        # the flags are the same set: S_F = (2 * 3 - 3) / 3 = 1
        (
            "find . -type f -regextype posix-egrep -regex REGEX",
            "find . -regextype posix-egrep -regex REGEX -type f",
            1,
            1,
        ),
        # the two utilities are exchanged: (-1 - 1) / 2
        ("tail -n 1 | df --total", "df --total | tail -n 1", 1, -1),
        # find: S_F = (2 * 1 - 2) / 2 = 0, position 1/2; tail: 1; the mean 3/4
        ("find . -type f | tail -n 5", "find . -type f -ctime -3 | tail -n 5", 1, 0.75),
        # one flag of six: S_F = (2 * 1 - 6) / 6 = -2/3, position 1/6, times 1/4
        ("find / -EXdsx -name linux", "find / -name linux", 0.25, 1 / 24),
        # the utility differs: -1, times 1/4
        ("touch directory", "mkdir directory", 0.25, -0.25),
    ],
)
def test_table_3_of_the_paper_comes_out(prediction: str, reference: str, confidence: float, score: float) -> None:
    """The examples of Table 3 have the printed scores. A comment beside each row shows the calculation."""
    assert score_task([prediction], [confidence], [reference]).organisers == pytest.approx(score)


@pytest.mark.parametrize(
    ("prediction", "reference", "score"),
    [
        ("df | grep diskpath", "df | grep /dev/disk0s2", 1),
        ("touch directory", "mkdir directory", -1),
        ("find / -EXdsx -name linux", "find / -name linux", 1 / 6),
    ],
)
def test_the_organisers_own_examples_come_out(prediction: str, reference: str, score: float) -> None:
    """The notes of the organisers' program give these scores for confidence 1. Table 3 does not have these pairs."""
    assert score_pair(prediction, reference) == pytest.approx(score)
    assert score_pair(prediction, reference, strict_2020=True) == pytest.approx(score)


@pytest.mark.parametrize(
    ("prediction", "reference", "score"),
    [
        ("ls", "ls", 1),
        ("ls -l", "ls", 0),
        ("ls -a", "ls -l", -0.5),
        ("ls -a --all", "ls -a", 0.5),
        ("ls -la", "ls -a -l", 1),
        ("ls | sort", "ls", 0),
        ("sort", "ls", -1),
        ("head -5 f", "head -n 5 f", -0.5),
        ("egrep x f", "grep -E x f", 1),
        ("sudo ls -l", "ls -l", 1),
        ("$ ls -l", "ls -l", 1),
        ("tar xf a", "tar -x -f a", 1),
        ("find . ! -name a -prune", "find . -not -name a", 1),
        ("find . \u2013name a", "find . -name a", 1),
        ("find . -exec rm {} \\;", "find . -exec rm {} +", 0.25),
        ("find . -exec rm -f {} \\;", "find . -exec rm {} \\;", (0.5 * (1 + 0) + 0.5 * (1 - 1)) / 2 + 0.0),
        ("ls | xargs rm", "ls | xargs", (1 + 0 - 1) / 3),
        ("echo $(date)", "echo `date`", 1),
        ("ls > f", "ls", 1),
        ("head -n5 f > g", "head -n 5 f", 1),
        ("head -5 f > g", "head -5 f", 1),
        ("kill -s 9 1; ls", "kill -s 9 1 | ls", 1),
        ("cd a && ls", "cd a; ls", 1),
        ("# sort the list\nls -l | sort", "ls -l | sort", 1),
        ("# find files\nfind . -size +1M", "find . -size +1M", 1),
        ("ls -l\nwc f", "ls -l; wc f", 1),
        ("ls \\\n  -l", "ls -l", 1),
        ("find . -exec echo {} a + \\;", "find . -exec echo {} \\;", 1),
        ("find . -exec echo '+' ';' -print", "find . -exec echo {} + -print", ((1 - 0.5) / 2 + 1) / 2),
        ("", "ls", -1),
        ("ls 'a", "ls", -1),
        ("ls", "ls 'a", -1),
    ],
)
def test_pairs_score_what_a_hand_works_out(prediction: str, reference: str, score: float) -> None:
    """Each rule of the metric gives the score that its formula gives by hand."""
    assert score_pair(prediction, reference) == pytest.approx(score)


@pytest.mark.parametrize(
    ("command", "strict"),
    [
        ("env -S 'sort -r' f", ["env"]),
        ("env -i A=b sort -r f", ["env"]),
        ("env bash -c 'sort -r f'", ["env"]),
        ("cat ${x:+<(sort -r f)}", ["cat"]),
        ('echo "${x:-$(sort -r f)}"', ["echo"]),
        ("cat f | LC_ALL=C sort -r", ["cat"]),
        ("cat $'a b' | $'sort' -r", ["cat"]),
        ("find . -exec env A=b sort -r {} \\;", ["find", "env"]),
        ("bash -lc 'sort -r f'", None),
        ("xargs --replace sort -r {}", None),
        ("coproc sort -r f", None),
    ],
)
def test_a_call_that_their_program_overlooked_is_seen(command: str, strict: list[str] | None) -> None:
    """The strict reading sees what the organisers' program saw."""
    reading = reading_of(command)
    assert Signature("sort", frozenset({"-r"})) in (reading.signatures or ())
    assert (None if reading.strict is None else [call.utility for call in reading.strict]) == strict
    assert score_pair(command, command.replace("-r", "-u")) < 1
    assert score_pair(command, command, strict_2020=True) == (0 if strict is None else 1)


@pytest.mark.parametrize(
    ("prediction", "reference", "ours", "strict"),
    [
        ("ls > f", "ls", 1, -1),
        ("ls", "for i in a; do ls; done", 1, -1),
        ("ls > f", "ls > f", 1, 0),
        ("foo -x", "foo -x", 1, 0),
        ("a; b", "a && b", 1, 0),
        ("ps aux", "ps -ef", 0, -1),
        ("", "ls", -1, -1),
        ("", "foo", -1, 0),
        ("ls -l", "ls -a", -0.5, -0.5),
    ],
)
def test_the_strict_reading_refuses_what_was_refused_in_2020(
    prediction: str, reference: str, ours: float, strict: float
) -> None:
    """A pair scores -1 if one side is refused and 0 if both are, even if they are equal."""
    assert score_pair(prediction, reference) == ours
    assert score_pair(prediction, reference, strict_2020=True) == strict


def test_a_task_may_be_scored_strictly() -> None:
    """Both aggregations use the strict reading for every pair."""
    assert score_task(["ls > f", "ls"], [1.0, 0.5], ["ls -l"], strict_2020=True) == TaskScore(-0.5, -0.5)
    assert score_task(["ls > f"], [1.0], ["ls > f"]).organisers == 1


def test_all_pairs_are_pooled_by_the_organisers_and_not_by_the_paper() -> None:
    """Without a positive score, the program averages all pairs. The paper averages each candidate's best pair."""
    scores = score_task(["sort", "ls -a"], [1.0, 0.5], ["ls -l", "cat"])
    assert scores.organisers == pytest.approx((-1 - 1 - 0.25 - 0.5) / 4)
    assert scores.paper == pytest.approx((-1 - 0.25) / 2)


def test_the_best_pair_above_zero_decides() -> None:
    """One good candidate decides the score, however many bad ones there are."""
    assert score_task(["cat", "ls -l", "sort"], [1.0, 0.5, 1.0], ["ls -l"]) == TaskScore(0.5, 0.5)


def test_empty_predictions_are_skipped_and_alone_score_minus_one() -> None:
    """An empty candidate is skipped if the task has another candidate. Otherwise the task scores -1."""
    assert score_task(["", "ls -a"], [1.0, 1.0], ["ls -l"]).organisers == -0.5
    assert score_task([" "], [0.5], ["ls"]) == TaskScore(-1.0, -0.5)
    assert score_task([], [], ["ls"]) == TaskScore(-1.0, -1.0)


@given(FLAGS, FLAGS)
def test_flag_scores_are_bounded_symmetric_and_one_for_equals(mine: frozenset[str], theirs: frozenset[str]) -> None:
    """S_F lies in [-2, 1], is symmetric, and is 1 if and only if the two sets are equal."""
    score = flag_score(mine, theirs)
    assert -2 <= score <= 1
    assert score == flag_score(theirs, mine)
    assert (score == 1) == (mine == theirs)


@given(FLAGS, FLAGS, st.sampled_from(["-a", "-b", "-c", "-d", "-e"]))
def test_a_wrong_flag_more_never_helps(mine: frozenset[str], theirs: frozenset[str], flag: str) -> None:
    """A flag that the reference lacks cannot raise the score if the prediction has at least as many flags."""
    if flag not in theirs | mine and len(mine) >= len(theirs) and mine & theirs:
        assert flag_score(mine | {flag}, theirs) <= flag_score(mine, theirs)


@given(COMMANDS)
def test_a_command_agrees_with_itself(command: str) -> None:
    """A command and itself score 1."""
    assert score_pair(command, command) == 1


@given(ANY)
def test_a_command_agrees_with_itself_unless_it_is_empty(command: str) -> None:
    """A command and itself score 1, whether it is accepted, refused or unreadable."""
    assert score_pair(command, command) == (1 if command.strip() else -1)


@given(ANY, ANY)
def test_any_two_texts_score_within_bounds(prediction: str, reference: str) -> None:
    """Both readings give scores in [-1, 1], and the strict reading is symmetric."""
    assert -1 <= score_pair(prediction, reference) <= 1
    strict = score_pair(prediction, reference, strict_2020=True)
    assert -1 <= strict <= 1
    assert strict == pytest.approx(score_pair(reference, prediction, strict_2020=True))


@given(COMMANDS, COMMANDS, st.sampled_from(["  {}", "{} ", "$ {}", "sudo {}", "{} operand"]))
def test_what_is_around_a_command_does_not_matter(prediction: str, reference: str, form: str) -> None:
    """Blanks, a prompt, sudo and another operand do not change the score."""
    assert score_pair(form.format(prediction), reference) == score_pair(prediction, reference)


@given(st.permutations(["-n", "-r", "-u", "-k2", "f"]), COMMANDS)
def test_the_order_of_flags_and_operands_does_not_matter(words: list[str], reference: str) -> None:
    """Flags are compared as a set, and operands are ignored."""
    assert score_pair(f"sort {' '.join(words)}", reference) == score_pair("sort -nruk2", reference)


@given(COMMANDS, COMMANDS)
def test_pair_scores_are_bounded_and_symmetric(prediction: str, reference: str) -> None:
    """The score of a pair is in [-1, 1] and is symmetric."""
    score = score_pair(prediction, reference)
    assert -1 <= score <= 1
    assert score == pytest.approx(score_pair(reference, prediction))


@given(st.lists(COMMANDS, min_size=1, max_size=5), st.lists(COMMANDS, min_size=1, max_size=3))
def test_candidates_then_tasks_is_the_organisers_pooling(predictions: list[str], references: list[str]) -> None:
    """Aggregation by candidate and then by task gives the same score as pooling all pairs."""
    candidates = [score_candidate(prediction, references) for prediction in predictions]
    best = max(candidates)
    expected = best if best > 0 else sum(candidates) / len(candidates)
    assert score_task(predictions, [1.0] * len(predictions), references).organisers == pytest.approx(expected)


@given(st.lists(COMMANDS, min_size=1, max_size=5), st.lists(COMMANDS, min_size=1, max_size=3))
def test_the_order_of_candidates_and_references_does_not_matter(predictions: list[str], references: list[str]) -> None:
    """The score of a task does not depend on the order of its pairs."""
    confidences = [1 / (1 + position) for position in range(len(predictions))]
    forward = score_task(predictions, confidences, references)
    backward = score_task(predictions[::-1], confidences[::-1], references[::-1])
    assert forward == pytest.approx(backward)
