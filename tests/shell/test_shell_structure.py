"""The structure of commands: utilities, flags, arguments and nesting."""

from __future__ import annotations

import pytest

from evaluator.shell import Flag, Utility, bash_calls, calls_of, option_table, utilities_of
from evaluator.shell.words import remove_quotes
from tests.bash_reader import complaints_of
from tests.bashlex_calls import read_with_bashlex


def outline(command: str) -> list[tuple[str, list[str]]] | None:
    """Return the names and own flags of all utilities of a command, depth first."""
    utilities = utilities_of(command)
    if utilities is None:
        return None
    walk = [nested for utility in utilities for nested in utility.walk()]
    return [(utility.name, [flag.name for flag in utility.flags]) for utility in walk]


def test_a_flag_keeps_its_value_and_arguments_their_order() -> None:
    """A command is split into a name, flags with values, and arguments in their order."""
    assert utilities_of("sort -k2,2 -t : --reverse names.txt -u") == (
        Utility(
            "sort",
            (Flag("-k", "2,2"), Flag("-t", ":"), Flag("--reverse"), Flag("-u")),
            ("names.txt",),
        ),
    )


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls -la", [("ls", ["-l", "-a"])]),
        ("/bin/rm -f x", [("rm", ["-f"])]),
        ("head -5 f", [("head", ["-"])]),
        ("head -n5 f", [("head", ["-n"])]),
        ("kill -KILL 1", [("kill", ["-"])]),
        ("tar xvf a.tar", [("tar", ["-x", "-v", "-f"])]),
        ("echo -n -- -x", [("echo", ["-n"])]),
        ("grep -- -v f", [("grep", [])]),
        ("frobnicate -ab", [("frobnicate", ["-a", "-b"])]),
        ("find . \\( -name a -o -size +1 \\) -type f", [("find", ["-name", "-size", "-type"])]),
        ("find . -mtime -1 -print", [("find", ["-mtime", "-print"])]),
        ("ls | sort -r", [("ls", []), ("sort", ["-r"])]),
        ("cd a && ls; pwd", [("cd", []), ("ls", []), ("pwd", [])]),
        ("echo $(date -u) `pwd`", [("echo", []), ("date", ["-u"]), ("pwd", [])]),
        ("echo '$(date)'", [("echo", [])]),
        ("A='$(date)' ls", [("ls", [])]),
        ("diff <(ls a) <(ls b)", [("diff", []), ("ls", []), ("ls", [])]),
        ("X=$(date) ls", [("ls", []), ("date", [])]),
        ("X=$(date)", [("date", [])]),
        ("$(which ls) x", [("which", [])]),
        ("~/run.sh -v", [("~/run.sh", ["-v"])]),
        ("find . -exec grep -l x {} + -print", [("find", ["-exec", "-print"]), ("grep", ["-l"])]),
        ("xargs -0 -n1 rm -f", [("xargs", ["-0", "-n"]), ("rm", ["-f"])]),
        ("sh -c 'ls -l | wc'", [("sh", ["-c"]), ("ls", ["-l"]), ("wc", [])]),
        ("ssh host 'ls -l'", [("ssh", []), ("ls", ["-l"])]),
        ("rsync -a -e 'ssh -p 2' a b", [("rsync", ["-a", "-e"]), ("ssh", ["-p"])]),
        ("sudo -u bob timeout -k 1 5 ls -l", [("sudo", ["-u"]), ("timeout", ["-k"]), ("ls", ["-l"])]),
        ("env A=1 sort -n", [("env", []), ("sort", ["-n"])]),
        ("for i in $(seq 3); do echo $i; done", [("seq", []), ("echo", [])]),
        ("if true; then ls -l; fi", [("true", []), ("ls", ["-l"])]),
        ("case $x in a) ls -a;; esac", [("ls", ["-a"])]),
        ("echo $((1 + 2)) | tee -a f", [("echo", []), ("tee", ["-a"])]),
        ("cat > f -n", [("cat", ["-n"])]),
        ("ls \\", [("ls", [])]),
        ("", []),
        ("# nothing", []),
        ("cat <<'EOF' > run.sh; chmod +x run.sh\nls '\nEOF", [("cat", []), ("chmod", [])]),
        (
            "cat <<A <<-'B' | wc -l\n$(ls -l)\nA\n\t$(pwd)\n\tB\nps",
            [("cat", []), ("ls", ["-l"]), ("wc", ["-l"]), ("ps", [])],
        ),
        ("x=$(cat <<E\n)'\nE\n); ls -l", [("cat", []), ("ls", ["-l"])]),
        ("cat <<''; ls\n( if\n\npwd", [("cat", []), ("ls", []), ("pwd", [])]),
        ("cat << \\E && ls\n`\nE", [("cat", []), ("ls", [])]),
        ("rm -v !(*.conf|*.bak)", [("rm", ["-v"])]),
        ("[[ a == *.@(md|txt) ]] && ls ?(a b|'c d')x", [("[[", []), ("ls", [])]),
        ("if !(grep -q x f); then ls; fi", [("grep", ["-q"]), ("ls", [])]),
        ("echo $((ls || true) && echo x)", [("echo", []), ("ls", []), ("true", []), ("echo", [])]),
        ("((ls -l); (pwd))", [("ls", ["-l"]), ("pwd", [])]),
        ("echo $((10#$x + ${y:-$(wc -l < f)})); ((i++))", [("echo", []), ("wc", ["-l"])]),
        ("coproc sort -r", [("coproc", []), ("sort", ["-r"])]),
        ("coproc S { sort -r; }", [("coproc", []), ("sort", ["-r"])]),
        ("env -S 'sort -r' f", [("env", ["-S"]), ("sort", ["-r"])]),
        ("env -iS'sort -r' A=1 f", [("env", ["-i", "-S"]), ("sort", ["-r"])]),
        ("cat ${x:+<(sort -r f)}", [("cat", []), ("sort", ["-r"])]),
        ("find . -exec expr 1 + 2 \\; -print", [("find", ["-exec", "-print"]), ("expr", [])]),
        ("find . -exec ls {} x + \\;", [("find", ["-exec"]), ("ls", [])]),
        ("eval 'sort -r' f", [("eval", []), ("sort", ["-r"])]),
        ('eval "echo $(sort -r)"', [("eval", []), ("echo", []), ("sort", ["-r"])]),
        ("ssh -p 2 h sort -r \\| wc", [("ssh", ["-p"]), ("sort", ["-r"]), ("wc", [])]),
        ("su - bob -c 'sort -r'", [("su", ["-c"]), ("sort", ["-r"])]),
        ("su --command='sort -r' bob", [("su", ["--command"]), ("sort", ["-r"])]),
        ("trap 'sort -r' EXIT", [("trap", []), ("sort", ["-r"])]),
        ("trap - EXIT", [("trap", [])]),
        ("watch -n 1 'sort -r | wc'", [("watch", ["-n"]), ("sort", ["-r"]), ("wc", [])]),
        ("parallel -j 2 'sort -r {}' ::: a b", [("parallel", ["-j"]), ("sort", ["-r"])]),
        ("script -qc 'sort -r' f", [("script", ["-q", "-c"]), ("sort", ["-r"])]),
        ("flock -n f sort -r", [("flock", ["-n"]), ("sort", ["-r"])]),
        ("flock f -c 'sort -r'", [("flock", ["-c"]), ("sort", ["-r"])]),
        ("chroot /x sort -r", [("chroot", []), ("sort", ["-r"])]),
        ("timeout -- 3 sort -r", [("timeout", []), ("sort", ["-r"])]),
        ("command -p sort -r", [("command", ["-p"]), ("sort", ["-r"])]),
        ("command -v sort", [("command", ["-v"])]),
        ("exec 3< f; exec sort -r", [("exec", []), ("exec", []), ("sort", ["-r"])]),
        (
            "sudo nice -n 5 ionice -c 3 nohup stdbuf -oL setsid time sort -r",
            [
                *(("sudo", []), ("nice", ["-n"]), ("ionice", ["-c"]), ("nohup", []), ("stdbuf", ["-o"])),
                *(("setsid", []), ("time", []), ("sort", ["-r"])),
            ],
        ),
        (
            "[[ -n $(sort -r) ]] && a=($(ls -l) [2]=`pwd`)",
            [("[[", ["-n"]), ("sort", ["-r"]), ("ls", ["-l"]), ("pwd", [])],
        ),
        ('wc <<< "$(sort -r)"; f() { ps; } > $(date -u)', [("wc", []), ("sort", ["-r"]), ("ps", []), ("date", ["-u"])]),
        ("case $(ls -a) in $(pwd) | b) ps ;;& (c) wc ;; esac", [("ls", ["-a"]), ("pwd", []), ("ps", []), ("wc", [])]),
        ("select x in $(ls -a); do ps; done; for x do wc; done", [("ls", ["-a"]), ("ps", []), ("wc", [])]),
        ("echo `echo \\`ls -l\\``", [("echo", []), ("echo", []), ("ls", ["-l"])]),
        ("x=$(cat <<E | wc\n)'\nE); ls -l", [("cat", []), ("wc", []), ("ls", ["-l"])]),
        ("cat <(cat <<-A\n\tx\n\tA) && ls -l", [("cat", []), ("cat", []), ("ls", ["-l"])]),
        ("cat <<E; ls -l\n$((1+ `\n${x\nE\npwd", [("cat", []), ("ls", ["-l"]), ("pwd", [])]),
        ("echo $((cat <<E\n$((\nE\n); (pwd))", [("echo", []), ("cat", []), ("pwd", [])]),
        ("coproc N \\\n{\\\n ls -l; }", [("coproc", []), ("ls", ["-l"])]),
        ("[[ !\\\n -f x ]]\\\n&& time -p\\\n ls -l", [("[[", ["-f"]), ("time", ["-p"]), ("ls", ["-l"])]),
        ("f(\\\n) { ls -l; }", [("ls", ["-l"])]),
        ("ls !(" + "a|" * 1500 + "b)", [("ls", [])]),
        ("grep '" + "(" * 70 + "' f; ls -l", [("grep", []), ("ls", ["-l"])]),
        ("eval 'x=1; sort -r'", [("eval", []), ("sort", ["-r"])]),
        ("env --split-string='A=1 sort -r' f", [("env", ["--split-string"]), ("sort", ["-r"])]),
        ("env - A='x y' sort -r", [("env", []), ("sort", ["-r"])]),
        ("trap -- 'sort -r' 0; trap -- - 0", [("trap", []), ("sort", ["-r"]), ("trap", [])]),
        ("bash -c -e -- 'sort -r'", [("bash", ["-c", "-e"]), ("sort", ["-r"])]),
        ("dash -ce 'sort -r' _ x", [("dash", ["-c", "-e"]), ("sort", ["-r"])]),
        ("su -c'sort -r' bob", [("su", ["-c"]), ("sort", ["-r"])]),
        ("sudo --user bob --group=g sort -r", [("sudo", ["--user", "--group"]), ("sort", ["-r"])]),
        ("timeout --kill-after 5 9 sort -r", [("timeout", ["--kill-after"]), ("sort", ["-r"])]),
        ("ionice --class idle nice --10 sort -r", [("ionice", ["--class"]), ("nice", []), ("sort", ["-r"])]),
        ("xargs -o --max-lines sort -r", [("xargs", ["-o", "--max-lines"]), ("sort", ["-r"])]),
        ("setarch x86_64 -R sort -r", [("setarch", ["-R"]), ("sort", ["-r"])]),
        ("mapfile -t -C 'sort -r' -c 1 a", [("mapfile", ["-t", "-C", "-c"]), ("sort", ["-r"])]),
    ],
)
def test_commands_come_apart_as_the_shell_and_the_utilities_would(
    command: str, expected: list[tuple[str, list[str]]]
) -> None:
    """Each form of nesting and of option is read as the shell or the utility reads it."""
    assert outline(command) == expected


NO_COMMANDS = (
    *("ls 'a", "ls | | wc", "if true", "for", ")", "echo a=(b)", "echo x; ;", "if ls; then fi", "f() ls", "{ }", "()"),
    *(
        "a && ",
        "a &| b",
        "then",
        "ls; }",
        "case x in a) ls",
        "[[ a",
        "${",
        "echo $(ls",
        "(a[",
        "ls > ",
        "cat << ",
        "f(",
        "a | ! b",
    ),
    *(
        "for 1 in",
        "while ls; done",
        "[[ a ]] b",
        "coproc",
        "echo `ls",
        'echo "',
        "!(a",
        "rm !(a|b",
        "(ls) ls",
        "ls &&& b",
    ),
)


@pytest.mark.parametrize("command", NO_COMMANDS)
def test_text_that_is_no_command_is_none(command: str) -> None:
    """A text that Bash refuses gives None."""
    assert complaints_of([f"shopt -s extglob\n{command}"]) != [""]
    assert utilities_of(command) is None
    assert calls_of(command) is None


def test_what_ends_an_executed_command_is_the_flags_value() -> None:
    """The value of `find -exec` is the end of its command: `;` for one run per file, `+` for one run per batch."""
    for end, value in (("\\;", ";"), ("+", "+")):
        (find,) = utilities_of(f"find . -exec rm {{}} {end}") or ()
        assert find.flags == (Flag("-exec", value),)


def test_bytes_are_read_like_text() -> None:
    """Bytes are read like text, even if they are not UTF-8."""
    assert utilities_of(b"ls -l") == utilities_of("ls -l")
    assert [utility.name for utility in utilities_of(b"ls \xff\xfe") or ()] == ["ls"]


@pytest.mark.parametrize(
    "command",
    [
        'find . -name \'*.c\' -printf "%p\\n" | xargs -I{} cp {} "$HOME/a b"',
        "touch a_`date +%F`.txt $A/$B",
        "ls <in >out -l 2>&1 | wc",
        "a && b || { c; d; } && (e; f)",
        "echo $'a\\tb' \"it's\" a\\ b",
        'while read -r x; do echo "$x $(wc -l < "$x")"; done < f',
    ],
)
def test_both_readers_see_the_same_calls(command: str) -> None:
    """Our parser and bashlex return the same calls for a command that both grammars cover."""
    assert bash_calls.read_calls(command) == read_with_bashlex(command)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("abc", "abc"),
        ("a\\ b", "a b"),
        ("'a\\n'", "a\\n"),
        ('"a\\n\\"\\$"', 'a\\n"$'),
        ("$'a\\nb\\''", "a\nb'"),
        ("a'b'\"c\"d", "abcd"),
        ('"$(echo "a b")"c', '$(echo "a b")c'),
        ("`echo 'a'`'b'", "`echo 'a'`b"),
        ("'", "'"),
        ("\\", ""),
    ],
)
def test_quotes_are_removed_as_the_shell_removes_them(source: str, text: str) -> None:
    """Quotes are removed, quoted characters stay, and substitutions stay as written."""
    assert remove_quotes(source) == text


def test_no_letter_of_the_table_takes_a_value_and_takes_none() -> None:
    """The option table of a utility lists each letter in only one of its groups."""
    for name, options in option_table().items():
        twice = options.flags & options.values | options.flags & options.attached | options.values & options.attached
        assert not twice, name
