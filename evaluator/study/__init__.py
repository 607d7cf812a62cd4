"""A study of how long people take for a suite's tasks: the sitting, the page it is held on, and what it comes to.

What a participant types is executed and judged by whoever is handed in as `Examiner`; the room knows no sandbox and
no judge. What is kept is a line of `evaluator.records.Measurement` for each task, and nothing else.
"""
