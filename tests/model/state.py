"""What redis-ledger stores, as its users see it.  Immutable: an operation returns another State.

A topic that is deleted and created again is another topic, so everything below a topic is named by its `id`: name and
incarnation.  Records are in the order of the log.  The offset of a record is None until an answer has
shown it: from then on it never changes.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

TopicId = tuple[str, int]
Place = tuple[TopicId, int]  # topic, partition


def named(place: Place) -> str:
    """As operations touch it: whether the topic is this one, or another one of its name."""
    return f"{place[0][0]}/{place[1]}"


class Topic(NamedTuple):
    """buffer  where records of open transactions are, marker or sidecar
    counts  the numbers of partitions that it has had: a broker may know an earlier one
    limits  the limits of the bytes of a batch that it has had
    """

    id: TopicId
    partitions: int
    buffer: str = "marker"
    counts: frozenset[int] = frozenset()
    limits: frozenset[int] = frozenset()


class Record(NamedTuple):
    """txn: the transaction that is undecided here; "" if there is none, ABORTED if it was aborted."""

    value: str
    offset: int | None = None
    txn: str = ""


ABORTED = "aborted"
EXECUTED = "e"  # begins the values of `execute`, whose attempts that fail leave aborted records


class Log(NamedTuple):
    """start: records below this offset were deleted."""

    records: tuple[Record, ...] = ()
    start: int = 0


class Txn(NamedTuple):
    """status    open, committed or aborted
    places    partitions that have not applied its end
    waiting   records that have no place in a log before the commit: place, value, due time (0: now)
    offsets   of groups, which a commit stores: group, place, offset and the number of this write
    acks      of subscriptions, which a commit makes final: subscription, partition, offset
    """

    status: str = "open"
    places: frozenset[Place] = frozenset()
    waiting: tuple[tuple[Place, str, int], ...] = ()
    offsets: tuple[tuple[str, Place, int, int], ...] = ()
    acks: frozenset[tuple[tuple[TopicId, str], int, int]] = frozenset()


class Scheduled(NamedTuple):
    """state: waiting, delivered or cancelled.  is_moved: its time was changed; a list that is read meanwhile may
    lack it."""

    place: Place
    due_ms: int
    state: str = "waiting"
    is_moved: bool = False


class Subscription(NamedTuple):
    """Of the kind `shared`.  acked, leased: partition and offset, the latter with the consumer."""

    acked: frozenset[tuple[int, int]] = frozenset()
    leased: frozenset[tuple[int, int, str]] = frozenset()


@dataclass(frozen=True)
class State:
    """now_ms: the time of the event that is explained, for delivery times and for what may be read a little longer."""

    now_ms: int = 0
    topics: Mapping[str, Topic] = field(default_factory=dict)
    deleted: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # name → how often it was deleted, last when
    logs: Mapping[Place, Log] = field(default_factory=dict)
    txns: Mapping[str, Txn] = field(default_factory=dict)
    scheduled: Mapping[str, Scheduled] = field(default_factory=dict)  # by value
    subscriptions: Mapping[tuple[TopicId, str], Subscription] = field(default_factory=dict)
    # group, partition → offset, and which write of it this was: the later one wins, also at the end of a transaction
    offsets: Mapping[tuple[str, Place], tuple[int, int]] = field(default_factory=dict)
    keyed: Mapping[Any, Any] = field(default_factory=dict)  # what was carried out under an Idempotency-Key

    def put(self, table: str, key: Any, value: Any) -> State:
        """With one entry changed; None: removed."""
        entries = dict(getattr(self, table))
        if value is None:
            entries.pop(key, None)
        else:
            entries[key] = value
        changed: dict[str, Any] = {table: entries}
        return replace(self, **changed)

    @cached_property
    def fingerprint(self) -> Any:
        """Equal for states that no operation can tell apart."""
        tables = (self.topics, self.logs, self.txns, self.scheduled, self.subscriptions, self.offsets, self.keyed)
        return tuple(frozenset(table.items()) for table in tables)

    def place(self, topic: str, partition: int) -> Place | None:
        found = self.topics.get(topic)
        return (found.id, partition) if found is not None and partition < found.partitions else None

    def topic_of(self, place: Place) -> Topic | None:
        return next((t for t in self.topics.values() if t.id == place[0]), None)

    def log(self, place: Place) -> Log:
        return self.logs.get(place, Log())

    # Logs

    def append(self, place: Place, values: tuple[str, ...], base: int | None = None, txn: str = "") -> State | None:
        """base: the offset of the first one, if it is known.  None: it cannot be there."""
        log = self.log(place)
        offset, least = base, log.start
        for record in log.records:
            least = least + 1 if record.offset is None else record.offset + 1
        if base is not None and base < least:
            return None
        added = [Record(v, None if offset is None else offset + n, txn) for n, v in enumerate(values)]
        return self.put("logs", place, log._replace(records=(*log.records, *added)))

    def end_offset_least(self, place: Place) -> int:
        log = self.log(place)
        end = log.start
        for record in log.records:
            end = end + 1 if record.offset is None else record.offset + 1
        return end

    def committed(self, place: Place) -> tuple[Record, ...]:
        """What a reader of committed records gets: all below the first record of an open transaction."""
        found = []
        for record in self.log(place).records:
            if record.txn not in ("", ABORTED):
                break
            if not record.txn:
                found.append(record)
        return tuple(found)

    def read(self, place: Place, seen: list[tuple[int, str]], *, committed: bool) -> State | None:
        """The state in which the offsets of these records are known; None: a reader cannot see this.

        A reader of uncommitted records may get aborted ones, until their payload is deleted.
        """
        records, log = list(seen), self.log(place)
        learned, visible = [], set(map(id, self.committed(place)))
        for record in log.records:
            is_next = bool(records) and record.value == records[0][1] and record.offset in (None, records[0][0])
            if committed and id(record) not in visible:
                learned.append(record)
            elif is_next:
                learned.append(record._replace(offset=records.pop(0)[0]))
            elif not committed and (record.txn == ABORTED or record.value.startswith(EXECUTED)):
                learned.append(record)
            else:
                return None
        if records or not _ascends(learned):
            return None
        return self.put("logs", place, log._replace(records=tuple(learned)))

    # Transactions

    def end_here(self, key: str, place: Place) -> State:
        """A decided transaction is applied in one partition: its records, acknowledgements and offsets."""
        txn = self.txns[key]
        is_commit, state = txn.status == "committed", self
        if place in state.logs:
            mark = "" if is_commit else ABORTED
            records = [r._replace(txn=mark) if r.txn == key else r for r in self.logs[place].records]
            state = state.put("logs", place, self.logs[place]._replace(records=tuple(records)))
        here = [(value, due) for where, value, due in txn.waiting if where == place]
        if is_commit and here:
            added = state.append(place, tuple(value for value, due in here if not due))
            assert added is not None
            state = added
            for value, due in here:
                if due:
                    state = state.put("scheduled", value, Scheduled(place, due))
        if is_commit:
            for group, where, *written in txn.offsets:
                if where == place and state.offsets.get((group, place), (0, 0))[1] < written[1]:
                    state = state.put("offsets", (group, place), tuple(written))
        for name, partition, offset in txn.acks:
            if (name[0], partition) == place and is_commit and name in state.subscriptions:
                cursor = state.subscriptions[name]
                state = state.put("subscriptions", name, cursor._replace(acked=cursor.acked | {(partition, offset)}))
        left = txn._replace(
            places=txn.places - {place},
            waiting=tuple(each for each in txn.waiting if each[0] != place),
            offsets=tuple(each for each in txn.offsets if each[1] != place),
            acks=frozenset(each for each in txn.acks if (each[0][0], each[1]) != place),
        )
        return state.put("txns", key, left)

    def deliver(self, value: str) -> State:
        """A scheduled record gets its place in the log."""
        entry = self.scheduled[value]
        added = self.append(entry.place, (value,))
        assert added is not None
        return added.put("scheduled", value, entry._replace(state="delivered"))

    def moves(self, touched: Container[str]) -> list[State]:
        """What happens by itself to these places and transactions: a decided transaction is applied in a partition, a
        record that is due is delivered."""
        found = []
        for key, txn in self.txns.items():
            if txn.status != "open":
                found += [
                    self.end_here(key, place) for place in txn.places if key in touched or named(place) in touched
                ]
        due: dict[Place, list[tuple[int, str]]] = {}
        for value, entry in self.scheduled.items():
            if entry.state == "waiting" and entry.due_ms <= self.now_ms and named(entry.place) in touched:
                due.setdefault(entry.place, []).append((entry.due_ms, value))
        return [*found, *(self.deliver(min(entries)[1]) for entries in due.values())]

    def without_topic(self, name: str) -> State:
        """Everything of the topic goes with it; transactions forget it."""
        topic = self.topics[name]
        txns = {
            key: txn._replace(
                places=frozenset(p for p in txn.places if p[0] != topic.id),
                waiting=tuple(w for w in txn.waiting if w[0][0] != topic.id),
                offsets=tuple(o for o in txn.offsets if o[1][0] != topic.id),
                acks=frozenset(a for a in txn.acks if a[0][0] != topic.id),
            )
            for key, txn in self.txns.items()
        }
        return replace(
            self,
            topics={n: t for n, t in self.topics.items() if n != name},
            deleted={**self.deleted, name: (topic.id[1], self.now_ms)},
            logs={place: log for place, log in self.logs.items() if place[0] != topic.id},
            txns=txns,
            scheduled={v: s for v, s in self.scheduled.items() if s.place[0] != topic.id},
            subscriptions={n: s for n, s in self.subscriptions.items() if n[0] != topic.id},
            offsets={k: o for k, o in self.offsets.items() if k[1][0] != topic.id},
        )


def _ascends(records: list[Record]) -> bool:
    last = -1
    for record in records:
        last += 1
        if record.offset is not None:
            if record.offset < last:
                return False
            last = record.offset
    return True
