"""The list of the utilities in the base image of the suites core and programs, and the suites without such a list."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.errors import FormatError
from evaluator.pipeline.submissions.known_utilities import utilities_of_suites
from evaluator.shell import option_table
from evaluator.suites.installed_utilities import FILE, installed_utilities
from evaluator.suites.load import load_suite
from evaluator.testing.checkouts import small_checkout, small_task
from tests.sandbox_harness import SandboxHarness

LISTED = Path(__file__).parents[2] / "fixtures" / "core" / FILE
LOOK_UP = "compgen -c | LC_ALL=C sort -u"


def test_the_list_names_what_bash_finds_in_the_base(sandbox: SandboxHarness) -> None:
    found = sandbox.run(LOOK_UP).stdout.data.decode()
    assert LISTED.read_text() == found, f"write the output of {LOOK_UP!r} in the base to {LISTED}"


def test_the_list_of_core_has_programs_and_builtins_but_no_word_inside_a_command() -> None:
    names = {*utilities_of_suites([load_suite(LISTED.parent)])}
    assert {"sqlite3", "gawk", "cd", "[[", "for", "{"} <= names
    assert not {"in", "then", "fi", "}", "python3", "curl"} & names


def test_the_option_table_stands_in_for_a_missing_list(tmp_path: Path) -> None:
    (suite,) = small_checkout(tmp_path, [small_task("files-001")], {}).suites()
    core = load_suite(LISTED.parent)
    assert installed_utilities(suite) is None
    assert utilities_of_suites([suite]) == sorted(option_table())
    assert utilities_of_suites([suite, core]) == sorted({*option_table(), *utilities_of_suites([core])})


@pytest.mark.parametrize(
    ("text", "line"),
    [("", 1), ("ls\n\n", 2), ("cat\nls -l\n", 2), ("ls\ncat\n", 2), ("ls\nls\n", 2), ("caf\xe9\nls\n", 1)],
)
def test_an_invalid_list_is_reported_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    (suite,) = small_checkout(tmp_path, [small_task("files-001")], {}).suites()
    (suite.folder / FILE).write_bytes(text.encode("latin-1"))
    with pytest.raises(FormatError, match=rf"{FILE}:{line}: expected") as error:
        installed_utilities(suite)
    assert len(error.value.problems) == 1
