"""`bashboard corpus`: count, filter and split corpora of instructions and commands."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import AsJson, Group, example, print_json, shown
from evaluator.cli.progress import shown_progress
from evaluator.errors import UsageError
from evaluator.wording import pluralize

if TYPE_CHECKING:
    from evaluator.corpus.corpus_rules import CorpusRules
    from evaluator.corpus.pair_lines import CorpusPair
    from evaluator.progress import Progress

corpus = typer.Typer(
    cls=Group,
    help="Count, filter and split corpora of instructions and commands.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

STANDARD_INPUT = Path("-")
Source = Annotated[
    Path,
    typer.Argument(
        help='JSON lines {"nl", "command"}, a folder with all.nl and all.cm, or - for standard input.', metavar="PAIRS"
    ),
]
Rules = Annotated[str, typer.Option("--rules", help="The rules of a publisher: nl2bash. The default is plain.")]
_RATIO = re.compile(r"([1-9]\d{0,5}):([1-9]\d{0,5})")


def _pairs(source: Path, progress: Progress) -> list[CorpusPair]:
    from evaluator.corpus.pair_lines import read_folder, read_lines

    progress.say(f"reading {'standard input' if source == STANDARD_INPUT else source}")
    if source == STANDARD_INPUT:
        return read_lines(sys.stdin.buffer, Path("standard input"))
    if source.is_dir():
        return read_folder(source)
    if not source.exists():
        raise UsageError(f"{source} does not exist: expected JSON lines, or a folder with all.nl and all.cm")
    with source.open("rb") as lines:
        return read_lines(lines, source)


def _rules(name: str) -> CorpusRules:
    from evaluator.corpus.corpus_rules import RULES

    if name not in RULES:
        raise UsageError(f"--rules {name}: expected one of {', '.join(RULES)}")
    return RULES[name]


@contextmanager
def _corpus(source: Path, rules: str) -> Iterator[tuple[list[CorpusPair], CorpusRules, Progress]]:
    """Yield the pairs of a file, the rules and the progress display."""
    chosen = _rules(rules)
    with shown_progress() as progress:
        yield _pairs(source, progress), chosen, progress


@example(
    "bashboard corpus stats ~/src/nl2bash",
    "bashboard corpus filter pairs.jsonl | bashboard corpus stats -",
    "bashboard corpus stats pairs.jsonl --json",
)
def stats(source: Source, rules: Rules = "plain", as_json: AsJson = False) -> None:
    """Count the texts, words, tokens, utilities and flags of a corpus.

    With --rules nl2bash, words and tokens are counted as in the paper of NL2Bash, so that the figures can be compared.
    """
    from evaluator.corpus.corpus_statistics import Distribution, corpus_statistics

    with _corpus(source, rules) as (pairs, chosen, progress):
        progress.stage("counting", len(pairs))
        found = corpus_statistics(pairs, chosen, progress.advance)
    if as_json:
        print_json(found.as_dict())
        return
    for name, value in found._asdict().items():
        title = name.replace("_", " ")
        if isinstance(value, Distribution):
            typer.echo(f"{title:26} mean {value.mean:.2f}, median {value.median:g}, largest {value.largest}")
        else:
            typer.echo(f"{title:26} {value}")


@example(
    "bashboard corpus filter ~/src/nl2bash --rules nl2bash > in_scope.jsonl",
    "bashboard corpus filter ~/src/nl2bash > all.jsonl",
)
def filter_pairs(source: Source, rules: Rules = "plain") -> None:
    """Print the pairs that are in the scope of the rules, as JSON lines.

    Standard error says how many pairs were left out, by reason. Without --rules, only pairs with an empty text are left
    out, so that the command converts a folder to JSON lines. A line keeps its other fields.
    """
    from evaluator.corpus.corpus_filter import filter_corpus
    from evaluator.corpus.pair_lines import written_lines

    with _corpus(source, rules) as (pairs, chosen, progress):
        progress.stage("filtering", len(pairs))
        found = filter_corpus(pairs, chosen, progress.advance)
    sys.stdout.writelines(written_lines(found.kept))
    sys.stdout.flush()
    typer.echo(f"{len(found.kept)} of {pluralize(len(pairs), 'pair')} kept", err=True)
    for reason, count in found.left_out.items():
        typer.echo(f"left out, {reason}: {count}", err=True)


@example(
    "bashboard corpus split in_scope.jsonl --rules nl2bash --to parts",
    "bashboard corpus split pairs.jsonl --ratio 9:1 --dev 500 --seed 7 --to parts",
)
def split(
    source: Source,
    to: Annotated[Path, typer.Option("--to", help="The folder for train.jsonl, dev.jsonl and test.jsonl.")],
    rules: Rules = "plain",
    ratio: Annotated[str, typer.Option("--ratio", help="Training pairs to other pairs.")] = "5:1",
    dev: Annotated[int, typer.Option("--dev", min=0, help="Development pairs. Other pairs are for tests.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="A number that determines the split.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Split a corpus into training, development and test pairs.

    Pairs with the same command, or with the same words in the instruction, stay together. So no text is in two parts.
    The same corpus and seed give the same parts on every machine. Existing files are replaced.
    """
    from evaluator.corpus.corpus_split import split_corpus
    from evaluator.corpus.pair_lines import written_lines
    from evaluator.files import write_whole

    match = _RATIO.fullmatch(ratio)
    if match is None:
        raise UsageError(f"--ratio {ratio}: expected two numbers such as 5:1")
    with _corpus(source, rules) as (pairs, chosen, progress):
        progress.say("splitting")
        found = split_corpus(pairs, chosen, ratio=(int(match[1]), int(match[2])), dev=dev, seed=seed)
    to.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, part, clusters in zip(("train", "dev", "test"), found[:3], found.clusters, strict=True):
        path = to / f"{name}.jsonl"
        write_whole(path, "".join(written_lines(part)).encode())
        rows.append({"part": name, "pairs": len(part), "clusters": clusters, "file": str(shown(path))})
    if as_json:
        print_json(rows)
    for row in [] if as_json else rows:
        typer.echo(f"{row['file']}: {row['pairs']} pairs in {row['clusters']} clusters")


for title, command in (("stats", stats), ("filter", filter_pairs), ("split", split)):
    corpus.command(title, epilog=command.__dict__.get("epilog"))(command)
