"""Commands compared with references as texts: equal texts, equal templates, and similarity scores."""

from __future__ import annotations

import base64
import random
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.metrics.bleu import bleu_counts, corpus_bleu
from evaluator.metrics.texts import calls_of_references, compare_texts, normalised, template
from evaluator.records import TextMetrics
from tests.metrics.graded import frame_of, result
from tests.properties import examples

WORDS = st.lists(st.sampled_from(["ls", "-l", "-a", "|", "sort", "x"]), max_size=7)
CORPORA = st.lists(st.tuples(WORDS, st.lists(WORDS.filter(bool), min_size=1, max_size=3)), min_size=1, max_size=6)
COMMANDS = st.text(alphabet="ls -'\"|;&<>()$\\`\n\t#{}*a1", max_size=30)


@pytest.fixture(scope="module")
def nltk_bleu() -> ModuleType:
    """Return NLTK's BLEU module. Its import takes seconds, so only tests that need it import it."""
    from nltk.translate import bleu_score

    module: ModuleType = bleu_score
    return module


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('find . -name "*.txt"', "find .   -name '*.txt' "),
        ("grep 'foo' a", "grep foo a"),
        ("ls|wc -l", "ls | wc -l"),
        ("echo a>b", "echo a > b"),
        ("ls \\\n -l", "ls -l"),
        ("ls 2>/dev/null", "ls 2> /dev/null"),
    ],
)
def test_texts_that_differ_in_blanks_and_quotes_alone_are_equal(one: str, other: str) -> None:
    """Two spellings that the shell reads in the same way are one text."""
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('echo "$HOME"', "echo '$HOME'"),
        ("echo '*'", "echo *"),
        ("echo 'a  b'", "echo 'a b'"),
        ("echo 2 >x", "echo 2>x"),
        ("echo '2'>x", "echo 2>x"),
        ("echo a\\ b", "echo a b"),
        ("a; b", "a & b"),
        ("cat <<E\na  b\nE", "cat <<E\na b\nE"),
    ],
)
def test_texts_that_the_shell_reads_differently_stay_so(one: str, other: str) -> None:
    """Quotes that stop an expansion, blanks in quotes, and a number before a redirection make a difference."""
    assert normalised(one) != normalised(other)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("find . -name '*.txt'", "find /var/log -name '?a*'", True),
        ("head -n 5 a", "head -n 10 b", True),
        ("head -n 5 a", "tail -n 5 a", False),
        ("ls -l -a", "ls -al", True),
        ("find . -type f -empty", "find . -empty -type f", False),
        ("ls > a", "ls >> a", False),
        ("ls | sort", "ls && sort", False),
        ("find /a -exec rm {} +", "find /b -exec rm {} +", True),
        ("find /a -exec rm {} +", "find /a -exec ls {} +", False),
        ("find /a -exec rm {} +", "find /a -exec rm {} \\;", False),
        ("find /a -perm -g=r", "find /a -perm /o+w", True),
    ],
)
def test_a_template_keeps_all_but_what_arguments_say(one: str, other: str, same: bool) -> None:
    """A template keeps utilities, flags, operators and nesting, and replaces each argument by its kind."""
    assert (template(one) == template(other)) is same


def test_a_command_that_nobody_can_read_matches_itself_alone() -> None:
    """A command that cannot be parsed has no template, so only its text is compared."""
    broken = b"ls )("
    assert template(broken.decode()) is None
    assert compare_texts(broken, [broken]).template
    assert not compare_texts(broken, [b"ls ()("]).template


def test_verbatim_means_the_same_bytes() -> None:
    """Invalid UTF-8 is compared byte by byte. White space around a command does not count."""
    assert compare_texts(b"ls \xff\n", [b"ls", b"ls \xff"]).verbatim
    assert not compare_texts(b"ls \xff", [b"ls \xfe"]).full_command
    assert compare_texts(b" ", [b"ls"]) == TextMetrics(bleu=bleu_counts([], [["ls"]]))


def test_an_unreadable_reference_calls_nothing() -> None:
    """An unreadable reference adds no calls, but the mean over references includes it."""
    assert calls_of_references([b"ls -l", b"ls )("]) == {"ls": 0.5}


@given(COMMANDS, st.lists(COMMANDS.filter(str.strip), min_size=1, max_size=3))
@settings(max_examples=examples(150))
def test_every_likeness_implies_the_weaker_ones(command: str, references: list[str]) -> None:
    """Verbatim implies the full command, and the full command implies the template. No text raises an error."""
    found = compare_texts(command.encode(), [each.encode() for each in references])
    assert found.verbatim <= found.full_command <= found.template


@given(COMMANDS)
@settings(max_examples=examples(150))
def test_normalising_twice_changes_nothing(command: str) -> None:
    """A normalised text is its own normal form."""
    assert normalised(normalised(command)) == normalised(command)


@given(WORDS, st.lists(WORDS.filter(bool), min_size=1, max_size=3))
@settings(max_examples=examples(60))
def test_counts_of_a_command_are_nltks(nltk_bleu: ModuleType, words: list[str], references: list[list[str]]) -> None:
    found = bleu_counts(words, references)
    expected = [nltk_bleu.modified_precision(references, words, n).numerator for n in (1, 2, 3, 4)]
    assert list(found.matches) == expected
    assert found.reference_tokens == nltk_bleu.closest_ref_length(references, len(words))


@pytest.mark.filterwarnings("ignore:\\s*The hypothesis contains 0 counts:UserWarning")
@given(CORPORA, st.randoms(use_true_random=False))
@settings(max_examples=examples(60))
def test_corpus_bleu_is_nltks_whatever_the_order(
    nltk_bleu: ModuleType, corpus: list[tuple[list[str], list[list[str]]]], order: random.Random
) -> None:
    """The sum of the counts of all commands gives the same score as NLTK computes for the corpus."""
    results = [
        result(f"t{number}", text=TextMetrics(bleu=bleu_counts(words, references)))
        for number, (words, references) in enumerate(corpus)
    ]
    found = corpus_bleu(frame_of(order.sample(results, len(results))))["bleu"].item()
    expected = nltk_bleu.corpus_bleu([references for _, references in corpus], [words for words, _ in corpus])
    assert found == pytest.approx(expected if expected > 1e-9 else 0, abs=1e-9)


REFERENCE = b"find . -type f -name '*.log' | sort -u"


@pytest.mark.parametrize(
    "wrapped",
    [b": h; %s", b"{ %s; }", b"%s # sorted", b": &&\n%s", b"{ : ; { %s\n}; }", b"# first\n%s"],
    ids=["colon", "braces", "comment", "and", "nested", "comment before"],
)
def test_a_reference_with_nothing_around_it_is_verbatim(wrapped: bytes) -> None:
    """Comments, braces and calls of `:` do not hide a reference."""
    found = compare_texts(wrapped % REFERENCE, [REFERENCE])
    assert (found.verbatim, found.full_command, found.holds_reference) == (True, True, True)


@pytest.mark.parametrize(
    "around",
    [b"if true; then %s; fi", b'out=$(%s); echo "$out"', b"cd .; %s | cat", b"f() { %s; }; f"],
    ids=["condition", "substitution", "pipe", "function"],
)
def test_a_reference_inside_a_command_is_marked(around: bytes) -> None:
    """A reference that is a part of a command is no repetition of it, but a mark."""
    found = compare_texts(around % REFERENCE, [REFERENCE])
    if around.endswith(b"| cat"):
        assert not found.holds_reference, "a longer pipeline is another command"
    else:
        assert (found.verbatim, found.holds_reference) == (False, True)


def test_a_short_reference_is_no_mark() -> None:
    """Short commands are part of many others by chance, so they are not searched."""
    assert not compare_texts(b"cd /srv && ls -l && pwd", [b"ls -l"]).holds_reference


@pytest.mark.parametrize("command", [b"exec 251>&-", b"echo x >&251", b"echo x > /proc/self/fd/251", b"echo >& 251"])
def test_the_state_descriptor_is_marked(command: bytes) -> None:
    """A command that names the descriptor of the runner's shell is marked, and one with the number 251 is not."""
    assert compare_texts(command, [b"true"]).state_descriptor
    assert not compare_texts(b"head -n 251 a2510 > 251.txt; echo 1251>x", [b"true"]).state_descriptor


def test_a_long_encoded_literal_is_marked() -> None:
    """Data in base64, in escapes or in broken lines are marked from 160 characters on."""
    data = base64.b64encode(bytes(range(150)))
    lines = b"\n".join(data[at : at + 76] for at in range(0, len(data), 76))
    assert all(compare_texts(command, [b"true"]).encoded_literal for command in (b"echo " + data, b"a <<E\n" + lines))
    assert compare_texts(b"printf '" + b"\\x41" * 60 + b"'", [b"true"]).encoded_literal
    assert not compare_texts(b"find /a/b/c -type f -newermt 2025-01-01 -size +10M -print0", [b"true"]).encoded_literal
