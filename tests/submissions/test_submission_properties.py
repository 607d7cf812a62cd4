"""Properties of the check and the loader that hold for a submission of any bytes."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluator.errors import FormatError, Problem, Severity
from evaluator.records import MAX_CANDIDATES
from evaluator.submissions import check_submission, load_submission
from tests.properties import examples
from tests.submissions.submission_folders import MANIFEST, PREDICTIONS, SUITES

QUICK = settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])


def written(parent: Path, manifest: bytes, predictions: bytes) -> Path:
    folder = parent / "a-system"
    folder.mkdir(exist_ok=True)
    (folder / "submission.toml").write_bytes(manifest)
    (folder / "core.jsonl").write_bytes(predictions)
    return folder


def spliced(sound: bytes) -> st.SearchStrategy[bytes]:
    """Generate valid bytes with one part replaced by other bytes, because faults in nearly valid files are subtle."""
    places = st.integers(0, len(sound))
    return st.builds(lambda start, end, middle: sound[:start] + middle + sound[end:], places, places, st.binary())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=8,
)
LINES = st.fixed_dictionaries(
    {"task": st.sampled_from(["find-1", "find-2", "text-1"]) | JSON},
    optional={
        "candidates": JSON | st.lists(st.fixed_dictionaries({"command": JSON})),
        "output": JSON,
        "latency_s": JSON,
    },
)


def check_or_load(folder: Path) -> None:
    problems = check_submission(folder, SUITES)
    refused: tuple[Problem, ...] = ()
    assert all(str(problem).isprintable() for problem in problems)
    try:
        load_submission(folder, SUITES)
    except FormatError as error:
        refused = error.problems
    assert refused == tuple(problem for problem in problems if problem.severity is Severity.ERROR)


@QUICK
@given(predictions=st.binary() | spliced(PREDICTIONS))
def test_any_bytes_of_predictions_end_in_problems_or_a_submission(tmp_path: Path, predictions: bytes) -> None:
    check_or_load(written(tmp_path, MANIFEST, predictions))


@QUICK
@given(manifest=st.binary() | spliced(MANIFEST))
def test_any_bytes_of_a_manifest_end_in_problems_or_a_submission(tmp_path: Path, manifest: bytes) -> None:
    check_or_load(written(tmp_path, manifest, PREDICTIONS))


FIELDS = ("format", "system", "link", "open_weights", "parameters", "models", "method", "extraction", "suites", "x")
TOML = st.sampled_from([
    '"x"', "1", "-1", "1.5", "nan", "0xffffffffffffffffffff", "true", "[]", "[[1]]", "{}", "{a={}}", '["x"]', '""',
    '{core="2.1.0"}', "{core=[1]}", "2020-01-01", "07:00:00", '"\\u0000"',
])  # fmt: skip


@QUICK
@given(fields=st.dictionaries(st.sampled_from(FIELDS), TOML))
def test_any_types_in_a_manifest_end_in_problems_or_a_submission(tmp_path: Path, fields: dict[str, str]) -> None:
    data = "".join(f"{name} = {value}\n" for name, value in fields.items()) + '[[authors]]\nname = "x"\n'
    check_or_load(written(tmp_path, data.encode(), PREDICTIONS))


@QUICK
@given(lines=st.lists(LINES, max_size=4))
def test_any_json_ends_in_problems_or_a_submission(tmp_path: Path, lines: list[object]) -> None:
    data = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    check_or_load(written(tmp_path, MANIFEST, data))


COMMANDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200)
CONFIDENCES = st.lists(st.floats(0, 1), max_size=MAX_CANDIDATES).map(lambda values: sorted(values, reverse=True))


@st.composite
def sound_lines(draw: st.DrawFn, task: str) -> dict[str, object]:
    confidences = enumerate(draw(CONFIDENCES))
    candidates = [{"command": f"x{rank}{draw(COMMANDS)}", "confidence": confidence} for rank, confidence in confidences]
    return {"task": task, "candidates": candidates, "latency_s": draw(st.floats(0, 1e6))}


def answered(lines: list[dict[str, object]]) -> bool:
    return any(line["candidates"] for line in lines)


@QUICK
@given(lines=st.tuples(*map(sound_lines, SUITES["core"].tasks)).flatmap(st.permutations).filter(answered))
def test_a_sound_submission_has_no_problem_and_loads_as_written(tmp_path: Path, lines: list[dict[str, object]]) -> None:
    data = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    folder = written(tmp_path, MANIFEST, data)
    # any text may hold a character that bash takes as part of a word
    assert [each for each in check_submission(folder, SUITES) if "executed as it stands" not in each.message] == []
    submission = load_submission(folder, SUITES)
    assert [
        {
            "task": task,
            "candidates": [
                {"command": candidate.command.decode(), "confidence": candidate.confidence}
                for candidate in submission.candidates("core", task)
            ],
            "latency_s": prediction.latency_s,
        }
        for task, prediction in submission.predictions["core"].items()
    ] == lines
