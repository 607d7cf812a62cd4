"""Commands of a corpus that can run alone are recognised, and their worlds contain the files that they name."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from evaluator.shell import utilities_of
from evaluator.suites.importers.simple_commands import LeftOutError, read_simple_command
from evaluator.suites.importers.synthesize_files import (
    HOME,
    build_script,
    can_share_world,
    required_accounts,
    required_paths,
)

REFUSED = {
    "ls | wc -l": "a pipe",
    "sort a > b": "a redirection",
    "wc -l < a": "a redirection",
    "echo $HOME": "a substitution or variable",
    'grep "$(whoami)" a': "a substitution or variable",
    "cat `which ls`": "a substitution or variable",
    "cd a; ls": "several commands",
    "cd a && ls": "several commands",
    "sleep 5 &": "several commands",
    "rm a": "changes state",
    "find . -delete": "changes state",
    "find . -exec ls {} +": "changes state",
    "find . -fprint out": "changes state",
    "sed -i s/a/b/ f": "changes state",
    "sed -n 's/a/b/w out' f": "changes state",
    "sed 'w out' f": "changes state",
    "awk '{print > \"out\"}' f": "changes state",
    "awk '{system(\"rm \" $1)}' f": "changes state",
    "sort -o f f": "changes state",
    "uniq a b": "changes state",
    "date -s 12:00": "changes state",
    "nice ls": "runs another command",
    "cat a b c": "more than 2 operands",
    "tail -f log": "does not end",
    "yes": "does not end",
    "sort": "reads standard input",
    "grep a": "reads standard input",
    "cat -": "reads standard input",
    "mount": "another utility",
    "echo 'a": "a quote that does not end",
}
TAKEN = {
    "find . -name '*.c'": (".",),
    "find dir -type f \\( -name a -o -name b \\)": ("dir",),
    "grep 'a|b;c>d$' f": ("f",),
    "grep -r word": (),
    "grep -e word f": ("f",),
    "awk '{print $1}' f": ("f",),
    "sed -n 2p f": ("f",),
    "sort -k2 f g": ("f", "g"),
    "ls": (),
    "date +%F": (),
    "echo a b": (),
    "diff a b": ("a", "b"),
}


@pytest.mark.parametrize(("command", "reason"), REFUSED.items())
def test_a_command_that_does_not_stand_alone_is_left_out_for_a_reason(command: str, reason: str) -> None:
    with pytest.raises(LeftOutError, match=reason):
        read_simple_command(command, utilities_of)


@pytest.mark.parametrize(("command", "files"), TAKEN.items())
def test_a_command_that_stands_alone_names_its_files(command: str, files: tuple[str, ...]) -> None:
    assert read_simple_command(command, utilities_of).files == files


SEEDED = {
    "find . -name '*.c'": {HOME: True, f"{HOME}/x.c": False, f"{HOME}/long name.c": False},
    "find /data -type d -name 'a?[0-9]'": {"/data": True, "/data/aa0": True},
    "find . -newer stamp": {HOME: True, f"{HOME}/stamp": False},
    "cat ~/notes.txt": {f"{HOME}/notes.txt": False},
    "ls -l photos/": {f"{HOME}/photos": True},
    "find / -name x": {"/x": False},
    "cat /proc/meminfo": {},
    "cat ../secret": {},
}


@pytest.mark.parametrize(("command", "seeds"), SEEDED.items())
def test_what_a_command_names_is_wanted(command: str, seeds: dict[str, bool]) -> None:
    assert required_paths(read_simple_command(command, utilities_of)) == seeds


CLASHES: dict[str, tuple[dict[str, bool], bool]] = {
    "other names": ({"/a/c": False}, True),
    "the same": ({"/a/b": False}, True),
    "a folder where a file stands": ({"/a/b": True}, False),
    "a name below a file": ({"/a/b/c": False}, False),
    "a file where a folder is implied": ({"/a": False}, False),
}


@pytest.mark.parametrize(("seeds", "expected"), CLASHES.values(), ids=CLASHES)
def test_what_cannot_stand_together_is_told(seeds: dict[str, bool], expected: bool) -> None:
    assert can_share_world(seeds, {"/a/b": False}) is expected


@pytest.mark.parametrize("command", ["find . -name '*.c'", "find nest -type d -path '*/old?'", "grep -c owl birds.txt"])
def test_a_seeded_world_has_something_to_find(tmp_path: Path, command: str) -> None:
    home = tmp_path / "home"
    script = build_script(required_paths(read_simple_command(command, utilities_of)), ["owl", "owl"], {})
    subprocess.run(["bash", "-c", script.replace(HOME, str(home)).replace("chown", ":")], check=True)
    shown = subprocess.run(["bash", "-c", command], cwd=home, capture_output=True)
    assert shown.stdout.strip() not in (b"", b"0")


def test_accounts_that_a_command_asks_for_are_wanted() -> None:
    """The valid user and group names in a command are required accounts. A number needs no account."""
    found = read_simple_command("find . -user eve -o -group staff -o -user 1000 -o -user 'a b'", utilities_of)
    assert required_accounts(found) == {"eve": "useradd -M", "staff": "groupadd"}


def test_files_of_a_world_differ_in_age_mode_and_length(tmp_path: Path) -> None:
    home = tmp_path / "home"
    script = build_script({f"{HOME}/f{number}": False for number in range(7)}, [], {})
    subprocess.run(["bash", "-c", script.replace(HOME, str(home)).replace("chown", ":")], check=True)
    shown = [(home / f"f{number}").stat() for number in range(7)]
    assert len({each.st_mtime for each in shown}) == 7
    assert len({each.st_mode for each in shown}) == 5
    assert len({each.st_size for each in shown}) == 6
