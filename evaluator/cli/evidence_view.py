"""This module shows tasks and evidence on a terminal. An answer appears beside the references of its task."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from evaluator.escaping import printable

if TYPE_CHECKING:
    from evaluator.pipeline.boards.explain import Explanation
    from evaluator.records import Evidence, Finding, Task
    from evaluator.suites.load import Suite

SHOWN_LINES = 24
_EVERY_BASH_HAS = re.compile(
    "BASH.*|COMP_WORDBREAKS|DIRSTACK|EPOCH.*|EUID|FUNCNAME|GROUPS|HISTCMD|HOME|HOSTNAME|HOSTTYPE|IFS|LANG|LINENO|"
    "LOGNAME|MACHTYPE|OLDPWD|OPTERR|OPTIND|OSTYPE|PATH|PIPESTATUS|PPID|PS4|PWD|RANDOM|SECONDS|SHELL|SHELLOPTS|SHLVL|"
    "SRANDOM|TERM|TZ|UID|USER|_"
)
_COLOURS = {"pass": "bold green", "undecided": "bold yellow", "infra-error": "bold magenta", "not-run": "bold"}


def _text(data: bytes, style: str = "") -> Text:
    """Return untrusted bytes as text that is safe for a terminal. Keep the line breaks."""
    lines = data.decode("utf-8", "backslashreplace").split("\n")
    return Text("\n".join(printable(line) for line in lines), style=style)


def task_text(suite: Suite, task: Task) -> Group:
    """Render all parts of a task for the terminal: its instruction, world, references, near misses and settings."""
    table = Table.grid(padding=(0, 2))
    rows = [("task", Text(task.id, "bold")), ("asks", Text(task.nl, "bold"))]
    manifest = suite.worlds[task.world].manifest
    cwd, user = manifest.cwd or suite.manifest.cwd, manifest.user or suite.manifest.user
    rows += [("world", Text(f"{task.world} ({', '.join(suite.variants(task))})"))]
    rows += [("runs", Text(f"in {cwd}, as {user}"))]
    if task.driver is not None:
        rows += [("answer is", Text(f"the script {task.answer}")), ("run by", _text(task.driver))]
    compared = ", ".join([task.output.value, "files", *(each.value for each in task.observe)])
    rows += [("compared", Text(compared)), ("topic", Text(f"{task.topic.value}, difficulty {task.difficulty}"))]
    rows += [(f"reference {number}", _text(each, "green")) for number, each in enumerate(task.references, 1)]
    rows += [(f"near miss {number}", _text(each, "red")) for number, each in enumerate(task.near_misses, 1)]
    for retired in suite.retired.get(task.id, ()):
        rows += [("retired", _text(retired.command, "strike")), ("because", Text(printable(retired.because)))]
    for name, value in rows:
        table.add_row(Text(name, "dim"), value)
    return Group(table)


def _verdict_line(finding: Finding) -> Text:
    line = Text.assemble((finding.outcome.value.upper(), _COLOURS.get(finding.outcome.value, "bold red")))
    if finding.step is not None:
        line.append(f"  decided by {finding.step.value}", "bold")
    if finding.variant:
        line.append(f" in variant {finding.variant}", "bold")
    if finding.place is not None:
        line.append(f" at {printable(finding.place.decode('utf-8', 'backslashreplace'))}")
    return line


def _stream(data: bytes, others: Iterable[bytes], truncated: bool) -> Text:
    """Render the first lines of a command's output. Mark each line that is in none of the outputs `others`."""
    known = {line for other in others for line in other.split(b"\n")}
    lines = data.rstrip(b"\n").split(b"\n") if data else []
    shown = Text()
    for number, line in enumerate(lines[:SHOWN_LINES]):
        shown.append("\n" if number else "")
        shown.append_text(_text(line, "" if line in known else "bold reverse"))
    if len(lines) > SHOWN_LINES or truncated:
        shown.append(f"\n... {len(lines)} lines" + (", cut at the cap" if truncated else ""), "dim")
    return shown if lines else Text("(nothing)", "dim")


def _changes(evidence: Evidence) -> Text:
    shown = Text()
    for change in evidence.changes[:SHOWN_LINES]:
        details = [change.kind.value, *([change.type.value] if change.type else [])]
        details += [f"mode {change.mode:04o}"] if change.mode is not None else []
        details += [f"owner {change.uid}:{change.gid}"] if change.uid or change.gid else []
        details += [change.content[:8]] if change.content else []
        details += [f"{change.links} links"] if change.links > 1 else []
        details += [f"acl {change.acl}"] if change.acl else []
        details += [f"default acl {change.default_acl}"] if change.default_acl else []
        details += [f"{change.after_end} bytes after the end"] if change.after_end else []
        shown.append_text(_text(change.path))
        shown.append(f"  {' '.join(details)}\n", "dim")
    if len(evidence.changes) > SHOWN_LINES:
        shown.append(f"... {len(evidence.changes)} paths\n", "dim")
    return shown if evidence.changes else Text("(none)", "dim")


def evidence_table(variant: str, columns: Mapping[str, Evidence]) -> Table:
    """Render the evidence of several commands as a table with one column for each command.

    All evidence is from the world's variant `variant`. Mark each output line that no other command prints.
    """
    table = Table(title=f"variant {variant}", title_justify="left", title_style="bold", show_lines=True)
    table.add_column("", style="dim", no_wrap=True)
    for name in columns:
        table.add_column(name, overflow="fold")
    each = list(columns.values())
    table.add_row("ended", *(f"{one.ending.value}, status {one.status}" for one in each))
    for stream in ("stdout", "stderr"):
        outputs = [getattr(one, stream) for one in each]
        if any(output.size for output in outputs):
            cells = [
                _stream(
                    output.data,
                    [other.data for other in outputs if other is not output or len(outputs) == 1],
                    output.truncated,
                )
                for output in outputs
            ]
            table.add_row(stream, *cells)
    if any(one.verifier is not None for one in each):
        table.add_row("verifier", *(_verifier(one) for one in each))
    if any(one.changes for one in each):
        table.add_row("files", *(_changes(one) for one in each))
    if any(one.shell is not None for one in each):
        table.add_row("shell", *(_shell(one) for one in each))
    if any(one.processes is not None for one in each):
        table.add_row("left running", *(_processes(one) for one in each))
    return table


def _verifier(evidence: Evidence) -> Text:
    """Render the exit status and the message of the task's verifier."""
    if evidence.verifier is None:
        return Text("(did not run)", "dim")
    message = _text(evidence.verifier_message.rstrip(b"\n"))
    return Text.assemble(f"status {evidence.verifier}", "\n" if message else "", message)


def _shell(evidence: Evidence) -> Text:
    """Render the final state of the shell that ran a command. Omit the variables that every bash has."""
    state = evidence.shell
    if state is None or not state.alive:
        return Text("(no shell left)", "dim")
    own = [text for name, text in state.variables.items() if not _EVERY_BASH_HAS.fullmatch(name)]
    lines = [b"cd " + state.cwd, b"umask " + state.umask.encode(), *own, *state.aliases.values()]
    return Text("\n").join(map(_text, [*lines, *state.functions.values(), *state.traps]))


def _processes(evidence: Evidence) -> Text:
    found = evidence.processes or ()
    return (
        Text("\n").join(_text(one.arguments.replace(b"\0", b" ")) for one in found) if found else Text("(none)", "dim")
    )


def _merged(columns: Mapping[str, Evidence]) -> dict[str, Evidence]:
    """Merge the table columns of all references with equal evidence. The candidate keeps its own column."""
    alike: dict[str, list[str]] = {}
    for name, one in columns.items():
        alike.setdefault(one.digest if name.startswith("reference") else name, []).append(name)
    return {_joint_name(names): columns[names[0]] for names in alike.values()}


def _joint_name(names: Sequence[str]) -> str:
    numbers = [name.removeprefix("reference ") for name in names]
    return names[0] if len(names) == 1 else f"references {', '.join(numbers)}"


def explanation_text(explanation: Explanation, variants: Sequence[str]) -> Group:
    """Render the reason for a verdict. For each variant of the world, show the evidence of candidate and references."""
    head = Table.grid(padding=(0, 2))
    head.add_row(Text("task", "dim"), Text(f"{explanation.task.id}: {explanation.task.nl}", "bold"))
    head.add_row(
        Text("candidate", "dim"), _text(explanation.command) if explanation.command is not None else Text("(none)")
    )
    if explanation.is_unreadable:
        head.add_row(Text("text", "dim"), Text("unreadable by our parsers, so the NLC2CMD score is -1"))
    for number, reference in enumerate(explanation.task.references, 1):
        head.add_row(Text(f"reference {number}", "dim"), _text(reference, "green"))
    head.add_row(Text("verdict", "dim"), _verdict_line(explanation.finding))
    if explanation.finding.reason:
        head.add_row(Text("because", "dim"), Text(printable(explanation.finding.reason)))
    drawn = {name: _merged(explanation.columns(name)) for name in variants}
    tables = [evidence_table(name, columns) for name, columns in drawn.items() if columns]
    return Group(head, Text(), *tables)
