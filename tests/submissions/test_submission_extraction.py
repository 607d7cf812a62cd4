"""The extraction of a command from a model's raw text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.records import Extraction
from evaluator.submissions.extraction import command_in, has_closed_block

MARKDOWN = {
    "no fence": ("ls -l", "ls -l"),
    "a fence": ("Try:\n```\nls -l\n```\nDone.", "ls -l"),
    "a language": ("```bash\nls -l\n```", "ls -l"),
    "several lines": ("```sh\ncd /tmp\nls\n```\n", "cd /tmp\nls"),
    "the first of two": ("```\none\n```\n```\ntwo\n```", "one"),
    "tildes": ("~~~\nls\n~~~", "ls"),
    "backticks inside tildes": ("~~~\n```\n~~~", "```"),
    "a longer fence holds a block alone": ("````md\n```\nls\n```\n````", "ls"),
    "a longer fence holds a block and text": ("````\nls\n```\nx\n```\n````", "ls\n```\nx\n```"),
    "a fence behind a text": ("Type this: ```bash\nls\n```", "ls"),
    "a fence behind a byte-order mark": ("\ufeff```bash\nls\n```", "ls"),
    "a fence alone at the end": ("ls\n```", "ls\n```"),
    "a fence in a here-document": ("cat <<'E' > f\n```sh\nls\n```\nE\nwc f", "cat <<'E' > f\n```sh\nls\n```\nE\nwc f"),
    "a fence in a string": ("echo '```bash\nx'", "echo '```bash\nx'"),
    "never closed": ("```\nls\n", "ls\n"),
    "an empty block": ("```\n```\nls", ""),
    "indented under a list item": ("1. So:\n   ```bash\n   for f in *; do\n     echo\n   done\n   ```",
                                   "for f in *; do\n  echo\ndone"),
    "less indented content": ("  ```\nls\n  ```", "ls"),
    "carriage returns": ("```bash\r\nls\r\npwd\r\n```", "ls\npwd"),
    "backticks on one line are no fence": ("```ls```", "```ls```"),
    "inline code is no fence": ("Use `ls`.", "Use `ls`."),
    "two backticks are no fence": ("``\nls\n``", "``\nls\n``"),
    "a closing fence has no words": ("```\nls\n``` x\npwd\n```", "ls\n``` x\npwd"),
}  # fmt: skip


@pytest.mark.parametrize("case", MARKDOWN)
def test_markdown_takes_the_first_fenced_block_or_the_whole_text(case: str) -> None:
    text, command = MARKDOWN[case]
    assert command_in(text, Extraction.MARKDOWN) == command


HERE_DOCUMENTS = {
    "plain": ("cat > f <<EOF", "EOF"),
    "single quotes": ("cat > f <<'EOF'", "EOF"),
    "double quotes": ('cat > f << "EOF"', "EOF"),
    "a backslash": ("cat > f <<\\EOF", "EOF"),
    "a part in quotes": ("cat > f <<E'O'F", "EOF"),
    "quotes with a dollar sign": ("cat > f <<$'EOF'", "EOF"),
    "blanks in quotes": ("cat > f <<'END OF'", "END OF"),
    "an empty delimiter": ("cat > f <<''", ""),
    "punctuation": ("cat > f <<---", "--"),
    "a number": ("cat <<1 > f", "1"),
    "a parameter": ("cat <<$E > f", "$E"),
    "letters of another script": ("cat <<ФАЙЛ > f", "ФАЙЛ"),
    "tabs": ("cat > f <<-EOF", "\t\tEOF"),
    "a pipe behind it": ("cat <<EOF | tee f", "EOF"),
    "a descriptor": ("cat 3<<EOF <&3 > f", "EOF"),
    "in a substitution": ('x="$(cat <<EOF', 'EOF\n)"'),
    "two": ("cat <<A /dev/fd/3 3<<B", "A\n```\nB"),
    "another one in its text": ("cat <<EOF > f\ncat <<B", "EOF"),
    "another one before": ("cat <<A\nA\ncat <<EOF", "EOF"),
    "a string before": ("grep '<<A' f; cat <<EOF", "EOF"),
}
"""The begin and the end of a command with a here-document between them."""


@pytest.mark.parametrize("case", HERE_DOCUMENTS)
@pytest.mark.parametrize("lines", [["# Use", "```", "ls", "```"], ["```"], ["```bash", "ls", "````"]])
@pytest.mark.parametrize("indentation", ["", "   "])
def test_a_block_goes_on_while_a_here_document_is_open(case: str, lines: list[str], indentation: str) -> None:
    """The text behind the block holds a fence and the delimiter too."""
    begin, end = HERE_DOCUMENTS[case]
    command = "\n".join([begin, *lines, end, "wc -l f"])
    block = "".join(f"{indentation}{line}\n" for line in ["```bash", *command.split("\n"), "```"])
    text = f"So:\n{block}Done.\n```\nls\n```\n{end}\n"
    assert command_in(text, Extraction.MARKDOWN) == command


NO_DOCUMENTS = ["cat <<< EOF", "echo $((1<<EOF))", "((n <<= EOF))", "ls # <<EOF", "echo '<<EOF'", 'grep "<<EOF" f']


@pytest.mark.parametrize("command", NO_DOCUMENTS)
def test_a_block_without_a_here_document_ends_at_its_fence(command: str) -> None:
    text = f"```bash\n{command}\n```\nThen:\n```bash\ncat <<EOF\n```\nEOF\n```\n"
    assert command_in(text, Extraction.MARKDOWN) == command
    assert has_closed_block(text)


@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_a_block_with_a_whole_command_is_closed(fence: str) -> None:
    """In a here-document with expansions, an odd number of backquotes would be an error of bash."""
    assert has_closed_block(f"{fence}\ncat > f <<'EOF'\n{fence}\nEOF\nls # it's\n{fence}\nThis li")


@pytest.mark.parametrize(
    "begin", ["printf '%s\\n' '# Use", 'x="# Use', "f() {", "for i in *; do", "ls |", "echo $(", "[["]
)
def test_a_block_with_half_a_command_is_not_closed(begin: str) -> None:
    """Its fence may be a line of the command."""
    assert not has_closed_block(f"```bash\n{begin}\n```\nls\n```")


def test_a_block_whose_here_document_has_no_end_is_not_closed() -> None:
    """A reply that was cut off there is no complete command. Otherwise the block ends at its first fence."""
    text = "```bash\ncat > f <<'EOF'\n# Use\n```\nls\n```\nEO"
    assert command_in(text, Extraction.MARKDOWN) == "cat > f <<'EOF'\n# Use"
    assert not has_closed_block(text)


@given(st.text())
def test_none_takes_the_whole_text(text: str) -> None:
    assert command_in(text, Extraction.NONE) == text


@given(st.text(st.characters(exclude_characters="`~\r", exclude_categories=["Cs"])), st.text("ab\n "))
def test_what_is_fenced_is_found_whatever_stands_round_it(block: str, before: str) -> None:
    assert command_in(f"{before}\n```\n{block}\n```\n{before}", Extraction.MARKDOWN) == block
