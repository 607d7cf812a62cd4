"""A board on which every text is an attack on the page that shows the text.

Each attack appears in every field that a submission controls: names, descriptions, models, commands, and the reasons
and places that a judge quotes from a command's output.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.boards.group_runs import method_runs
from evaluator.pipeline.boards.near_accuracy import near_reports
from evaluator.records import (
    Author,
    Finding,
    FineTuning,
    Generation,
    GenerationMethod,
    Outcome,
    OutputMode,
    Result,
    Step,
    SubmissionManifest,
    SuiteContamination,
    Task,
    Topic,
    Usage,
)
from evaluator.testing.boards import METHODS, board_of, result_of

ATTACKS: Final[tuple[bytes, ...]] = (
    b"<script>alert(1)</script>",
    b'"><img src=x onerror=alert(1)>',
    b"' onmouseover='alert(1)' x='",
    b'</code></td></tr></table></div><iframe src="https://evil.example/"></iframe>',
    b"<!-- <style>*{display:none}</style><![CDATA[ <?php ",
    b"</script></style></title><svg onload=alert(1)><base href=//evil.example>",
    b"[click](javascript:alert(1)) ![x](https://evil.example/x.png) <https://evil.example>",
    b'{{ config }} {% include "/etc/passwd" %} {# gone #} {{ 7 * 7 }}',
    b'--8<-- "/etc/passwd"\n\n# heading\n\n- list\n\n    code\n',
    b"```html\n<h1>owned</h1>\n```\n\n<h1>owned</h1>",
    b'<div data-part="_home"></div> data-search-exclude="true"',
    b"&lt;script&gt; &#60;script&#62; &amp;lt; &nbsp;",
    b"\x1b[31mred\x1b]8;;https://evil.example\x07link\x1b[2J\r\x08\x7f\x00",
    "echo \u202e'exe.txt'\u2066\u2069 \u200b\u200d\ufeff\u00ad".encode(),
    "a\u0300\u0301\u0302\u0303\u0304\u0305 \u00a0\u2028\u2029\u3000 \U000e0041 \ue000".encode(),
    b"\x02klzzwxh:0000\x03 \x02amp\x03 wzxhzdk:0",
    b"| a | b |\n| - | - |\n`` ` `` **bold** __proto__ ${alert(1)} \\u003cscript\\u003e",
    b"\xff\xfe\xc3( not UTF-8",
    b"echo " + b"A" * 100_000,
    "<b>\u202e".encode() * 10_000,
    b"x\n" * 50_000,
    b"=cmd|' /C calc'!A0",
)
"""Texts that a careless page would interpret as markup, templates, terminal controls or formulas."""


def hostile_board() -> SuiteBoard:
    """Return a board with one submission for each attack. Its two candidates for each task are attacks too."""
    tasks = tuple(_task(number) for number in range(len(ATTACKS)))
    manifests = {f"attack-{number:02d}": _manifest(text, number) for number, text in enumerate(ATTACKS)}
    results = [
        _result(slug, task, place + number, rank)
        for place, slug in enumerate(manifests)
        for number, task in enumerate(tasks)
        for rank in (1, 2)
    ]
    board = board_of(tasks, manifests, results)
    return dataclasses.replace(board, method_runs=method_runs(board, {}), near_reports=near_reports(board))


def _task(number: int) -> Task:
    return Task(
        id=f"text-{number:03d}",
        nl="Print the names in names.txt, each once.",
        references=(b"sort -u names.txt", b"sort names.txt | uniq"),
        near_misses=(b"uniq names.txt",),
        world="webserver",
        output=OutputMode.EXACT,
        topic=Topic.TEXT,
        difficulty=1,
    )


def _manifest(text: bytes, number: int) -> SubmissionManifest:
    words = text.decode("utf-8", "replace")
    name = words[:200]
    model = ATTACKS[number // 2 * 2].decode("utf-8", "replace")[:200]  # two submissions each, with different methods
    return SubmissionManifest(
        format=3,
        system=name,
        authors=(Author(name=name, affiliation=name),),
        link="https://example.org/?q=(alert)&amp;x=1#javascript:alert(1)",
        description=words[:2000],
        open_weights=number % 2 == 1,
        parameters=(number + 1) * 1_000_000_000,
        licence=name,
        models=(name,),
        method=METHODS[number % len(METHODS)],
        suites={"core": "1.0.0"},
        training_data=(name,),
        fine_tuning=FineTuning(
            base_model=model,
            data=name,
            pairs="0" * 64,
            contamination={"core": _near(number)},
        ),
        generation=Generation(
            base_model=model,
            methods=(GenerationMethod.PARSER if number % 2 else GenerationMethod.BASELINE,),
            prompt=name,
            embeddings=name,
            grammar=name,
        ),
    )


def _near(number: int) -> SuiteContamination:
    near = ("text-000", "text-001")[: number % 3]
    return SuiteContamination(version="1.0.0", tasks=len(ATTACKS), similar=len(near), near_tasks=near)


def _result(slug: str, task: Task, number: int, rank: int) -> Result:
    text = ATTACKS[(number + rank - 1) % len(ATTACKS)]
    finding = Finding(
        outcome=list(Outcome)[number % 6],
        step=Step.OUTPUT,
        reason=text.decode("utf-8", "replace"),
        variant=text.decode("utf-8", "replace")[:60],
        place=text,
        collateral=True,
    )
    usage = Usage(latency_s=1 + number, input_tokens=10, output_tokens=number)
    return result_of(slug, task.id, text, finding, rank).model_copy(update={"usage": usage})
