"""Submissions: an attacker's bytes to records, or to the list of everything that is wrong with them.

`check_submission` names every problem at its file and line; `load_submission` gives the submission that has
none. Only `files` reads the disk; everything else here takes bytes and returns values.
"""

from __future__ import annotations

from evaluator.submissions.limits import SubmissionLimits
from evaluator.submissions.suite_info import SuiteInfo
from evaluator.submissions.validate import Submission, check_submission, load_submission

__all__ = ["Submission", "SubmissionLimits", "SuiteInfo", "check_submission", "load_submission"]
