"""Run a model on the tasks of suites and write a complete submission.

Every received reply is a line of `.bashboard/generate/<slug>.jsonl` before it is used. So a run that was killed, or
that ended at a limit, continues where it stopped, and a second run of a finished one sends no request.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from evaluator.errors import UsageError
from evaluator.files import write_whole
from evaluator.generation.answering import Answering
from evaluator.generation.energy_meter import POWERCAP, EnergyMeter, energies_of, is_on_this_machine, open_meter
from evaluator.generation.example_choice import Vectors
from evaluator.generation.session import Session
from evaluator.generation.task_prompts import PromptStyle, task_messages
from evaluator.generation.translation_prompts import TranslationPrompt
from evaluator.model_server.budget import Budget
from evaluator.model_server.client import ModelClient
from evaluator.model_server.reply_log import ReplyLog
from evaluator.pipeline.generation.ask_tasks import TaskQuestion, ask_all, cost_text
from evaluator.pipeline.generation.choose_candidates import Answers, choose, predictions_of
from evaluator.pipeline.generation.earlier_answers import EarlierAnswers, check_slug, earlier_answers
from evaluator.pipeline.generation.examples import (
    PAIRS,
    Examples,
    needs_server_vectors,
    server_vectors,
    training_pairs,
)
from evaluator.pipeline.generation.recipe import Endpoint, first_fault
from evaluator.pipeline.generation.scratch_world import open_scratch
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.known_utilities import utilities_of_suites
from evaluator.progress import Progress
from evaluator.records import (
    Author,
    ExampleChoice,
    Generation,
    GenerationMethod,
    Method,
    SubmissionManifest,
    json_lines,
)
from evaluator.reply_forms import Unanswered
from evaluator.submissions.baselines.training import TrainingPair
from evaluator.submissions.manifest_text import manifest_toml
from evaluator.submissions.names import MANIFEST_NAME, PREDICTIONS
from evaluator.submissions.prompts import messages_of
from evaluator.submissions.scaffold import AUTHOR
from evaluator.suites.load import Suite
from evaluator.wording import pluralize


def questions_of(
    project: Project, suites: Sequence[Suite], options: GenerateOptions, examples: Examples
) -> list[TaskQuestion]:
    """Return the questions of all suites, in the order of their tasks, at most `options.limit` of each suite."""
    generation, size = options.generation, project.settings.limits.command_bytes
    style = PromptStyle(generation.prompt) if isinstance(generation.prompt, str) else None
    questions: list[TaskQuestion] = []
    for suite in suites:
        for task in suite.tasks[: options.limit]:
            system, user = messages_of(suite.manifest, suite.worlds[task.world].manifest, task, size)
            if options.published is not None:
                system = {"role": "system", "content": options.published.text}
            shown = examples.for_instruction(task.nl)
            messages = task_messages([system, user], shown, style or PromptStyle.IMPERATIVE)
            questions.append(TaskQuestion(suite.manifest.name, task.id, messages))
    return questions


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """The arguments of `bashboard generate`. `system` and `author` describe the submission's manifest.

    `published` is the text of the recipe's prompt if that is a published one. `powercap` is the folder with the
    counters of RAPL.
    """

    slug: str
    suites: tuple[str, ...]
    endpoint: Endpoint
    generation: Generation
    key: str | None
    system: str | None = None
    author: str | None = None
    open_weights: bool = False
    pairs: Path | None = None
    limit: int | None = None
    max_usd: float | None = None
    replace: bool = False
    published: TranslationPrompt | None = None
    powercap: Path = POWERCAP


@dataclass(frozen=True, slots=True)
class Generated:
    """The result of a run: the written files, and the numbers of tasks with and without an answer.

    `stopped` is the reason why the run ended early, or "". `refused` has the reason of each task without a reply, and
    `no_answer` that of each task whose replies hold no answer. `fenced` counts the tasks whose command holds a code
    block, because the method takes the whole text.
    """

    files: tuple[Path, ...]
    answered: int
    unanswered: int
    requested: int
    cost: str
    stopped: str
    refused: Mapping[str, str]
    no_answer: Mapping[str, Unanswered]
    fenced: int


def generate(project: Project, options: GenerateOptions, progress: Progress) -> Generated:
    """Generate the answers of a submission and write its files.

    A run that ends early writes the answers so far. The same command then asks only for the others. A run without an
    answer writes no file. Answers of an earlier run to other tasks and suites are kept. Raises UsageError for a wrong
    option, a slug that is in use, a missing key and a missing log, and MissingError for a missing energy counter.
    """
    suites = [project.suite(name) for name in dict.fromkeys(options.suites)]
    check_slug(project, options.slug)
    key, meter = _key(options), _meter(options)
    pairs, digest = training_pairs(project.root, options.pairs)
    generation = options.generation.model_copy(update={"pairs": digest if options.generation.shots else None})
    earlier = earlier_answers(project, options.slug, generation, suites, replace=options.replace)
    manifest = _manifest(options, generation, suites, earlier)
    log = open_log(project, options.slug)
    earlier.require_replies(log, options.slug)
    session = _session(options, log, key, meter)
    try:
        vectors = _vectors_of_server(options, session, suites, pairs, progress)
        questions = questions_of(project, suites, options, Examples(generation, pairs, vectors))
        answers = _answers(project, options, suites, questions, session, progress)
        candidates = choose(project, suites, answers, generation, progress) if answers.samples else {}
    finally:
        log.close()
    energies = _energies(session, progress)
    _warn_of_uncounted_tokens(answers, progress)
    no_answer = answers.without_answer()
    answered = len(answers.samples) - len(no_answer)
    files = {
        f"{name}{PREDICTIONS}": json_lines(
            earlier.completed(suite, predictions_of(answers, suite, candidates[name], energies))
        ).encode()
        for suite in suites
        if (answered or not answers.stopped) and (name := suite.manifest.name) in candidates
    }
    written = write_submission(project, options.slug, manifest, files) if files else []
    return Generated(
        tuple(written),
        answered,
        len(questions) - answered,
        session.requested,
        cost_text(session),
        answers.stopped,
        {task: reason for (_, task), reason in answers.refused.items()},
        {task: reason for (_, task), reason in no_answer.items()},
        sum(any(sample.has_fence for sample in samples) for samples in answers.samples.values()),
    )


def _key(options: GenerateOptions) -> str:
    """Return the key of the server. Raises UsageError without a key, and for a limit of cost without prices."""
    key = (options.key or "").strip()
    if not key:
        raise UsageError(f"no key: set {options.endpoint.key_variable} (to any word if the server needs none)")
    if options.max_usd is not None and not options.endpoint.model.is_priced:
        raise UsageError(
            f"--max-usd: the price of {options.endpoint.model.name} is unknown: add --input-usd and --output-usd"
        )
    return key


def _answers(
    project: Project,
    options: GenerateOptions,
    suites: Sequence[Suite],
    questions: Sequence[TaskQuestion],
    session: Session,
    progress: Progress,
) -> Answers:
    with contextlib.ExitStack() as stack:
        execute = None
        if GenerationMethod.EXECUTE in session.generation.methods:
            execute = stack.enter_context(open_scratch(project, suites, progress))
        command_bytes = project.settings.limits.command_bytes
        answering = Answering(session.generation, session.ask, utilities_of_suites(suites), command_bytes, execute)
        return ask_all(questions, answering, session, progress, options.endpoint.client.concurrency)


def open_log(project: Project, slug: str) -> ReplyLog:
    """Return the replies that were received for a submission."""
    return ReplyLog(project.root / ".bashboard" / "generate" / f"{slug}.jsonl")


def _meter(options: GenerateOptions) -> EnergyMeter | None:
    """Return the meter of the recipe's counter, or None if there is no such counter in the recipe."""
    counter, base_url = options.generation.energy, options.endpoint.base_url
    if counter is None:
        return None
    if not is_on_this_machine(base_url):
        raise UsageError(
            f"--energy {counter}: {base_url} is not on this machine, whose counter would not count its work: run the "
            "server here, or leave out --energy"
        )
    return open_meter(counter, options.powercap)


def _energies(session: Session, progress: Progress) -> dict[str, float]:
    """Return the joules of all measured replies by key, and report what could not be measured."""
    meter = session.meter
    if meter is None:
        return {}
    if meter.failure:
        progress.say(f"the energy of later replies is unknown: {meter.failure}")
    energies = energies_of(session.log, meter.counter)
    if session.requested and not energies:
        progress.say("the energy cannot be divided among the tasks, because the server does not count output tokens")
    return energies


def _warn_of_uncounted_tokens(answers: Answers, progress: Progress) -> None:
    uncounted = sum(any(sample.is_uncounted for sample in samples) for samples in answers.samples.values())
    if uncounted:
        progress.say(
            f"the server did not count the tokens of {pluralize(uncounted, 'task')}, which have no numbers of tokens; "
            "the cost counts the longest reply for each of their replies"
        )


def _session(options: GenerateOptions, log: ReplyLog, key: str, meter: EnergyMeter | None) -> Session:
    endpoint, budget = options.endpoint, Budget(max_usd=options.max_usd)
    client = ModelClient(endpoint.client, endpoint.base_url, key, budget, endpoint.key_variable, is_attended=True)
    return Session(
        options.generation, endpoint.model, endpoint.base_url, endpoint.client.reply_tokens, log, client, budget, meter
    )


def _vectors_of_server(
    options: GenerateOptions,
    session: Session,
    suites: Sequence[Suite],
    pairs: Sequence[TrainingPair],
    progress: Progress,
) -> dict[str, Vectors] | None:
    model = options.endpoint.embeddings
    if model is None or not needs_server_vectors(options.generation):
        return None
    texts = [pair.nl for pair in pairs]
    if options.generation.examples is ExampleChoice.NEAREST:
        texts += [task.nl for suite in suites for task in suite.tasks[: options.limit]]
    progress.say(f"requesting {len(texts)} embeddings of {model.name}")
    return server_vectors(texts, model, session, options.endpoint.client.concurrency)


def _manifest(
    options: GenerateOptions, generation: Generation, suites: Sequence[Suite], earlier: EarlierAnswers
) -> SubmissionManifest:
    model = options.endpoint.model
    methods = " + ".join(generation.methods)
    try:
        return SubmissionManifest(
            format=4 if generation.decoding.reasoning_effort is not None else 3,
            system=options.system or f"{model.name} ({methods})",
            authors=(Author(name=options.author or AUTHOR),),
            description="",
            open_weights=options.open_weights,
            models=(model.name,),
            method=Method.AGENT if GenerationMethod.EXECUTE in generation.methods else Method.PROMPTED,
            suites={**earlier.suites, **{suite.manifest.name: suite.manifest.version for suite in suites}},
            training_data=(str(PAIRS),) if generation.shots and options.pairs is None else (),
            generation=generation,
        )
    except ValidationError as error:
        raise UsageError(f"--system or --author: {first_fault(error)}") from error


def write_submission(
    project: Project, slug: str, manifest: SubmissionManifest, files: Mapping[str, bytes]
) -> list[Path]:
    """Write the manifest and the predictions of a submission, and return their paths."""
    folder = project.root / "submissions" / slug
    folder.mkdir(parents=True, exist_ok=True)
    contents = {MANIFEST_NAME: manifest_toml(manifest).encode(), **files}
    for name, data in contents.items():
        write_whole(folder / name, data)
    return [folder / name for name in contents]
