"""Joins the commits that a client has under way into few requests: group commit.

    commit ─ no request under way ─→ a request of its own, at once
           └ otherwise ─→ waits ─ it is answered, or late ─→ the next carries all that wait and fit: client/joint.py

A request of several that is refused had no effect.  Then each half is sent by itself, down to the one that is refused.
One whose answer is lost belongs to all its transactions, and a second `commit()` of any of them repeats it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial

from redis_ledger.client._async.step import AsyncStep
from redis_ledger.client._async.transport import AsyncTransport
from redis_ledger.client.concurrency import AsyncEvent, AsyncMutex, AsyncWorker, async_sleep
from redis_ledger.client.joint import Joint, Part, Places
from redis_ledger.errors import LedgerError, OutcomeUnknown, Unavailable

PATIENCE_S = 0.1  # a request that is under way for longer, or for twice as long, holds up no others
STOPPED = "The client stopped while the transaction was being committed."


class AsyncPartCommit:
    """The commit of one transaction.  Created by `AsyncJointCommits.commit`."""

    def __init__(self, commits: AsyncJointCommits, part: Part) -> None:
        self.part = part
        self.settled = AsyncEvent()
        self._commits = commits
        self._outcome: LedgerError | Places = OutcomeUnknown(STOPPED)
        self._step: tuple[AsyncStep, int] | None = None  # which carries it, and the place there

    async def execute(self) -> Places:
        """Where its records went.

        Raises OutcomeUnknown, Unavailable: it may be called again.  Any other error: it had no effect.
        """
        if self._step is None:
            await self._commits.run(self)
        else:
            await self.settled.wait()
            if isinstance(self._outcome, OutcomeUnknown):
                step, place = self._step
                self._outcome = (await step.execute())[place]
        if isinstance(self._outcome, LedgerError):
            raise self._outcome
        return self._outcome

    def start(self, step: AsyncStep, place: int) -> None:
        self._step = step, place
        self.settled.clear()

    def settle(self, outcome: LedgerError | Places) -> None:
        self._outcome = outcome
        if isinstance(outcome, Unavailable) and not isinstance(outcome, OutcomeUnknown):
            self._step = None  # nothing was done
        self.settled.set()


class AsyncJointCommits:
    """The commits of a client."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._mutex = AsyncMutex()
        self._waiting: deque[AsyncPartCommit] = deque()
        self._in_flight = 0
        self._sent = 0  # requests so far
        self._is_watched = False

    def commit(self, part: Part) -> AsyncPartCommit:
        return AsyncPartCommit(self, part)

    async def run(self, commit: AsyncPartCommit) -> None:
        """Returns when it is settled."""
        commit.settled.clear()
        with self._mutex:
            is_first = not self._in_flight
            if is_first:
                self._in_flight += 1
                self._sent += 1
            else:
                self._waiting.append(commit)
                if not self._is_watched:
                    self._is_watched = True
                    AsyncWorker(self._watch, "redis-ledger commits")
        if is_first:
            await self._send_and_continue([commit])
            return
        try:
            await commit.settled.wait()
        finally:  # the caller may have been stopped
            with self._mutex:
                if commit in self._waiting:
                    self._waiting.remove(commit)

    async def _send_and_continue(self, commits: Sequence[AsyncPartCommit]) -> None:
        try:
            await self._send(commits)
        finally:
            with self._mutex:
                self._in_flight -= 1
                if self._waiting:
                    self._send_next()

    async def _watch(self) -> None:
        """Sends the next request if the one under way is late, so that no commit waits for another topic's trouble."""
        seen = -1
        while True:
            with self._mutex:
                if not self._waiting:
                    self._is_watched = False
                    return
                if seen == self._sent:
                    self._send_next()
                seen = self._sent
            await async_sleep(PATIENCE_S)

    def _send_next(self) -> None:
        self._in_flight += 1
        self._sent += 1
        AsyncWorker(partial(self._send_and_continue, self._take()), "redis-ledger commits")

    def _take(self) -> list[AsyncPartCommit]:
        """Those that go next: the first that waits, and the others that fit."""
        joint, taken, left = Joint(), list[AsyncPartCommit](), deque[AsyncPartCommit]()
        for commit in self._waiting:
            (taken if joint.add(commit.part) else left).append(commit)
        self._waiting = left
        return taken

    async def _send(self, commits: Sequence[AsyncPartCommit]) -> None:
        outcome: LedgerError | Sequence[Places] = OutcomeUnknown(STOPPED)
        try:
            step = AsyncStep(self._transport, [commit.part for commit in commits])
            for place, commit in enumerate(commits):
                commit.start(step, place)
            outcome = await step.execute()
        except LedgerError as error:
            outcome = error
        finally:
            is_refused = isinstance(outcome, LedgerError) and not isinstance(outcome, Unavailable)
            if len(commits) == 1 or not is_refused:
                for place, commit in enumerate(commits):
                    commit.settle(outcome if isinstance(outcome, LedgerError) else outcome[place])
        if len(commits) > 1 and is_refused:
            half = len(commits) // 2
            await self._send(commits[:half])
            await self._send(commits[half:])
