"""Ask a model about all tasks, with several requests in progress."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

from evaluator.generation.answering import Answering, GrammarIgnoredError
from evaluator.generation.session import Session
from evaluator.generation.task_prompts import Messages
from evaluator.model_server.api_types import (
    ExtensionError,
    ModeratedError,
    ParameterRefusedError,
    RequestRefusedError,
    StoppedError,
)
from evaluator.model_server.budget import BudgetSpentError
from evaluator.pipeline.generation.choose_candidates import NO_SAMPLE, Answers
from evaluator.pipeline.generation.recipe import OMITTABLE
from evaluator.progress import Progress
from evaluator.reply_forms import Unanswered
from evaluator.wording import excerpt

_OPTIONS: Final = {
    "temperature": "--temperature",
    "top_p": "--top-p",
    "seed": "--seed",
    "max_tokens": "--reply-tokens",
    "max_completion_tokens": "--reply-tokens",
    "reasoning_effort": "--reasoning-effort",
}
"""The options that set the parameters of a request."""
_MOST_UNFINISHED: Final = 10
"""The number of replies in a row that end before their answer is complete, after which the run ends."""
_UNFINISHED: Final = (Unanswered.REASONING, Unanswered.CUT_OFF)
"""Reasoning without a mark is cut off like any other text."""
_EQUAL_REFUSALS: Final = 3
"""The number of first tasks with the same refusal, after which no task is expected to get an answer."""


class TaskQuestion(NamedTuple):
    """A task of a suite with its messages."""

    suite: str
    task: str
    messages: Messages


def ask_all(
    questions: Sequence[TaskQuestion],
    answering: Answering,
    session: Session,
    progress: Progress,
    concurrency: int,
) -> Answers:
    """Return the answers to all questions. A server that refuses every request, or a limit, ends the run early."""
    return asyncio.run(_ask_all(questions, answering, session, progress, concurrency))


async def _ask_all(
    questions: Sequence[TaskQuestion],
    answering: Answering,
    session: Session,
    progress: Progress,
    concurrency: int,
) -> Answers:
    generation, answers = session.generation, Answers()
    work = iter([(question, number) for question in questions for number in range(generation.samples)])
    progress.stage("generating", len(questions) * generation.samples)
    unfinished = 0

    async def one_worker() -> None:
        nonlocal unfinished
        for question, number in work:
            if answers.stopped:
                return
            place = (question.suite, question.task)
            try:
                sample = await answering.sample(place, question.messages, number)
                answers.samples.setdefault(place, [NO_SAMPLE] * generation.samples)[number] = sample
                unfinished = unfinished + 1 if sample.no_answer in _UNFINISHED else 0
                if unfinished >= _MOST_UNFINISHED:
                    answers.stopped = answers.stopped or (
                        f"{unfinished} replies in a row ended before their answer, at {session.reply_tokens:,} tokens: "
                        "raise --reply-tokens, or add --reasoning-effort low; both are new ways to make the "
                        "submission, so add --replace"
                    )
            except RequestRefusedError as error:
                answers.refused.setdefault(place, str(error))
                answers.stopped = answers.stopped or _refused_for_all(error, answers)
            except (StoppedError, BudgetSpentError, ExtensionError) as error:
                answers.stopped = answers.stopped or _advice(error)
                return
            except GrammarIgnoredError as error:
                answers.stopped = answers.stopped or _ignored(str(error))
                return
            progress.advance()
            progress.note(cost_text(session))

    meter = session.meter
    if meter is not None:
        meter.begin()
    reading = [] if meter is None else [asyncio.create_task(meter.keep_updated())]
    workers = [asyncio.create_task(one_worker()) for _ in range(min(concurrency, len(questions) * generation.samples))]
    try:
        await asyncio.gather(*workers)
    finally:
        for task in (*workers, *reading):
            task.cancel()
        await asyncio.gather(*workers, *reading, return_exceptions=True)
        await session.client.close()
    return answers


def cost_text(session: Session) -> str:
    """Return the tokens and the price of all replies in use, and the energy of the new ones, for messages."""
    money = f"${session.usd:.4f}" if session.model.is_priced else "price unknown"
    energy = f", {session.meter.joules:,.0f} J" if session.meter is not None else ""
    return f"{session.tokens:,} tokens, {money}{energy}"


def _refused_for_all(error: RequestRefusedError, answers: Answers) -> str:
    """Return why no task can get an answer, or "" if others may get one.

    If one task has an answer, the server accepts the model and the parameters, which are those of all tasks.
    """
    if answers.samples or isinstance(error, ModeratedError):
        return ""
    if isinstance(error, ParameterRefusedError):
        option = _OPTIONS[error.parameter]
        omission = f", or leave it out with --omit {error.parameter}" if error.parameter in OMITTABLE else ""
        return (
            f"the server refuses the parameter {error.parameter}: {error}; choose another value with {option}{omission}"
        )
    reasons = answers.refused.values()
    if len(reasons) >= _EQUAL_REFUSALS and len(set(reasons)) == 1:
        return f"the server gives no answer to the first {len(reasons)} tasks: {error}"
    return ""


def _advice(error: Exception) -> str:
    if isinstance(error, ExtensionError):
        return (
            f"the server refuses the grammar: {error}; choose another form with --grammar, or leave out "
            "--method constrained"
        )
    return str(error)


def _ignored(reply: str) -> str:
    return (
        f"the server ignores the grammar: it answered {excerpt(reply)}; choose another form with --grammar, or leave "
        "out --method constrained"
    )
