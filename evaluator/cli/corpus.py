"""`bashboard corpus`: count, merge, filter and split corpora of instructions and commands, and retrieve from them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import AsJson, Group, SuiteName, add_commands, current_project, example, print_json, shown
from evaluator.cli.completion import complete_suites
from evaluator.cli.progress import shown_progress
from evaluator.cli.text_output import json_output
from evaluator.errors import UsageError
from evaluator.wording import pluralize

if TYPE_CHECKING:
    from evaluator.corpus.corpus_rules import CorpusRules
    from evaluator.corpus.pair_lines import CorpusPair
    from evaluator.progress import Progress
    from evaluator.records import NearTasks

corpus = typer.Typer(
    cls=Group,
    help="Count, merge, filter and split corpora.",
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
    try:
        if not source.exists():
            raise UsageError(f"{source} does not exist: expected JSON lines, or a folder with all.nl and all.cm")
        if source.is_dir():
            return read_folder(source)
        with source.open("rb") as lines:
            return read_lines(lines, source)
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from error


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
    """Count the texts and words of a corpus.

    Also counts tokens, utilities and flags. With --rules nl2bash, words and tokens are counted as in the paper of
    NL2Bash, so that the figures can be compared.
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
    "bashboard corpus filter one.jsonl --check utilities --check reconstructs > good.jsonl",
)
def filter_pairs(
    source: Source,
    rules: Rules = "plain",
    checks: Annotated[
        list[str] | None,
        typer.Option(
            "--check", help="Also leave out by this check: parses, utilities or reconstructs. May be repeated."
        ),
    ] = None,
    suite: Annotated[
        str,
        typer.Option(
            "--suite",
            metavar="SUITE",
            autocompletion=complete_suites,
            help="The suite whose machine has the utilities.",
        ),
    ] = "core",
) -> None:
    """Print the pairs that pass the checks.

    Prints the pairs that are in the scope of the rules, as JSON lines. Standard error says how many pairs were left
    out, by reason. Without options, only pairs with an empty text are left out, so that the command converts a folder
    to JSON lines. A line keeps its other fields.

    parses: a parser of Bash reads the command. utilities: each program that the command calls is installed on the
    machine of the suite. reconstructs: the syntax tree of bashlex has every character of the command.
    """
    from evaluator.pipeline.maintenance.training_corpus import filtered_pairs, installed_in, read_checks

    chosen_checks = read_checks(checks or ())
    installed = installed_in(current_project(), suite) if "utilities" in chosen_checks else frozenset[str]()
    with _corpus(source, rules) as (pairs, chosen, progress):
        kept, left_out = filtered_pairs(pairs, chosen, chosen_checks, installed, progress)
    _print_kept(kept, len(pairs), left_out)


def _print_kept(kept: Sequence[CorpusPair], count: int, left_out: Mapping[str, int]) -> None:
    """Print pairs as JSON lines, and on standard error how many were left out, by reason."""
    from evaluator.corpus.pair_lines import written_lines

    sys.stdout.writelines(map(json_output, written_lines(kept)))
    sys.stdout.flush()
    typer.echo(f"{len(kept)} of {pluralize(count, 'pair')} kept", err=True)
    for reason, number in left_out.items():
        typer.echo(f"left out, {reason}: {number}", err=True)


@example(
    "bashboard corpus merge ours.jsonl ~/src/nl2bash > all.jsonl",
    "bashboard corpus merge *.jsonl | bashboard corpus dedupe - > one.jsonl",
)
def merge(
    sources: Annotated[
        list[Path],
        typer.Argument(help="JSON lines, folders with all.nl and all.cm, or - for standard input.", metavar="PAIRS"),
    ],
) -> None:
    """Print the pairs of several corpora.

    Prints JSON lines with the name of their corpus in the field `source`. A line that has a source keeps it. Pairs that
    are in several corpora are printed several times. Nothing is printed if a corpus has an invalid line.
    """
    from evaluator.corpus.pair_lines import with_source, written_lines

    with shown_progress() as progress:
        pairs = [with_source(pair, _corpus_name(source)) for source in sources for pair in _pairs(source, progress)]
    sys.stdout.writelines(map(json_output, written_lines(pairs)))


def _corpus_name(source: Path) -> str:
    if source == STANDARD_INPUT:
        return "standard input"
    return source.resolve().name if source.is_dir() else source.stem


Threshold = Annotated[
    float, typer.Option("--threshold", min=0.5, max=1, help="The similarity from which two instructions are the same.")
]


@example("bashboard corpus dedupe all.jsonl > one.jsonl", "bashboard corpus dedupe all.jsonl --threshold 1 > one.jsonl")
def dedupe(source: Source, threshold: Threshold = 0.9) -> None:
    """Print the pairs without near duplicates.

    Leaves out a pair whose instruction is nearly that of an earlier pair. Prints JSON lines. The similarity of two
    instructions is the cosine of their TF-IDF vectors of words and letters.
    """
    from evaluator.pipeline.maintenance.training_corpus import deduplicated_pairs

    with _corpus(source, "plain") as (pairs, _, progress):
        kept, left_out = deduplicated_pairs(pairs, threshold, progress)
    _print_kept(kept, len(pairs), left_out)


Suites = Annotated[
    list[str] | None,
    typer.Option(
        "--suite",
        metavar="SUITE",
        autocompletion=complete_suites,
        help="A suite. May be repeated. The default is core.",
    ),
]


@example(
    "bashboard corpus deconflict one.jsonl > train.jsonl",
    "bashboard corpus deconflict one.jsonl --suite core --suite nl2sh-alfa > train.jsonl",
)
def deconflict(source: Source, suite: Suites = None, threshold: Threshold = 0.9) -> None:
    """Print the pairs that are near to no task.

    Prints JSON lines. A pair is near to a task if its instruction or its command is that of the task, or if the
    similarity of the instructions is at least --threshold (Westenfelder et al. 2025). Standard error names these tasks
    by reason.
    """
    from evaluator.pipeline.maintenance.training_corpus import deconflicted_pairs

    with _corpus(source, "plain") as (pairs, _, progress):
        (kept, left_out), tasks = deconflicted_pairs(current_project(), pairs, suite or ["core"], threshold, progress)
    _print_kept(kept, len(pairs), left_out)
    _print_tasks(tasks, err=True)


def _print_tasks(tasks: Mapping[str, Sequence[str]], *, err: bool = False) -> None:
    for reason, ids in tasks.items():
        typer.echo(f"tasks, {reason}: {' '.join(ids)}", err=err)


@example(
    "bashboard corpus contamination train.jsonl --suite core",
    "bashboard corpus contamination train.jsonl --toml >> submissions/my-model/submission.toml",
)
def contamination(
    source: Source,
    suite: Suites = None,
    threshold: Threshold = 0.9,
    as_json: AsJson = False,
    as_toml: Annotated[bool, typer.Option("--toml", help="Print the table [fine_tuning] of submission.toml.")] = False,
) -> None:
    """Count the tasks that are near to a corpus.

    Counts the tasks of suites that are nearly in a training set, and prints the digest of the set. A task counts once,
    by the first of these reasons: a pair has its instruction, a pair has one of its references, or the instructions
    have a similarity of at least --threshold. The report names the tasks by reason. --toml prints what submission.toml
    of format 3 declares. Add the base model and the data to it.
    """
    from evaluator.pipeline.maintenance.training_corpus import contamination_of, fine_tuning_toml

    if as_json and as_toml:
        raise UsageError("expected --json or --toml, and not both")
    with _corpus(source, "plain") as (pairs, _, progress):
        if not pairs:
            name = "standard input" if source == STANDARD_INPUT else source
            raise UsageError(
                f'{name} has no pairs: expected JSON lines {{"nl", "command"}}, or a folder with all.nl and all.cm'
            )
        found = contamination_of(current_project(), pairs, suite or ["core"], threshold, progress)
    if as_json or as_toml:
        print_json(found.model_dump(mode="json")) if as_json else typer.echo(fine_tuning_toml(found), nl=False)
        return
    typer.echo(f"{pluralize(found.pairs, 'pair')}, digest {found.digest}")
    for overlap in found.suites:
        typer.echo(_near_tasks(f"{overlap.suite} {overlap.counts.version}", overlap.counts))
        for tier, counts in overlap.counts.tiers.items():
            typer.echo(_near_tasks(f"  {tier}", counts))
        _print_tasks(overlap.tasks_by_reason())


def _near_tasks(name: str, counts: NearTasks) -> str:
    return (
        f"{name}: {counts.near} of {counts.tasks} tasks near, {counts.same_instruction} by the same instruction, "
        f"{counts.same_command} by the same command, {counts.similar} by a similar instruction"
    )


@example(
    "bashboard corpus chat train.jsonl > chat.jsonl",
    "bashboard corpus chat train.jsonl --suite core | head -n 1 | jq .",
)
def chat(source: Source, suite: SuiteName = "core") -> None:
    """Print training pairs as chats.

    A chat is a line of JSON with `messages`, for the fine-tuning of a model. The system message is the one of
    `bashboard submit prompts`, without the machine of a task.
    """
    from evaluator.pipeline.maintenance.training_corpus import chat_lines

    with _corpus(source, "plain") as (pairs, _, _progress):
        sys.stdout.writelines(map(json_output, chat_lines(current_project(), suite, pairs)))


@example(
    "bashboard corpus split in_scope.jsonl --rules nl2bash --to parts",
    "bashboard corpus split pairs.jsonl --ratio 9:1 --dev 500 --seed 7 --to parts",
)
def split(
    source: Source,
    to: Annotated[
        Path, typer.Option("--to", metavar="FOLDER", help="The folder for train.jsonl, dev.jsonl and test.jsonl.")
    ],
    rules: Rules = "plain",
    ratio: Annotated[str, typer.Option("--ratio", metavar="N:N", help="Training pairs to other pairs.")] = "5:1",
    dev: Annotated[int, typer.Option("--dev", min=0, help="Development pairs. Other pairs are for tests.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="A number that determines the split.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Split a corpus into three parts.

    The parts are training, development and test pairs. Pairs with the same command, or with the same words in the
    instruction, stay together. So no text is in two parts. The same corpus and seed give the same parts on every
    machine. Existing files are replaced.
    """
    from evaluator.corpus.corpus_split import split_corpus

    match = _RATIO.fullmatch(ratio)
    if match is None:
        raise UsageError(f"--ratio {ratio}: expected two numbers such as 5:1")
    with _corpus(source, rules) as (pairs, chosen, progress):
        progress.say("splitting")
        found = split_corpus(pairs, chosen, ratio=(int(match[1]), int(match[2])), dev=dev, seed=seed)
    rows = []
    for name, part, clusters in zip(("train", "dev", "test"), found[:3], found.clusters, strict=True):
        path = to / f"{name}.jsonl"
        _write_pairs(path, part)
        rows.append({"part": name, "pairs": len(part), "clusters": clusters, "file": str(shown(path))})
    if as_json:
        print_json(rows)
    for row in [] if as_json else rows:
        typer.echo(f"{row['file']}: {row['pairs']} pairs in {row['clusters']} clusters")


def _write_pairs(path: Path, pairs: Sequence[CorpusPair]) -> None:
    """Write pairs as JSON lines. Raises UsageError if the file cannot be written."""
    from evaluator.corpus.pair_lines import written_lines
    from evaluator.files import write_whole

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, "".join(written_lines(pairs)).encode())
    except OSError as error:
        raise UsageError(f"--to: {path} cannot be written: {error.strerror}") from error


@example(
    "bashboard corpus ladder",
    "bashboard corpus ladder --pairs ~/src/nl2bash --rules nl2bash",
    "bashboard corpus ladder --pairs parts --more ours.jsonl --json",
)
def ladder(
    pairs: Annotated[
        Path | None,
        typer.Option(
            "--pairs",
            help="A corpus, or a folder of `corpus split`. The default is the project's own training pairs.",
            metavar="PAIRS",
        ),
    ] = None,
    more: Annotated[
        list[Path] | None,
        typer.Option("--more", help="Further training pairs. May be repeated.", metavar="PAIRS"),
    ] = None,
    rules: Rules = "plain",
    seed: Annotated[int, typer.Option("--seed", help="A number that determines the split.")] = 1,
    questions: Annotated[
        int, typer.Option("--questions", min=1, help="The maximum number of held-out instructions.")
    ] = 2000,
    as_json: AsJson = False,
) -> None:
    """Measure variations of the baseline.

    Measures five variations of retrieval on held-out pairs, beside the scores of NLC2CMD. Each step adds one thing: raw
    TF-IDF retrieval, cleaned pairs, further pairs, masked and filled literals, and confidences by logistic regression.
    The score is the NLC2CMD metric of five commands. Nothing is executed.

    The pairs are split as by `corpus split`, and all pairs outside the training part are held out. The further pairs of
    another corpus are by default the project's own training pairs. Without options, these pairs are the whole corpus,
    and two thirds of their training part are the further pairs. Pairs that share a text with a held-out pair are left
    out. A published score was measured on other pairs, those of the competition.
    """
    from evaluator.corpus.retrieval_steps import first_pairs
    from evaluator.pipeline.maintenance.retrieval_ladder import retrieval_ladder, split_for_ladder

    chosen, own = _rules(rules), current_project().fixtures / "train" / "pairs.jsonl"
    source = pairs or own
    with shown_progress() as progress:
        if (source / "train.jsonl").is_file():
            training = _pairs(source / "train.jsonl", progress)
            held_out = [pair for name in ("dev", "test") for pair in _pairs(source / f"{name}.jsonl", progress)]
        else:
            read = _pairs(source, progress)
            progress.say("splitting")
            training, held_out = split_for_ladder(read, chosen, seed)
        if pairs is None and not more:
            training, further = first_pairs(training)
        else:
            further = [pair for path in more or [own] for pair in _pairs(path, progress)]
        found = retrieval_ladder(training, held_out, further, chosen, questions, progress)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    typer.echo(f"{found.asked} of {pluralize(found.instructions, 'held-out instruction')} answered")
    typer.echo(f"{'step':12} {'pairs':>7} {'NLC2CMD':>8} {'published':>10}")
    for step in found.steps:
        published = "" if step.published is None else f"{step.published:10.3f}"
        typer.echo(f"{step.name:12} {step.pairs:7} {step.score:8.3f} {published}".rstrip())
    if not found.further:
        typer.echo("no further pairs: the step `more data` equals the step before; see --more")


add_commands(corpus, stats, merge, dedupe, filter_pairs, deconflict, contamination, split, chat, ladder)
