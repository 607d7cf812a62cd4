"""Define the records of references that may be wrong: retired references, and references in doubt."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from evaluator.records.record import Digest, Identifier, Record, VersionText


class RetiredReference(Record):
    """One line of `fixtures/overrides/<suite>/retired.jsonl`: a reference that no judge uses any more, and why.

    The digests identify the instruction and the reference's command, so the line does not apply to a reworded task.
    `task` is the task's name. `version` is the version of the suite that the retirement made.
    """

    format: Literal[1]
    task: Identifier
    instruction_digest: Digest
    command_digest: Digest
    version: VersionText
    because: Annotated[str, StringConstraints(min_length=8, max_length=500, strip_whitespace=True)]


class ReferenceDoubt(Record):
    """One line of `fixtures/overrides/<suite>/doubts.jsonl`: a reference with which several systems disagree.

    The systems agree with each other in every variant. `models` names their base models, and `agreeing` has the digests
    of their commands. The line does not apply after the task is reworded or the reference is retired.
    """

    format: Literal[1]
    task: Identifier
    instruction_digest: Digest
    command_digest: Digest
    models: Annotated[tuple[str, ...], Field(min_length=3)]
    agreeing: Annotated[tuple[Digest, ...], Field(min_length=1)]
