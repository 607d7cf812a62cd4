"""Spell a command differently, as a person or a model could, without a parser: quotes, blanks, comments, options."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

LONG = {
    "sort -u": "sort --unique", "sort -r": "sort --reverse", "sort -n": "sort --numeric-sort", "wc -l": "wc --lines",
    "grep -i": "grep --ignore-case", "grep -v": "grep --invert-match", "grep -c": "grep --count", "ls -l": "ls -l -l",
    "grep -q": "grep --quiet", "uniq -c": "uniq --count", "uniq -d": "uniq --repeated", "mkdir -p": "mkdir --parents",
    "cp -r": "cp --recursive", "rm -r": "rm --recursive", "rm -f": "rm --force", "head -n ": "head --lines=",
    "tail -n ": "tail -n", "cut -d": "cut -d ", "du -s": "du --summarize", "ls -A": "ls --almost-all",
}  # fmt: skip
PROGRAMS = {"find", "sort", "grep", "ls", "cp", "mv", "rm", "mkdir", "cat", "wc", "head", "tail", "sed", "cut", "uniq"}
KEEPS_PATH = re.compile(
    r"2>|&>|>&|\|&|\(\)|\b(?:function|export|set|shopt|declare|eval|alias|enable|source|PATH|time)\b"
)
SEES_WORDS = re.compile(r"/proc|\b(?:ps|pgrep|pkill|pstree|pidof|pwdx|fuser|lsof)\b|\$[$!]")
"""Commands that see the words of programs and whether the shell still runs: options, paths and braces count."""

MAY_END_A_LINE = re.compile(r"\$(?:\(\(|\[|\{)")
"""Expansions whose error ends a line of a script, but not the next one. Braces around several lines make them one."""

SEES_STATUS = re.compile(r"\$\{?\?|PIPESTATUS|\b(?:trap|set|exit|return)\b")
HARD = re.compile(r"<<|\[\[|\(\(|\bcase\b|\\\n|#")
"""What the changes inside a command leave alone, because finding words there takes a parser."""


def _words(command: str) -> Iterator[tuple[int, int]]:
    """Yield the places of words that have no quotes and no expansions, outside of quotes."""
    for match in re.finditer(r"'[^']*'|\"(?:\\.|[^\"])*\"|`[^`]*`|[^\s'\"`]+", command, re.DOTALL):
        before, after = command[: match.start()][-1:], command[match.end() :][:1]
        if before in ("", " ") and after in ("", " ", "\n", ";") and re.fullmatch(r"[-./A-Za-z0-9_]+", match[0]):
            yield match.span()


def _quoted(command: str, rng: random.Random) -> str:
    spots = [(begin, end) for begin, end in _words(command) if re.search(r"[./]", command[begin:end]) and begin]
    if HARD.search(command) or not spots:
        return command
    begin, end = rng.choice(spots)
    word = command[begin:end]
    quoted = rng.choice([f"'{word}'", f'"{word}"', f"{word[0]}'{word[1:]}'", "\\" + word])
    return command[:begin] + quoted + command[end:]


def _other_quotes(command: str, rng: random.Random) -> str:
    if HARD.search(command) or '"' in command or "`" in command:
        return command
    return re.sub(r"'([^']*)'", lambda text: text[0] if re.search(r"[$`\\!]", text[1]) else f'"{text[1]}"', command)


def _blanks(command: str, rng: random.Random) -> str:
    spots = list(_words(command))
    if HARD.search(command) or not spots:
        return command
    begin, _ = rng.choice(spots)
    return command[:begin] + rng.choice(["  ", "\t", " \\\n"]) + command[begin:] if begin else " " + command


def _pipes(command: str, rng: random.Random) -> str:
    return command if HARD.search(command) or re.search(r"['\"].*\|.*['\"]", command) else command.replace(" | ", "|")


def _options(command: str, rng: random.Random) -> str:
    if SEES_WORDS.search(command):
        return command
    for short, long in LONG.items():
        spelled = re.sub(rf"(?:^|(?<=\| )){re.escape(short)}(?=$|[ ;\n\w])", long, command)
        if spelled != command and (short[-1] in " d" or re.search(rf"{re.escape(short)}(?: |$)", command)):
            return spelled
    return command


def _path(command: str, rng: random.Random) -> str:
    first = re.match(r"\w+(?= )", command)
    if first is None or first[0] not in PROGRAMS or KEEPS_PATH.search(command) or SEES_WORDS.search(command):
        return command
    return rng.choice(["\\", "/usr/bin/", "command ", "/bin/"]) + command


def _idle(command: str, rng: random.Random) -> str:
    if SEES_STATUS.search(command) or command.startswith("#!"):
        return command
    return rng.choice([":; ", ": &&\n", "true;", "true <<''; \n\n", ": a b\n"]) + command


def _around(command: str, rng: random.Random) -> str:
    around = ["%s\n", "%s # done", "# first\n%s", "\n\n%s", "%s\n\n# done\n", "{ %s\n}", "{ %s\n}\n"]
    has_lines = SEES_WORDS.search(command) or MAY_END_A_LINE.search(command)
    return rng.choice(around[:4] if has_lines else around) % (command,)


CHANGES: list[Callable[[str, random.Random], str]] = [
    *(_around, _idle, _path, _options, _quoted, _other_quotes, _blanks, _pipes)
]


def respell(command: str, seed: int) -> str:
    """Return another spelling of a command, with two changes or more."""
    rng = random.Random(f"{seed} {command}")  # noqa: S311 - a choice of spellings
    spelled, count = command, 0
    for change in rng.sample(CHANGES, len(CHANGES)):
        changed = change(spelled, rng)
        count += changed != spelled
        spelled = changed
        if count == 3:
            break
    return spelled
