"""Fuzz the readers of commands: utilities, fast path, Bash parser, NLC2CMD score, and comparison of texts."""

from __future__ import annotations

from typing import Final

from evaluator.metrics import texts
from evaluator.records import TextMetrics
from evaluator.shell import (
    Call,
    Utility,
    bash_calls,
    bashlex_reader,
    calls_of,
    canonical,
    fast_path,
    repeats,
    utilities_of,
)
from evaluator.shell.nlc2cmd import score
from evaluator.shell.syntax import UnreadableError, refuse_hostile
from tests.fuzz.target import target

WORDS: Final = (
    *(b"find . ", b" -exec ", b" {} \\;", b" {} +", b"xargs ", b"sh -c '", b'bash -c "', b"sudo ", b"nohup ", b"env "),
    *(
        b"tar xvf ",
        b"head -5 ",
        b" -name ",
        b" --color=",
        b" -- ",
        b"$(",
        b"`",
        b"<(",
        b"${a}",
        b"$((",
        b" | ",
        b" && ",
    ),
    *(b"; ", b" > f", b" 2>&1", b"<<E\n", b"for i in ", b"; do ", b"; done", b"if ", b"; then ", b"; fi", b"case "),
    *(b" in ", b";; esac", b"[[ ", b" ]]", b"$'", b"\\", b"~/", b"a=1 ", b"time ", b"egrep ", b"\xe2\x80\x93"),
    *(
        b"!(",
        b"@(a|b)",
        b"$((",
        b"))",
        b"((",
        b"a[",
        b"]=",
        b"=(",
        b"coproc ",
        b"function f ",
        b"f() {",
        b"<<-'E'\n",
        b"\nE\n",
    ),
    *(b"eval ", b"env -S '", b"${x:+", b"${x//'", b"=~ ", b"select ", b"esac", b"|& ", b"{a}>f", b"#", b"trap '"),
)
REFERENCE: Final = b"find . -name '*.txt' -exec grep -l x {} + | xargs -0 wc -l"


@target(
    "shell-utilities",
    *("evaluator.shell:calls_of", "evaluator.shell:utilities_of", "evaluator.shell:read_utilities"),
    *("evaluator.shell:_read", "evaluator.shell.utilities", "evaluator.shell.syntax"),
    planted=lambda utilities: any(len(utility.flags) == 3 and len(utility.nested) == 2 for utility in utilities),
    tokens=WORDS,
)
def read_all_utilities(data: bytes) -> tuple[Utility, ...] | None:
    calls_of(data.decode(errors="replace"))
    utilities_of.cache_clear()
    return utilities_of(data)


@target(
    "shell-fast-path",
    "evaluator.shell.fast_path",
    planted=lambda calls: len(calls) == 4 and len(calls[2].words) == 3,
    tokens=WORDS,
    longest=256,
)
def read_plain(data: bytes) -> tuple[Call, ...] | None:
    """Read a plain command. The parser must give the same calls."""
    text = data.decode(errors="replace")
    fast_path.is_list(text)
    for stage in fast_path.plain_stages(text) or ():
        for word in stage:
            fast_path.expansion(word)
    calls = fast_path.read_calls(text)
    if calls is not None and "\0" not in text:
        assert bash_calls.read_calls(text) == calls
    return calls


@target(
    "shell-bash-parser",
    "evaluator.shell.bash_parser",
    "evaluator.shell.bash_words",
    "evaluator.shell.bash_calls",
    planted=lambda calls: any(len(call.nested) == 2 and len(call.words) == 3 for call in calls),
    refusals=(UnreadableError,),
    tokens=WORDS,
    longest=2048,
)
def read_with_the_parser(data: bytes) -> tuple[Call, ...]:
    text = data.decode(errors="replace")
    refuse_hostile(text)
    return bash_calls.read_calls(text)


@target(
    "shell-canonical",
    "evaluator.shell.canonical",
    "evaluator.shell.canonical_options",
    "evaluator.shell.script_facts",
    "evaluator.shell.repeats",
    planted=lambda form: form is not None and form[0] == "script" and len(form) == 4 and form[3] not in (False, True),
    tokens=(
        *WORDS,
        b"sort -u",
        b" --unique",
        b"command ",
        b"/usr/bin/ls",
        b": ;",
        b"true <<'';",
        b"ps",
        b"$?",
        b"\xff",
    ),
    longest=1024,
)
def write_form(data: bytes) -> canonical.Form | None:
    """Write the form of a command, and look for another command in it. The byte 0xFF separates them."""
    canonical.canonical_form.cache_clear()
    command, _, other = data.partition(b"\xff")
    form = canonical.canonical_form(command)
    assert canonical.canonical_form(b" \t" + command) == form or form is None or form[0] == "text"
    repeats.bare_digest(command)
    repeats.contains(command, other)
    assert repeats.repeats(command, command) is (form is not None)
    return form


@target(
    "shell-nlc2cmd",
    *("evaluator.shell.nlc2cmd.score", "evaluator.shell.nlc2cmd.reference_2020", "evaluator.shell.nlc2cmd.typo_fixes"),
    planted=lambda found: len(found.called or ()) == 6,
    tokens=WORDS,
    longest=1024,
)
def score_nlc2cmd(data: bytes) -> score.MetricReading:
    """Score a command. The byte 0xFF separates it from the reference."""
    score.forget_commands()
    command, separator, reference = data.partition(b"\xff")
    for strict in (False, True):
        assert -1 <= score.score_pair(command, reference if separator else REFERENCE, strict_2020=strict) <= 1
    return score.reading_of(command)


@target(
    "shell-texts",
    "evaluator.metrics.texts",
    "evaluator.metrics.bleu:bleu_counts",
    planted=lambda found: found.template and not found.full_command,
    tokens=(*WORDS, b"u+x", b"10M", b"*.txt", b"s/a/b/"),
)
def compare_with_references(data: bytes) -> TextMetrics:
    """Compare a command with references. The byte 0xFF separates them."""
    for cached in (texts.normalised, texts.template, utilities_of, bashlex_reader.cached_trees):
        cached.cache_clear()
    command, *references = data.split(b"\xff")
    texts.calls_of_references(references or [REFERENCE])
    return texts.compare_texts(command, references or [REFERENCE])
