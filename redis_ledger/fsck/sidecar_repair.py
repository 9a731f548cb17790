"""Gives batches of the sidecar buffer back to their transaction, or to the maintenance, which deletes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from redis_ledger.clock import Clock
from redis_ledger.errors import TransactionNotFound
from redis_ledger.fsck.coordinator_facts import TxnRow
from redis_ledger.fsck.finding import Edit, Guard, carry_out, edit, hget
from redis_ledger.fsck.sidecar_check import ABORTED, check_order, read_batches
from redis_ledger.fsck.sidecar_reader import BATCHES_MAX
from redis_ledger.ids import TxnId
from redis_ledger.ledger.open_row import Aside, OpenRow
from redis_ledger.ledger.place import Place
from redis_ledger.store.keys import CoordinatorKeys
from redis_ledger.store.reading import Reading


class SidecarRepair:
    def __init__(self, reading: Reading, clock: Clock) -> None:
        self._reading, self._clock = reading, clock

    async def own(self, place: Place, name: bytes) -> bool:
        """name: of a transaction with batches here, that is neither open nor in the log."""
        k, low, high = place.keys, b"[%s " % name, b"(%s!" % name
        read = ("ZRANGEBYLEX", k.sidecar, low, high, "LIMIT", 0, BATCHES_MAX)
        following, members = await self._reading.atomic([("HGET", k.state, "next"), read])
        guards = [hget(k.state, "next", following), Guard("ZLEXCOUNT", k.sidecar, (low, high), len(members or ()))]
        row = await self._owner(place, name, members or (), int(following or 0))
        if row is None:
            return await carry_out(self._reading.store, edit(guards, ("ZADD", k.sidecar, 0, ABORTED + name)))
        pid, opened = row
        guards.append(hget(k.open, pid, None))
        writes = (("HSET", k.open, pid, opened.text), ("ZADD", k.firsts, opened.score, pid))
        write: Edit = edit(guards, *writes)
        return await carry_out(self._reading.store, write)

    async def _owner(
        self, place: Place, name: bytes, members: Sequence[bytes], following: int
    ) -> tuple[int, OpenRow] | None:
        """The producer and the row of `open`; None if the coordinator does not know the transaction."""
        batches = read_batches(members)
        if not batches or len(members) == BATCHES_MAX or check_order(place, "", batches):
            return None
        try:
            txn = TxnId.parse(name.decode(errors="replace"))
        except TransactionNotFound:
            return None
        k = CoordinatorKeys(self._reading.store.prefix, txn.coordinator)
        text, outcome = await self._reading.atomic([("HGET", k.txns, txn.serial), ("HGET", k.outcomes, txn.serial)])
        known = TxnRow.parse(text)
        if known is None and not (outcome or b"").startswith(b"C"):
            return None
        pid, epoch = txn.producer_id, 0
        if known is not None and known.nonce.startswith("@"):  # of a Kafka client
            number, epoch_text, _ = known.nonce[1:].split(":", 2)
            pid, epoch = TxnId(txn.coordinator, int(number)).producer_id, int(epoch_text)
        aside = Aside(
            sum(batch.records for batch in batches), sum(batch.size for batch in batches), len(batches),
            self._clock.now_ms(), dict(Counter(batch.ledger for batch in batches)),
        )  # fmt: skip
        return pid, OpenRow(epoch, txn, following, aside)
