"""What the documents say is so: paths exist, commands parse, and nothing speaks of where it was written."""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from evaluator.cli import app
from evaluator.cli.reference import reference
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import check_folders

ROOT = Path(__file__).parents[2]
TRACKED = (
    subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
)
FILES = [name for name in TRACKED if name and (ROOT / name).is_file()]
PAGES = [name for name in FILES if name.endswith(".md")]
FOLDERS = {str(folder) for name in FILES for folder in Path(name).parents}
GENERATED = ("build", "dist", ".bashboard", ".venv", "site/board", "board")
SUFFIXES = (".md", ".py", ".toml", ".jsonl", ".json", ".yml", ".sh", ".c", ".txt", ".png", ".svg", ".css", ".js")
EXAMPLE = re.compile(r"(^|/)(my|your)-|^<|[<>*{}$~…]|://")
"""A name that stands for the reader's own, a pattern, or an address."""

DOWNLOADS = {
    "badge.json",
    "card.png",
    "standings.csv",
    "standings.json",
    "rows.json",
    "results.jsonl",
    "verdicts.json",
    "passes.parquet",
    "tasks.json",
}
"""Files of each board, which `bashboard build` writes."""

WRITTEN = {"submissions/quarantine.json", "board/core/2/", ".units.json", *DOWNLOADS}
"""Files that the repository does not hold, because a command writes them when they are needed."""

pages = pytest.mark.parametrize("page", PAGES)


def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def blocks(text: str) -> list[str]:
    return re.findall(r"^ *```[^\n]*\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)


def prose(text: str) -> str:
    """Return a page's text without its code blocks."""
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)


def spans(text: str) -> list[str]:
    """Return the inline code of a page, each span on one line."""
    return [" ".join(span.split()) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", prose(text))]


def anchors(text: str) -> Iterator[str]:
    """Yield the id of every heading: the explicit one, else the one that GitHub and MkDocs generate from its words."""
    for heading in re.findall(r"^#{1,6} +(.+)$", prose(text), re.MULTILINE):
        words, _, attributes = heading.partition("{")
        explicit = re.search(r"#([\w-]+)", attributes)
        yield explicit[1] if explicit else re.sub(r"[^\w -]", "", words).strip().lower().replace(" ", "-")


def lines_of_blocks(text: str) -> Iterator[str]:
    for line in itertools.chain.from_iterable(block.splitlines() for block in blocks(text)):
        yield line.strip().removeprefix("$ ").removeprefix(".venv/bin/")


def is_there(path: str, near: Path) -> bool:
    """True for a tracked file or folder: named whole, from the page, or by the last parts of its path."""
    path = path.removeprefix("./").rstrip("/")
    whole = [path, str(near / path).removeprefix("./")]
    if any(name in FOLDERS or name in FILES or name.startswith(GENERATED) for name in whole):
        return True
    return any(name.endswith(f"/{path}") for name in (*FILES, *FOLDERS))


@pages
def test_no_two_paragraphs_of_a_page_begin_alike(page: str) -> None:
    """A paragraph that begins as another one explains the same thing twice."""
    paragraphs = [text.strip() for text in re.split(r"\n\s*\n", prose(text_of(page)))]
    beginnings = Counter(text[:40] for text in paragraphs if len(text) > 40 and text[0] not in "|#<-")
    assert [beginning for beginning, count in beginnings.items() if count > 1] == []


@pages
def test_every_link_leads_somewhere(page: str) -> None:
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page))]
    near = Path(page).parent
    assert [each for each in targets if each and not EXAMPLE.search(each) and not is_there(each, near)] == []


def repeated_anchors(text: str) -> list[str]:
    return [anchor for anchor, count in Counter(anchors(text)).items() if count > 1]


@pages
def test_no_page_repeats_an_anchor(page: str) -> None:
    """A link to a repeated anchor leads to the first of its headings, and the others cannot be linked to."""
    assert repeated_anchors(text_of(page)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Ties { #ties }\n## Ranks { #ranks }\n", []),
        ("## Ties { #ties }\n### Ties again { #ties }\n", ["ties"]),
        ("## Tie groups\n## Rank ranges\n## Tie `groups`\n", ["tie-groups"]),
        ("## Tie groups\n## Groups { .wide #tie-groups }\n", ["tie-groups"]),
        ("## Tie groups\n```\n## Tie groups\n```\n1. Step\n\n   ```\n## Tie groups\n   ```\n", []),
    ],
)
def test_a_repeated_anchor_is_noticed(text: str, expected: list[str]) -> None:
    assert repeated_anchors(text) == expected


@pages
def test_every_path_named_exists(page: str) -> None:
    paths = [span for span in spans(text_of(page)) if re.fullmatch(r"[\w.@-][\w./@-]*", span)]
    named = [word for word in paths if word not in WRITTEN and (word.endswith(SUFFIXES) or "/" in word)]
    assert [word for word in named if not EXAMPLE.search(word) and not is_there(word, Path(page).parent)] == []


TOP: Any = typer.main.get_command(app)


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in getattr(group, "commands", {}).items():
        yield (*path, name), command
        yield from commands(command, (*path, name))


COMMANDS = dict(commands(TOP))


def named_commands(text: str) -> Iterator[list[str]]:
    """The words of every `bashboard ...` a page shows, without the first."""
    for line in (*spans(text), *lines_of_blocks(text)):
        for part in re.split(r"&&|\||;", line.partition(" #")[0]):
            if part.strip().startswith("bashboard "):
                yield shlex.split(part.partition(">")[0].replace("…", ""))[1:]


@pages
def test_every_command_shown_is_there_with_its_options(page: str) -> None:
    for words in named_commands(text_of(page)):
        known = [name for name in COMMANDS if tuple(words[: len(name)]) == name]
        assert known or words[0].startswith(("-", "COMMAND", "<")), words
        command = COMMANDS[max(known, key=len)] if known else TOP
        options = {option for each in command.params for option in (*each.opts, *each.secondary_opts)} | {"--help"}
        assert [word for word in words if word.startswith("--") and word.partition("=")[0] not in options] == [], words


@pages
def test_an_answer_that_is_explained_is_there(page: str) -> None:
    project = Project(ROOT)
    for words in named_commands(text_of(page)):
        if words[0] == "explain" and len(words) > 2 and words[1].islower() and not EXAMPLE.search(words[1]):
            assert project.submission_folder(words[1]).is_dir()
            assert project.suite("core").task(words[2])


@pages
def test_every_target_of_make_is_there(page: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = (line.partition(" #")[0] for line in (*spans(text_of(page)), *lines_of_blocks(text_of(page))))
    # one blank after it: in a list of commands more of them part a name from its description
    named = [re.match(r"\s*make (\S+)", line) for line in shown]
    assert {each[1] for each in named if each} <= targets


@pytest.mark.parametrize("page", ["site/submit.md", "CONTRIBUTING.md"])
def test_the_submission_that_is_shown_is_sound(page: str, tmp_path: Path) -> None:
    """Each line of answers with the one manifest, as a submission to the suite as it is today."""
    manifest = next(block for block in blocks(text_of("site/submit.md")) if block.startswith("format = "))
    answers = [line.strip() for line in text_of(page).splitlines() if line.strip().startswith('{"task"')]
    assert answers
    for number, line in enumerate(answers):
        folder = tmp_path / f"system-{number}"
        folder.mkdir()
        (folder / "submission.toml").write_text(manifest)
        (folder / "core.jsonl").write_text(f"{line}\n")
        told = [each.message for each in check_folders(Project(ROOT), [folder])]
        assert [each for each in told if " without a line" not in each] == []
    assert f'core = "{Project(ROOT).suite("core").manifest.version}"' in manifest


@pytest.mark.parametrize("name", COMMANDS, ids=" ".join)
def test_every_command_is_in_the_reference(name: tuple[str, ...]) -> None:
    assert f"## bashboard {' '.join(name)}\n" in text_of("site/cli.md")


def test_the_reference_is_what_the_commands_say() -> None:
    """Made anew by `python -m evaluator.cli.reference > site/cli.md`."""
    assert text_of("site/cli.md") == reference()


REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("deb", "debian", "org"),
        ("archive", "ubuntu", "com"),
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("proxy", "golang", "org"),
    )
]
ELSEWHERE = [
    *map(re.escape, REGISTRIES),
    r"(?<!\w)/" + r"work/(main|shared|\.)",
    "/" + "tmp/w/",
    r"/root/\." + "pyenv",
    r"\bissue" + r"s? #?\d+\b",
    r"\bissue" + "s show",
    r"\b(this|last|next|previous|earlier|another) " + "session",
]


@pytest.mark.parametrize("pattern", ELSEWHERE)
def test_no_file_speaks_of_where_it_was_written(pattern: str) -> None:
    """No package registry's host, no folder of a workplace, no ticket: what is here stands for itself."""
    expression = re.compile(pattern.encode(), re.IGNORECASE)
    assert [name for name in FILES if expression.search((ROOT / name).read_bytes())] == []


def test_a_registry_would_be_seen() -> None:
    assert all(re.search(re.escape(host), f"https://{host}/simple") for host in REGISTRIES)
