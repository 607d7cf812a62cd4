"""A study of the time that people need for a suite's tasks: sittings, their web page, and the statistics.

A `StudyExaminer` from outside executes and judges participants' commands, so this package depends on no sandbox and no
judge. The study stores one `evaluator.records.Measurement` per task and nothing else.
"""
