"""Published prompts: they are read from the LaTeX of a clone, and replace our system message completely."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import pytest

from evaluator.cli import app
from evaluator.errors import UsageError
from evaluator.generation.translation_prompts import PUBLISHED_NAMES, TranslationPrompt, read_translation_prompt
from evaluator.pipeline.generation.generate_submission import generate
from evaluator.pipeline.generation.recipe import published_prompt, recipe_of
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import check_folders
from evaluator.progress import NullProgress
from tests.command_runner import CommandRunner
from tests.doubles.model_server import JudgeServer
from tests.generation.generation_harness import echoes, options_for

FORM = r"""\textit{%s}
      \texttt{natural\_language\_prompt}"""
LABELS = {"nl2sh-baseline": "fig:prompt-baseline", "nl2sh-other": "fig:prompt-other", "nl2sh-icl": "fig:prompt-icl"}


def figure(content: str, label: str = "fig:prompt-baseline") -> str:
    return rf"""\begin{{figure*}}[ht!]
  \begin{{tabular}}{{l}}
    \\
    \begin{{minipage}}{{0.97\textwidth}}
      {content}
    \end{{minipage}}
    \\\\
  \end{{tabular}}
  \label{{{label}}}
\end{{figure*}}

"""


def clone_with(folder: Path, *figures: str) -> Path:
    (folder / "paper").mkdir(parents=True, exist_ok=True)
    path = folder / "paper" / "paper.tex"
    path.write_text("\\documentclass{article}\nWords, as in \\ref{fig:prompt-icl}.\n" + "".join(figures))
    return folder


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    figures = (figure(FORM % f"Turn words into {name}. ", label) for name, label in LABELS.items())
    return clone_with(tmp_path / "clone", *figures)


LINES = "Words:\nSay hello\necho hello\n\nStop"
TEXTS = {
    "a text": ("Turn words into Bash. ", "Turn words into Bash."),
    "escaped signs": (r"a\_b \$? 5\% \#1 \& \{x\}", "a_b $? 5% #1 & {x}"),
    "a place for a line break": (r"a\allowbreak\_b\allowbreak c", "a_bc"),
    "a line of the source": ("one\n        two\tthree", "one two three"),
    "line ends": ("Words:\\\\\n        Say hello \\\\\n        echo hello\\\\\\\\\n        Stop", LINES),
    "quotes": ("""``a'' "b" 'c' `d`""", """"a" "b" 'c' `d`"""),
    "hyphens": ("ls --all -- x", "ls --all -- x"),
    "line ends at the end": ("echo hello\\\\\\\\\n      ", "echo hello"),
}


@pytest.mark.parametrize(("latex", "text"), TEXTS.values(), ids=TEXTS)
def test_the_text_is_what_the_authors_typed(latex: str, text: str, tmp_path: Path) -> None:
    assert read_translation_prompt("nl2sh-baseline", clone_with(tmp_path, figure(FORM % latex))).text == text


@pytest.mark.parametrize("name", PUBLISHED_NAMES)
def test_each_name_is_the_figure_with_its_label(name: str, clone: Path) -> None:
    prompt = read_translation_prompt(name, clone)
    assert prompt.text == f"Turn words into {name}."
    assert (prompt.record.name, prompt.record.digest) == (name, hashlib.sha256(prompt.text.encode()).hexdigest())


OTHER_FORMS = {
    "another macro": (figure("\\textit{one\n two \\emph{three}}"), 8, "the macro '\\\\emph'"),
    "a length after a line end": (figure(FORM % "one\\\\[2pt] two"), 7, "the macro '\\\\\\\\'"),
    "a formula": (figure(FORM % "one $x$"), 7, "'$' without a backslash"),
    "a comment": (figure(FORM % "one % two"), 7, "'%' without a backslash"),
    "a group": (figure(FORM % "one {two}"), 7, "'{' without a backslash"),
    "a paragraph": (figure(FORM % "one\n\n two"), 7, "a blank line"),
    "no text": (figure(FORM % " "), 7, "an empty prompt"),
    "no end": (figure(r"\textit{one"), 8, "'' instead of }"),
    "no instruction": (figure(r"\textit{one}"), 8, r"'' instead of \texttt{"),
    "another instruction": (figure(r"\textit{one} \texttt{task}"), 7, r"another name in \texttt"),
    "text after the instruction": (figure((FORM % "one") + " Answer:"), 8, "text after the instruction"),
    "plain text": (figure("one"), 7, r"'one' instead of \textit{"),
    "no minipage": ("\\begin{figure}\n\\label{fig:prompt-baseline}\n\\end{figure}", 3, "no minipage"),
    "no figure": ("", 1, "0 figures with this label"),
    "two figures": (figure(FORM % "one") * 2, 1, "2 figures with this label"),
}


@pytest.mark.parametrize(("source", "line", "message"), OTHER_FORMS.values(), ids=OTHER_FORMS)
def test_another_form_is_refused_with_file_and_line(source: str, line: int, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        read_translation_prompt("nl2sh-baseline", clone_with(tmp_path, source))
    assert f"{tmp_path}/paper/paper.tex:{line}: found {message} in the figure fig:prompt-baseline" in str(refused.value)
    assert "expected a figure of Westenfelder et al. 2025" in str(refused.value)


def test_a_folder_without_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected a clone of NL2SH with the file paper/paper\.tex: No such file"):
        read_translation_prompt("nl2sh-icl", tmp_path)
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "paper.tex").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_translation_prompt("nl2sh-icl", tmp_path)


def test_the_options_of_prompts_must_fit(clone: Path) -> None:
    assert published_prompt("imperative", None) is None
    with pytest.raises(UsageError, match=r"run `git clone https://github\.com/westenfelder/NL2SH`, and add --prompts"):
        published_prompt("nl2sh-icl", None)
    with pytest.raises(
        UsageError, match="expected one of imperative, question, nl2sh-baseline, nl2sh-other, nl2sh-icl"
    ):
        published_prompt("nl2sh", clone)
    with pytest.raises(UsageError, match="--prompts belongs to a published prompt"):
        published_prompt("question", clone)


@pytest.mark.parametrize("method", ["few-shot", "icl"])
def test_a_prompt_with_examples_gets_no_others(method: str, clone: Path) -> None:
    with pytest.raises(UsageError, match="nl2sh-icl already contains its examples: leave out few-shot and icl"):
        recipe_of("a-model", [method], published=published_prompt("nl2sh-icl", clone))
    assert recipe_of("a-model", [method], published=published_prompt("nl2sh-other", clone)).shots > 0


def test_a_published_prompt_is_the_whole_system_message(
    project: Project, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.root)
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    options = ["--prompt", "nl2sh-other", "--prompts", str(clone), "--suite", "tiny", "--limit", "1"]
    with JudgeServer(echoes) as server:
        model = ["my-model", "--model", "a-model", "--base-url", server.url]
        done = CommandRunner().invoke(app, ["generate", *model, *options])
        (asked,) = server.asked
    assert done.exit_code == 0, done.output
    assert [dict(message) for message in asked.messages] == [
        {"role": "system", "content": "Turn words into nl2sh-other."},
        {"role": "user", "content": "Print the word number 0."},
    ]
    assert (asked.body["temperature"], asked.body["seed"]) == (0, 123)
    folder = project.root / "submissions" / "my-model"
    assert tomllib.loads((folder / "submission.toml").read_text())["generation"]["prompt"] == {
        "name": "nl2sh-other",
        "digest": hashlib.sha256(b"Turn words into nl2sh-other.").hexdigest(),
    }
    faults = [problem.message for problem in check_folders(project, [folder]) if "authors" not in problem.message]
    assert [fault for fault in faults if " without a line" not in fault] == []


def test_another_text_of_the_prompt_is_another_recipe(project: Project) -> None:
    def run(text: str, server: JudgeServer, *, replace: bool = False) -> int:
        options = options_for(server, published=TranslationPrompt("nl2sh-other", text, False), limit=1, replace=replace)
        return generate(project, options, NullProgress()).requested

    with JudgeServer(echoes) as server:
        assert run("Turn words into Bash.", server) == 1
        assert run("Turn words into Bash.", server) == 0
        with pytest.raises(UsageError, match=r"made in another way \(prompt\).*--replace"):
            run("Turn words into commands.", server)
        assert run("Turn words into commands.", server, replace=True) == 1
