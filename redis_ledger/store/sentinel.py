"""Finds the primary through sentinels.

    sentinels: "who is mymaster?" ──▶ address ──▶ ROLE says master? ──▶ the link

The sentinels are queried before every attempt to connect, so a failover is followed as soon as the old primary closes
the connection, stops replying, or replies READONLY.  They are also queried once a second: after a failover that an
operator asked for, or a pause, the old primary serves for ten seconds more, until the sentinels reconfigure it.  What
it accepts in that time is lost.
"""

from __future__ import annotations

import asyncio

from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.address import Address, Target
from redis_ledger.store.connection import ask_once
from redis_ledger.store.copies import CopiesRequired
from redis_ledger.store.node import Node
from redis_ledger.store.topology import OnWait, Standalone
from redis_ledger.store.watch import Watch

FOLLOW_EVERY_S = 1.0


class Sentinel(Standalone):
    def __init__(self, watch: Watch, target: Target, prefix: str, copies: CopiesRequired | None = None) -> None:
        super().__init__(watch, target, prefix, copies)
        self._sentinels = list(target.seeds)
        self._following: asyncio.Task[None] | None = None

    async def open(self, on_wait: OnWait) -> None:
        await super().open(on_wait)
        self._following = self.loop.create_task(self._follow())

    async def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
        await super().close()

    async def _follow(self) -> None:
        """Leaves a primary that is alive, but is not the one that the sentinels name."""
        link = self._link
        while True:
            await asyncio.sleep(FOLLOW_EVERY_S)
            address = link.address
            try:
                named = await self._locate()
            except (OSError, StoreUnavailable):
                continue  # the primary is kept while no sentinel answers
            if address is not None and address is link.address and named.name != address.name:
                link.reset(ConnectionError(f"the sentinels name {named.name} as the primary"))

    def _make_link(self, watch: Watch) -> Node:
        return Node(watch, self._locate, self.conclude, name=self._target.service,
                    primary=lambda: True, inspection=self.admission,
                    scripts=self.scripts, open_barrier=self.open_barrier)  # fmt: skip

    async def _locate(self) -> Address:
        why: object = "no sentinel is named in the URL"
        question = (b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", self._target.service)
        for sentinel in tuple(self._sentinels):
            try:
                answer = await ask_once(sentinel, question, timeout_s=1.0)
            except OSError as error:
                why = f"the sentinel at {sentinel.name} does not answer: {error}"
                continue
            if not isinstance(answer, list):
                why = f"the sentinel at {sentinel.name} does not know {self._target.service!r}"
                continue
            # Query the sentinel that replied first the next time.
            self._sentinels.remove(sentinel)
            self._sentinels.insert(0, sentinel)
            return self._target.primary.at(answer[0].decode(), int(answer[1]))
        raise StoreUnavailable(f"no primary was found: {why}.")
