"""The problems that are reported about a submission's folder, with real files, links, FIFOs and sockets."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evaluator.errors import FormatError, Severity, UsageError
from evaluator.submissions import SubmissionLimits, SuiteInfo, check_submission, load_submission
from tests.submissions.submission_folders import MANIFEST, SUITES, make_folder, manifest_with


def found(folder: Path) -> list[str]:
    """Return every problem of a submission, with HERE in place of the folder's path."""
    return [str(problem).replace(str(folder), "HERE") for problem in check_submission(folder, SUITES)]


def link_predictions(folder: Path) -> None:
    (folder / "core.jsonl").rename(folder.parent / "outside")
    (folder / "core.jsonl").symlink_to("../outside")


def bind_socket(folder: Path) -> None:
    (folder / "core.jsonl").unlink()
    here = Path.cwd()
    os.chdir(folder)  # pytest's folders have longer paths than a socket may have
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("core.jsonl")
    finally:
        os.chdir(here)


def replace(name: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return spoil


def add(name: str, data: bytes = b"") -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(data)


def grow(folder: Path) -> None:
    with (folder / "core.jsonl").open("r+b") as file:
        file.truncate(1 << 40)


SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link for a file": (link_predictions, "HERE/core.jsonl: a symbolic link: expected a regular file"),
    "a dangling link": (lambda folder: (folder / "x").symlink_to("nowhere"), "HERE/x: a symbolic link"),
    "a link for the manifest": (
        replace("submission.toml", lambda path: path.symlink_to("/etc/hostname")),
        "HERE/submission.toml: a symbolic link",
    ),
    "a link for verdicts": (
        lambda folder: (folder / "core.verdicts.jsonl").symlink_to("core.jsonl"),
        "HERE/core.verdicts.jsonl: a symbolic link",
    ),
    "a FIFO": (replace("core.jsonl", os.mkfifo), "HERE/core.jsonl: a FIFO: expected a regular file"),
    "a FIFO for the manifest": (replace("submission.toml", os.mkfifo), "HERE/submission.toml: a FIFO"),
    "a socket": (bind_socket, "HERE/core.jsonl: a socket: expected a regular file"),
    "a folder": (replace("core.jsonl", Path.mkdir), "HERE/core.jsonl: a folder: expected a regular file"),
    "a sparse file of a terabyte": (grow, "HERE/core.jsonl: 1,099,511,627,776 bytes: expected at most"),
    "a file that does not belong": (add("notes.md"), "HERE/notes.md: does not belong in a submission"),
    "a misspelt name": (add("core.json"), "HERE/core.json: does not belong in a submission; did you mean 'core.jsonl'"),
    "a hidden file": (add(".hidden"), "HERE/.hidden: does not belong"),
    "a name with an escape sequence": (add("a\x1b[2J"), r"HERE: 'a\x1b[2J': does not belong"),
    "a name with a line end": (add("core.jsonl\n"), r"HERE: 'core.jsonl\n': does not belong"),
    "a name with a bidirectional override": (add("a\u202elnosj"), r"HERE: 'a\u202elnosj': does not belong"),
    "a name that is not UTF-8": (
        lambda folder: (folder / os.fsdecode(b"\xff")).touch(),
        r"HERE: '\udcff': does not belong",
    ),
    "names that differ in case": (add("CORE.jsonl"), "HERE/core.jsonl: name differs from 'CORE.jsonl' in case"),
    "names that look alike": (add("ｃore.jsonl"), "in case or spelling only"),
    "no manifest": (lambda folder: (folder / "submission.toml").unlink(), "HERE: no submission.toml"),
    "a suite without its file": (
        lambda folder: (folder / "core.jsonl").unlink(),
        "HERE/submission.toml:10: suites: 'core' is listed but 'core.jsonl' is not here",
    ),
    "a file without its suite": (
        add("other.jsonl", b"{}\n"),
        "HERE/other.jsonl: suite other is not listed in submission.toml",
    ),
    "more names than are read": (
        lambda folder: [add(f"x{number}")(folder) for number in range(70)],
        "HERE: more than 64 names in this folder",
    ),
}


@pytest.mark.parametrize("case", SPOILED)
def test_a_spoiled_folder_is_refused(tmp_path: Path, case: str) -> None:
    spoil, message = SPOILED[case]
    folder = make_folder(tmp_path)
    spoil(folder)
    problems = found(folder)
    assert any(message in problem for problem in problems), problems
    assert all(problem.isprintable() for problem in problems)
    with pytest.raises(FormatError):
        load_submission(folder, SUITES)


@pytest.mark.skipif(os.geteuid() != 0, reason="making a device needs root")
def test_a_device_is_refused(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    (folder / "core.jsonl").unlink()
    try:
        os.mknod(folder / "core.jsonl", 0o020600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this root may not make devices")
    assert "HERE/core.jsonl: a device: expected a regular file; put the file itself here, or remove it" in found(folder)


SPOILED_MANIFESTS = {
    "broken TOML": ("format = 1", "format = ", ":1: broken TOML"),
    "a key twice": ("format = 1", "format = 1\nformat = 1", "the name is there twice: keep one of the two"),
    "an open text": ('"A system"', '"A system', "close the quotation mark"),
    "a quotation mark in a text": ('"A system"', '"A "good" system"', 'write a quotation mark inside a text as \\"'),
    "a backslash in a text": ('"A system"', '"C:\\users"', "write one backslash as two"),
    "a number with a unit": ('"rules"', '"rules"\nparameters = 7B', "a number has no unit: parameters = 7_000_000_000"),
    "an array without a comma": ('"rules"', '"rules"\nmodels = ["a" "b"]', "write a comma between two values"),
    "an array without quotes": ('"rules"', '"rules"\nmodels = [gpt-4, b]', 'texts need quotes: models = ["gpt-4"]'),
    "a text for an array": ('"rules"', '"rules"\nmodels = "a"', 'models: expected an array such as ["gpt-4o-mini"]'),
    "a table for an array": ("[[authors]]", "[authors]", "each below its own line [[authors]], found an object"),
    "a newer format": (
        "format = 1",
        "format = 5",
        ":1: submission.toml has format 5; this bashboard reads formats 1 to 4",
    ),
    "a format that is a truth value": ("format = 1", "format = true", ":1: format: expected 1"),
    "a missing field": ('method = "rules"', "", ": method: missing field"),
    "an unknown field": ("open_weights", "open_weight", ":3: open_weight: unknown field; did you mean 'open_weights'?"),
    "a control of another": (
        'format = 1\nsystem = "A system"\nopen_weights = true\nmethod = "rules"',
        'format = 2\nsystem = "A system"\nopen_weights = true\nmethod = "control"',
        ":4: method 'control' is for what tests the board itself: expected one of prompted, fine-tuned, ",
    ),
    "a control in a format without it": ('"rules"', '"control"', "method control: expected format = 2"),
    "an unknown method": (
        '"rules"',
        '"controls"',
        ":4: method: expected 'prompted', 'fine-tuned', 'agent', 'retrieval', 'rules', 'other', found 'controls'",
    ),
    "a misspelt method": ('"rules"', '"ruls"', "found 'ruls'; did you mean 'rules'?"),
    "a text without quotes": ('"A system"', "stub-1", 'texts need quotes: system = "stub-1"'),
    "a text with curly quotes": ('"A system"', "“A system”", 'texts need quotes: system = "A system"'),
    "a version without quotes": ('core = "2.1.0"', "core = 2.1.0", ":10: broken TOML"),
    "a truth value of Python": ("= true", "= True", "; write open_weights = true"),
    "an author's field at the top": (
        '"rules"',
        '"rules"\nname = "x"',
        "name: unknown field here: it belongs in an author",
    ),
    "a method that is an array": ('"rules"', '["rules"]', ":4: method: expected 'prompted'"),
    "suites that are an array": ('[suites]\ncore = "2.1.0"', "", ": suites: missing field"),
    "a suite's version that is a number": ('"2.1.0"', "2", ":10: suites.core: expected a string, found 2"),
    "a truth value in quotes": ("= true", '= "true"', ":3: open_weights: expected true or false, found 'true'"),
    "a date": ('"A system"', "2020-01-01", ":2: system: expected a string"),
    "an empty name": ('"A system"', '""', ":2: system: expected at least 1 character"),
    "an author without a name": ('name = "A group"', "", ":6: authors[0].name: missing field"),
    "a link that is a script": ('"rules"', '"rules"\nlink = "javascript:alert(1)"', ":5: link: expected a URL"),
    "an unknown suite": ('core = "2', 'cor = "2', ":10: suites: unknown suite 'cor'; did you mean 'core'?"),
    "a version to come": ("2.1.0", "2.2.0", ":10: suites: version '2.2.0' of core is still to come"),
    "a version that never was": ("2.1.0", "1.5.0", ":10: suites: version '1.5.0' of core never was"),
    "a version of a thousand digits": ("2.1.0", f"{'9' * 5000}.1.0", " of core is still to come"),
    "a version in two parts": ("2.1.0", "2.1", ":10: suites.core: expected a suite's name"),
    "a suite's name that leaves the folder": ("core =", '"../core" =', ":10: suites: unknown suite '../core'"),
    "open weights of no model": ('"rules"', '"fine-tuned"', ":4: method 'fine-tuned' with open weights but no model"),
    "a hidden character": ("A system", "A \u202esystem", ":2: hidden character U+202E RIGHT-TO-LEFT OVERRIDE in 'sys"),
    "a NUL": ("A system", "A\\u0000system", ":2: hidden character U+0000"),
    "an integer past all bounds": ("format = 1", f"format = 1\nparameters = {'9' * 5000}", "broken TOML"),
    "an integer past 64 bits": ("format = 1", f"format = 1\nparameters = 0x{'f' * 50}", ":2: parameters: expected at"),
    "deep nesting": ("format = 1", f"format = 1\nx = {'[' * 9000}{']' * 9000}", ": arrays or tables nested too deep"),
    "CRLF": ("format = 1\n", "format = 1\r\n", ":1: 1 carriage return"),
}


@pytest.mark.parametrize("case", SPOILED_MANIFESTS)
def test_a_spoiled_manifest_is_refused_at_its_line(tmp_path: Path, case: str) -> None:
    old, new, message = SPOILED_MANIFESTS[case]
    folder = make_folder(tmp_path, manifest_with(old, new))
    problems = found(folder)
    assert any(f"HERE/submission.toml{message}" in problem or message in problem for problem in problems), problems
    with pytest.raises(FormatError):
        load_submission(folder, SUITES)


TUNED = f"""
[fine_tuning]
base_model = "small"
data = "our pairs"
pairs = "{"0" * 64}"

[fine_tuning.contamination.core]
version = "2.1.0"
tasks = 3
similar = 2
tiers = {{everyday = {{tasks = 2, similar = 2}}, expert = {{tasks = 1}}}}
near_tasks = ["find-1", "text-1"]
"""


def test_fine_tuning_is_declared_with_the_tasks_that_are_nearly_in_the_data(tmp_path: Path) -> None:
    data = manifest_with("format = 1", "format = 3") + TUNED.encode()
    tuning = load_submission(make_folder(tmp_path, data), SUITES).manifest.fine_tuning
    assert tuning is not None
    assert (tuning.base_model, tuning.contamination["core"].near) == ("small", 2)
    assert tuning.contamination["core"].near_tasks == ("find-1", "text-1")


def test_near_tasks_of_an_earlier_version_are_not_compared_with_the_suite(tmp_path: Path) -> None:
    text = manifest_with("format = 1", "format = 3").decode() + TUNED.replace('"text-1"', '"gone-1"')
    assert found(make_folder(tmp_path, text.replace('version = "2.1.0"', 'version = "2.0.0"').encode())) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("format = 3", "format = 2", "fine_tuning: expected format = 3, found 2"),
        ('"small"', '""', "fine_tuning.base_model"),
        ('data = "our pairs"\n', "", "fine_tuning.data"),
        ("0" * 64, "0" * 63, "fine_tuning.pairs: expected a SHA-256 of 64 hexadecimal digits"),
        ("[fine_tuning]", '[generation]\npairs = "x"\n[fine_tuning]', "generation.pairs: expected a SHA-256"),
        (
            "[fine_tuning]",
            "[fine_tuning]\nepochs = 3",
            "fine_tuning.epochs: unknown field: expected 'base_model', 'data', 'pairs'",
        ),
        ("our pairs", "our\\u202epairs", "hidden character U+202E"),
        ("[fine_tuning.contamination.core]", "[fine_tuning.contamination.Core]", "fine_tuning.contamination.Core"),
        ("similar = 2\ntiers", "similar = 4\ntiers", "expected at most 3 near tasks, as the suite has, found 4"),
        ("similar = 2\ntiers", "similar = 1\ntiers", "similar: expected the sum over the tiers, 2, found 1"),
        ("expert = {", "easy = {", "fine_tuning.contamination.core.tiers.easy"),
        ('"2.1.0"\ntasks', '"2.1"\ntasks', "fine_tuning.contamination.core.version"),
        ('["find-1", "text-1"]', '["find-1"]', "near_tasks: expected 2 tasks as counted, found 1"),
        ('["find-1", "text-1"]', '["find-1", "find-1"]', "near_tasks: expected each task once"),
        ('["find-1", "text-1"]', '["find-1", "<b>"]', "fine_tuning.contamination.core.near_tasks"),
        ('"text-1"]', '"gone-1"]', "near_tasks: expected tasks of core 2.1.0, found 'gone-1'"),
        ("[fine_tuning.", "pair_count = 0\n[fine_tuning.", "fine_tuning.pair_count"),
    ],
)
def test_invalid_fine_tuning_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = manifest_with("format = 1", "format = 3").decode() + TUNED
    assert old in text
    problems = found(make_folder(tmp_path, text.replace(old, new).encode()))
    assert any("HERE/submission.toml:" in problem and message in problem for problem in problems), problems


def test_a_closed_model_that_is_not_named_is_told(tmp_path: Path) -> None:
    data = manifest_with("open_weights = true", "open_weights = false").replace(b'"rules"', b'"agent"')
    assert [": warning: method 'agent' but no model named" in text for text in found(make_folder(tmp_path, data))] == [
        True
    ]


def test_published_verdicts_may_stand_beside(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    (folder / "core.verdicts.jsonl").write_bytes(b"whatever the publish workflow wrote")
    assert found(folder) == []


@pytest.mark.parametrize("name", ["A-System", "-a", "a_b", "a.b", "a" * 65, "ä", "a b"])
def test_a_folder_name_that_is_no_slug_is_refused(tmp_path: Path, name: str) -> None:
    folder = make_folder(tmp_path).rename(tmp_path / name)
    assert any("folder name" in problem and "expected lower-case letters" in problem for problem in found(folder))


DEVICES = ["aux", "con", "nul", "prn", "com1", "com9", "lpt1", "AUX", "Con", "nul.txt", "com1.tar.gz", "aux.", "prn "]


@pytest.mark.parametrize("name", DEVICES)
def test_a_folder_name_that_windows_takes_for_a_device_is_refused(tmp_path: Path, name: str) -> None:
    folder = make_folder(tmp_path).rename(tmp_path / name)
    assert any("Windows has a device of this name" in problem for problem in found(folder))
    with pytest.raises(FormatError):
        load_submission(folder, SUITES)


@pytest.mark.parametrize("name", ["a-system.", "a-system "])
def test_a_folder_name_that_windows_cuts_is_refused(tmp_path: Path, name: str) -> None:
    folder = make_folder(tmp_path).rename(tmp_path / name)
    assert any("at the end, so nobody could check it out there" in problem for problem in found(folder))


@pytest.mark.parametrize("name", ["auxiliary", "com10", "com", "lpt", "nul-1", "my-con"])
def test_a_folder_name_that_only_begins_like_a_device_is_accepted(tmp_path: Path, name: str) -> None:
    assert found(make_folder(tmp_path).rename(tmp_path / name)) == []


def test_a_folder_name_with_a_line_end_never_reaches_a_message(tmp_path: Path) -> None:
    folder = make_folder(tmp_path).rename(tmp_path / "a\n::error::")
    assert found(folder) == [f"{tmp_path}: folder name 'a\\n::error::': expected lower-case letters, digits and "
                             "inner '-', at most 64, such as a-error"]  # fmt: skip


def test_a_newer_format_hides_no_other_fault(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    manifest = folder / "submission.toml"
    text = manifest.read_text().replace("format = 1", "format = 9").replace("open_weights", "open_weight")
    manifest.write_text(text.replace('core = "', 'cor = "'))
    told = "\n".join(found(folder))
    for fault in (
        "has format 9; this bashboard reads formats 1 to 4",
        "open_weight: unknown field",
        "unknown suite 'cor'",
    ):
        assert fault in told


def test_two_folder_names_that_differ_in_case_are_refused(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    (tmp_path / "A-SYSTEM").mkdir()
    assert found(folder) == [
        "HERE: folder name 'a-system' differs from 'A-SYSTEM' in case or spelling only; rename one"
    ]


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(make_folder(tmp_path))
    assert found(link) == ["HERE: a symbolic link: expected a submission's folder"]


def test_nothing_at_the_path_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        check_submission(tmp_path / "nothing", SUITES)


def test_a_manifest_larger_than_its_limit_is_not_read(tmp_path: Path) -> None:
    limits = SubmissionLimits(manifest_bytes=len(MANIFEST) - 1)
    [problem] = check_submission(make_folder(tmp_path), SUITES, limits)
    assert problem.message == f"{len(MANIFEST)} bytes: expected at most {len(MANIFEST) - 1}; it is not read"


def test_bytes_after_the_last_line_that_is_read_are_not_decoded(tmp_path: Path) -> None:
    """Bytes after the last line that is read need not be UTF-8, even if a message names the line of a field."""
    old = 'format = 1\nsystem = "A system"\nopen_weights = true\nmethod = "rules"'
    data = manifest_with(old, old.replace("= 1", "= 2").replace('"rules"', '"control"')) + b"\xff\n"
    limits = SubmissionLimits(lines=data.count(b"\n") - 1)
    problems = check_submission(make_folder(tmp_path, data), SUITES, limits)
    assert [problem.line for problem in problems if "method 'control'" in problem.message] == [4]


def test_an_answer_to_an_earlier_version_is_told_what_changed(tmp_path: Path) -> None:
    """The warning counts and names the tasks that the version did not have, and says how to be ranked."""
    since = {"find-2": "2.0.0", "text-1": "2.1.0"}
    suites = {"core": SuiteInfo("2.1.0", ("find-1", "find-2", "text-1"), ("2.0.0", "1.0.0"), {}, since)}
    folder = make_folder(tmp_path, MANIFEST.replace(b'"2.1.0"', b'"1.0.0"'))
    (warning,) = [each for each in check_submission(folder, suites) if each.message.startswith("suites:")]
    assert (warning.severity, warning.line) == (Severity.WARNING, 10)
    assert warning.message == (
        "suites: core 1.0.0 is an earlier version: 2 of the 3 tasks of 2.1.0 were added or reworded since ('find-2', "
        "'text-1'); the row is listed without a rank; to rank it, answer them (bashboard submit prompts --suite core) "
        "and write 2.1.0 here"
    )


def dated(lines: str) -> bytes:
    return b"format = 3\n" + lines.encode() + b"\n" + MANIFEST.removeprefix(b"format = 1\n")


PRICES = "[prices]\ninput_usd = 1\noutput_usd = 2\n"


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (dated("released = 2999-01-01"), "HERE/submission.toml:2: released: 2999-01-01 is in the future"),
        (dated("") + PRICES.encode(), "HERE/submission.toml:12: prices.date: "),
        (dated("") + PRICES.encode() + b"date = 2999-01-01\n", "HERE/submission.toml:15: date: 2999-01-01 is in the"),
        (dated('released = "soon"'), "HERE/submission.toml:2: released: "),
    ],
)
def test_a_problem_of_a_date_names_file_and_line(tmp_path: Path, manifest: bytes, expected: str) -> None:
    problems = found(make_folder(tmp_path, manifest))
    assert len(problems) == 1
    assert problems[0].startswith(expected), problems


def test_the_day_of_the_check_is_not_in_the_future(tmp_path: Path) -> None:
    assert found(make_folder(tmp_path, dated(f"released = {datetime.now(UTC).date()}"))) == []
