"""Find marks of a chat, of a terminal or of a file format in an answer that bash would execute as it stands.

Each rule says what stands in the answer and what bash makes of it. The first rule that applies to a command counts, so
that one mistake has one message. Most rules look at code alone: a fence in a string or a here-document is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from evaluator.submissions.doubts.answer_doubt import AnswerDoubt
from evaluator.submissions.doubts.command_parts import CODE, COMMENT, NOT_CODE, QUOTED, CommandParts, read_parts
from evaluator.submissions.messages import quoted


class _Shape(NamedTuple):
    """A pattern for the code of a command, or for its complete text, and what the match means to bash."""

    meaning: str
    pattern: re.Pattern[str]
    in_text: bool = False


_SHAPES: Final = (
    _Shape(
        "a code fence is left in the command, and bash takes each pair of its backquotes as an empty substitution",
        re.compile(r"``` | ^[ \t]*+~~~", re.VERBOSE | re.MULTILINE),
    ),
    _Shape(
        "a code fence of quotes is left in the command, and bash takes all of it as a string",
        re.compile(r"""\A\s*+(?:\'{3}|"{3})"""),
        in_text=True,
    ),
    _Shape(
        "the answer is JSON, which bash takes as the name of a program",
        re.compile(
            r"""
            \A\s*+
            (?:
                \[?\s*+\{\s*+["'][\w\ -]{1,40}["']\s*+: | \["[^"\n]*+"(?:,|\]\s*\Z)
              | (?:"\w++"|\{\s*+[A-Za-z_]++)\s*+:\s
            )
            """,
            re.VERBOSE,
        ),
        in_text=True,
    ),
    _Shape(
        "the answer is a call in another language, which bash cannot read",
        re.compile(r"\A\s*+ (?: [A-Za-z_][\w.]*+\((?:\w++=)?(?:\[?['\"]) | import\ (?:os|subprocess)\b )", re.VERBOSE),
        in_text=True,
    ),
    _Shape(
        "the answer begins with a prompt sign, which bash takes as the name of a program",
        re.compile(
            r"""
            ^[ \t]*+
            (?:
                (?: \([\w.-]++\)[ \t]?+ )?+
                (?:
                    \[[^\]\n]*+\][ \t]?+[$#%]
                  | [\w.-]++@[\w.-]++(?:[ :][^\s$#%>]*+)?+[ ]?+[$#%>]
                  | (?:[\w.-]++:[^\s$#%]*+[ ])?+[A-Za-z][\w.-]*+[$#%]
                  | [~/][\w./~-]*+[$#%]
                  | [$]
                )
                [ \t]++(?=\S)
              | (?:PS[ ])?+[A-Z]:\\[^\n>]{0,200}+>[ \t]*+
              | (?:PS|(?:ba|z|k|da)?sh)>[ \t]
              | [➜❯❱›▶→λ➤][ \t]
              | >>>[ ]
              | In[ ]\[\d++\]:
              | %%(?:bash|sh|cmd)\b
              | !(?=[a-z]) | [$#%]>[ ]?
            )
            """,
            re.VERBOSE | re.MULTILINE,
        ),
    ),
    _Shape(
        "the answer begins with a prompt sign, which bash takes as the name of a program",
        re.compile(r"\A\s*+%(?: (?=\S)|(?=[a-z]))"),
    ),
    _Shape(
        "the answer is a text in LaTeX, which bash takes as the name of a program",
        re.compile(r"\A\s*+(?:\$+|\\\(|\\\[)?\s*\\(?:boxed|text|texttt)\{"),
    ),
    _Shape(
        "a tag is left in the answer, and bash takes its sign < as a redirection",
        re.compile(
            r"""
            \A\s*+<[A-Za-z_]++>(?=.) | </[A-Za-z_]++> | <br[ ]?/?> | <[|｜][^|｜>\n]{1,40}+[|｜]>
          | <(?:start|end)_of_turn> | \[/?INST\]
            """,
            re.VERBOSE | re.DOTALL,
        ),
    ),
    _Shape(
        "the answer begins with a label, which bash takes as the name of a program",
        re.compile(
            r"""
            \A\s*+ [*_]*+
            (?: [A-Za-z][\w-]*+ | (?:[A-Za-z]++[ ]){1,3}(?:command|answer|solution|code|script|output|response|bash) )
            [*_]*+ : [*_]*+ (?=\s|`|\Z)
            | \A\s*+(?:\w++_)?(?:command|cmd|answer|solution)[ ]=[ ]
            """,
            re.VERBOSE,
        ),
    ),
    _Shape(
        "the first line is the name of a language or a speaker, left over from a fence or a chat: bash executes it",
        re.compile(
            r"""
            \A\s*+
            (?:
                (?:ba|z|k|da)?sh|shell(?:script|-session)?|console|terminal|cmd|code
              | json|yaml|markdown|plaintext|text|assistant|output
            )
            [ \t]*+ \r?\n \s*+ \S
            """,
            re.VERBOSE | re.IGNORECASE,
        ),
    ),
    _Shape(
        "the answer is a list, and bash takes the number or the bullet as the name of a program",
        re.compile(
            r"\A\s*+(?:\(?\d{1,2}[.):]|\(?[a-z]\)|[ivx]{1,3}\."
            r"|[-*+•‣●]|[\u2190-\u2bff\U0001f300-\U0001faff]\ufe0f?)[ \t]++\S"
        ),
    ),
    _Shape(
        "the answer is in bold or italic type, and bash takes its asterisks as a pattern for names of files",
        re.compile(
            r"""
            ^[ \t]*+(?:\*{2,3}[A-Za-z`$] | __[^_\n]++__)
            | \A\s*+(?:\*[a-z][^ *_\n]*+[ ][^*_\n]*+\*|_[a-z][^ *_\n]*+[ ][^*_\n]*+_)\s*+\Z
            """,
            re.VERBOSE | re.MULTILINE,
        ),
    ),
    _Shape(
        "an answer is inline code: bash would run the text between the backticks, and then run its output as a command",
        re.compile(
            r"""
            \A\s*+ (?: `[^`\n]++` | ``[^`\n]++`` )
            (?: [.,;:]? \s*+ \Z | [ ,;:–—-]++ (?:will|lists?|shows?|is|can|to|this|prints?|finds?|the|which|it)\b )
            """,
            re.VERBOSE,
        ),
    ),
)
"""The rules that need only a pattern, in order."""

_WORDS: Final = """
a above all an any are below but by can command contains displays each every files following from here how if into is it
its lists of only or output prints recursively result shows that the then there these this to use used using want will
with would you your
"""
_PROSE_WORDS: Final = frozenset(_WORDS.split())
"""Words of English sentences. At least two of them stand in a line of an explanation."""
_SENTENCE: Final = re.compile(
    r"""
    [ \t]*+[*_("'-]*+
    (?:
        to\ [a-z]++\  | (?:you|we)\ (?:can|could|may|might|should|need|must|will|would)\b
      | (?:this|the|the\ following|the\ above)\ (?:bash\ |shell\ )?(?:command|script|will|lists?|answer|solution|code)\b
      | here(?:['’]s|\ is|\ are|\ you)\b | i(?:['’]m|['’]ll|\ am|\ will|\ would|\ can|\ cannot|\ think|\ do)\b
      | it\ (?:is|will|lists?|prints?|shows?)\b | there\ (?:is|are)\b | as\ an\ ai\b | (?:i'm\ )?sorry\b
      | (?:n/a|none|null|unknown|undefined)\s*+\Z
      | (?:sure|certainly|of\ course|okay|ok|alright)\b[,!.] | note\ that\b | (?:just|simply|please|first,?)\ [a-z]
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""The beginning of a sentence. None of these words is a program."""
_IMPERATIVE: Final = re.compile(r"\s*+(?:use|run|try|execute|enter) [a-z`]", re.IGNORECASE)
"""The beginning of an answer that tells what to do. A script may call its own function `run`."""
_FOREIGN: Final = re.compile(
    "\\s*+(?:[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]|(?![\\W\\x00-\\x7f\uff00-\uffef\ufb00-\ufb06\u2160-\u217f\U0001d400-\U0001d7ff])\\w(?!\\w*[A-Za-z])(?=\\S*\\s+\\S))"
)
"""A first word in another alphabet. A word with Latin letters too has letters that only look like Latin ones."""
_CAPITAL: Final = re.compile(r"[ \t]*+([A-Z][a-z]++|I)(?:['’][a-z]++)?[,.!:;?]*+(?=\s|\Z)(?!\s*+\()")
_PROGRAMS_IN_CAPITALS: Final = frozenset({"Rscript", "Xorg", "Xvfb", "Xephyr"})
_WORD: Final = re.compile(r"\s*+(?!if |for |case |while |until )[a-z]++ [^;|&<>(){}\[\]$=]*+")
_PLAIN_SENTENCE: Final = re.compile(r"\s*+[A-Z][a-z]++(?: [a-z']++){2,}+[.!:]\s*+")
_RULE: Final = re.compile(r"\s*+-{3,}+\s*+")
_HEADING: Final = re.compile(
    r"[ \t]*+[*_]*+(?:explanation|notes?|output|usage|examples?|breakdown|where|alternatively)[*_]*+:", re.IGNORECASE
)
_ITEM: Final = re.compile(r"[ \t]*+(?:[-•]|\d{1,2}\.)[ \t]++[`*A-Za-z]")
_BEHIND: Final = re.compile(
    r"""
    (?<=[\w.*/\0]) [ ]
    (?:
        (?:This|The|It)\ (?:\w++\ )?(?:command|will|lists?|shows?|prints?|finds?|is)\b
      | (?:Explanation|Note|Output):\s
      | (?:lists|shows|displays|prints|finds)\ (?:all|the)\b
      | \([A-Za-z]++\ (?:all|the|this|a|to|in|of|files?)\ [a-z ]++\)[ .]*+$
      | (?:-{1,2}|–|—|:)\ (?:this|it|lists?|shows?|prints?|finds?|displays?)\ (?:all|the|a|every|each|files?)\b
    )
    """,
    re.VERBOSE | re.MULTILINE,
)
"""An explanation behind a command on the same line."""
_PROSE: Final = "the answer is prose, and bash takes its first word as the name of a program"
_EXPLAINED: Final = "an explanation stands behind the command, and bash takes it as commands or as arguments"

_REDIRECTION: Final = re.compile(r"\A\s*+>{1,2}[ \t]*+([a-z][\w-]*+)(?=\s|\Z)[ \t]*+(\S?)")
_SHELL_CALL: Final = re.compile(r"\A\s*+(?:(?:/usr)?/bin/)?(?:ba|z|k|da)?sh[ \t]++([a-z][\w-]*+)(?=\s|\Z)")
_VARIABLE: Final = re.compile(r"\A\s*+\$([a-z]++)(?=\s|\Z)")
_STRING: Final = re.compile(r"""\A\s*+(?:'([a-z][\w-]*+)[ \t][^'\n]*+'|"([a-z][\w-]*+)[ \t][^"\n]*+")\s*+\Z""")
_FILE_OR_PROGRAM: Final = frozenset({"file", "install", "script", "split", "test", "time", "tree", "who", "date"})
"""Names of programs that are names of files too: `> test` makes an empty file."""
_MORE_PROGRAMS: Final = """
alias apt apt-get base64 bash chroot declare docker dpkg eval export free git groups gpg ip journalctl lsblk make
openssl pip python python3 systemctl tar ulimit umask unalias uptime useradd vi vim
"""

_ENTITY: Final = re.compile(r"&(?:gt|lt|amp|quot|apos|nbsp|#\d{1,6}|#[xX][0-9a-fA-F]{1,5});")
_ENTITY_IN_STRING: Final = re.compile(r"(?<=\s)&[gl]t;=?(?=\s)|&amp;&amp;")
_JSON_ESCAPE: Final = re.compile(r"u00[0-9a-fA-F]{2}")


def odd_shape(text: str, *, parses: bool = True) -> Iterator[AnswerDoubt]:
    """Yield the first reason why a text is no plain command, and then reasons that do not depend on its shape.

    Without a reason, a parser reads the text if `parses` is true. It needs about 10 µs for a character.
    """
    parts = read_parts(text)
    shape = _first_shape(parts)
    escapes = [*_left_escapes(parts)]
    yield from (shape, *escapes) if shape is not None else escapes
    if parts.open_document is not None:
        what = f"the here-document {quoted(parts.open_document)} has no end, so the command may be cut off"
        yield AnswerDoubt("open here-document", what, parts.text.find("<<"))
    elif parses and shape is None and not escapes and (refused := _refused(text)):
        yield refused


def _refused(text: str) -> AnswerDoubt | None:
    """Return what bash's grammar expects in a text that is no command, such as the end of a string that was cut off."""
    from evaluator.shell.bash_parser import parse_bash  # costs an import that only a check needs
    from evaluator.shell.syntax import UnreadableError

    try:
        parse_bash(text)
    except UnreadableError as error:
        if error.expected:
            what = f"bash refuses the command, as it expects {error.expected} here; it may be cut off"
            return AnswerDoubt("refused command", what, min(error.position, len(text) - 1))
    return None


def _first_shape(parts: CommandParts) -> AnswerDoubt | None:
    for shape in _SHAPES:
        if match := shape.pattern.search(parts.text if shape.in_text else parts.code):
            return AnswerDoubt(shape.meaning, shape.meaning, match.start() + len(match[0]) - len(match[0].lstrip()))
    end = len(parts.text.rstrip()) - 1
    if parts.text.endswith("```", 0, end + 1) and parts.roles[end] == COMMENT:
        return AnswerDoubt(_SHAPES[0].meaning, _SHAPES[0].meaning, end - 2)
    for find in (_backquote, _comment_only, _redirection, _shell_call, _variable, _string, _prose):
        if found := find(parts):
            return AnswerDoubt(found[0], *found)
    return None


def _backquote(parts: CommandParts) -> tuple[str, int] | None:
    signs = [place for place, sign in enumerate(parts.text) if sign == "`" and parts.roles[place] == CODE]
    if len(signs) % 2 and (signs[0] == 0 or signs[-1] == len(parts.text.rstrip()) - 1):
        return "a single backquote is left in the command, and bash looks for its pair", signs[0]
    return None


def _comment_only(parts: CommandParts) -> tuple[str, int] | None:
    lines = [line.strip() for line in parts.text.splitlines() if line.strip()]
    if lines and all(line.startswith("#") for line in lines):
        return "the answer is a comment, or has the prompt sign of root: bash executes nothing", 0
    return None


def _redirection(parts: CommandParts) -> tuple[str, int] | None:
    match = _REDIRECTION.match(parts.code)
    if match and _is_program(match[1]) and (match[2] or match[1] not in _FILE_OR_PROGRAM):
        return "the answer begins with the prompt sign >, which bash takes as a redirection: it empties a file", 0
    return None


def _shell_call(parts: CommandParts) -> tuple[str, int] | None:
    match = _SHELL_CALL.match(parts.code)
    if match and _is_program(match[1]) and match[1] not in _FILE_OR_PROGRAM:
        return "the name of a shell stands before the command: bash takes the program as a script in this folder", 0
    return None


def _variable(parts: CommandParts) -> tuple[str, int] | None:
    match = _VARIABLE.match(parts.code)
    if match and _is_program(match[1]) and not re.search(rf"\b{match[1]}[+=]", parts.text):
        return "the answer begins with a prompt sign, and bash takes the program as a variable, which is empty", 0
    return None


def _string(parts: CommandParts) -> tuple[str, int] | None:
    match = _STRING.match(parts.text)
    if match and _is_program(match[1] or match[2]):
        return "the complete answer is in quotes: bash takes it as the name of one program", 0
    return None


def _prose(parts: CommandParts) -> tuple[str, int] | None:
    position, first = 0, True
    for line in parts.code.split("\n"):
        if first and line.strip():
            if _is_sentence(line, first=True):
                return _PROSE, position
            if "echo" not in line and (behind := _BEHIND.search(line)):
                return _EXPLAINED, position + behind.start() + 1
            first = False
        elif _is_sentence(line, first=False) and not _continues(parts, position):
            return _EXPLAINED, position
        position += len(line) + 1
    return None


def _is_sentence(line: str, *, first: bool) -> bool:
    """Return whether a line reads as prose. The first line of an answer needs only a first word that is no program."""
    if NOT_CODE in line[:1]:
        return False
    if _SENTENCE.match(line):
        return True
    if first and _IMPERATIVE.match(line):
        return True
    if _RULE.fullmatch(line):
        return True
    if first and _FOREIGN.match(line):
        return True
    capital = _CAPITAL.match(line)
    if first and capital:
        return capital[1] not in _PROGRAMS_IN_CAPITALS
    if _HEADING.match(line) or _ITEM.match(line):
        return True
    if capital and _PLAIN_SENTENCE.fullmatch(line):
        return True
    words = {word.strip(".,:;!?()`*'\"").lower() for word in line.split()}
    if first and _WORD.fullmatch(line) and not _is_program(line.split()[0]):
        return len(words & _PROSE_WORDS) >= 3
    return bool(capital) and len(words & _PROSE_WORDS) >= 2


def _continues(parts: CommandParts, position: int) -> bool:
    """Return whether a line continues the one before it."""
    return parts.text[max(0, position - 2) : position] == "\\\n"


def _left_escapes(parts: CommandParts) -> Iterator[AnswerDoubt]:
    """Yield escapes of HTML and JSON that were not replaced by their characters."""
    entity = _ENTITY.search(parts.code) or next(
        (each for each in _ENTITY_IN_STRING.finditer(parts.text) if parts.roles[each.start()] == QUOTED), None
    )
    if entity:
        meaning = "an entity of HTML is left in the command: bash does not take it as the character that it stands for"
        yield AnswerDoubt(meaning, meaning, entity.start())
    if (position := _literal_newline(parts)) is not None:
        meaning = r"\n outside quotes: bash takes the two characters as the letter n, not as the end of a line"
        yield AnswerDoubt(meaning, meaning, position)
    elif any(_JSON_ESCAPE.match(parts.text, position + 1) for position in parts.escapes("u")):
        meaning = "an escape of JSON is left in the command: bash does not take it as the character that it stands for"
        yield AnswerDoubt(meaning, meaning, parts.escapes("u")[0])


def _literal_newline(parts: CommandParts) -> int | None:
    for position in parts.escapes("n"):
        before, rest = parts.text[max(0, position - 1) : position], parts.text[position + 2 :]
        if before == "\\":
            continue  # three backslashes give a backslash and the letter n, which `tr` reads
        if before.strip() or not rest.strip() or rest[0].isspace():
            return position
        word = re.match(r"[a-z-]*", rest)
        if word and _is_program(word[0]) and not _is_program(f"n{word[0]}"):
            return position
    return None


def _is_program(word: str) -> bool:
    return word in _programs()


@cache
def _programs() -> frozenset[str]:
    from evaluator.shell import option_table  # costs the import of two parsers, which few answers need

    return frozenset({*option_table(), *_MORE_PROGRAMS.split()})
