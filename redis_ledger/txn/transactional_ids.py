"""Transactional ids: the producer id and epoch of each, and its open transaction.

    transactional id ─ hash ─▶ coordinator ─▶ (number, epoch) ─▶ serial of the open transaction

Maps producer id and epoch to the serial of a transaction.  A new producer of the same id raises the epoch, which fences
the old producer and aborts its open transaction.  Producers with transaction.version 2 get a new epoch at every end.
A repeated request gets the same response.
Source: KIP-98, KIP-360, KIP-890; lua/include/transactional_ids.lua.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from redis_ledger.errors import (
    InvalidRequest,
    InvalidTxnStatus,
    LedgerError,
    ProducerFenced,
    StaleEpoch,
    StoreUnavailable,
    TooManyTransactions,
    Unavailable,
    UnknownTransactionalId,
)
from redis_ledger.ids import NO_PRODUCER, TxnId
from redis_ledger.ledger.registration import Registration
from redis_ledger.store.keys import CatalogKeys, encode_name
from redis_ledger.store.script_status import Status
from redis_ledger.store.store import Store
from redis_ledger.telemetry import tracing
from redis_ledger.txn.coordinator import (
    Coordinators,
    Decision,
    Participant,
    encode_participants,
    places_of,
    split_participants,
)
from redis_ledger.txn.end_at_once import EndAtOnce
from redis_ledger.txn.operations import Coordinator, OperationName, Reply

COORDINATORS_PER_PRIMARY = 4
NAME_LENGTH_MAX, EPOCH_MAX = 32_767, 32_767
NO_SERIAL = "-"  # stands for a transaction that is not known
FOREIGN = "?"  # stands for a producer id of another coordinator: no identity has it


class ProducerIdentity(NamedTuple):
    """The current identity of a producer, and the decision that is still to be applied, if any."""

    producer_id: int
    epoch: int
    decision: Decision | None


class TransactionalIdRecord(NamedTuple):
    """A transactional id as stored.  txn: its last transaction.  decided: C or A, as its producer ended it; "-" if it
    has not."""

    transactional_id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    txn: TxnId | None
    decided: str
    used_ms: int


class TransactionalIds:
    def __init__(self, store: Store, coordinators: Coordinators) -> None:
        self._store, self._coordinators = store, coordinators
        self._spread = 0

    async def open(self) -> None:
        """Transactional ids hash over a fixed number of coordinators, stored at the first start: a few for each
        primary, since transactions of one coordinator share its calls."""
        k = CatalogKeys(self._store.prefix)
        count = min(len(self._coordinators), COORDINATORS_PER_PRIMARY * self._store.primaries)
        await self._store.write_allow_oom("HSETNX", k.state, "identities", count)
        self._spread = int(await self._store.command("HGET", k.state, "identities", key=k.state))

    def coordinator(self, transactional_id: str) -> Coordinator:
        number = zlib.crc32(transactional_id.encode()) % self._spread
        return self._coordinators.of(TxnId(number, 0))

    async def init(self, transactional_id: str, timeout_ms: int, producer_id: int, epoch: int) -> ProducerIdentity:
        """The new identity.  producer_id, epoch: the producer's current ones; -1, -1 for a new producer.

        An unknown transactional id gets a new producer id in any case.
        Raises ProducerFenced if a known one has another identity.
        """
        coordinator = self.coordinator(transactional_id)
        held = "- -"
        if producer_id != NO_PRODUCER:
            txn = TxnId.of_producer(producer_id)
            held = f"{txn.serial if txn.coordinator == coordinator.number else FOREIGN} {epoch}"
        reply = await coordinator.submit("init_id", encode_name(transactional_id), f"{timeout_ms} {held}")
        return _identified(coordinator, transactional_id, reply)

    async def add(
        self, transactional_id: str, producer_id: int, epoch: int, participants: Sequence[Participant]
    ) -> TxnId:
        """Registers participants with the open transaction; begins one if there is none.
        Raises ProducerFenced, UnknownTransactionalId, TooManyTransactions."""
        return await self._named("add_by_id", transactional_id, producer_id, epoch, participants)

    @property
    def is_one_server(self) -> bool:
        return self._coordinators.of(TxnId(0, 0)).is_one_server

    def writes_at_once(self, transactional_id: str) -> bool:
        """Whether a request to the coordinator is sent now, since Redis can be reached and accepts writes."""
        return self._store.writes_at_once(self.coordinator(transactional_id).keys.state)

    async def add_ahead(
        self, transactional_id: str, producer_id: int, epoch: int, participants: Sequence[Participant]
    ) -> Registration:
        """As `add`, and returns when the request has been sent: an append that is sent now is executed after it.

        Only where one server has all keys, and for REGISTERED_AT_ONCE participants at most.  Raises
        UnknownTransactionalId, StoreUnavailable; the transaction has the other errors.
        """
        coordinator = self.coordinator(transactional_id)
        number = self._number(coordinator, transactional_id, producer_id, epoch)
        loop = asyncio.get_running_loop()
        sent: asyncio.Future[tuple[int, int]] = loop.create_future()
        txn: asyncio.Future[TxnId] = loop.create_future()

        def on_sent(call: int, place: int) -> None:
            if not sent.done():
                sent.set_result((call, place))

        def on_reply(done: asyncio.Future[Reply]) -> None:
            try:
                txn.set_result(_added(coordinator, transactional_id, done.result()))
            except Exception as error:  # noqa: BLE001 - it is the answer of the append
                txn.set_exception(error)
                txn.exception()  # the append may fail for another reason, and then it is not awaited
            if not sent.done():  # it could not be sent
                sent.set_exception(txn.exception() or StoreUnavailable())

        rest = f"{number} {epoch} {encode_participants(participants)}"
        coordinator.submit("add_by_id", encode_name(transactional_id), rest, on_sent=on_sent).add_done_callback(
            on_reply
        )
        call, place = await sent
        return Registration(coordinator.number, coordinator.keys.calls, coordinator.broker, call, place, txn)

    async def verify(
        self, transactional_id: str, producer_id: int, epoch: int, participants: Sequence[Participant]
    ) -> TxnId:
        """The open transaction if all of these are registered with it, else raises InvalidTxnStatus."""
        return await self._named("verify_by_id", transactional_id, producer_id, epoch, participants)

    async def end(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        commit: bool,
        bump: bool,
        known: tuple[TxnId, Iterable[Participant]] | None = None,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> ProducerIdentity:
        """Decides the transaction; the caller applies the decision.  bump: return the next epoch.  Raises
        InvalidTxnStatus if it contradicts an earlier decision, ProducerFenced, UnknownTransactionalId, Unavailable.

        known: the open transaction and its participants, as far as they are known; it may have ended then, without a
        decision that is still to be applied (txn/end_at_once.py).
        is_wanted: whether the producer still waits for the end.  Without bump, the request to the coordinator names the
        transaction, so that it never ends the next one, however late it is carried out.  If another one is open than
        the known one, that one is ended only if the producer still waits after it was looked up.
        """
        coordinator = self.coordinator(transactional_id)
        number = self._number(coordinator, transactional_id, producer_id, epoch)
        name, asked = encode_name(transactional_id), f"{number} {epoch} {'C' if commit else 'A'} {int(bump)}"
        end = None if known is None else EndAtOnce(known[0].serial, producer_id, places_of(known[1]))
        serial = NO_SERIAL if known is None else known[0].serial
        reply = await coordinator.submit_end("end_by_id", name, f"{asked} {serial}", end)
        if reply.status == Status.TXN_STATUS and reply.fields[0] == "other":
            if not is_wanted():
                raise Unavailable(f"{transactional_id!r}: the producer no longer waits for the end of its transaction.")
            end = None
            reply = await coordinator.submit("end_by_id", name, f"{asked} {reply.fields[1]}")
        identity = _identified(coordinator, transactional_id, reply)
        if end is not None and known is not None and tracing.tracer is not None:
            end.trace(known[0], transactional_id)
        return identity

    async def get(self, transactional_id: str) -> TransactionalIdRecord | None:
        coordinator = self.coordinator(transactional_id)
        name = encode_name(transactional_id)
        row = await self._store.command("HGET", coordinator.keys.ids, name, key=coordinator.keys.state)
        return None if not row else _identity(coordinator.number, name, row)

    async def all(self, coordinator: Coordinator) -> list[TransactionalIdRecord]:
        """Every transactional id of a coordinator.  Cost: O(n), in steps of 1000."""
        k, cursor, found = coordinator.keys, b"0", []
        while True:
            cursor, rows = await self._store.command("HSCAN", k.ids, cursor, "COUNT", 1000, key=k.state)
            pairs = zip(rows[::2], rows[1::2], strict=True)
            # "" is the sentinel, "=" begins the names of txn/commit_all.
            found += [_identity(coordinator.number, name.decode(), row) for name, row in pairs if name[:1] not in b"="]
            if cursor == b"0":
                return found

    async def forget(self, coordinator: Coordinator, identity: TransactionalIdRecord) -> None:
        """Removes the id unless it was used since, or its last transaction has not ended."""
        number = TxnId.of_producer(identity.producer_id).serial
        rest = f"{number} {identity.epoch} {identity.used_ms}"
        await coordinator.submit("forget_id", encode_name(identity.transactional_id), rest)

    # -- steps -------------------------------------------------------------------------------------------------------

    def _number(self, coordinator: Coordinator, transactional_id: str, producer_id: int, epoch: int) -> int:
        """Validates the arguments: the script must not raise, since its call carries operations of other producers
        too."""
        if not 0 < len(transactional_id) <= NAME_LENGTH_MAX:
            raise InvalidRequest(f"A transactional id has 1 to {NAME_LENGTH_MAX} characters.")
        if not 0 <= epoch <= EPOCH_MAX:
            raise StaleEpoch(f"{transactional_id!r}: {epoch} is not a valid epoch; get one with InitProducerId.")
        txn = TxnId.of_producer(producer_id)
        if producer_id < 0 or txn.coordinator != coordinator.number:
            raise UnknownTransactionalId(
                f"{transactional_id!r} does not have producer id {producer_id}; get its id with InitProducerId."
            )
        return txn.serial

    async def _named(
        self,
        name: OperationName,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        participants: Sequence[Participant],
    ) -> TxnId:
        coordinator = self.coordinator(transactional_id)
        number = self._number(coordinator, transactional_id, producer_id, epoch)
        found = set[TxnId]()
        for some in split_participants(participants):
            rest = f"{number} {epoch} {encode_participants(some)}"
            found.add(
                _added(
                    coordinator, transactional_id, await coordinator.submit(name, encode_name(transactional_id), rest)
                )
            )
        if len(found) > 1:
            raise InvalidTxnStatus(f"{transactional_id!r} has ended its transaction while partitions were added to it.")
        return found.pop()


def _identified(coordinator: Coordinator, transactional_id: str, reply: Reply) -> ProducerIdentity:
    if reply.status != Status.OK:
        raise _refusal(transactional_id, reply.status, reply.fields)
    number, epoch, *open_end = reply.fields
    producer_id = TxnId(coordinator.number, int(number)).producer_id
    decision = None
    if open_end:
        serial, *decided = open_end
        decision = Decision.decode(TxnId(coordinator.number, int(serial)), decided, reply.watermark)
    return ProducerIdentity(producer_id, int(epoch), decision)


def _added(coordinator: Coordinator, transactional_id: str, reply: Reply) -> TxnId:
    if reply.status != Status.OK:
        raise _refusal(transactional_id, reply.status, reply.fields)
    return TxnId(coordinator.number, int(reply.fields[0]))


def _refusal(transactional_id: str, status: int, fields: Sequence[str]) -> LedgerError:
    if status == Status.STALE_EPOCH:
        return ProducerFenced(f"{transactional_id!r}: the producer was fenced by epoch {fields[0]}; close it.")
    if status == Status.UNKNOWN_PRODUCER:
        return UnknownTransactionalId(f"{transactional_id!r} has another producer id; get its id with InitProducerId.")
    if status == Status.TOO_MANY:
        return TooManyTransactions()
    assert status == Status.TXN_STATUS, (status, fields)
    said = {
        "none": "has no open transaction",
        "other": "has begun another transaction",
        "unregistered": "has not added this partition to its transaction",
        "C": "has committed its transaction",
        "A": "has aborted its transaction, or it timed out",
    }
    return InvalidTxnStatus(f"{transactional_id!r} {said.get(fields[0], fields[0])}.")


def _identity(coordinator: int, name: str, row: bytes) -> TransactionalIdRecord:
    """row: its form is in lua/include/transactional_ids.lua."""
    number, epoch, timeout, serial, decided, _, _, _, used, *_ = row.decode().split(" ")
    txn = None if serial == "-" else TxnId(coordinator, int(serial))
    producer_id = TxnId(coordinator, int(number)).producer_id
    return TransactionalIdRecord(unquote(name), producer_id, int(epoch), int(timeout), txn, decided, int(used))
