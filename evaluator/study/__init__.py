"""This package measures the time that people need for a suite's tasks. It serves the tasks on a web page.

The caller passes a `StudyExaminer`, which executes and judges the commands. So this package depends on no sandbox and
no judge. The study stores one `evaluator.records.Measurement` for each task that a participant finishes.
"""
