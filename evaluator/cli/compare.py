"""`bashboard compare`: compare two submissions task by task."""

from __future__ import annotations

from typing import Annotated

import typer

from evaluator.cli.app import AsJson, Judge, SuiteNames, console, current_project, example, print_records, warn
from evaluator.cli.completion import complete_submissions

First = Annotated[
    str,
    typer.Argument(
        metavar="SLUG", autocompletion=complete_submissions, help="The slug of one submission.", show_default=False
    ),
]
Second = Annotated[
    str,
    typer.Argument(
        metavar="SLUG",
        autocompletion=complete_submissions,
        help="The slug of the other submission.",
        show_default=False,
    ),
]


@example(
    "bashboard compare tfidf-retrieval rules",
    "bashboard compare tfidf-retrieval rules --suite core --json | jq '.[].tasks[].task'",
)
def compare(
    first: First, second: Second, suite: SuiteNames = None, judge: Judge = None, as_json: AsJson = False
) -> None:
    """Compare two submissions task by task.

    Uses existing verdicts. Shows the number of tasks that both, one or neither passes: in all, by topic, and by utility
    of the references. Shows for each class of error how many tasks either of them fails. Also shows the difference in
    accuracy with a 95 % interval, and McNemar's exact p-value. Lists every task that only one of them passes, with the
    reason why the other does not.
    """
    from evaluator.cli.tables import comparison_text
    from evaluator.pipeline.boards.compare import compare as compare_submissions
    from evaluator.progress import NullProgress

    found = compare_submissions(
        current_project(), NullProgress(), first, second, suites=suite or (), judge=judge, say=warn
    )
    if as_json:
        print_records(found)
        return
    out = console()
    for comparison in found:
        out.print(comparison_text(comparison))
