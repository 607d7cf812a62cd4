"""Define the records that the program's stages exchange and store on disk.

Every stage, such as execution or judging, takes and returns only records. Only this package converts bytes to records,
so every format error is reported with its position in the file and its reason. All records are frozen and refuse
unknown fields. `SCHEMAS` lists the records with a published JSON Schema.

In JSON, bytes are a string if they are valid UTF-8, and `{"base64": "..."}` otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from evaluator.records.adjudication import Adjudication, Ruling
from evaluator.records.audit_record import MAX_SEED, Audit, AuditSettings, AuditStratum
from evaluator.records.comparison import PairTally, SubmissionComparison, TaskPair
from evaluator.records.evidence import (
    Ending,
    Evidence,
    FileType,
    Kind,
    Member,
    Output,
    PathChange,
    Process,
    ShellState,
    Trial,
)
from evaluator.records.metrics import (
    BleuCounts,
    HorizonSlice,
    RunMetrics,
    Share,
    SubmissionMetrics,
    Tally,
    TextMetrics,
    Usage,
)
from evaluator.records.mutation import Equivalence, JudgedMutant, MutationReport, OperatorTally, StaleEquivalence
from evaluator.records.owners import Owners
from evaluator.records.preview import Neighbour, OpenVerdict, Preview, Rejection, Role, TaskList, UnrelatedPaths
from evaluator.records.published import BundleHeader, Images, KeptEvidence, KnownImage, PublishedVerdict, VerdictsHeader
from evaluator.records.real_answers import (
    AnswerFigures,
    AnswerLabel,
    AnswerSet,
    ConfusionRow,
    EstimatedShare,
    RealAnswerLabel,
)
from evaluator.records.record import (
    FORMAT,
    SLUG_PATTERN,
    Bytes,
    Digest,
    Identifier,
    Record,
    Slug,
    VersionText,
    canonical_json,
    digest_of,
    json_lines,
    read_format,
)
from evaluator.records.references import ReferenceDoubt, RetiredReference
from evaluator.records.standings import DetectableDifference, JudgedBy, Result, Standing, Unranked
from evaluator.records.study import Measurement, Participant
from evaluator.records.submissions import (
    MAX_CANDIDATES,
    Author,
    Candidate,
    Extraction,
    Link,
    Method,
    Prediction,
    Quarantined,
    ShortText,
    SubmissionManifest,
    command_digest,
)
from evaluator.records.suites import (
    Base,
    Instructions,
    Limits,
    Observation,
    OutputMode,
    SuiteManifest,
    SuiteSource,
    Task,
    Timing,
    Topic,
    Variant,
    WorldManifest,
)
from evaluator.records.validation import (
    RATES,
    AnnotatorAgreement,
    JudgeFigures,
    LabelledCommand,
    Mistake,
    MutantLabel,
    PairKind,
    Part,
)
from evaluator.records.validation_file import VALIDATION_FORMAT, Validation
from evaluator.records.verdict_diff import (
    BoardPosition,
    CandidateSource,
    Contested,
    RowChange,
    SuiteDiff,
    VerdictChange,
    VerdictDiff,
)
from evaluator.records.verdicts import Finding, Outcome, Step, Verdict

__all__ = [
    "FORMAT",
    "MAX_CANDIDATES",
    "MAX_SEED",
    "RATES",
    "SCHEMAS",
    "SLUG_PATTERN",
    "VALIDATION_FORMAT",
    "Adjudication",
    "AnnotatorAgreement",
    "AnswerFigures",
    "AnswerLabel",
    "AnswerSet",
    "Audit",
    "AuditSettings",
    "AuditStratum",
    "Author",
    "Base",
    "BleuCounts",
    "BoardPosition",
    "BundleHeader",
    "Bytes",
    "Candidate",
    "CandidateSource",
    "ConfusionRow",
    "Contested",
    "DetectableDifference",
    "Digest",
    "Ending",
    "Equivalence",
    "EstimatedShare",
    "Evidence",
    "Extraction",
    "FileType",
    "Finding",
    "HorizonSlice",
    "Identifier",
    "Images",
    "Instructions",
    "JudgeFigures",
    "JudgedBy",
    "JudgedMutant",
    "KeptEvidence",
    "Kind",
    "KnownImage",
    "LabelledCommand",
    "Limits",
    "Link",
    "Measurement",
    "Member",
    "Method",
    "Mistake",
    "MutantLabel",
    "MutationReport",
    "Neighbour",
    "Observation",
    "OpenVerdict",
    "OperatorTally",
    "Outcome",
    "Output",
    "OutputMode",
    "Owners",
    "PairKind",
    "PairTally",
    "Part",
    "Participant",
    "PathChange",
    "Prediction",
    "Preview",
    "Process",
    "PublishedVerdict",
    "Quarantined",
    "RealAnswerLabel",
    "Record",
    "ReferenceDoubt",
    "Rejection",
    "Result",
    "RetiredReference",
    "Role",
    "RowChange",
    "Ruling",
    "RunMetrics",
    "Share",
    "ShellState",
    "ShortText",
    "Slug",
    "StaleEquivalence",
    "Standing",
    "Step",
    "SubmissionComparison",
    "SubmissionManifest",
    "SubmissionMetrics",
    "SuiteDiff",
    "SuiteManifest",
    "SuiteSource",
    "Tally",
    "Task",
    "TaskList",
    "TaskPair",
    "TextMetrics",
    "Timing",
    "Topic",
    "Trial",
    "Unranked",
    "UnrelatedPaths",
    "Usage",
    "Validation",
    "Variant",
    "Verdict",
    "VerdictChange",
    "VerdictDiff",
    "VerdictsHeader",
    "VersionText",
    "WorldManifest",
    "canonical_json",
    "command_digest",
    "digest_of",
    "json_lines",
    "read_format",
    "schema_of",
]


SCHEMAS: Final[Mapping[str, type[Record]]] = {
    "suite": SuiteManifest,
    "world": WorldManifest,
    "task": Task,
    "submission": SubmissionManifest,
    "prediction": Prediction,
    "evidence": Evidence,
    "standing": Standing,
    "comparison": SubmissionComparison,
    "preview": Preview,
    "verdict": Verdict,
    "verdicts-header": VerdictsHeader,
    "published-verdict": PublishedVerdict,
    "bundle-header": BundleHeader,
    "kept-evidence": KeptEvidence,
    "images": Images,
    "owners": Owners,
    "quarantine": Quarantined,
    "changes": VerdictDiff,
    "contested": Contested,
    "adjudication": Adjudication,
    "label": LabelledCommand,
    "mutant-label": MutantLabel,
    "real-answer-label": RealAnswerLabel,
    "judges": Validation,
    "audit": Audit,
    "equivalence": Equivalence,
    "retired-reference": RetiredReference,
    "reference-doubt": ReferenceDoubt,
    "mutation-report": MutationReport,
    "measurement": Measurement,
}
"""Published formats by name. `bashboard schema NAME` prints the schema."""


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a published format. Raise KeyError for an unknown name."""
    schema = SCHEMAS[name].model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": name}
