"""Names that a command calls: programs, and names that are none."""

from __future__ import annotations

import pytest

from evaluator.metrics.texts import calls_of_references
from evaluator.shell.programs import called_programs


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("find . -name '*.c' | xargs wc -l", ["find", "xargs", "wc"]),
        ("while read -r mode dir; do (( 8#$mode & 8#2 )) && echo $dir; done", ["read", "echo"]),
        ("(( $(wc -l < a) > 8#1000 )) && [ -e b ]", ["wc", "["]),
        ('for i in "${!open[@]}"; do (( i < ${#open[@]} )) && echo "${open[i]}"; done', ["echo"]),
        ("check() { [[ -f $1 ]]; }\ncheck a && rm a", ["[[", "rm"]),
        ("function last { tail -n 1; }; last < a", ["tail"]),
        ("timeout 5 bin/deploy; ./run.sh; ~/bin/tool", ["timeout"]),
        ("/usr/bin/sort a | /opt/lab/bin/heartbeat", ["sort"]),
        ("python3 tool.py && tool.py", ["python3"]),
        ("$EDITOR a; $(which vi) b", ["which"]),
        ("\\ls -l; 'cat' a", ["ls", "cat"]),
        ("[[ -f a && -n $b ]] || :", ["[[", ":"]),
    ],
)
def test_only_programs_and_builtins_are_listed(command: str, names: list[str]) -> None:
    assert list(called_programs(command)) == names


def test_figures_for_each_utility_leave_other_names_out() -> None:
    references = [b"end() { kill $1; }; end 5", b"pkill -P 5; bin/clean"]
    assert calls_of_references(references) == {"kill": 0.5, "pkill": 0.5}
