"""Ask models about undecided findings, and turn the models' votes into findings.

The panel reads every reply from the reply cache. If a reply is missing, a request adds it to the cache first. The same
case and cache therefore always give the same decision. The panel receives only undecided findings, so it cannot
overturn a judge's decision. A command passes only if more than half of all voters say yes. The models must also have
seen all data in full. A missing, unsure or invalid vote counts as neither yes nor no.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from evaluator.judges.case import Case, Executed
from evaluator.judges.panel.cached_client import CachedClient, NoReplyError
from evaluator.judges.panel.parse_reply import ReplyForm, read_reply
from evaluator.judges.panel.prompt import FIELD_CAP, Question, asks, template_digest
from evaluator.judges.panel.published_prompts import PublishedPrompts, questions_of
from evaluator.judges.panel.reply_cache import ReplyCache, ReplyKey
from evaluator.judges.panel.settings import PanelSettings
from evaluator.judges.panel.similarity import EMBEDDING, nearest_similarity
from evaluator.judges.panel.vote import CastVote, decided, finding_of, is_settled, still_open
from evaluator.judges.panel.voters import Voter, is_own, voters_for
from evaluator.judges.reasons import shown
from evaluator.judges.threshold import THRESHOLD
from evaluator.model_server.budget import Budget
from evaluator.progress import NullProgress, Progress
from evaluator.records import Finding, Outcome, canonical_json, digest_of

_NOTHING: Final = "every reference reached a limit"


@dataclass(frozen=True, slots=True)
class Undecided:
    """A finding that a judge left undecided, with its case.

    `evidence` is a digest that identifies the evidence of the candidate and the references. `own` lists the models that
    the submission declares as its own.
    """

    judge: str
    case: Case
    finding: Finding
    evidence: str
    own: tuple[str, ...] = ()


class Panel:
    """A panel of models, with the cache of their replies.

    Without the server's key (`key`), the panel sends no request and decides from the cache alone. If `computes` is
    true, it may compute embeddings on this machine. `prompts` replace the questions of their judges.
    """

    def __init__(
        self,
        settings: PanelSettings,
        reply_cache: ReplyCache,
        budget: Budget,
        progress: Progress,
        *,
        key: str | None = None,
        embeddings_key: str | None = None,
        computes: bool = False,
        prompts: PublishedPrompts | None = None,
    ) -> None:
        self.settings, self.reply_cache, self.budget, self._progress = settings, reply_cache, budget, progress
        self.prompts = prompts
        self._client = CachedClient(settings, reply_cache, budget, key, embeddings_key, computes=computes)

    @property
    def stopped(self) -> str:
        """Return the reason why the panel sends no more requests, or an empty string if it may still send requests."""
        return self._client.stopped

    @property
    def failed(self) -> bool:
        """Return whether the panel has stopped for a reason other than a spent budget."""
        return self._client.failed

    def models_of(self, judge: str) -> tuple[str, ...]:
        """Return the names of the models that decide for a judge. There may be none."""
        if judge in EMBEDDING:
            return (self.settings.embeddings.name,) if self.settings.embeddings else ()
        return tuple(model.name for model in self.settings.models) if asks(judge) else ()

    def digest(self, judge: str, own: Sequence[str]) -> str:
        """Return a digest of everything that affects the votes on a judge's findings, except the case itself."""
        embeddings = self.settings.embeddings
        voters: list[object] = [[voter.model.name, voter.seed] for voter in voters_for(self.settings, own)]
        if judge in EMBEDDING:
            voters = [embeddings.name if embeddings and not is_own(embeddings.name, own) else None, THRESHOLD]
        template = template_digest(judge, self.settings) if asks(judge) else str(FIELD_CAP)
        if self.prompts is not None:
            template += self.prompts.digest
        return digest_of(judge.encode(), canonical_json(voters), template.encode())

    def decide(self, undecided: Sequence[Undecided]) -> list[Finding]:
        """Return the panel's finding for each undecided finding, in the order of `undecided`.

        The panel asks its models in the same order. If the budget runs out, the remaining findings stay undecided. A
        finding that the panel cannot decide gives the reason. Raises InfraError if a reply cannot be written to the
        cache.
        """
        return asyncio.run(self._decide(undecided)) if undecided else []

    async def _decide(self, undecided: Sequence[Undecided]) -> list[Finding]:
        findings = [item.finding for item in undecided]
        numbers = iter(range(len(undecided)))
        progress = self._progress if self._client.is_open or self._client.computes else NullProgress()
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
            await self._client.close()
        return findings

    async def _settle(self, item: Undecided) -> Finding:
        candidate = item.case.candidate
        if item.finding.outcome is not Outcome.UNDECIDED or candidate is None:
            return item.finding
        try:
            return await (self._compare(item, candidate) if item.judge in EMBEDDING else self._poll(item))
        except NoReplyError as error:
            return still_open(item.finding, str(error))

    async def _poll(self, item: Undecided) -> Finding:
        voters = voters_for(self.settings, item.own)
        if not voters:
            raise NoReplyError("the panel has no model but the submission's own")
        findings = []
        for question in questions_of(self.prompts, item.judge, item.case, item.finding, item.evidence):
            votes = await self._votes(question, voters)
            findings.append(finding_of(item.finding, votes, len(voters), whole=question.whole))
            if findings[-1].outcome is Outcome.PASS:
                return findings[-1]
        if not findings:
            raise NoReplyError(_NOTHING)
        left_open = [finding for finding in findings if finding.outcome is Outcome.UNDECIDED]
        return (left_open or findings)[0]

    async def _votes(self, question: Question, voters: Sequence[Voter]) -> list[CastVote]:
        """Collect the voters' votes on a question until no further vote can change the outcome.

        First request as many votes as a majority needs, all at the same time. Then request the others one by one.
        """
        needed = len(voters) // 2 + 1
        votes = list(await asyncio.gather(*(self._vote(question, voter) for voter in voters[:needed])))
        for voter in voters[needed:]:
            if is_settled(votes, len(voters)):
                break
            votes.append(await self._vote(question, voter))
        return votes

    async def _vote(self, question: Question, voter: Voter) -> CastVote:
        key = ReplyKey(question.evidence, question.judge, voter.model.name, question.prompt, voter.seed)
        try:
            plain = question.form is ReplyForm.TRUTH
            reply = await self._client.chat(key, voter.model, question.messages, plain=plain)
        except NoReplyError as error:
            return CastVote(None, str(error))
        parsed = read_reply(reply.text, question.form)
        return CastVote(parsed.vote, parsed.reason if parsed.vote else f"a reply off the menu: {shown(reply.text)}")

    async def _compare(self, item: Undecided, candidate: Executed) -> Finding:
        embeddings = self.settings.embeddings
        if embeddings is None:
            raise NoReplyError("no model for embeddings is set")
        if is_own(embeddings.name, item.own):
            raise NoReplyError("the model for embeddings is the submission's own")

        async def embed(text: str) -> str:
            digest = digest_of(text.encode())
            key = ReplyKey(digest, "embed", embeddings.name, digest, self.settings.seed)
            return (await self._client.embed(key, embeddings, text)).text

        try:
            similarity = await nearest_similarity(item.judge, item.case, candidate, embed)
        except ValueError as error:
            raise NoReplyError(str(error)) from error
        if similarity is None:
            raise NoReplyError(_NOTHING)
        passes = similarity.cosine > THRESHOLD
        sentence = f"cosine {similarity.cosine:.3f} with the nearest reference; more than {THRESHOLD} passes"
        if passes and not similarity.whole:
            return still_open(item.finding, f"{sentence}, but only a part is compared")
        return decided(item.finding, Outcome.PASS if passes else Outcome.FAIL, sentence)
