"""This package reads answers of systems that other publishers recorded, and converts them to local submissions.

To support another publication, write one module in this folder and add one entry to `ANSWER_IMPORTERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from evaluator.submissions.importers.imported_system import AnswerImporter
from evaluator.submissions.importers.intercode_results import INTERCODE_RESULTS
from evaluator.submissions.importers.tellina_outputs import TELLINA_OUTPUTS

ANSWER_IMPORTERS: Final[Mapping[str, AnswerImporter]] = {
    each.publication.name: each for each in (INTERCODE_RESULTS, TELLINA_OUTPUTS)
}
"""The importers of recorded answers by the name of the publication."""
