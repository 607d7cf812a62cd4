"""Tests of the canonical form: spellings that are one command, and commands that only look alike."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.shell.canonical import canonical_form, form_digest, text_digest
from evaluator.shell.repeats import bare_digest, contains, repeats

SAME = [
    ("find . -name \"*.c\"|sort --unique # all\n", "find . -name '*.c' | sort -u"),
    (": a; { ls  -l; } # list", "ls -l"),
    (":;ls -l", "ls -l"),
    ("true <<''; ls\n", "true"),
    ("true <<'';ls -l\n\n", "ls -l"),
    ("true && ls", "ls"),
    ("ls && true", "ls"),
    ("ls -la", "ls -a -l"),
    ("ls --all -l", "ls -al"),
    ("sort f -r -u", "sort -ur f"),
    ("sort -k2 -n f", "sort -n f -k 2"),
    ("sort -- f", "sort f"),
    ("grep -in 'a b' f", "grep -n --ignore-case a\\ b f"),
    ("head -5 f", "head -n 5 f"),
    ("tail -20", "tail --lines=20"),
    ("head --lines=5 f", "head -n5 f"),
    ("rm -Rf x", "rm -r --force x"),
    ("cp --recursive a b", "cp -r a b"),
    ("wc --lines<f", "wc -l 0< f"),
    ("sed --quiet -r 2p f", "sed -E -n 2p f"),
    ("chmod --recursive +x d", "chmod +x -R d"),
    ("date --utc --date=now +%F", "date -d now -u +%F"),
    ("chmod u+x --recursive d", "chmod -R u+x d"),
    ("gzip --keep --decompress f.gz", "gzip -dk f.gz"),
    ("comm -1 -2 a b", "comm -12 a b"),
    ("stat f --format %s", "stat -c%s f"),
    ("base64 --wrap=0 -d f", "base64 -dw0 f"),
    ("/usr/bin/find . -type f", "\\find . -type f"),
    ("command find .", "fi'n'd ."),
    ("/bin/sort f", "sort f"),
    ("{ a && b; }; c", "a && b; c"),
    ("{ a; } | { b; }", "a|b"),
    ("a;\n\nb # c\n", "a; b"),
    (">f ls", "ls 1> f"),
    ("ls $'a\\tb'", "ls 'a\tb'"),
    ("ls $'\\x61\\142c'", "ls abc"),
    ("cat <<'E'\nx\nE", "cat <<F\nx\nF\n"),
    ("cat <<-E\n\tx\n\tE", "cat <<E\nx\nE"),
    ("cat <<''", "cat <<E\nE\n"),
    ("echo ${x}", "echo $x"),
    ("\nls >& f", " \n\tls >&f"),
    ("echo `ls -l`", "echo $( ls  -l )"),
    ("if { a; }; then b; fi", "if a\nthen\n\tb\nfi"),
    ("case x in (a) b;; esac", "case x in a) b; esac"),
    ("for i in a b; do c; done", "for i in a b\ndo c\ndone"),
    ("function f { ls; }", "f() { ls; }"),
    ("ls 'a'b\"c\"''", "ls abc"),
    ("\\\nls \\\n -l", "ls -l"),
    ("[[ $a == \"b\" ]]", "[[ $a == b ]]"),
    ("a=\"x\" b", "a=x b"),
    ("a | \\\n b |\n c", "a|b|c"),
    ("# x\n/usr/bin/ls 2>/dev/null", "ls 2> '/dev/null'"),
    ("ls  2>&1 # x\n", "{ ls 2>&1; }"),
    ("find . -exec rm {} \\;", "find . -exec rm '{}' ';'"),
    ("find . \\( -name a -o -name b \\)", "find . '(' -name a -o -name b ')'"),
    ("find . -name \\*.c", "find . -name '*.c'"),
    ("find . -name '*'.c", 'find . -name "*.c"'),
    ("find . ! -name a", "find . '!' -name a"),
    ("/usr/bin/awk '{ print $1 }' f", "awk '{ print $1 }' f"),
    ("/bin/cat f | /usr/bin/wc -l", "cat f|wc --lines"),
    ("command grep x f", "/bin/grep 'x' f"),
    ("grep -A 2 -i x f", "grep -i -A2 x f"),
    ("grep --max-count=1 x f", "grep -m 1 x f"),
    ("grep --regexp x f", "grep f -ex"),
    ("grep -rn x .", "grep -n -r x ."),
    ("grep -cv '^#' f", "grep --invert-match --count '^#' f"),
    ("grep -l -- x f", "grep --files-with-matches x f"),
    ("grep \"a b\" f", "grep a' 'b f"),
    ("sort -t, -k2 f", "sort --field-separator=, --key=2 f"),
    ("sort -nr f", "sort -rn f"),
    ("sort f -o f", "sort -of f"),
    ("sort -n -n f", "sort -n f"),
    ("sort - -u", "sort -u -"),
    ("uniq -cd", "uniq --repeated --count"),
    ("cut -d ' ' -f 1 f", "cut -d\\  -f1 f"),
    ("cut f -d: --fields=2", "cut -d : -f 2 f"),
    ("tail -n +2 f", "tail --lines=+2 f"),
    ("head -c 10 f", "head --bytes 10 f"),
    ("wc -lw f", "wc -w -l f"),
    ("du -sh *", "du --human-readable --summarize *"),
    ("du -d1 -h .", "du -h --max-depth=1 ."),
    ("ls -lhR d", "ls --recursive -l --human-readable d"),
    ("ls -1 -a", "ls -a1"),
    ("mkdir -p -m 700 a/b", "mkdir --mode=700 --parents a/b"),
    ("cp -pR a b", "cp -r -p a b"),
    ("cp a b -v", "cp --verbose a b"),
    ("ln -sf a b", "ln --force --symbolic a b"),
    ("rm -fr -- a", "rm --recursive -f a"),
    ("tee -a f", "tee --append f"),
    ("touch -c -d '1 day ago' f", "touch --no-create --date='1 day ago' f"),
    ("mv -t d a", "mv a --target-directory d"),
    ("tac -s ';' f", "tac --separator=\\; f"),
    ("paste -sd, f", "paste --serial -d , f"),
    ("cat -n f", "cat --number f"),
    ("echo \"a\"'b'\\c", "echo abc"),
    ("echo \"a\\$b\"", "echo 'a$b'"),
    ("echo \"\\\\\"", "echo '\\'"),
    ("echo $'it\\'s'", "echo \"it's\""),
    ("echo $'\\x{41}\\c?'", "echo A$'\\177'"),
    ("echo \"${x}\"'.txt'", 'echo "$x.txt"'),
    ("echo \"$x\"''", "echo \"$x\""),
    ("echo a; # b\n", "echo a"),
    ("\n\n  echo a  \n\n", "echo a"),
    ("# first\n# second\necho a", "echo a"),
    ("echo a &&\n\n  # then\n  echo b", "echo a && echo b"),
    ("if a; then b; else c; fi", "if a\nthen b # x\nelse\n  c\nfi;"),
    ("while read -r l; do echo \"$l\"; done <f", "while read -r l\ndo\n\techo \"$l\"\ndone < 'f'"),
    ("case $x in a|b) c ;; *) d ;; esac", "case $x in\n  (a | b) c;;\n  (*)\n d\nesac"),
    ("for i in 'a' b; do c; done", "for i in a \"b\" ; do\nc\ndone"),
    ("f() { ls  -l;\n}\nf", "function f\n{\n ls -l # x\n}; f;"),
    ("(a;b)", "( a\nb )"),
    ("a >f 2>/dev/null", "a 1>f 2>'/dev/null'"),
    ("cat <<< 'a'", "cat<<<a"),
    ("cat <<'A B'\nx\nA B\n", "cat <<\\E\nx\nE"),
    ("echo $((1 + 2)) # x", " echo $((1 + 2));\n"),
    ("# x\necho $((1 + 2))", ":;echo $((1 + 2))"),
    (":\n# x\necho ${x:0:1}\n", "echo ${x:0:1}"),
    ("a=$((1+1))\necho $a", "a=$((1+1));\n\n# x\n:; { echo $a; }"),
    ("ls x 2>&1\n# done", "{ ls x 2>&1; } # x"),
    ("ls a 2>&1\nls b", ":; ls a 2>&1 # x\nls  b\n"),
    ("set -e; ls  -l", "set '-e'\nls -l"),
    ("set -euo pipefail\nls | wc", "set -euo pipefail; ls|wc"),
    ("shopt -s nullglob\nls 'a'", "shopt -s nullglob # x\n\nls \"a\""),
    ("trap 'rm f' EXIT; ls  -l", "trap \"rm f\" EXIT\nls -l"),
    ("eval \"ls -l\"", "eval 'ls -l'"),
    ("x=\"a b\"; echo \"$x\"", "x='a b'\necho \"${x}\""),
    ("a || { b; }", "a || b"),
    ("! { a; }", "! a"),
    ("{ a; } &", "a &"),
    ("echo `echo a`", "echo $(echo 'a')"),
    ("diff <(sort a) <(sort --unique b)", "diff <( sort a ) <(sort -u b)"),
    ("[[ -f 'a' && $b == \"c\" ]]", "[[ -f a &&\n $b == c ]]"),
    ("[[ a =~ ^a.b$ ]]", "[[ 'a' =~ ^a.b$ ]]"),
    ("bash -c 'ls -l'", "bash -c \"ls -l\" # x\n"),
    ("ps -ef", " 'ps' -ef\n"),
    (":; # x\nps -ef # y", "ps -ef"),
    ("pgrep -x a | wc -l", "# x\npgrep  -x 'a'|wc -l\n# y"),
    ("kill -9 \"$!\"", "kill -9 \"${!}\" # x"),
    ("find jobs -type f", "find 'jobs'  -type f"),
    ("trap 'rm f' EXIT; exit 1", "trap \"rm f\" EXIT\nexit 1"),
    ("a\nb >/dev/null 2>&1", "a;b 1>/dev/null 2>&1"),
    ("a\necho x >&2\nls", "a; echo x 1>&2; ls"),
    ("#!/bin/bash\nls  -a", "#! /usr/bin/env bash\nls -a"),
    ("#!/bin/bash\nls", "ls"),
    ("top=1; echo \"$top\"", "top='1'\necho \"$top\" # top"),
    ("# x\n/usr/bin/ls a >/dev/null 2>&1", "ls a > /dev/null 2>&1"),
    ("\n{ ls >> /dev/null 2>&1; }", "{ ls 1>> /dev/null 2>&1\n}"),
    ("x=$(cat <<E\na\nE\n)", "x=$(cat <<F\na\nF)"),
]  # fmt: skip
DIFFERENT = [
    ("head -c 2 -5 f", "head -c 2 -n 5 f"),
    ("tail -5f x", "tail -n 5 x"),
    ('echo "$x"', "echo $x"),
    ("echo '*'", "echo *"),
    ("echo '~'", "echo ~"),
    ("echo '{a,b}'", "echo {a,b}"),
    ("echo '$x'", 'echo "$x"'),
    ("echo \\$x", "echo $x"),
    ("a=1 cmd", "a=1; cmd"),
    ("'a=1' cmd", "a=1 cmd"),
    ("cat <<E\n$x\nE", "cat <<'E'\n$x\nE"),
    ("cat <<E\nx\nE", "cat <<E\ny\nE"),
    ("/bin/echo a", "echo a"),
    ("/usr/bin/printf a", "printf a"),
    ("./find .", "find ."),
    ("ls; true", "ls"),
    ("false; :; echo $?", "false; echo $?"),
    ("false; :; exit", "false; exit"),
    ("set -e; a && true; b", "set -e; a; b"),
    (": > f; ls", "ls"),
    (": $(touch f); ls", "ls"),
    ("true <<E; ls\n$(touch f)\nE", "ls"),
    ("true() { rm f; }; true; ls", "true() { rm f; }; ls"),
    ("a & b", "a; b"),
    ("ls || true", "ls"),
    ("(cd x)", "cd x"),
    ("{ a & }; b", "a; b"),
    ("a && { b; c; }", "a && b; c"),
    ("sort -k1 -k2 f", "sort -k2 -k1 f"),
    ("grep -E -F x", "grep -F -E x"),
    ("du -h -B1 f", "du -B1 -h f"),
    ("[[ a =~ 'a.b' ]]", "[[ a =~ a.b ]]"),
    ("ls [a-z]", 'ls ["a-z"]'),
    ("echo ''$x", "echo $x"),
    ('"$@"', "$@"),
    ('a "$@"', 'a """$@"'),
    ("ps", "ps\n\n"),
    ("echo $LINENO", "echo $LINENO # x"),
    ("ls x 2> f", "/usr/bin/ls x 2> f"),
    ("find() { ls; }; command find", "find() { ls; }; find"),
    ("alias find=ls; find", "alias find=ls; \\find"),
    ("sort $x -u", "sort -u $x"),
    ('grep -c "$x" -i f', 'grep -ci "$x" f'),
    ("sort * -u", "sort -u *"),
    ("rm -- -f", "rm -f"),
    ("rm -- *", "rm *"),
    ("head -n '' f", "head -n f"),
    ("ls >f 2>&1", "ls 2>&1 >f"),
    ("a=(1 2)", "a='1 2'"),
    ("echo a b", "echo 'a b'"),
    ("echo 2>f", 'echo "2">f'),
    ("! a", "a"),
    ("a |& b", "a | b"),
    ("time ls", "ls"),
    ("'time' ls", "time ls"),
    ("'if' a", "if a; then b; fi"),
    ("echo \"\\n\"", "echo \\n"),
    ("cat <<-E\n\tx\nE", "cat <<E\n\tx\nE"),
    ("sed -e 's/(a)/b/' -E f", "sed -E -e 's/(a)/b/' f"),
    ("chmod -v -c 1 f", "chmod -c -v 1 f"),
    ("chmod -x f", "chmod x f"),
    ("gzip -1 -9 f", "gzip -9 -1 f"),
    ("readlink -e -f f", "readlink -f -e f"),
    ("date -u -r f -d now", "date -u -d now -r f"),
    ("timeout 5 -k 1 ls", "timeout -k 1 5 ls"),
    ("find . -type f -name a", "find . -name a -type f"),
    ("ls $'a'", "ls '$a'"),
    ("echo a#b", "echo a"),
    ("a 2>&1", "# x\na 2>&1"),
    ("a 2> f; b", "a 2> f\nb"),
    # a line end is no semicolon if an error ends the line, or if Bash parses the next line differently
    ("x=$((08)); rm f", "x=$((08))\nrm f"),
    ("echo ${x.y}; ls", "echo ${x.y}\nls"),
    ("{ echo $((1/0))\nls\n}", "echo $((1/0))\nls"),
    ("readonly x=1; x=2; ls", "readonly x=1\nx=2\nls"),
    ("UID=5; ls", "UID=5\nls"),
    ("a[1/0]=1; ls", "a[1/0]=1\nls"),
    ("echo ${x:1/0} & ls", "echo ${x:1/0} &\nls"),
    ("echo ${x-${y.}}; ls", "echo ${x-${y.}}\nls"),
    ("declare -i x=08; ls", "declare -i x=08\nls"),
    ("shopt -s failglob; ls *.x; ls", "shopt -s failglob\nls *.x\nls"),
    ("shopt -s extglob; rm !(a)", "shopt -s extglob\nrm !(a)"),
    ("rm f; ls !(a)", "rm f\nls !(a)"),
    ("test -v 'a[1/0]'; ls", "test -v 'a[1/0]'\nls"),
    # an error message has the number of its line
    ("# x\nnone 2>f\nls", "none 2>f\n# x\nls"),
    ("none 2>f; ls", "\nnone 2>f; ls"),
    ("{ none\n} 2>f", "{\nnone\n} 2>f"),
    ("cat 2>f <<E\n$(none)\nE", "cat 2>f <<E\n\n$(none)\nE"),
    ("none; b 2>&1 >/dev/null", "\nnone; b 2>&1 >/dev/null"),
    ("none >/dev/null 2>&1 >f; b 2>&1", "\nnone >/dev/null 2>&1 >f; b 2>&1"),
    ("none &>f; b", "\nnone &>f; b"),
    ("none >&f; b", "\nnone >&f; b"),
    ("none |& cat; b", "\nnone |& cat; b"),
    ("#!/bin/sh\nls", "ls"),
    ("#!/bin/bash -e\nls", "ls"),
    ("#!/usr/bin/env python3\nprint \"a\" # a", "#!/usr/bin/env python3\nprint 'a'"),
    ("#!/bin/sh", "# x"),
    ("ls > $x 2>&1", "ls > ${x} 2>&1"),
    ("set -x; ls 'a' 2>&1", "set -x; ls a 2>&1"),
    ("eval 'none 2>f'", "\neval 'none 2>f'"),
    # a function and other builtins change what a name means
    ("ls() { rm \"$@\"; }; ls -a", "ls() { rm \"$@\"; }; ls --all"),
    ("sort() { cat; }; sort f -u", "sort() { cat; }; sort -u f"),
    ("eval \"$x\"; sort f -u", "eval \"$x\"; sort -u f"),
    (". ./f; /bin/ls", ". ./f; ls"),
    ("$x; command ls", "$x; ls"),
    ("enable -n :; : && ls", "enable -n :; ls"),
    ("hash -p ./x ls; ls", "hash -p ./x ls; /bin/ls"),
    ("unset PATH; ls", "unset PATH; /bin/ls"),
    ("read PATH <f; ls", "read PATH <f; /bin/ls"),
    ("trap 'ls() { :; }' DEBUG; command ls", "trap 'ls() { :; }' DEBUG; ls"),
    ("set -o posix; sort f -u", "set -o posix; sort -u f"),
    ("export POSIXLY_CORRECT; sort f -u", "export POSIXLY_CORRECT; sort -u f"),
    ("POSIXLY_CORRECT=1 ls f -l", "POSIXLY_CORRECT=1 ls -l f"),
    ("f() { echo 'a'; }; declare -f", "f() { echo \"a\"; }; declare -f"),
    ("f() { { ls; }; }", "f() { ls; }"),
    ("f() { :; ls; }", "f() { ls; }"),
    ("'f'() { ls; }", "f() { ls; }"),
    ("for 'i' in a; do ls; done", "for i in a; do ls; done"),
    # a command sees its own text
    ("echo $((LINENO))", "\necho $((LINENO))"),
    ("x=LINENO; echo ${!x}", "\nx=LINENO; echo ${!x}"),
    ("[[ LINENO -eq 1 ]] && ls", "\n[[ LINENO -eq 1 ]] && ls"),
    ("cat -n -s /proc/self/cmdline", "cat -ns /proc/self/cmdline"),
    ("bash -c 'ps aux'", "bash -c 'ps aux'\n# x"),
    ("ps -ef; # x\n\n", "ps -ef"),
    ("{ ps -ef; } | cat", "ps -ef | cat"),
    ("ps -ef && true", "ps -ef"),
    ("/bin/ps -ef", "ps -ef"),
    ("ps -ef | grep -i -n a", "ps -ef | grep -in a"),
    ("{ a; } & echo $!", "a & echo $!"),
    ("set", "set # x"),
    ("declare -p | wc -c", "declare -p|wc -c"),
    ("trap 'echo $BASH_COMMAND' DEBUG; ls 'a'", "trap 'echo $BASH_COMMAND' DEBUG; ls a"),
    ("trap 'echo $?' EXIT; false; :; x=1", "trap 'echo $?' EXIT; false; x=1"),
    ("echo ${x@P}", "echo ${x@P} # x"),
    ("set -k; a 'x=1'", "set -k; a x=1"),
    ("set -t; ls", "set -t\nls"),
    # a program shows or needs its path
    ("/bin/sh -c 'echo $0'", "sh -c 'echo $0'"),
    ("/usr/bin/env", "env"),
    ("/usr/bin/python3 x", "python3 x"),
    ("/bin/ls --help", "ls --help"),
    ("/usr/bin/find --version", "find --version"),
    ("/usr/bin/awk 'BEGIN { print ARGV[0] }'", "awk 'BEGIN { print ARGV[0] }'"),
    ("/usr/bin/useradd bob", "useradd bob"),
    ("/usr/local/bin/ls", "ls"),
    ("/bin/test -f a", "test -f a"),
    ("/bin/kill 1", "kill 1"),
    ("/usr/bin/time ls", "time ls"),
    ("command echo a", "/bin/echo a"),
    ("/bin/true --help; ls", "ls"),
    # options whose order or spelling counts
    ("tail -- +2 f", "tail +2 f"),
    ("sort -u -- +2", "sort -u +2"),
    ("diff --recursive a b", "diff -r a b"),
    ("rsync --include=a --exclude=b x y", "rsync --exclude=b --include=a x y"),
    ("ls -S -t", "ls -t -S"),
    ("ls -t -c", "ls -c -t"),
    ("grep -e a -e b f", "grep -e b -e a f"),
    ("grep -h -H x f", "grep -H -h x f"),
    ("grep -r -R x .", "grep -R -r x ."),
    ("cp -i -n a b", "cp -n -i a b"),
    ("cp -L -P a b", "cp -P -L a b"),
    ("mv -f -n a b", "mv -n -f a b"),
    ("rm -i -f a", "rm -f -i a"),
    ("head -q -v f", "head -v -q f"),
    ("head -n 1 -c 2 f", "head -c 2 -n 1 f"),
    ("du -k -h f", "du -h -k f"),
    ("tar -c -f a b", "tar -f a -c b"),
    ("find . -maxdepth 1 -name a", "find . -name a -maxdepth 1"),
    ("find . -delete -name a", "find . -name a -delete"),
    ("find . -name a -o -name b", "find . -name b -o -name a"),
    ("expr -1 + 2", "expr 2 + -1"),
    ("test a -a b", "test b -a a"),
    ("awk -F: -v x=1 p", "awk p -F: -v x=1"),
    ("env sort f -u", "env sort -u f"),
    ("xargs rm -rf", "xargs rm -fr"),
    ("sort --rev f", "sort -r f"),
    ("nice -n 5 ls", "nice -5 ls"),
    ("echo -n a", "echo a -n"),
    ("printf -- '%s' a", "printf '%s' a"),
    ("ls -a -- -l", "ls -a -l"),
    ("cut -d '' -f 1 f", "cut -d -f 1 f"),
    ("grep -v '' f", "grep -v f"),
    # quoting that counts
    ("case x in 'a*') ls;; esac", "case x in a*) ls;; esac"),
    ("[[ $a == 'b*' ]]", "[[ $a == b* ]]"),
    ("[[ a '==' b ]]", "[[ a == b ]]"),
    ("[[ '-f' a ]]", "[[ -f a ]]"),
    ("[[ a =~ \"$x\" ]]", "[[ a =~ $x ]]"),
    ("cat <<E\n\\$x\nE", "cat <<'E'\n\\$x\nE"),
    ("cat <<E\n# x\ny\nE", "cat <<E\ny\nE"),
    ("cat <<E\nx\n\n", "cat <<E\nx\n"),
    ("cat <<E\nx\nE \n", "cat <<E\nx\nE\n"),
    ("echo $'\\n'", "echo '\\n'"),
    ("echo $'\\c?'", "echo $'\\x1f'"),
    ("echo $'\\ud800'", "echo '?'"),
    ("x='~'", "x=~"),
    ("export 'a=$x'", "export a=$x"),
    ("export a=$x", "export \"a\"=$x"),
    ("bash -c 'ls'", "bash -c 'ls\n'"),
    ("rm a\\ ", "rm a\\\\"),
    ("echo a \\\n b", "echo a '\n' b"),
    (": {1..99999999}; ls", "ls"),
    (": *; ls", "ls"),
    ("false; :; exit $x", "false; exit $x"),
    ("a &\n:; ls", "a; ls"),
    ("a && :; ls || b", "a && ls || b"),
    ("x=1 :; ls", "ls"),
    ("a <(b)", "a < (b)"),
    ("echo a\r\n", "echo a\n"),
    ("a 2>&1 >/dev/null", "# x\na 2>&1 >/dev/null"),
    ("a < /dev/null 2>&1", "\na </dev/null 2>&1"),
    ("a >/dev/null 01>f 02>&1", "\na >/dev/null 01>f 02>&1"),
    ("cat <<E\n`a\nE", "cat <<'E'\n`a\nE"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_one_command_have_one_form(one: str, other: str) -> None:
    if other == "true":
        assert canonical_form(one.encode()) == canonical_form(b"ls")
        return
    assert canonical_form(one.encode()) is not None
    assert canonical_form(one.encode()) == canonical_form(other.encode())


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_bash_distinguishes_has_two_forms(one: str, other: str) -> None:
    assert canonical_form(one.encode()) is not None
    assert canonical_form(one.encode()) != canonical_form(other.encode())


@pytest.mark.parametrize("command", [b"ls 'a", b"(", b"ls\0-l", b"]] a", b"! && a", b"! & a", b"(!)", b"time & a"])
def test_what_no_parser_reads_is_compared_by_its_text(command: bytes) -> None:
    """Such a command has no form. White space at both ends of its text does not count."""
    assert canonical_form(command) is None
    assert form_digest(command) == form_digest(command + b"\n") == text_digest(b" " + command)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("rm 'a\\ ", "rm 'a\\"),
        ("rm 'a\\\n", "rm 'a\\"),
        ("cat <<E 'a\nx\nE \n", "cat <<E 'a\nx\nE\n"),
        ("cat <<E 'a\nx\n\n", "cat <<E 'a\nx\n"),
        ("ls 'a\r\n", "ls 'a\n"),
    ],
)
def test_white_space_that_may_count_stays_in_a_text(one: str, other: str) -> None:
    assert text_digest(one.encode()) != text_digest(other.encode())


@given(st.binary(max_size=40) | st.text(alphabet="ab -'\"$(){}<>|;&\n\\`*[]=#:!", max_size=40).map(str.encode))
def test_any_text_has_a_form_or_none(command: bytes) -> None:
    """The form depends on the text alone, and a command repeats itself if it has one."""
    form = canonical_form(command)
    canonical_form.cache_clear()
    assert canonical_form(command) == form
    assert repeats(command, command) is (form is not None)
    contains(command, b"find . -type f -name a")


@pytest.mark.parametrize("unit", ["a|", "a;", "{ a; ", "$(a ", "'a'\"b\"", ": ;", "a[", "cat <<E\n", "x=(a ", "-l "])
def test_the_form_of_repeated_text_takes_linear_time(unit: str) -> None:
    before = time.process_time()
    canonical_form((unit * (60_000 // len(unit))).encode())
    contains(("ls " + unit * (60_000 // len(unit))).encode(), b"find . -type f -name a")
    assert time.process_time() - before < 10


REFERENCE = "find . -type f -name '*.log' | sort -u"
AROUND = [
    "sudo %s", "time %s", 'eval "%s"', 'bash -c "%s"', "LC_ALL=C %s", "true <<''; %s", "shopt -s extglob\nls !(a); %s",
    'sudo bash -c "%s"', "env LC_ALL=C nice -n 5 timeout -k 1 5 %s", "(%s)", "coproc { %s; }", "cat <(%s)",
    "trap \"%s\" EXIT", 'ssh host "%s"', "su -c \"%s\" bob", "f() { %s; }; f", "echo a; : b; %s; echo c",
    "for i in 1; do\n  %s\ndone", "a=1 command %s", "env -S '%s'",
    "sudo --user x %s", "timeout --signal KILL --kill-after 5 9 %s", "ionice --class idle %s", "parallel '%s' ::: a",
    "xargs -tn 1 %s", "setarch x86_64 %s", "bash --norc -c -- '%s'", "sh -ce '%s'", "dash -c '%s'", "eval 'x=1; %s'",
    "find . -exec sh -c '%s' _ {} +", "find . -name b -execdir %s \\; -print", "su --command='%s' bob",
    "trap -- '%s' 0", "bash <<< '%s'", "sh <<'E'\n%s\nE", "cat > f <<E && bash f\n%s\nE", "echo '%s' | bash",
    "x='%s'; eval \"$x\"", "source <(echo '%s')", "a=('%s')", "mapfile -C '%s' b", "echo \"a $(sh -c '%s') $b\"",
]  # fmt: skip


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("spelling", [REFERENCE, 'find  . -type f -name "*.log"|sort --unique'])
def test_a_reference_is_found_in_every_wrapper(around: str, spelling: str) -> None:
    """Wrappers are programs that only run a command, assignments, texts that a shell reads, and compound commands."""
    if around.count('"') and '"' in spelling:
        spelling = spelling.replace('"', "'")
    if "%s'" in around or around.startswith("find . -name b"):
        spelling, reference = "find . -type f -newer a -size 5", "find . -type f -newer a -size 5"
    else:
        reference = REFERENCE
    command = (around % spelling).encode()
    assert contains(command, reference.encode())
    assert not contains(command.replace(b"find", b"fd"), reference.encode())


@pytest.mark.parametrize(
    "around",
    [
        *("%s", "LC_ALL=C %s", "time %s", "! %s", "sudo -u bob %s", "env -i A=1 timeout 5 %s", "{ %s; } # x", "(%s)"),
        *("bash -c '%s'", "sh -ec -- 'A=1 %s'", "eval '%s'", "eval \"bash -c '%s'\"", "( time bash -lc '%s' )"),
    ],
)
def test_a_wrapper_does_not_change_the_bare_digest(around: str) -> None:
    command = 'find  . -type f -name "*.log"' if '"' not in around else "find . -type f -name *.log"
    bare = bare_digest(command.encode())
    assert bare_digest((around % command).encode()) == bare
    for other in (command + " -print", "bash -c ls", "a=1", "eval", "(a; b)", "ls 'a", f"{command} | wc"):
        assert bare_digest(other.encode()) != bare


def test_a_longer_pipeline_and_another_target_are_other_commands() -> None:
    for command in (f"{REFERENCE} | wc -l", f"{REFERENCE} > out", REFERENCE.replace("-u", "-r")):
        assert not contains(command.encode(), REFERENCE.encode())


def test_no_two_references_of_a_task_have_one_form() -> None:
    """Otherwise a task would have fewer references than it seems, or the form would merge different commands."""
    fixtures = Path(__file__).parents[2] / "fixtures"
    pairs = [json.loads(line) for line in (fixtures / "train" / "pairs.jsonl").read_text("utf-8").split("\n") if line]
    commands = {pair["command"].encode() for pair in pairs}
    assert len({form_digest(command) for command in commands}) > 0.98 * len(commands)
