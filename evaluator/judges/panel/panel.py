"""The panel: asks models about what a judge left undecided, and turns their votes into findings.

Every reply goes through the ledger, so deciding is a pure function of cases and ledger, and asking only fills
the ledger. Only undecided findings are looked at: what a judge has decided cannot be overturned here. A pass
needs more than half of all votes, and that the models saw everything whole; a vote that is missing, unsure or
off the menu is none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from evaluator.judges.case import Case, Executed
from evaluator.judges.panel.budget import Budget, BudgetSpentError
from evaluator.judges.panel.client import Answer, Client
from evaluator.judges.panel.ledger import Key, Ledger, Reply
from evaluator.judges.panel.prompt import FIELD_CAP, Question, asks, questions, template_digest, that_ended
from evaluator.judges.panel.reply import read_reply
from evaluator.judges.panel.seats import Seat, is_own, seats
from evaluator.judges.panel.settings import PanelSettings
from evaluator.judges.panel.similarity import cosine
from evaluator.judges.panel.tally import Cast, decided, finding_of, is_settled, still_open
from evaluator.judges.panel.wire import RefusedError, StoppedError
from evaluator.judges.reasons import shown
from evaluator.judges.threshold import THRESHOLD
from evaluator.progress import Progress, Silence
from evaluator.records import Finding, Outcome, Output, canonical_json, command_digest, digest_of

EMBEDDING: Final = frozenset({"embed", "exec-embed"})
"""Judges that compare embeddings; all others ask for votes."""

_NOTHING: Final = "every reference ran into a limit"


@dataclass(frozen=True, slots=True)
class Undecided:
    """A finding that a judge left open, with its case.

    `evidence` is the digest of the evidence keys of candidate and references; `own` are the models that the
    submission names as its own.
    """

    judge: str
    case: Case
    finding: Finding
    evidence: str
    own: tuple[str, ...] = ()


class _NoVoteError(Exception):
    """A vote is missing; the message says why."""


class Panel:
    """Models and their replies. Without a `key` nothing is asked and the ledger alone decides.

    `stopped` says why no more is asked, if that is so, and `failed` that it is not for the budget.
    """

    def __init__(
        self,
        settings: PanelSettings,
        ledger: Ledger,
        budget: Budget,
        progress: Progress,
        *,
        key: str | None = None,
        embeddings_key: str | None = None,
    ) -> None:
        self.settings, self.ledger, self.budget, self._progress = settings, ledger, budget, progress
        self._key, self._embeddings_key = key, embeddings_key
        self._clients: dict[str, Client] = {}
        self._waiting: dict[Key, asyncio.Future[Reply]] = {}
        self.stopped = ""
        self.failed = False

    def can_ask(self) -> bool:
        """Whether a reply that the ledger lacks may be bought."""
        return self._key is not None and not self.stopped

    def digest(self, judge: str, own: Sequence[str]) -> str:
        """Digest of everything beside the case that decides how the panel's votes on it are made."""
        embeddings = self.settings.embeddings
        voters: list[object] = [[seat.model.name, seat.seed] for seat in seats(self.settings, own)]
        if judge in EMBEDDING:
            voters = [embeddings.name if embeddings and not is_own(embeddings.name, own) else None, THRESHOLD]
        template = template_digest(judge, self.settings) if asks(judge) else str(FIELD_CAP)
        return digest_of(judge.encode(), canonical_json(voters), template.encode())

    def decide(self, undecided: Sequence[Undecided]) -> list[Finding]:
        """A finding for each, in their order: decided by the panel where it can, else undecided with the reason.

        Asks in the order given, so that what comes first is decided first where money ends. Raises InfraError
        where the ledger takes no reply.
        """
        return asyncio.run(self._decide(undecided)) if undecided else []

    async def _decide(self, undecided: Sequence[Undecided]) -> list[Finding]:
        findings = [each.finding for each in undecided]
        numbers = iter(range(len(undecided)))
        progress = self._progress if self.can_ask() else Silence()
        progress.stage("asking the panel", len(undecided))

        async def work() -> None:
            for number in numbers:
                findings[number] = await self._settle(undecided[number])
                progress.advance()
                progress.note(str(self.budget))

        tasks = [asyncio.create_task(work()) for _ in range(min(len(undecided), self.settings.concurrency))]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._close()
        return findings

    async def _close(self) -> None:
        for client in self._clients.values():
            await client.close()
        self._clients.clear()
        self._waiting.clear()

    async def _settle(self, item: Undecided) -> Finding:
        if item.finding.outcome is not Outcome.UNDECIDED or item.case.candidate is None:
            return item.finding
        try:
            if item.judge in EMBEDDING:
                return await self._compare(item, item.case.candidate)
            return await self._poll(item)
        except _NoVoteError as error:
            return still_open(item.finding, str(error))

    # -- votes

    async def _poll(self, item: Undecided) -> Finding:
        voters = seats(self.settings, item.own)
        if not voters:
            raise _NoVoteError("the panel has no model but the submission's own")
        findings = []
        asked = questions(item.judge, item.case, item.finding, item.evidence)
        if not asked:
            raise _NoVoteError(_NOTHING)
        for question in asked:
            votes = await self._votes(question, voters)
            findings.append(finding_of(item.finding, votes, len(voters), whole=question.whole))
            if findings[-1].outcome is Outcome.PASS:
                return findings[-1]
        left_open = [finding for finding in findings if finding.outcome is Outcome.UNDECIDED]
        return (left_open or findings)[0]

    async def _votes(self, question: Question, voters: Sequence[Seat]) -> list[Cast]:
        """Votes until no further one could change the outcome; the first half and one are asked for together."""
        needed = len(voters) // 2 + 1
        votes = list(await asyncio.gather(*(self._vote(question, seat) for seat in voters[:needed])))
        for seat in voters[needed:]:
            if is_settled(votes, len(voters)):
                break
            votes.append(await self._vote(question, seat))
        return votes

    async def _vote(self, question: Question, seat: Seat) -> Cast:
        key = Key(question.evidence, question.judge, seat.model.name, question.prompt, seat.seed)
        client = self._client(self.settings.base_url, self._key)
        send = None if client is None else lambda: client.chat(seat.model, question.messages, seat.seed)
        try:
            reply = await self._reply(key, send)
        except _NoVoteError as error:
            return Cast(None, str(error))
        ballot = read_reply(reply.text)
        return Cast(ballot.vote, ballot.reason if ballot.vote else f"a reply off the menu: {shown(reply.text)}")

    # -- embeddings

    async def _compare(self, item: Undecided, candidate: Executed) -> Finding:
        embeddings = self.settings.embeddings
        if embeddings is None:
            raise _NoVoteError("no model for embeddings is set")
        if is_own(embeddings.name, item.own):
            raise _NoVoteError("the model for embeddings is the submission's own")
        best, whole = -2.0, True
        for reference in that_ended(item.case):
            pairs = list(_texts(item, candidate, reference))
            least = 1.0
            for one, other in pairs:
                least = min(least, await self._similarity(one, other))
            if least > best:
                best, whole = least, all(_is_whole(*pair) for pair in pairs)
        if best < -1:
            raise _NoVoteError(_NOTHING)
        sentence = f"cosine {best:.3f} with the nearest reference; more than {THRESHOLD} passes"
        if best > THRESHOLD and not whole:
            return still_open(item.finding, f"{sentence}, but only a part is compared")
        return decided(item.finding, Outcome.PASS if best > THRESHOLD else Outcome.FAIL, sentence)

    async def _similarity(self, one: Output, other: Output) -> float:
        left, right = _head(one), _head(other)
        if one.digest == other.digest or left == right:
            return 1.0
        if not left.strip() or not right.strip():
            return 0.0
        try:
            return cosine(await self._embedding(left), await self._embedding(right))
        except ValueError as error:
            raise _NoVoteError(str(error)) from error

    async def _embedding(self, text: str) -> str:
        embeddings = self.settings.embeddings
        assert embeddings is not None  # noqa: S101 - `_compare` returned otherwise
        digest = digest_of(text.encode())
        key = Key(digest, "embed", embeddings.name, digest, self.settings.seed)
        if embeddings.base_url is None:
            client = self._client(self.settings.base_url, self._key)
        else:
            client = self._client(embeddings.base_url, self._embeddings_key or "none")
        send = None if client is None else lambda: client.embed(embeddings.model, text)
        return (await self._reply(key, send)).text

    # -- replies

    def _client(self, base_url: str, key: str | None) -> Client | None:
        if self._key is None or key is None:
            return None
        if base_url not in self._clients:
            self._clients[base_url] = Client(self.settings, base_url, key, self.budget)
        return self._clients[base_url]

    async def _reply(self, key: Key, send: Callable[[], Awaitable[Answer]] | None) -> Reply:
        """The ledger's reply, or a new one, which it then has. One that is under way is waited for."""
        known = self.ledger.find(key)
        if known is not None:
            return known
        if send is None or self.stopped:
            raise _NoVoteError(self.stopped or "the panel was not asked")
        if key in self._waiting:
            return await asyncio.shield(self._waiting[key])
        return await self._buy(key, send)

    async def _buy(self, key: Key, send: Callable[[], Awaitable[Answer]]) -> Reply:
        future = self._waiting[key] = asyncio.get_running_loop().create_future()
        try:
            reply = _as_reply(key, await send())
            self.ledger.add(reply)
            future.set_result(reply)
            return reply
        except (StoppedError, BudgetSpentError) as error:
            self.stopped = self.stopped or str(error)
            self.failed = self.failed or isinstance(error, StoppedError)
            raise self._missing(future, str(error)) from error
        except RefusedError as error:
            raise self._missing(future, str(error)) from error
        finally:
            if not future.done():
                future.cancel()
            self._waiting.pop(key, None)

    @staticmethod
    def _missing(future: asyncio.Future[Reply], why: str) -> _NoVoteError:
        error = _NoVoteError(why)
        future.set_exception(error)
        future.exception()  # nobody may be waiting
        return error


def _as_reply(key: Key, answer: Answer) -> Reply:
    return Reply(
        format=1,
        evidence=key.evidence,
        judge=key.judge,
        model=key.model,
        prompt=key.prompt,
        seed=key.seed,
        text=answer.text,
        plain=answer.plain,
        finish=answer.finish,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        usd=answer.usd,
    )


def _texts(item: Undecided, candidate: Executed, reference: Executed) -> Iterator[tuple[Output, Output]]:
    """What is compared with a reference: the commands, or the outputs of every variant."""
    if item.judge == "embed":
        yield _command(reference), _command(candidate)
        return
    for variant in item.case.variants:
        yield reference.trials[variant].first.stdout, candidate.trials[variant].first.stdout


def _command(executed: Executed) -> Output:
    command = executed.command
    return Output(data=command, size=len(command), digest=command_digest(command))


def _head(output: Output) -> str:
    return output.data[:FIELD_CAP].decode(errors="replace")


def _is_whole(one: Output, other: Output) -> bool:
    return one.digest == other.digest or max(one.size, other.size) <= FIELD_CAP
