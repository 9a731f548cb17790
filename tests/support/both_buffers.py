"""The same records in a topic of each transaction buffer, and what committed readers must get of both.

written    a  b·t1  c  d·t2        t2 committed, t1 is still open
sidecar    a  c  d                 in the order of the appends and commits; no reader waits for t1
marker     a                       in the order of the appends, up to the first record of an open transaction
"""

from __future__ import annotations

from redis_ledger.broker.broker import Broker
from redis_ledger.ids import TxnId
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from tests.support.broker import records, values_of

MARKER, SIDECAR = "in-marker", "in-sidecar"  # the topics


class BothBuffers:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._written: list[tuple[TxnId | None, str]] = []
        self._committed: list[str] = []
        self._aborted: set[TxnId] = set()
        self.open: dict[TxnId, list[str]] = {}

    async def create(self) -> None:
        for topic, buffer in ((MARKER, "marker"), (SIDECAR, "sidecar")):
            await self._broker.topics.create(topic, settings={TXN_BUFFER: BUFFERS[buffer]})

    async def begin(self) -> None:
        self.open[(await self._broker.transactions.begin()).id] = []

    async def write(self, txn: TxnId | None, *values: str) -> None:
        for topic in (MARKER, SIDECAR):
            await self._broker.records.produce(topic, records(*values), transaction=txn)
        self._written += [(txn, value) for value in values]
        (self._committed if txn is None else self.open[txn]).extend(values)

    async def end(self, txn: TxnId, *, commit: bool) -> None:
        transactions = self._broker.transactions
        await (transactions.commit if commit else transactions.abort)(txn)
        values = self.open.pop(txn)
        if commit:
            self._committed += values
        else:
            self._aborted.add(txn)

    async def compare(self) -> int:
        """Reads both; returns the number of records that wait for an open transaction in the marker buffer."""
        first_open = next((n for n, (txn, _) in enumerate(self._written) if txn in self.open), len(self._written))
        decided = [value for txn, value in self._written[:first_open] if txn not in self._aborted]
        aside, marked = await values_of(self._broker, SIDECAR), await values_of(self._broker, MARKER)
        assert aside == self._committed
        assert marked == decided
        assert set(marked) <= set(aside)
        return len(aside) - len(marked)
