"""Tests of the output for a GitHub Actions job: masks, outputs and a summary in a job, and nothing outside a job."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from evaluator.errors import MissingError
from evaluator.github.job_output import append_summary, mask_secrets, set_outputs, stop_commands

JOB = {"GITHUB_ACTIONS": "true"}


@pytest.mark.parametrize(
    ("environ", "printed"),
    [
        ({**JOB, "A_KEY": "s3cret", "ANOTHER": "x"}, "::add-mask::s3cret\n"),
        ({**JOB, "A_KEY": "one\r\ntwo 100%"}, "::add-mask::one\n::add-mask::two 100%25\n"),
        ({**JOB, "A_KEY": ""}, ""),
        ({**JOB, "A_KEY": " \n\t"}, ""),
        (JOB, ""),
        ({"A_KEY": "s3cret"}, ""),
    ],
)
def test_a_secret_is_masked_line_by_line_in_a_job_and_printed_nowhere_else(
    environ: dict[str, str], printed: str
) -> None:
    stream = io.StringIO()
    mask_secrets(environ, stream, ["A_KEY"])
    assert stream.getvalue() == printed


def test_a_strangers_line_is_no_command_in_a_job(tmp_path: Path) -> None:
    said = {}
    for name, environ in (("job", JOB), ("terminal", {})):
        stream = io.StringIO()
        with stop_commands(environ, stream):
            print("::error::mine", file=stream)
        said[name] = stream.getvalue().splitlines()
    assert said["terminal"] == ["::error::mine"]
    first, *_, last = said["job"]
    assert first.startswith("::stop-commands::")
    assert last == f"::{first.removeprefix('::stop-commands::')}::"


def test_outputs_and_summary_go_to_the_files_that_the_runner_names(tmp_path: Path) -> None:
    environ = {"GITHUB_OUTPUT": str(tmp_path / "out"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    set_outputs(environ, {"one": "1", "two": "a\nb"})
    append_summary(environ, "# It")
    lines = (tmp_path / "out").read_text().splitlines()
    assert [line.split("<<")[0] for line in lines if "<<" in line] == ["one", "two"]
    assert [line for line in lines if not line.startswith(("one<<", "two<<", "end-"))] == ["1", "a", "b"]
    assert (tmp_path / "summary").read_text() == "# It\n\n"


@pytest.mark.parametrize("environ", [{}, {"GITHUB_OUTPUT": "", "GITHUB_STEP_SUMMARY": ""}])
def test_elsewhere_there_are_none_which_is_said(environ: dict[str, str]) -> None:
    with pytest.raises(MissingError, match="GITHUB_OUTPUT is not set"):
        set_outputs(environ, {"one": "1"})
    with pytest.raises(MissingError, match="GITHUB_STEP_SUMMARY is not set"):
        append_summary(environ, "# It")
