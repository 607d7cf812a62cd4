"""Ask the panel through files: write the open questions, and read the replies into the reply cache.

The questions are those of submissions, or those of the labelled pairs that `judges validate` measures. They follow from
stored verdicts and evidence, so nothing is executed and no model is asked here. The same questions are computed again
for an import. A reply that answers none of them is refused.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.judges.panel.parse_reply import ReplyForm
from evaluator.judges.panel.reply_cache import Reply, ReplyCache, ReplyKey
from evaluator.judges.reasons import shown
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.grading.llm_panel import (
    NO_MODEL,
    REPLAY,
    PanelItem,
    UndecidedItem,
    open_panel,
    undecided_items,
)
from evaluator.pipeline.grading.results import SubmittedCandidate, answers, up_to_pass
from evaluator.pipeline.maintenance.pair_sources import PairSelection, selected_pairs
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.board_suites import suites_on_board
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.progress import Progress
from evaluator.store import store_in_use
from evaluator.suites.load import Suite

if TYPE_CHECKING:
    from evaluator.judges.panel.batch_files import FileReply, WrittenFile
    from evaluator.judges.panel.open_questions import PanelRequest
    from evaluator.judges.panel.panel import Panel


@dataclass(frozen=True, slots=True)
class QuestionScope:
    """The questions of one export or import. Without names, all suites and all submissions belong to it.

    If `validation` is true, the questions are those of labelled pairs instead of submissions. `kinds` selects the sets
    of pairs (see `PairSelection`). `prompts` are clones with published prompts, which ask about pairs alone.
    """

    suites: Sequence[str] = ()
    submissions: Sequence[str] = ()
    judge: str | None = None
    validation: bool = False
    kinds: Sequence[str] = ()
    prompts: Sequence[Path] = ()


class Exported(NamedTuple):
    """The written files, and the number of answers that are not judged yet, so that their questions are unknown."""

    files: tuple[WrittenFile, ...]
    unjudged: int


@dataclass(slots=True)
class Imported:
    """The numbers of new replies and of replies that were in the cache, and the requests without a usable reply.

    `failed` are requests that the server did not answer. `invalid` are stored replies that are no valid vote.
    """

    added: int = 0
    known: int = 0
    failed: list[FileReply] = field(default_factory=list)
    invalid: list[FileReply] = field(default_factory=list)


def export_questions(
    project: Project,
    scope: QuestionScope,
    folder: Path,
    progress: Progress,
    *,
    plain: bool = False,
    every: bool = False,
) -> Exported:
    """Write the panel's open questions to files in a new folder. If no question is open, write nothing.

    If `every` is true, also write the votes that may prove unnecessary. Raises UsageError if the folder has files.
    """
    from evaluator.judges.panel.batch_files import write_batches, write_plain

    _check_new(folder)
    with _opened_panel(project, scope, progress) as panel:
        sweep = _Sweep(project, scope, panel, progress)
        requests = sweep.open_requests(every=every)
        with _written_whole(folder) as temporary:
            if plain:
                files = write_plain(temporary, requests)
            else:
                files = write_batches(temporary, requests, panel.settings.reply_tokens)
    return Exported(tuple(files), sweep.unjudged)


def import_replies(
    project: Project, scope: QuestionScope, paths: Sequence[Path], progress: Progress, *, keep_invalid: bool = False
) -> Imported:
    """Read files of replies into the reply cache: all replies, or none if a line has a problem.

    A reply to a question that has a reply in the cache is not stored. Raises FormatError with all problems. One of them
    is a reply that is no valid vote. If `keep_invalid` is true, such a reply is stored. It then counts as no vote, like
    an invalid reply to a live request.
    """
    with _opened_panel(project, scope, progress) as panel:
        keys = {request.id: request.key for request in _Sweep(project, scope, panel, progress).possible_requests()}
        path = panel.reply_cache.path
    with store_in_use(project.store_path, alone=True):
        cache = ReplyCache(path)
        keys |= {key.request_id: key for key in cache.keys()}  # noqa: SIM118 - a cache is no dictionary
        form = ReplyForm.TRUTH if scope.prompts else ReplyForm.VERDICT
        return _store(cache, keys, _read_files(paths, keys, form, keep_invalid=keep_invalid), form)


@contextlib.contextmanager
def _opened_panel(project: Project, scope: QuestionScope, progress: Progress) -> Iterator[Panel]:
    if scope.prompts and not scope.validation:
        raise UsageError("--prompts needs --validation: a published prompt does not protect a model from submissions")
    with open_panel(project, progress, REPLAY._replace(prompts=scope.prompts), scope.judge) as panel:
        if panel is None:
            raise UsageError(NO_MODEL)
        if panel.prompts is not None:
            panel.prompts.require([scope.judge or project.settings.judge])
        yield panel


def _check_new(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: expected a new or empty folder; its files may be an export that was already sent")


@contextlib.contextmanager
def _written_whole(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder, and rename it to `folder` at the end. If there is an error or no file, remove it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield temporary
        if any(temporary.iterdir()):
            temporary.chmod(0o755)
            temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@dataclass
class _Sweep:
    """Goes through the undecided answers or pairs of a scope. `unjudged` counts those that have no verdict yet."""

    project: Project
    scope: QuestionScope
    panel: Panel
    progress: Progress
    unjudged: int = 0

    def open_requests(self, *, every: bool) -> Iterator[PanelRequest]:
        """Yield each request without a reply once. See `open_requests` of the panel for `every`."""
        from evaluator.judges.panel.open_questions import open_requests

        settings, cache, seen = self.panel.settings, self.panel.reply_cache, set[ReplyKey]()
        for item in self._items():
            if not item.is_decided:
                for request in open_requests(settings, cache, item.question, every=every, prompts=self.panel.prompts):
                    if request.key not in seen:
                        seen.add(request.key)
                        yield request

    def possible_requests(self) -> Iterator[PanelRequest]:
        """Yield every request about these answers, also those with a reply. A request may occur several times."""
        from evaluator.judges.panel.open_questions import possible_requests

        for item in self._items():
            yield from possible_requests(self.panel.settings, item.question, self.panel.prompts)

    def _items(self) -> Iterator[UndecidedItem]:
        for suite, items, own in self._pairs() if self.scope.validation else self._answers():
            with open_grader(self.project, suite, self.progress, judge=self.scope.judge, execute=False) as opened:
                # `judges validate` measures the judge alone, without the rulings of maintainers
                grader = replace(opened, rulings={}) if self.scope.validation else opened
                found = undecided_items(self.panel, grader, items(grader), own)
                self.unjudged += found.unjudged
                self.progress.stage(f"{suite.manifest.name}: reading undecided verdicts", len(found.items))
                for item in found.items:
                    yield item
                    self.progress.advance()

    def _answers(self) -> Iterator[_SuiteItems]:
        submissions = load_submissions(self.project, self.scope.submissions)
        own = {each.slug: each.manifest.models for each in submissions}
        suites = [self.project.suite(name) for name in self.scope.suites]
        for suite in suites or suites_on_board(self.project, submissions).suites:
            yield _SuiteItems(suite, partial(_answers_up_to_pass, list(answers(suite, submissions))), own)

    def _pairs(self) -> Iterator[_SuiteItems]:
        selection = PairSelection(self.scope.suites, self.scope.kinds)
        for measured in selected_pairs(self.project, selection, self.progress):
            pairs = (pair for pairs in measured.pairs.values() for pair in pairs)
            items = [PanelItem("", GradingItem(pair.task, pair.command, pair.without)) for pair in pairs]
            yield _SuiteItems(measured.suite, partial(_all, items), {"": ()})


class _SuiteItems(NamedTuple):
    """One suite, a function that returns its answers or pairs, and the own models of each submission."""

    suite: Suite
    items: Callable[[Grader], Sequence[PanelItem]]
    own: Mapping[str, Sequence[str]]


def _answers_up_to_pass(candidates: Sequence[SubmittedCandidate], grader: Grader) -> Sequence[PanelItem]:
    """Return the answers that are not behind a known pass, first choices before second choices."""
    pending = up_to_pass(candidates, grader.known(candidate.subject for candidate in candidates))
    return [PanelItem(each.submission, each.subject) for each in sorted(pending, key=lambda each: each.rank)]


def _all(items: Sequence[PanelItem], grader: Grader) -> Sequence[PanelItem]:
    return items


def _read_files(
    paths: Sequence[Path], keys: Mapping[str, ReplyKey], form: ReplyForm, *, keep_invalid: bool
) -> list[FileReply]:
    """Parse all files. Raises FormatError with the problems of all files, and UsageError for an unreadable file."""
    from evaluator.judges.panel.batch_files import is_valid_vote, read_replies

    is_chat = {name: key.judge != "embed" for name, key in keys.items()}
    replies: dict[str, FileReply] = {}
    problems: list[Problem] = []
    for path in paths:
        try:
            read, faults = read_replies(path, path.read_bytes(), is_chat)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from error
        problems += faults
        for reply in read:
            earlier = replies.setdefault(reply.id, reply)
            if earlier.failure:
                replies[reply.id] = reply
            elif not reply.failure and earlier.received.text != reply.received.text:
                problems.append(_problem(reply, f"expected one reply to a request, found another at {earlier.place}"))
            if not keep_invalid and not reply.failure and is_chat[reply.id] and not is_valid_vote(reply, form):
                problems.append(_problem(reply, f"expected {_MENU[form]}, found {shown(reply.received.text)}; {_KEPT}"))
    if problems:
        raise FormatError(problems)
    return list(replies.values())


_MENU: Final = {
    ReplyForm.VERDICT: '{"reason": ..., "verdict": "yes" or "no" or "unsure"}',
    ReplyForm.TRUTH: "true or false",
}
_KEPT: Final = "with --keep-invalid this reply is stored and counts as no vote, as in a live run"


def _problem(reply: FileReply, message: str) -> Problem:
    return Problem(reply.path, reply.line, message)


def _store(cache: ReplyCache, keys: Mapping[str, ReplyKey], replies: Sequence[FileReply], form: ReplyForm) -> Imported:
    """Add the replies to the cache in one step. Skip replies with a key that is in the cache."""
    from evaluator.judges.panel.batch_files import is_valid_vote

    imported = Imported(failed=[reply for reply in replies if reply.failure])
    fresh = []
    for reply in replies:
        key, received = keys[reply.id], reply.received
        if reply.failure:
            continue
        if cache.find(key) is not None:
            imported.known += 1
            continue
        if key.judge != "embed" and not is_valid_vote(reply, form):
            imported.invalid.append(reply)
        tokens_in, tokens_out = received.tokens or (0, 0)
        # no file tells the price of a batch
        fresh.append(
            Reply(
                format=1,
                **key._asdict(),
                text=received.text,
                plain=reply.plain,
                finish=received.finish,
                input_tokens=tokens_in,
                output_tokens=tokens_out,
            )
        )
    if fresh:
        cache.add_all(fresh)
    imported.added = len(fresh)
    return imported
