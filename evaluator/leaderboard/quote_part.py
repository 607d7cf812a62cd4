"""The parts of pages to quote from: how to cite a suite's board, and a submission's badge with a text to copy."""

from __future__ import annotations

from evaluator.leaderboard.badge import badge_label, badge_message
from evaluator.leaderboard.board import BoardIndex, SuiteBoard
from evaluator.leaderboard.environment import render
from evaluator.leaderboard.page_head import submission_card
from evaluator.leaderboard.site_facts import SHORT, SiteFacts
from evaluator.records import Standing


def bibtex(board: SuiteBoard, facts: SiteFacts) -> str:
    """Return a BibTeX entry for a suite's board in this build. What is unknown is left out."""
    suite = f"{board.name} {board.manifest.version}"
    note = [f"Suite {suite}"]
    if facts.commit:
        note += [f"commit {facts.commit[:SHORT]} of {facts.day}"]
    address = f"{facts.address}board/{board.name}/" if facts.address else facts.source
    fields = {
        "title": "{Bashboard}: a leaderboard for natural-language-to-{Bash} translation",
        "author": "{The Bashboard contributors}",
        "year": facts.day[:4],
        "note": ", ".join(note),
        "url": address,
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@misc{{bashboard-{board.name}-{board.manifest.version},", *lines, "}"])


def render_cite(board: SuiteBoard, facts: SiteFacts, root: str, *, linked: bool = True) -> str:
    """Return the HTML of the part that says how to cite a suite's board.

    `root` leads to the site's root. If `linked` is true, the part has a link to the page *Data*.
    """
    return render("cite.html", bibtex=bibtex(board, facts), root=root, linked=linked)


def render_badge(index: BoardIndex, standing: Standing, facts: SiteFacts) -> str:
    """Return the HTML of a submission's badge with the Markdown that shows it elsewhere."""
    board = index.board
    words = f"{badge_label(index)}: {badge_message(index, standing)}"
    page = f"{facts.address}board/{board.name}/submissions/{standing.submission}/" if facts.address else ""
    card = submission_card(board, standing.submission)
    return render(
        "badge.html",
        words=words,
        markdown=f"[![{words}]({page}badge.svg)]({page})" if page else "",
        page=page,
        card=card.rsplit("/", 1)[1] if page else "",
    )
