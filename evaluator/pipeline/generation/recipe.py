"""Join the options of `bashboard generate` to a recipe, and check that its parts fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evaluator.errors import UsageError
from evaluator.generation.grammar import GrammarField
from evaluator.generation.task_prompts import PromptStyle
from evaluator.generation.translation_prompts import (
    CLONE_COMMAND,
    PUBLISHED_NAMES,
    TranslationPrompt,
    read_translation_prompt,
)
from evaluator.model_server.client_settings import ClientSettings, PricedModel
from evaluator.model_server.client_settings import Endpoint as EndpointAddress
from evaluator.records import Decoding, EnergyCounter, ExampleChoice, Generation, GenerationMethod, ReasoningEffort

DEFAULT_SHOTS = {GenerationMethod.FEW_SHOT: 5, GenerationMethod.ICL: 25}
DEFAULT_SAMPLES = 5
DEFAULT_TURNS = 3
SAMPLING_TEMPERATURE = 0.7
"""Wang et al. 2023 sample with temperatures from 0.5 to 0.7."""
DEFAULT_SEED = 123
OMITTABLE = ("temperature", "seed")
"""The parameters that some servers refuse with any value, so that a request can leave them out."""
LOCAL_EMBEDDINGS = "tfidf-svd"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model server, the model to ask, the limits of the client, and the name of the variable with the key."""

    base_url: str
    model: PricedModel
    client: ClientSettings
    key_variable: str
    embeddings: PricedModel | None = None


def endpoint_of(
    base_url: str,
    model: str,
    *,
    key_variable: str,
    embeddings: str | None = None,
    input_usd: float | None = None,
    output_usd: float | None = None,
    parallel: int = 8,
    reply_tokens: int = 1024,
) -> Endpoint:
    """Return the server and the model of the options. Raises UsageError for an invalid address."""
    try:
        address = TypeAdapter(EndpointAddress).validate_python(base_url)
        priced = PricedModel(name=model, input_usd=input_usd, output_usd=output_usd)
        vectors = PricedModel(name=embeddings, input_usd=input_usd, output_usd=0.0) if embeddings else None
        client = ClientSettings(concurrency=parallel, reply_tokens=reply_tokens, timeout_s=300.0)
    except ValidationError as error:
        raise UsageError(f"--base-url {base_url}: {first_fault(error)}") from error
    return Endpoint(address, priced, client, key_variable, vectors)


def published_prompt(name: str, clone: Path | None) -> TranslationPrompt | None:
    """Return the published prompt with this name, or None for a form of ours.

    Raises UsageError for an unknown name, and for a published prompt without a clone that contains it.
    """
    if name not in PUBLISHED_NAMES:
        if name not in list(PromptStyle):
            raise UsageError(f"--prompt {name}: expected one of {', '.join([*PromptStyle, *PUBLISHED_NAMES])}")
        if clone is not None:
            raise UsageError(f"--prompts belongs to a published prompt: add --prompt {' or '.join(PUBLISHED_NAMES)}")
        return None
    if clone is None:
        raise UsageError(
            f"--prompt {name}: its text is in the repository of its authors: run `{CLONE_COMMAND}`, and add "
            "--prompts NL2SH"
        )
    return read_translation_prompt(name, clone)


def recipe_of(
    model: str,
    methods: Sequence[str],
    *,
    style: str = PromptStyle.IMPERATIVE,
    published: TranslationPrompt | None = None,
    shots: int | None = None,
    examples: str | None = None,
    embeddings: str | None = None,
    grammar: str | None = None,
    samples: int | None = None,
    turns: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    omit: Collection[str] = (),
    reply_tokens: int | None = None,
    reasoning_effort: str | None = None,
    run: int = 1,
    runs: int = 1,
    energy: str | None = None,
) -> Generation:
    """Return the recipe of the options. Absent values have the defaults of their method. `published` replaces `style`.

    `omit` has names of OMITTABLE. The recipe has no value for such a parameter. Without a seed, the examples are chosen
    with the seed 0.

    Raises UsageError if an option belongs to a method that is not used, or if two methods contradict each other.
    """
    chosen = tuple(map(_method, dict.fromkeys(methods))) or (GenerationMethod.PARSER,)
    _require(shots is None or _any(chosen, DEFAULT_SHOTS), "--shots", "few-shot or icl")
    _require(examples is None or GenerationMethod.ICL in chosen, "--examples", "icl")
    _require(grammar is None or GenerationMethod.CONSTRAINED in chosen, "--grammar", "constrained")
    _require(samples is None or GenerationMethod.SELF_CONSISTENCY in chosen, "--samples", "self-consistency")
    _require(turns is None or GenerationMethod.EXECUTE in chosen, "--turns", "execute")
    if published is not None and published.has_examples and _any(chosen, DEFAULT_SHOTS):
        raise UsageError(f"--prompt {published.name} already contains its examples: leave out few-shot and icl")
    if shots is None:
        shots = max((count for method, count in DEFAULT_SHOTS.items() if method in chosen), default=0)
    rule = ExampleChoice.SEED
    if GenerationMethod.ICL in chosen:
        rule = ExampleChoice(examples or ExampleChoice.CLUSTERS)
    is_sampled = GenerationMethod.SELF_CONSISTENCY in chosen
    if is_sampled and (samples or DEFAULT_SAMPLES) < 2:
        raise UsageError("--samples: expected at least 2 replies per task for self-consistency")
    if is_sampled and temperature == 0:
        raise UsageError("--temperature 0: self-consistency needs different replies: expected a value above 0")
    decoding = _decoding(
        {"temperature": temperature, "seed": seed},
        {"temperature": SAMPLING_TEMPERATURE if is_sampled else 0.0, "seed": DEFAULT_SEED},
        omit,
    )
    effort = ReasoningEffort(reasoning_effort) if reasoning_effort else None
    needs_vectors = shots > 0 and rule is not ExampleChoice.SEED
    try:
        return Generation(
            base_model=model,
            methods=chosen,
            prompt=PromptStyle(style).value if published is None else published.record,
            shots=shots,
            examples=rule if shots else None,
            embeddings=(embeddings or LOCAL_EMBEDDINGS) if needs_vectors else None,
            grammar=GrammarField(grammar or GrammarField.LLAMA_CPP).value
            if GenerationMethod.CONSTRAINED in chosen
            else None,
            samples=(samples or DEFAULT_SAMPLES) if is_sampled else 1,
            turns=(turns or DEFAULT_TURNS) if GenerationMethod.EXECUTE in chosen else 1,
            decoding=Decoding(**decoding, top_p=top_p, reply_tokens=reply_tokens, reasoning_effort=effort),
            run=run,
            runs=runs,
            energy=EnergyCounter(energy) if energy else None,
        )
    except ValueError as error:
        raise UsageError(f"--method {' '.join(chosen)}: {first_fault(error)}") from error


def _decoding(chosen: Mapping[str, Any], defaults: Mapping[str, Any], omit: Collection[str]) -> dict[str, Any]:
    """Return the chosen or default value of each parameter that is not omitted."""
    for name in omit:
        if name not in OMITTABLE:
            raise UsageError(f"--omit {name}: expected one of {', '.join(OMITTABLE)}")
        if chosen[name] is not None:
            raise UsageError(f"--omit {name} contradicts --{name} {chosen[name]}: leave out one of them")
    values = {name: defaults[name] if value is None else value for name, value in chosen.items()}
    return {name: value for name, value in values.items() if name not in omit}


def _method(name: str) -> GenerationMethod:
    try:
        return GenerationMethod(name)
    except ValueError:
        raise UsageError(f"--method {name}: expected one of {', '.join(GenerationMethod)}") from None


def _any(chosen: Collection[GenerationMethod], wanted: Collection[GenerationMethod]) -> bool:
    return any(method in wanted for method in chosen)


def _require(fits: bool, option: str, method: str) -> None:
    if not fits:
        raise UsageError(f"{option} belongs to the method {method}: add --method {method.split(' ')[0]}")


def first_fault(error: ValueError) -> str:
    """Return the first problem of values that make no record, with the name of its field."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    return ": ".join([*map(str, first["loc"]), first["msg"].removeprefix("Value error, ")])
