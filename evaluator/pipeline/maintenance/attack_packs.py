"""Write the prompt pack of an attack: tasks for writers who have not seen the worlds and the references.

A writer gives each task one plausible wrong answer and one unusual right one. A pack holds what a contributor's model
reads, and nothing else: the instruction and the description of the machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Final

from evaluator.errors import UsageError
from evaluator.files import write_whole
from evaluator.records import Task, digest_of
from evaluator.submissions.prompts import messages_of
from evaluator.suites.load import Suite

_WRITER: Final = """\
# Two answers to each of {tasks} tasks

A benchmark gives a model an instruction, and executes the Bash command that the model answers with. Other people wrote
hidden machines, on which wrong answers should show. You test how well they did. You have not seen the machines, and you
must not look for them: read this file and nothing else. Do not open a repository, and do not search the network.

Below, each part begins with the text that the model reads about its machine. The tasks of this machine follow. Write
two answers to every task:

1. *wrong*: one plausible slip of a competent engineer or a good model, who answered in one go, tried the answer once
   on a few ordinary files, and saw the right result. They overlooked a detail of the instruction, or a program works
   otherwise than they believe. So the answer is right on the simplest input, and wrong beyond doubt on another input
   that the instruction covers and that real machines have. Say in `differs`, in one or two sentences, on which input
   it differs from the right answer, and how. Take another kind of slip from task to task. These do not count: no
   output, syntax errors, absurd commands, a command that is missing on the machine, a slip that only changes the
   speed, an input that the instruction excludes, a reading of the instruction that is also defensible, an input that
   hardly anybody ever sees.
2. *right*: one unusual right answer, which few people would write. It is right on every input that the instruction
   covers, and it changes and prints nothing else. Use means such as `mktemp` and `mv`, `sed -i`, `install`, `rsync -a`,
   an umask in a subshell, Perl, `ed`, `gawk`, `sqlite3`, process substitution, `mapfile`, `printf -v`, `find -printf`,
   `xargs -0`, a function, a here-document. Say in `differs` what is unusual. Check it twice: names with blanks,
   newlines, leading dashes or glob characters, empty files, hidden files, links, a missing newline at the end.

You may check the syntax with `bash -n`, and try an answer on files of your own below a new `mktemp -d`. Do not run an
answer on the paths of the tasks, and no answer that changes users, processes or settings of this machine.

Write {rows} lines to `{answers}`, two for each task, in the order of the tasks. A line is one JSON object:

    {{"task": "example-1", "kind": "wrong", "command": "du -b notes", "differs": "a folder in notes has a line, too"}}
    {{"task": "example-1", "kind": "right", "command": "stat --printf '%s\\tnotes\\n' notes", "differs": "asks stat"}}

`task` is the name in the heading of the task. `command` is the whole answer as one JSON string, with `\\n` for a new
line. Every key is there in every line, and no other key. Check at the end that the file has {rows} lines and that each
of them is valid JSON.
"""


def draw_tasks(suite: Suite, number: int, seed: str) -> list[Task]:
    """Return a sample of a suite's tasks, in the order of the suite. Each world and tier has its share of the sample.

    The choice depends only on `seed` and on the tasks. Raises UsageError if the suite has fewer tasks.
    """
    if not 0 < number <= len(suite.tasks):
        raise UsageError(f"expected a number of tasks from 1 to {len(suite.tasks)}, found {number}")
    sizes = Counter((task.tier, task.world) for task in suite.tasks)
    shares = {stratum: number * size / len(suite.tasks) for stratum, size in sizes.items()}
    quotas = {stratum: int(share) for stratum, share in shares.items()}
    by_remainder = sorted(shares, key=lambda stratum: (quotas[stratum] - shares[stratum], str(stratum)))
    for stratum in by_remainder[: number - sum(quotas.values())]:
        quotas[stratum] += 1
    drawn = set()
    for task in sorted(suite.tasks, key=lambda task: digest_of(seed.encode(), task.id.encode())):
        stratum = (task.tier, task.world)
        if quotas[stratum] > 0:
            quotas[stratum] -= 1
            drawn.add(task.id)
    return [task for task in suite.tasks if task.id in drawn]


def write_pack(suite: Suite, tasks: Sequence[Task], folder: Path, size: int, command_bytes: int) -> list[Path]:
    """Write the tasks of an attack to files in a new folder, `size` tasks a file, and return the paths of the files.

    Writers put their answers into the folder `answers` there. Raises UsageError if the folder has files.
    """
    batches = list(task_batches(tasks, size))
    return write_batches(folder, "answers", [partial(pack_text, suite, batch, command_bytes) for batch in batches])


def write_batches(folder: Path, replies: str, texts: Sequence[Callable[[str], str]]) -> list[Path]:
    """Write numbered files to a new folder, and make the folder `replies` in it. Return the paths of the files.

    Each function of `texts` gets the path of the file for the replies. Raises UsageError if the folder has files.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: expected a new or empty folder")
    (folder / replies).mkdir(parents=True)
    paths = []
    for number, text in enumerate(texts, 1):
        path = folder / f"{number:02}.md"
        write_whole(path, text(f"{folder.resolve() / replies / f'{number:02}.jsonl'}").encode())
        paths.append(path)
    return paths


def task_batches(tasks: Sequence[Task], size: int) -> Iterator[list[Task]]:
    """Yield the tasks in batches of at most `size`. Tasks of one world follow each other."""
    ordered = sorted(tasks, key=lambda task: task.world)
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


def pack_text(suite: Suite, tasks: Sequence[Task], command_bytes: int, answers: str) -> str:
    """Return one file of a pack, in Markdown. Tasks of one world follow each other, below the text about its machine.

    `answers` names the file that the writer makes. `command_bytes` is the maximum size of a command.
    """
    prompts = [(task, *machine_and_instruction(suite, task, command_bytes)) for task in tasks]
    parts = [_WRITER.format(tasks=len(tasks), rows=2 * len(tasks), answers=answers)]
    for machine, group in groupby(prompts, key=lambda prompt: prompt[1]):
        parts.append(f"## A machine and its tasks\n\n{quoted(machine)}\n")
        parts += [f"### {task.id}\n\n{quoted(instruction)}\n" for task, _, instruction in group]
    return "\n".join(parts)


def machine_and_instruction(suite: Suite, task: Task, command_bytes: int) -> tuple[str, str]:
    """Return the texts that a contributor's model reads for a task: the rules with the machine, and the instruction."""
    system, user = messages_of(suite.manifest, suite.worlds[task.world].manifest, task, command_bytes)
    return system["content"], user["content"]


def quoted(text: str) -> str:
    """Return a text as a block quotation of Markdown."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
