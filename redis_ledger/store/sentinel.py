"""Finds the primary through sentinels.

    sentinels: "who is mymaster?" ──▶ address ──▶ ROLE says master? ──▶ the link

The sentinels are queried before every attempt to connect, so a failover is followed as soon as the old primary closes
the connection, stops replying, or replies READONLY.
"""

from __future__ import annotations

from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.address import Address, Target
from redis_ledger.store.connection import ask_once
from redis_ledger.store.copies import CopiesRequired
from redis_ledger.store.node import Node
from redis_ledger.store.topology import Standalone
from redis_ledger.store.watch import Watch


class Sentinel(Standalone):
    def __init__(self, watch: Watch, target: Target, prefix: str, copies: CopiesRequired | None = None) -> None:
        super().__init__(watch, target, prefix, copies)
        self._sentinels = list(target.seeds)

    def _make_link(self, watch: Watch) -> Node:
        return Node(watch, self._locate, self.conclude, name=self._target.service,
                    primary=lambda: True, inspection=self.admission, open_barrier=self.open_barrier)  # fmt: skip

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
