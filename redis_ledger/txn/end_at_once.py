"""Transactions that are decided, ended on their partitions and completed in one call, where one server has all keys.

    several slots    decide ─▶ end on each partition ─▶ done        three round trips
    one server       decide, end, done: txn/apply_and_end           one

A call carries the participants that this broker has registered, and the producer id.  The script ends a transaction
only if these are all, and it is its producer id; else it only decides it.  Both ways store the same, so that either can
complete what the other began.
Source: docs/decisions/0035.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.ids import TxnId
from redis_ledger.ledger.entries import COMMIT, MARKER, SIDECAR, TRANSACTIONAL, LogEntry
from redis_ledger.store.keys import PartitionKeys, encode_name
from redis_ledger.store.store import Store
from redis_ledger.telemetry import transaction_metrics
from redis_ledger.txn.end_span import end_span

PARTICIPANTS_MAX = 32  # of a transaction that is ended at once, and about as many in one call: some 4 ms of Redis
PARTICIPANT_BYTES = 1_000  # what a participant counts for in the size of a call
KEYS_KEPT = 10_000  # partitions whose keys are cached
_SERIES = {"C": transaction_metrics.committed, "A": transaction_metrics.aborted}
_decode_ended = msgspec.msgpack.Decoder(list[str]).decode

Place = tuple[str, str, int]  # topic, topic id, partition
MarkerWritten = Callable[[str, str, int, LogEntry], None]


@dataclasses.dataclass(slots=True)
class EndAtOnce:
    """A transaction to end, and the subscriptions at each place where it is known to take part.

    outcome: C (committed) or A (aborted) if its call has ended it
    """

    serial: int
    producer_id: int
    places: dict[Place, list[str]]
    outcome: str = ""

    def trace(self, txn: TxnId, transactional_id: str = "") -> None:
        """Adds the span of the end if the call has ended it.  Requires a tracer."""
        if not self.outcome:
            return
        with end_span(
            txn,
            is_commit=self.outcome == "C",
            participants=[_text(place, name) for place, names in self.places.items() for name in names or [""]],
            producer_id=self.producer_id,
            transactional_id=transactional_id,
        ):
            pass

    @property
    def begun_ms(self) -> int:
        return TxnId(0, self.serial).begun_ms  # any coordinator: serials follow the clock

    @property
    def participants(self) -> int:
        return sum(max(len(names), 1) for names in self.places.values())


class EndsAtOnce:
    """The part of a coordinator's call that ends transactions.

    on_marker: called with topic, topic id, partition and entry of every marker.
    """

    def __init__(self, store: Store, coordinator: int, config: Config, clock: Clock, on_marker: MarkerWritten) -> None:
        self._store, self._clock, self._on_marker = store, clock, on_marker
        self._limits = (coordinator, config.tombstone_ms)
        self._keys: dict[Place, PartitionKeys] = {}

    @staticmethod
    def is_possible(store: Store, config: Config) -> bool:
        return config.one_call_transactions and not store.topology.has_slots

    def takes(self, end: EndAtOnce) -> bool:
        """Whether a call may end the transaction.  Not if a topic requires more copies than others: operations of other
        transactions share the call and must not wait for them."""
        if end.participants > PARTICIPANTS_MAX:
            return False
        return not any(self._store.requires_more_copies(self._keys_of(place).state) for place in end.places)

    def encode(self, operations: int, ends: Sequence[EndAtOnce]) -> tuple[list[bytes], list[Any], list[Any]]:
        """KEYS of the places, and the arguments before and after the operations."""
        places = _places(ends)
        keys, args = list[bytes](), list[Any]()
        for end in ends:
            args += (end.serial, end.producer_id, TxnId.of_producer(end.producer_id).serial)
        for place, names in places.items():
            topic_id = place[1]
            k = self._keys_of(place)
            keys += k.end_keys
            for name in names:
                keys += k.sub(name).all()
            args += (_text(place, ""), topic_id, k.wake, len(names), *map(encode_name, names))
        return keys, [*self._limits, operations, len(ends), len(places)], args

    def settle(self, ends: Sequence[EndAtOnce], seconds: Sequence[float], ended: bytes, markers: bytes) -> None:
        """Sets and counts the outcomes, and passes the markers on.  seconds: how long each end took.  ended, markers:
        of the script's reply."""
        now_ms = self._clock.now_ms()
        for end, outcome, took_s in zip(ends, _decode_ended(ended), seconds, strict=True):
            end.outcome = outcome
            if outcome:
                series = _SERIES[outcome]
                series.life.observe(max(now_ms - end.begun_ms, 0) / 1000)
                series.ended(took_s, len(end.places), sum(map(len, end.places.values())))
        places, fields = list(_places(ends)), iter(_decode_ended(markers))
        for number, producer_id, epoch, commit, offset in zip(fields, fields, fields, fields, fields, strict=True):
            entry = marker_entry(offset, int(producer_id), int(epoch), commit == "1", now_ms)
            self._on_marker(*places[int(number)], entry)

    def _keys_of(self, place: Place) -> PartitionKeys:
        keys = self._keys.get(place)
        if keys is None:
            if len(self._keys) >= KEYS_KEPT:
                self._keys.clear()
            keys = self._keys[place] = PartitionKeys(self._store.prefix, place[0], place[2])
        return keys


def _text(place: Place, subscription: str) -> str:
    topic, topic_id, number = place
    return f"{topic}/{topic_id}/{number}" + (f"/{encode_name(subscription)}" if subscription else "")


def marker_entry(reply: str, producer_id: int, epoch: int, is_commit: bool, now_ms: int) -> LogEntry:
    """The entry that an end has written: a marker, or the records of the sidecar buffer, "last+records"."""
    last, _, records = reply.partition("+")
    offset = int(last)
    if records:
        first = offset - int(records) + 1
        return LogEntry(0, 0, first, int(records), 0, producer_id, epoch, -1, SIDECAR, now_ms, -1)
    flags = TRANSACTIONAL | MARKER | (COMMIT if is_commit else 0)
    return LogEntry(0, 0, offset, 1, 0, producer_id, epoch, -1, flags, now_ms, -1)


def _places(ends: Iterable[EndAtOnce]) -> dict[Place, list[str]]:
    """Every place of the transactions, each once, with the names of all subscriptions there."""
    places: dict[Place, list[str]] = {}
    for end in ends:
        for place, names in end.places.items():
            known = places.setdefault(place, [])
            known += [name for name in dict.fromkeys(names) if name not in known]
    return places
