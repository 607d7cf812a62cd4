"""Another spelling hides neither a known mutant, nor a ruling, nor a reference inside a command.

The commands and the ways to spell them are those with which each of the three was passed by before.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.metrics.texts import compare_texts
from evaluator.pipeline.grading.adjudications import adjudicate
from evaluator.pipeline.grading.cache_keys import MutantQuestion
from evaluator.pipeline.grading.known_mutants import known_mutants_of
from evaluator.pipeline.project import Project
from evaluator.records import Outcome, Ruling, Step
from evaluator.store import Store
from evaluator.suites.load import Suite
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.executor import fake_boards

ROOT = Path(__file__).parents[2]
UNDECIDED: list[tuple[str, bytes]] = [
    (
        "archives-004",
        b"zipinfo -l incoming/delivery.zip | "
        b"awk '/^-/ && $4 > 10000 { print substr($0, match($0, /[0-9][0-9]:[0-9][0-9] /) + 5) }'",
    ),
    ("archives-009", b"unzip -qql dist/release.zip | cut -c 30-"),
    ("processes-004", b"kill -HUP $(ps -C collectord -o pid=,uid= | awk '$2 == 0 { print $0 }')"),
    ("processes-102", b"ps -C meter -o pid= | wc -w"),
    ("scripts-107", b'greet() {\n  echo "Hello, $1!"\n}\nwhile read beer; do\n  greet "$beer"\ndone < beers.txt'),
    ("search-107", b"find notes -exec grep -qi frost {} \\; -print"),
    ("text-111", b"cut -d : -f 1 /etc/passwd | sort -u"),
    ("permissions-118", b"find . -type f -perm /2"),
    ("files-014", b'tail -c "$(stat -c %s reel.bin)" /dev/zero >upload/reserve.img'),
    ("scripts-115", b"date +%w | grep -q [06] && echo yes || echo no"),
    ("files-014", b'head -c "$(stat -c %s reel.bin)" /dev/zero >>upload/reserve.img'),
    ("text-113", b'ls -A chapters | sed "s,^,chapters/," | xargs -d "\\n" cat > novel.txt'),
    (
        "permissions-006",
        b"find . -mindepth 0 -type d -printf '%m %P\\n' | while read -r mode dir; do\n"
        b'  if (( 8#$mode & 8#2 && ! (8#$mode & 8#1000) )); then\n    chmod +t -- "$dir"\n    echo "$dir"\n  fi\ndone',
    ),
    (
        "processes-003",
        b"ps -C renderer -o pid=,args= | awk '{ for (i = 2; i < NF; i++) "
        b'if ($i == "--job" && $(i + 1) == "12") print $1 }\' | xargs -r kill',
    ),
    ("processes-109", b"ps -eo user= | sort -r -u"),
]
"""Known mutants of the suite `core` that have the evidence of a reference: the first fifteen of a random choice."""

SPELLINGS = {"a final newline": b"%s\n", "a comment": b"%s # end", "a no-op": b":;%s"}


@pytest.fixture(scope="module")
def core() -> Suite:
    return Project(ROOT).suite("core")


def missed_mutants(core: Suite, store: Store, spelling: bytes) -> list[tuple[str, bytes]]:
    known = known_mutants_of(Project(ROOT), core, store)
    tasks = [core.task(name) for name, _ in UNDECIDED]
    asked = [
        MutantQuestion(task, task.references, spelling % mutant)
        for task, (_, mutant) in zip(tasks, UNDECIDED, strict=True)
    ]
    return [row for row, is_known in zip(UNDECIDED, known(asked), strict=True) if not is_known]


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_no_undecided_mutant_passes_in_another_spelling(core: Suite, tmp_path: Path, spelling: bytes) -> None:
    assert len(UNDECIDED) == 15
    assert missed_mutants(core, Store(tmp_path / "store.sqlite"), spelling) == []


RULED = "mkdir reports"
RULED_SPELLINGS = {
    "a final newline": "mkdir reports\n",
    "two blanks": "mkdir  reports",
    "a semicolon": "mkdir reports;",
}


@pytest.mark.parametrize("spelled", RULED_SPELLINGS.values(), ids=RULED_SPELLINGS)
def test_a_ruling_holds_in_another_spelling(tmp_path: Path, spelled: str) -> None:
    """By the evidence alone, both commands pass."""
    task = small_task("files-1", references=(RULED, "mkdir -p reports"))
    project = small_checkout(tmp_path, [task], {"first": {"files-1": [RULED]}, "second": {"files-1": [spelled]}})
    shown = {**dict.fromkeys((RULED, "mkdir -p reports", spelled), "made\n"), "": ""}
    assert {each.finding.outcome for each in fake_boards(project, shown)[0].results} == {Outcome.PASS}
    adjudicate(
        project, suite="tiny", submission="first", task="files-1", ruling=Ruling.FAIL, because="makes the wrong folder"
    )
    (board,) = fake_boards(project, shown)
    findings = {each.submission: (each.finding.outcome, each.finding.step) for each in board.results}
    assert findings == dict.fromkeys(("first", "second"), (Outcome.FAIL, Step.ADJUDICATION))


REFERENCE = b"find . -type f -name '*.log' | sort -u"
HIDDEN = {
    "sudo": b"sudo find . -type f -name '*.log' | sort -u",
    "time": b"time find . -type f -name '*.log' | sort -u",
    "eval": b"eval \"find . -type f -name '*.log' | sort -u\"",
    "bash -c": b"bash -c \"find . -type f -name '*.log' | sort -u\"",
    "an assignment": b"LC_ALL=C find . -type f -name '*.log' | LC_ALL=C sort -u",
    "other quotes": b'find . -type f -name "*.log" | sort -u && echo done',
    "a here-document": b"true <<''; find . -type f -name '*.log' | sort -u; pwd\n\n",
    "an extended pattern": b"shopt -s extglob\nls !(a)\nfind . -type f -name '*.log' | sort -u",
    "nice and timeout": b"nice -n 5 timeout -k 1 5 find . -type f -name '*.log' | sort -u",
    "a path and other options": b"cd . && /usr/bin/find . -type f -name \\*.log|sort --unique; ps 2>&1",
    "a shell in a shell": b"sudo env A=1 bash -c \"{ find . -type f -name '*.log' | sort -u; } # x\"",
}


@pytest.mark.parametrize("command", HIDDEN.values(), ids=HIDDEN)
def test_a_hidden_reference_is_marked(command: bytes) -> None:
    assert len(HIDDEN) == 11
    assert compare_texts(command, [REFERENCE]).holds_reference
    assert not compare_texts(command.replace(b"-type f", b"-type d"), [REFERENCE]).holds_reference
