"""Tests of the final state of a shell, which is complete if a task observes it and does not affect other evidence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evaluator.records import ShellState
from tests.sandbox_harness import SandboxHarness

pytestmark = pytest.mark.engine


def state(harness: SandboxHarness, command: str) -> ShellState:
    shell = harness.run(command, observe=["shell"]).shell
    assert shell is not None
    return shell


PARTS: dict[str, Callable[[ShellState], bool]] = {
    "cd /tmp": lambda shell: shell.cwd == b"/tmp",
    "cd /tmp; cd -": lambda shell: shell.cwd == b"/srv/tiny",
    "mkdir d; cd d; rmdir ../d": lambda shell: shell.cwd == b"/srv/tiny/d",
    "umask 077": lambda shell: shell.umask == "0077",
    "x='a b'": lambda shell: shell.variables["x"] == b'declare -- x="a b"',
    "export x=1": lambda shell: shell.variables["x"] == b'declare -x x="1"',
    "declare -ri x=3": lambda shell: shell.variables["x"] == b'declare -ir x="3"',
    "x=(1 'two three')": lambda shell: shell.variables["x"] == b'declare -a x=([0]="1" [1]="two three")',
    "declare -A x=([k]=v)": lambda shell: shell.variables["x"] == b'declare -A x=([k]="v" )',
    "x=$'two\\nlines'": lambda shell: shell.variables["x"] == b"declare -- x=$'two\\nlines'",
    "x=$'\\xff'": lambda shell: shell.variables["x"] == b"declare -- x=$'\\377'",
    "unset HOME": lambda shell: "HOME" not in shell.variables,
    "f() { echo hi; }": lambda shell: shell.functions == {"f": b"f () \n{ \n    echo hi\n}"},
    "alias ll='ls -l'": lambda shell: shell.aliases == {"ll": b"alias ll='ls -l'"},
    "shopt -s extglob": lambda shell: "shopt -s extglob" in shell.options,
    "set -o noclobber": lambda shell: "set -o noclobber" in shell.options,
    "set -e": lambda shell: "set -o errexit" in shell.options,
    "trap 'echo x' INT": lambda shell: shell.traps == (b"trap -- 'echo x' SIGINT",),
    "true": lambda shell: shell.traps == () and shell.functions == {} and shell.aliases == {},
    "set -C; cd /": lambda shell: shell.cwd == b"/",
    "set -u": lambda shell: shell.alive,
    "set -x": lambda shell: "set -o xtrace" in shell.options,
    "exec 1>&- 2>&-": lambda shell: shell.alive,
    "exec 9>/tmp/lock 8>/tmp/other 7<&0": lambda shell: shell.alive,
    "printf() { :; }; pwd() { echo /fake; }": lambda shell: shell.cwd == b"/srv/tiny",
}


@pytest.mark.parametrize("command", PARTS)
def test_each_part_is_told(sandbox: SandboxHarness, command: str) -> None:
    """The state of a shell has folder, umask, variables with attributes, functions, aliases, options and traps."""
    shell = state(sandbox, command)
    assert shell.alive
    assert PARTS[command](shell)


@pytest.mark.parametrize(
    "end",
    [
        *("exit", "exit 3", "false", "set -e; false", "${none:?gone}", "set -u; echo $none", "(exit 4)", "( x=inner )"),
        *("\necho )", "kill -TERM $$", "kill -SEGV $$"),
    ],
)
def test_the_state_is_told_however_the_shell_ends(sandbox: SandboxHarness, end: str) -> None:
    """The state has all settings of the shell at its end, for every kind of end, and no settings of a subshell."""
    shell = state(sandbox, f"x=outer; {end}")
    assert shell.variables["x"] == b'declare -- x="outer"'


@pytest.mark.parametrize(
    "command",
    ["exec true", "exec /nowhere", "kill -9 $$", "trap - EXIT", "trap 'echo mine' EXIT", "exec -c env"],
)
def test_no_shell_left_is_told_as_such(sandbox: SandboxHarness, command: str) -> None:
    """If the shell is replaced, is killed or loses our trap, the state is recorded as not alive.

    The missing state is an observation and not a failure.
    """
    evidence = sandbox.run(command, observe=["shell"])
    assert evidence.ending == "exited"
    assert evidence.shell == ShellState(alive=False)


def test_the_variable_a_command_did_not_set_is_as_bash_has_it(sandbox: SandboxHarness) -> None:
    """The observed variables are those of an unobserved shell, because our hook leaves no variable."""
    names = set(state(sandbox, "true").variables)
    plain = sandbox.run("declare -p").stdout.data.decode()
    assert names - {"PIPESTATUS"} == {line.split("=")[0].split()[-1] for line in plain.splitlines()}


UNDISTURBED = [
    "true",
    "false",
    "exit 7",
    "echo out; echo err >&2",
    "cat file | tr a b",
    "ls -la; echo $?",
    "set -e; false; echo not here",
    "echo $$ $PPID $BASHPID $- $0 $# $LINENO",
    'echo "$BASH_EXECUTION_STRING"',
    "if",
    "echo )",
    "${x:?message}",
    "trap 'echo bye' EXIT; echo hi",
    "trap 'echo int' INT; kill -INT $$",
    "kill -TERM $$",
    "kill -9 $$",
    "exec echo replaced",
    "cd /nowhere; pwd",
    "cd /tmp; touch here",
    "rm -r full; mkdir full",
    "umask 777; touch x",
    "exec 3>x; echo to three >&3",
    "exec 9>x; echo to nine >&9",
    "exec 8<file; cat <&8",
    "exec 1>&-; echo lost",
    "exec 2>&-; ls nowhere",
    "set -C; echo x > file",
    "set -x; echo traced",
    "set -u; echo $none",
    "set -n; echo not run",
    "set -o posix; echo $POSIXLY_CORRECT",
    "(echo sub; exit 3); echo $?",
    "f() { local x=1; return 4; }; f",
    "x=1; unset x; readonly y=2; y=3",
    "sleep 0.1 & wait; echo done",
    "echo $_; true here; echo $_",
    "printf '%(%F %T)T\\n' -1; date",
    "echo $RANDOM; shuf -i 1-9 | head -1",
    "bash -c 'echo inner $0; exit 3'; echo $?",
    "su -c 'echo as root' root",
    "xargs -n1 echo < file",
    "find . -type f -exec md5sum {} +",
    "diff <(sort file) file",
    'while read -r line; do echo "<$line>"; done < file',
    "declare -f; alias; shopt -p extglob",
    "perl -e 'exit 9'",
    "timeout 0.1 sleep 5; echo $?",
    "ls /proc/self/fd",
]


@pytest.mark.parametrize("command", UNDISTURBED)
def test_watching_changes_nothing_else(sandbox: SandboxHarness, command: str) -> None:
    """The streams, the status and the changes of an observed command are the same as without observation.

    A command can notice the observation in three cases. `trap` and `set -v` print our trap. The last command does not
    replace the shell, so `ps` prints one more process and SHLVL is 1. `declare -p` prints PIPESTATUS.
    """
    plain, watched = sandbox.run(command), sandbox.run(command, observe=["shell"])
    assert watched.model_copy(update={"shell": None}).digest == plain.digest
