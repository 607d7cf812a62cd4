"""Parser of `submission.toml`. It converts the bytes of the file to a record and reports each problem with its line."""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any, Final

from evaluator.escaping import printable
from evaluator.json_lines import LONGEST_INTEGER
from evaluator.records import FineTuning, Method, SubmissionManifest, read_format
from evaluator.submissions.limits import SubmissionLimits
from evaluator.submissions.messages import described, listed, nearest, quoted
from evaluator.submissions.names import MANIFEST_NAME
from evaluator.submissions.parsing.lines import read_lines
from evaluator.submissions.parsing.record_errors import Location, read_record
from evaluator.submissions.parsing.toml_lines import line_of, toml_lines
from evaluator.submissions.parsing.toml_nesting import nesting_faults
from evaluator.submissions.problems import ProblemCollector
from evaluator.submissions.scaffold import PLACEHOLDERS
from evaluator.submissions.suite_info import SuiteInfo

_MODEL_BASED: Final = frozenset({Method.PROMPTED, Method.FINE_TUNED, Method.AGENT})
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINERS: Final = "\u200c\u200d"
"""Zero-width characters that the names of some languages require."""


def check_manifest(
    data: bytes,
    report: ProblemCollector,
    limits: SubmissionLimits,
    suites: Mapping[str, SuiteInfo | None],
    answered: Collection[str],
) -> SubmissionManifest | None:
    """Check `data`, the bytes of submission.toml, and return the record. Return None if no record can be read.

    Problems are added to `report`. `suites` maps the names of the known suites to information on them, or to None if a
    suite's files cannot be read. Answers to such a suite are not compared with it. `answered` holds
    the names of the suites with a predictions file in the folder.
    """
    lines = read_lines(data, report, limits)
    if not data or None in lines:
        return None
    text = "\n".join(line for line in lines if line is not None)
    value = _toml(text, report, limits.nesting)
    if value is None:
        return None
    places = toml_lines(text)
    try:
        read_format(value, MANIFEST_NAME, SubmissionManifest.newest_format)
    except ValueError as error:
        report.error(line_of(("format",), places), printable(str(error)))
        value = {**value, "format": SubmissionManifest.newest_format}  # the other fields are checked nevertheless
    _check_models(value, line_of(("method",), places), report)
    parameters = value.get("parameters")
    if isinstance(parameters, int) and parameters >= 10**LONGEST_INTEGER:
        message = f"parameters: expected at most {LONGEST_INTEGER} digits, found {parameters.bit_length():,} bits"
        report.error(line_of(("parameters",), places), message)
    listed_suites = value.get("suites")
    for name, version in listed_suites.items() if isinstance(listed_suites, dict) else ():
        _check_suite(name, version, line_of(("suites", name), places), report, suites, answered)
    manifest = _manifest(value, places, report)
    if manifest is not None and manifest.fine_tuning is not None:
        _check_near_tasks(manifest.fine_tuning, places, report, suites)
    return manifest


def _manifest(
    value: dict[str, Any], places: dict[Location, int], report: ProblemCollector
) -> SubmissionManifest | None:
    for location in _unfilled(value):
        report.error(line_of(location, places), f"{location[0]}: still the text of `submit init`: replace it")
    for location, character in _hidden(value):
        name = f"U+{ord(character):04X} {unicodedata.name(character, 'control character')}"
        report.error(line_of(location, places), f"hidden character {name} in {quoted(location[0])}: remove it")
    manifest, faults = read_record(SubmissionManifest, json.dumps(value, default=_foreign))
    for fault in faults:
        is_method = fault.location == ("method",) and "method" in value
        report.error(line_of(fault.location, places), _unknown_method(value["method"]) if is_method else fault.message)
    for location, day in _days(manifest):
        if day > datetime.now(UTC).date():
            report.error(
                line_of(location, places), f"{location[-1]}: {day} is in the future: expected a day until today"
            )
    return manifest


def _unknown_method(value: object) -> str:
    """Return the message about a method that does not exist. It does not offer the method of the board's controls."""
    methods = [method.value for method in Method if method is not Method.CONTROL]
    near = nearest(value, methods) if isinstance(value, str) else ""
    return f"method: expected {listed(methods, len(methods))}, found {described(value)}{near}"


def _days(manifest: SubmissionManifest | None) -> Iterator[tuple[Location, date]]:
    """Yield the days in a manifest with their places."""
    if manifest is not None and manifest.released is not None:
        yield ("released",), manifest.released
    if manifest is not None and manifest.prices is not None:
        yield ("prices", "date"), manifest.prices.date


def _toml(text: str, report: ProblemCollector, nesting: int) -> dict[str, Any] | None:
    faults = list(nesting_faults(text, nesting))
    for line_number, message in faults:
        report.error(line_number, message)
    if faults:
        return None
    try:
        value = tomllib.loads(text)
        json.dumps(value, default=_foreign)
    except ValueError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else 0
        hint = _value_hint(text.split("\n")[line - 1], str(error)) if line else ""
        report.error(line, f"broken TOML: {printable(str(error))[:300]}{hint}")
    else:
        value = _with_dates(value)
        if isinstance(value.get("format"), bool):
            value["format"] = str(value["format"])
        return value
    return None


_HINTS: Final = {
    "Cannot overwrite": "the name is there twice: keep one of the two",
    "Invalid hex value": "write one backslash as two",
    "Unescaped '\\'": "write one backslash as two",
    "Found invalid character '\\n'": "close the quotation mark",
    "Illegal character '\\n'": "close the quotation mark",
    "Unclosed array": "write a comma between two values, and a bracket at the end",
}
"""Fixes of the most common errors, by the start of Python's message."""


def _value_hint(line: str, message: str) -> str:
    """Return what to do about the commonest broken values: a text without quotes, and `True`."""
    if hint := next((hint for begin, hint in _HINTS.items() if message.startswith(begin)), ""):
        return f"; {hint}"
    value = re.match(r"\s*([A-Za-z_][A-Za-z0-9_-]*)\s*=\s*([^\s#][^#]*)", line)
    if value is None:
        return ""
    if value[2].strip() in {"True", "False"}:
        return f"; write {value[1]} = {value[2].strip().lower()}"
    if re.match(r"\d[\d_.]*+\s*+[A-Za-z]++\s*$", value[2]):
        return f"; a number has no unit: {value[1]} = 7_000_000_000"
    if re.match(r'"[^"]*+"[^"]*+"', value[2]):
        return '; write a quotation mark inside a text as \\"'
    if re.match(r"\[\s*[^\W\d]", value[2]):
        return f'; texts need quotes: {value[1]} = ["{printable(re.split(r"[],]", value[2][1:])[0].strip())[:60]}"]'
    is_text = re.match(r"[^\W\d]|[<“”‘’„«]|\d+\.\d+\.", value[2])
    shown = printable(value[2].strip(" \t\"'“”‘’„«»"))[:60]
    return f'; texts need quotes: {value[1]} = "{shown}"' if is_text else ""


def _with_dates(value: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest with the text of a date in the two fields that hold one."""
    prices = value.get("prices")
    if isinstance(prices, dict) and type(prices.get("date")) is date:
        value = {**value, "prices": {**prices, "date": prices["date"].isoformat()}}
    if type(value.get("released")) is date:
        value = {**value, "released": value["released"].isoformat()}
    return value


def _foreign(value: object) -> list[str]:
    """Convert a TOML date or time to a list. No field accepts such a list, so the check reports the field."""
    return [str(value)]


def _hidden(value: dict[str, Any]) -> Iterator[tuple[tuple[str], str]]:
    """Yield the location of each field with an invisible character, and the first such character in the field."""
    for name, field in value.items():
        allowed = _JOINERS + ("\n\t" if name == "description" else "")
        for character in _characters(field):
            if unicodedata.category(character) in _HIDDEN and character not in allowed:
                yield (name,), character
                break


def _unfilled(value: dict[str, Any]) -> Iterator[Location]:
    """Yield the locations of fields that still hold the placeholders of a new `submission.toml`."""
    if value.get("system") in PLACEHOLDERS:
        yield ("system",)
    authors = value.get("authors")
    for number, author in enumerate(authors if isinstance(authors, list) else ()):
        if isinstance(author, dict) and author.get("name") in PLACEHOLDERS:
            yield "authors", number, "name"


def _characters(field: object) -> Iterator[str]:
    match field:
        case str():
            yield from field
        case list():
            for item in field:
                yield from _characters(item)
        case dict():
            for item in field.values():
                yield from _characters(item)


def _check_models(value: dict[str, Any], line: int, report: ProblemCollector) -> None:
    method = value.get("method")
    if not isinstance(method, str) or method not in _MODEL_BASED or value.get("models"):
        return
    advice = "name every model used in 'models', as its maker names it"
    if value.get("open_weights") is True:
        report.error(line, f"method '{method}' with open weights but no model named: {advice}")
    else:
        report.warning(line, f"method '{method}' but no model named: {advice}")


def _check_suite(
    name: str,
    version: object,
    line: int,
    report: ProblemCollector,
    suites: Mapping[str, SuiteInfo | None],
    answered: Collection[str],
) -> None:
    suite = suites.get(name)
    if name not in suites:
        hint = nearest(name, suites) or f"; known here: {listed(suites) or 'none'}"
        report.error(line, f"suites: unknown suite {quoted(name)}{hint}")
    elif suite and isinstance(version, str) and _VERSION.fullmatch(version) and version not in suite.versions:
        if name in answered and suite.lost_tasks_since(version):
            return  # the check of the predictions says what to do
        fault = "is still to come" if suite.is_older_than(version) else "never was"
        expected = f"expected one of {listed(suite.versions)}"
        report.error(line, f"suites: version {quoted(version)} of {name} {fault}: {expected}")
    elif suite and isinstance(version, str) and version in suite.earlier_versions:
        _warn_of_changes(name, version, line, report, suite)
    if name not in answered:
        shown = quoted(f"{name}.jsonl", 80)
        report.error(line, f"suites: {quoted(name)} is listed but {shown} is not here: add it or remove the line")


def _check_near_tasks(
    tuning: FineTuning,
    places: dict[Location, int],
    report: ProblemCollector,
    suites: Mapping[str, SuiteInfo | None],
) -> None:
    """Report near tasks that a suite does not have. A report on an earlier version of the suite is not compared."""
    for name, overlap in tuning.contamination.items():
        suite = suites.get(name)
        if suite is None or overlap.version != suite.version:
            continue
        unknown = sorted(set(overlap.near_tasks) - set(suite.tasks))
        if unknown:
            line = line_of(("fine_tuning", "contamination", name, "near_tasks"), places)
            message = f"near_tasks: expected tasks of {name} {suite.version}, found {listed(unknown)}"
            report.error(line, message)


def _warn_of_changes(name: str, version: str, line: int, report: ProblemCollector, suite: SuiteInfo) -> None:
    """Warn that a submission answers an earlier version of a suite, and say what changed since."""
    missing = suite.not_asked_of(version)
    if missing:
        report.warning(
            line,
            f"suites: {name} {version} is an earlier version: {len(missing)} of the {len(suite.tasks)} tasks of "
            f"{suite.version} were added or reworded since ({listed(missing)}); the row is listed without a rank; to "
            f"rank it, answer them (bashboard submit prompts --suite {name}) and write {suite.version} here",
        )
