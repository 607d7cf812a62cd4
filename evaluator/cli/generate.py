"""`bashboard generate`: run a model on the tasks and write a complete submission."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from evaluator.cli.app import PROBLEMS_FOUND, AsJson, current_project, example, finite, print_json, shown
from evaluator.cli.completion import complete_submissions, complete_suites
from evaluator.cli.progress import shown_progress
from evaluator.wording import pluralize

if TYPE_CHECKING:
    from evaluator.pipeline.generation.generate_submission import Generated

ExampleName = Literal["clusters", "nearest"]
GrammarName = Literal["llama.cpp", "vllm", "vllm-guided", "json-schema"]
CounterName = Literal["rapl", "nvml"]
EffortName = Literal["none", "minimal", "low", "medium", "high", "xhigh"]


@example(
    "bashboard generate my-model --model gpt-4o-mini --author 'Your name'",
    "bashboard generate my-model --model qwen --base-url http://localhost:80/v1",
    "bashboard generate my-model --model gpt-4o-mini --method icl --method parser",
    "bashboard generate my-model --model gpt-4o-mini --limit 20 --dry-run",
    "bashboard generate reasoner --model o4-mini --omit temperature",
    "bashboard generate row --model gpt-4o --prompt nl2sh-icl --prompts NL2SH",
)
def generate(
    slug: Annotated[
        str,
        typer.Argument(
            metavar="SLUG", autocompletion=complete_submissions, help="The name of the folder in submissions/."
        ),
    ],
    model: Annotated[str, typer.Option("--model", help="The model, by the server's name for it.")],
    base_url: Annotated[
        str, typer.Option("--base-url", help="The endpoint: any server with the API of OpenAI.", metavar="URL")
    ] = "https://api.openai.com/v1",
    key_env: Annotated[
        str, typer.Option("--key-env", help="The environment variable with the server's key.", metavar="NAME")
    ] = "OPENAI_API_KEY",
    suite: Annotated[
        list[str] | None,
        typer.Option(
            "--suite",
            metavar="SUITE",
            autocompletion=complete_suites,
            help="A suite to answer. May be repeated. The default is core.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            help="parser, baseline, few-shot, icl, constrained, self-consistency or execute. May be repeated. The "
            "default is parser.",
        ),
    ] = None,
    prompt: Annotated[
        str,
        typer.Option(
            "--prompt",
            help="The form of our prompt, imperative or question, or a published one: nl2sh-baseline, nl2sh-other or "
            "nl2sh-icl.",
            metavar="NAME",
        ),
    ] = "imperative",
    prompts: Annotated[
        Path | None,
        typer.Option("--prompts", help="The clone of NL2SH with the text of a published prompt.", metavar="CLONE"),
    ] = None,
    shots: Annotated[int | None, typer.Option("--shots", min=0, max=50, help="Examples in a prompt.")] = None,
    examples: Annotated[
        ExampleName | None, typer.Option("--examples", help="The rule of icl that chooses the examples.")
    ] = None,
    embeddings: Annotated[
        str | None, typer.Option("--embeddings", help="A model of the server for the vectors of examples.")
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option("--pairs", help="Training pairs instead of the repository's own.", metavar="FILE")
    ] = None,
    grammar: Annotated[
        GrammarName | None, typer.Option("--grammar", help="The grammar that the server offers to constrained.")
    ] = None,
    samples: Annotated[int | None, typer.Option("--samples", min=2, max=100, help="Replies per task.")] = None,
    turns: Annotated[int | None, typer.Option("--turns", min=2, max=20, help="Replies of execute per task.")] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            "--temperature", min=0, max=2, help="The temperature. The default is 0, or 0.7 with self-consistency."
        ),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option("--top-p", min=0, max=1, help="The share of probable tokens. The default is the server's."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="The seed of decoding and of the choice of examples. The default is 123."),
    ] = None,
    omit: Annotated[
        list[str] | None,
        typer.Option("--omit", help="Send no value of this parameter: temperature or seed. May be repeated."),
    ] = None,
    reply_tokens: Annotated[
        int, typer.Option("--reply-tokens", min=16, max=32_768, help="The longest reply, in tokens.")
    ] = 1024,
    reasoning_effort: Annotated[
        EffortName | None,
        typer.Option("--reasoning-effort", help="How much the model reasons. The default is the server's."),
    ] = None,
    run: Annotated[int, typer.Option("--run", min=1, help="The number of this run among repeated ones.")] = 1,
    runs: Annotated[int | None, typer.Option("--runs", min=1, help="The number of repeated runs.")] = None,
    parallel: Annotated[int, typer.Option("--parallel", min=1, max=64, help="Requests in progress.")] = 8,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first tasks of each suite.")] = None,
    max_usd: Annotated[
        float | None,
        typer.Option(
            "--max-usd", min=0, callback=finite, help="Maximum cost of this run, in US dollars. Needs the prices."
        ),
    ] = None,
    input_usd: Annotated[
        float | None,
        typer.Option("--input-usd", min=0, callback=finite, help="Price of a million input tokens, in US dollars."),
    ] = None,
    output_usd: Annotated[
        float | None,
        typer.Option("--output-usd", min=0, callback=finite, help="Price of a million output tokens, in US dollars."),
    ] = None,
    energy: Annotated[
        CounterName | None,
        typer.Option(
            "--energy",
            help="Measure joules with this machine's counter of processors (rapl) or NVIDIA devices (nvml). It is "
            "right only if the server runs on this machine and nothing else does.",
        ),
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", metavar="TEXT", help="The name and version of the system.")
    ] = None,
    author: Annotated[
        str | None, typer.Option("--author", metavar="TEXT", help="The author of the submission.")
    ] = None,
    open_weights: Annotated[bool, typer.Option("--open-weights", help="The weights of the model are public.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a submission that was made in another way.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the first prompts and the price. Ask nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Answer the tasks with a model.

    Writes a complete submission. The server is any with the API of OpenAI: a hosted one, vLLM, llama.cpp or Ollama.
    Every reply is kept. So a run that was killed or reached --max-usd continues where it stopped when you type the same
    command again.

    Methods after Westenfelder et al. 2025: baseline, few-shot and icl give examples, parser takes the first code of a
    reply and asks once more if bash cannot read it, constrained holds the first word to a utility. self-consistency
    asks several times and takes the command with the most frequent effect. execute shows the model what its command did
    in a scratch world.

    A published prompt replaces our system message completely. Its text is read from --prompts, a clone that `git clone
    https://github.com/westenfelder/NL2SH` makes.
    """
    from evaluator.pipeline.generation.dry_run import dry_run_of
    from evaluator.pipeline.generation.generate_submission import GenerateOptions
    from evaluator.pipeline.generation.generate_submission import generate as generate_answers
    from evaluator.pipeline.generation.recipe import endpoint_of, published_prompt, recipe_of

    published = published_prompt(prompt, prompts)
    generation = recipe_of(
        model,
        method or (),
        style=prompt,
        published=published,
        shots=shots,
        examples=examples,
        embeddings=embeddings,
        grammar=grammar,
        samples=samples,
        turns=turns,
        temperature=temperature,
        top_p=top_p,
        seed=seed,
        omit=omit or (),
        reply_tokens=reply_tokens,
        reasoning_effort=reasoning_effort,
        run=run,
        runs=runs or run,
        energy=energy,
    )
    endpoint = endpoint_of(
        base_url,
        model,
        key_variable=key_env,
        embeddings=embeddings,
        input_usd=input_usd,
        output_usd=output_usd,
        parallel=parallel,
        reply_tokens=reply_tokens,
    )
    options = GenerateOptions(
        slug,
        tuple(suite or ("core",)),
        endpoint,
        generation,
        os.environ.get(key_env),
        system=system,
        author=author,
        open_weights=open_weights,
        pairs=pairs,
        limit=limit,
        max_usd=max_usd,
        replace=replace,
        published=published,
    )
    if dry_run:
        estimate = dry_run_of(current_project(), options)
        for line in estimate.lines:
            typer.echo(line)
        typer.echo(estimate.summary, err=True)
        return
    with shown_progress() as progress:
        made = generate_answers(current_project(), options, progress)
    if as_json:
        print_json({**asdict(made), "files": [str(shown(path)) for path in made.files]})
    else:
        for path in made.files:
            typer.echo(shown(path))
        typer.echo(
            f"{pluralize(made.answered, 'task')} answered, {made.unanswered} unanswered; "
            f"{pluralize(made.requested, 'new reply', 'new replies')}, {made.cost}",
            err=True,
        )
    _explain(made)
    if made.stopped or made.unanswered:
        raise typer.Exit(PROBLEMS_FOUND)
    typer.echo(f"next: bashboard check submissions/{slug}", err=True)


def _explain(made: Generated) -> None:
    """Print why tasks have no answer, and what may help."""
    from evaluator.reply_forms import unanswered_lines

    for line in unanswered_lines(made.no_answer):
        typer.echo(line, err=True)
    if made.fenced:
        typer.echo(
            f"{pluralize(made.fenced, 'command')} of {made.answered} with a fenced block, which bash would execute as "
            "it stands: add --method parser --replace",
            err=True,
        )
    if made.answered or not made.stopped:
        for task, reason in sorted(made.refused.items())[:3]:
            typer.echo(f"{task}: {reason}", err=True)
    if made.stopped:
        kept = "; all replies are kept: type the same command again" if made.answered else ""
        typer.echo(f"bashboard: {made.stopped}{kept}", err=True)
