"""This package reads and checks submissions. It converts untrusted bytes to records, or lists all problems in them.

`check_submission` reports every problem with its file and line. `load_submission` returns a valid submission.
Only the module `folder` reads the disk. All other modules take bytes and return values.
"""

from __future__ import annotations

from evaluator.submissions.limits import SubmissionLimits
from evaluator.submissions.suite_info import SuiteInfo
from evaluator.submissions.validate import Submission, check_submission, load_submission

__all__ = ["Submission", "SubmissionLimits", "SuiteInfo", "check_submission", "load_submission"]
