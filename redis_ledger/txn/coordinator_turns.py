"""Which coordinator begins the next transaction, or allocates the next producer id.

    coordinator   0      1      2      3
    node          a      b      a      c      b does not respond
    begins        1, 4          2      3      what is due at coordinator 1 begins at the next one of another node

Transactions go to one coordinator until a call with a begin is answered, then to the next.  This spreads them evenly
and still fills the batches.  What begins at a coordinator that responds too late is aborted.
Source: PIP-31 ("discover any TC"), requirement TC-05.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from redis_ledger.errors import StoreTimeout, StoreUnavailable
from redis_ledger.store.script_status import Status
from redis_ledger.store.store import Store
from redis_ledger.txn.operations import Coordinator, Reply

BEGINS_MAX = 64  # begins waiting at one coordinator before the next one gets its turn: two calls then overlap
STALLED_S = 0.5  # a coordinator whose call takes longer gets no begin while there are others
ANSWER_S = 1.0  # a begin that waits longer is repeated at a coordinator of another node


class CoordinatorTurns:
    """coordinators: all of them; the list may grow."""

    def __init__(self, store: Store, coordinators: Sequence[Coordinator]) -> None:
        self._store, self._all = store, coordinators
        self._turn = 0

    async def submit(
        self,
        name: Literal["begin", "allocate"],
        subject: str | int = "",
        rest: str = "",
        at: Coordinator | None = None,
        *,
        may_move: bool = True,
    ) -> tuple[Coordinator, Reply]:
        """Sends an operation to one coordinator, and returns the one that replied.

        at        the coordinator that is due; None: the one that has its turn
        may_move  whether another one will do if that one does not respond
        """
        first = at or self._due()
        if not may_move or not self._store.topology.has_slots:
            return self._answered(first, at, await first.submit(name, subject, rest))
        coordinators = self._responsive(first)
        coordinator, following = next(coordinators), next(coordinators, None)
        while following is not None:
            future = coordinator.submit(name, subject, rest)
            await asyncio.wait((future,), timeout=ANSWER_S)
            if not future.done():
                if name == "begin":
                    future.add_done_callback(partial(_abort, coordinator))
            elif not isinstance(future.exception(), StoreUnavailable | StoreTimeout):
                return self._answered(coordinator, at, future.result())
            coordinator, following = following, next(coordinators, None)
        return self._answered(coordinator, at, await coordinator.submit(name, subject, rest))

    def _due(self) -> Coordinator:
        coordinator = self._all[self._turn % len(self._all)]
        if coordinator.waiting < BEGINS_MAX:
            return coordinator
        self._turn += 1
        return self._all[self._turn % len(self._all)]

    def _answered(self, coordinator: Coordinator, at: Coordinator | None, reply: Reply) -> tuple[Coordinator, Reply]:
        if at is None:
            self._turn = coordinator.number + 1
        return coordinator, reply

    def _responsive(self, first: Coordinator) -> Iterator[Coordinator]:
        """Coordinators of different nodes from this one on, without those that are stalled; this one if all are."""
        nodes, number = list[object](), first.number
        for coordinator in (*self._all[number:], *self._all[:number]):
            node = self._store.turnstile(coordinator.keys.state)
            if coordinator.busy_s < STALLED_S and not any(node is each for each in nodes):
                nodes.append(node)
                yield coordinator
        if not nodes:
            yield first


def _abort(coordinator: Coordinator, future: asyncio.Future[Reply]) -> None:
    """Ends a transaction that began too late: its id was given to no caller, so it has written nothing."""
    if future.cancelled() or future.exception() is not None:
        return
    status, fields, _ = future.result()
    if status == Status.OK and len(fields) == 1:  # not one that was begun with the same nonce before
        coordinator.submit("end", fields[0], "A")
        coordinator.submit("complete", fields[0])
