"""List the calls of utilities in a script that `bash_parser` has parsed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evaluator.shell.bash_parser import parse_bash
from evaluator.shell.bash_words import BashWord, CommandList, Compound, Pipeline, Redirection, Simple, WordPiece
from evaluator.shell.syntax import Call, Word


def read_calls(command: str) -> tuple[Call, ...]:
    """Return all calls of utilities in a command, in source order. Raise UnreadableError if Bash would refuse it."""
    return tuple(_of_script(parse_bash(command)))


def _of_script(script: CommandList) -> Iterator[Call]:
    for pipeline, _ in script.items:
        yield from _of_pipeline(pipeline)


def _of_pipeline(pipeline: Pipeline) -> Iterator[Call]:
    timed = tuple(Word(word) for prefix in pipeline.prefixes if prefix != "!" for word in prefix.split())
    for command in pipeline.commands:
        if isinstance(command, Simple):
            yield _of_simple(command, timed)
        else:
            if timed:
                yield Call(timed)
            yield from _of_compound(command)
        timed = ()


def _of_simple(command: Simple, before: tuple[Word, ...]) -> Call:
    beside = (*_of_words(command.assignments), *_of_redirections(command.redirections))
    return Call((*before, *map(_word, command.words)), beside)


def _of_compound(command: Compound) -> Iterator[Call]:
    if command.keyword == "[[":
        words = [part if isinstance(part, BashWord) else _keyword(part) for part in command.parts]
        bounded = (Word("[["), *map(_word, words), Word("]]"))
        yield Call(bounded, tuple(_of_redirections(command.redirections)))
        return
    if command.keyword == "coproc":
        yield from _of_coproc(command)
        return
    for part in command.parts:
        if isinstance(part, CommandList):
            yield from _of_script(part)
        elif isinstance(part, BashWord):
            yield from _of_words([part])
        elif isinstance(part, WordPiece):
            yield from _of_pieces([part])
    yield from _of_redirections(command.redirections)


def _of_coproc(command: Compound) -> Iterator[Call]:
    """Yield the call of `coproc`. The words of a simple command follow the keyword, as in `time ls`."""
    keyword = (Word("coproc"),)
    body = command.parts[-1]
    assert isinstance(body, CommandList)  # noqa: S101 - the parser's form of a coprocess
    ((pipeline, _),) = body.items
    (inner,) = pipeline.commands
    if isinstance(inner, Simple):
        yield _of_simple(inner, keyword)
    else:
        yield Call(keyword)
        yield from _of_compound(inner)


def _keyword(part: object) -> BashWord:
    return BashWord(str(part), (WordPiece("literal", str(part)),))


def _word(word: BashWord) -> Word:
    return Word(word.text, tuple(_of_words([word])))


def _of_words(words: Iterable[BashWord]) -> Iterator[Call]:
    for word in words:
        yield from _of_pieces(word.pieces)


def _of_pieces(pieces: Iterable[WordPiece]) -> Iterator[Call]:
    for piece in pieces:
        for part in piece.parts:
            yield from _of_script(part) if isinstance(part, CommandList) else _of_words([part])


def _of_redirections(redirections: Iterable[Redirection]) -> Iterator[Call]:
    for redirection in redirections:
        yield from _of_words([redirection.target])
        yield from _of_pieces(redirection.body)
