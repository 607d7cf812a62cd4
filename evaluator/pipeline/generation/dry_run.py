"""Show the prompts of a run and estimate its price, without a request."""

from __future__ import annotations

from dataclasses import dataclass

from evaluator.errors import UsageError
from evaluator.generation.task_prompts import Messages
from evaluator.pipeline.generation.examples import Examples, needs_server_vectors, training_pairs
from evaluator.pipeline.generation.generate_submission import GenerateOptions, open_log, questions_of
from evaluator.pipeline.project import Project
from evaluator.records import GenerationMethod
from evaluator.submissions.prompts import prompt_line
from evaluator.wording import pluralize

BYTES_PER_TOKEN = 4
"""Approximate value for English text and commands. The billed number of tokens depends on the model."""

ANSWER_TOKENS = 60
"""Approximate length of a command in tokens. A reasoning model needs many more."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """The prompts as JSON lines, and a sentence with the number of requests and their approximate price."""

    lines: tuple[str, ...]
    summary: str


def dry_run_of(project: Project, options: GenerateOptions) -> DryRun:
    """Return the prompts of a run. Raises UsageError if the examples need vectors of the server."""
    if needs_server_vectors(options.generation):
        raise UsageError("--dry-run: the examples are chosen by vectors of the server: leave out --embeddings")
    pairs, _ = training_pairs(project.root, options.pairs)
    suites = [project.suite(name) for name in dict.fromkeys(options.suites)]
    questions = questions_of(project, suites, options, Examples(options.generation, pairs))
    replies = len(questions) * options.generation.samples * options.generation.turns
    input_tokens = sum(_tokens(question.messages) for question in questions) * options.generation.samples
    tokens = f"about {input_tokens * options.generation.turns:,} input tokens"
    model = options.endpoint.model
    usd = model.usd(input_tokens * options.generation.turns, replies * ANSWER_TOKENS)
    price = f"about ${usd:.2f}" if model.is_priced else "price unknown: add --input-usd and --output-usd"
    kept = len(open_log(project, options.slug))
    most = replies * (2 if GenerationMethod.PARSER in options.generation.methods else 1)
    requests = pluralize(most, "request")
    summary = f"at most {requests}, {tokens}, {price}; {pluralize(kept, 'reply', 'replies')} kept"
    return DryRun(tuple(prompt_line(question.task, question.messages) for question in questions), summary)


def _tokens(messages: Messages) -> int:
    return sum(-(-len(message["content"].encode()) // BYTES_PER_TOKEN) for message in messages)
