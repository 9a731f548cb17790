"""Any history of a partition, against models that keep one row for each batch and each record.

The first implements KIP-98's rules for sequences.  The others keep every record with its transaction and compute the
visible records, in the marker and in the sidecar buffer; the partition's classes must agree with them after every
step, and a reader from any offset with any number of bytes at a time must get the same.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
import redis
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.errors import OffsetOutOfRange, TransactionEnded
from redis_ledger.ids import TxnId
from redis_ledger.ledger import reader as partitions
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.ledger.entries import is_aborted
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.release_sidecar import release_sidecar
from redis_ledger.store.script_status import Status
from redis_ledger.store.store import Store
from redis_ledger.txn.coordinator import Decision, Participant
from redis_ledger.txn.participants import Participants
from redis_ledger.txn.states import TxnState
from tests.support.examples import examples
from tests.support.ledger_scripts import Ledger
from tests.support.redis_servers import redis_server

WRAP = 2**31
TOPIC, TOPIC_ID = "orders", "t-1"
names = itertools.count()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with redis_server(unix=True) as server:
        yield server.url


# -- the window of sequences -------------------------------------------------------------------------------------------


class Window:
    """One producer on one partition, by the rules of KIP-98."""

    def __init__(self) -> None:
        self.epoch = -1
        self.kept: list[tuple[int, int, int]] = []  # first, last, offset

    def append(self, epoch: int, first: int, records: int, offset: int) -> tuple[Any, ...]:
        last = (first + records - 1) % WRAP
        if epoch < self.epoch:
            return (Status.STALE_EPOCH, self.epoch)
        if epoch == self.epoch:
            for known in self.kept[-5:]:
                if known[:2] == (first, last):
                    return (Status.DUPLICATE, known[2])
            following = (self.kept[-1][1] + 1) % WRAP
            if first != following:
                reach = 64 if len(self.kept) >= 5 else (following - self.kept[0][0]) % WRAP  # all were kept
                written = {(following - back) % WRAP for back in range(1, reach + 1)}
                covered = {(first + n) % WRAP for n in range(records)}
                return (Status.DUPLICATE_SEQUENCE,) if covered <= written else (Status.SEQUENCE_GAP, following)
        elif first != 0:
            return (Status.SEQUENCE_GAP if self.epoch >= 0 else Status.UNKNOWN_PRODUCER, 0)
        else:
            self.epoch, self.kept = epoch, []
        self.kept.append((first, last, offset))
        return (Status.OK, offset)


steps = st.one_of(
    st.tuples(st.just("next"), st.integers(1, 4), st.just(0)),
    st.tuples(st.just("next"), st.integers(1, 4), st.just(0)),
    st.tuples(st.just("again"), st.integers(1, 7), st.just(0)),  # a batch so many back
    st.tuples(st.just("shifted"), st.integers(-12, 5), st.integers(1, 4)),  # from so far behind or ahead of the next
    st.tuples(st.just("epoch"), st.sampled_from([-1, 1, 1]), st.integers(0, 1)),  # another epoch, from 0 or 1
)


@settings(max_examples=examples(300), suppress_health_check=list(HealthCheck))
@given(start=st.sampled_from([None, 7, WRAP - 3, WRAP - 20]), history=st.lists(steps, min_size=5, max_size=40))
def test_the_window_of_sequences_does_what_kip_98_says(url, start, history):
    client = redis.Redis.from_url(url)
    ledger = Ledger(client, f"w{next(names)}")
    ledger.create()
    model, end = Window(), 0
    if start is not None:  # as if the producer had come so far
        model.epoch, model.kept = 3, [(start, start, 0)]
        ledger.has_written(5, 3, start, start)
    for what, x, y in history:
        epoch, first, records = max(model.epoch, 0), (model.kept[-1][1] + 1) % WRAP if model.kept else 0, 1
        if what == "next":
            records = x
        elif what == "again" and len(model.kept) >= x:
            first, last, _ = model.kept[-x]
            records = (last - first) % WRAP + 1
        elif what == "shifted":
            first, records = (first + x) % WRAP, y
        elif what == "epoch":
            epoch, first = max(epoch + x, 0), y
        reply = ledger.append(records, pid=5, epoch=epoch, sequence=first)
        expected = model.append(epoch, first, records, end)
        event(expected[0].name)
        assert (reply[0], *map(int, reply[1:2])) == expected
        end += records if reply[0] == Status.OK else 0
        assert (ledger.next, len(ledger.payloads()), len(ledger.log())) == (
            end,
            len(ledger.log()),
            len(ledger.payloads()),
        )
    client.close()


# -- transaction buffers -----------------------------------------------------------------------------------------------


class MarkerBuffer:
    """Every record with its transaction; offsets are positions in `rows`."""

    def __init__(self) -> None:
        self.rows: list[tuple[TxnId | None, bytes]] = []  # b"" is a marker
        self.firsts: dict[TxnId, int] = {}
        self.outcome: dict[TxnId, bool] = {}
        self.marks: dict[int, int] = {}
        self.start = 0

    @property
    def stable(self) -> int:
        return min(self.firsts.values(), default=len(self.rows))

    def may_write(self, txn: TxnId) -> bool:
        return txn in self.firsts or (txn not in self.outcome and txn.serial > self.marks.get(txn.coordinator, -1))

    def write(self, txn: TxnId | None, payload: bytes, records: int) -> int:
        base = len(self.rows)
        if txn is not None:
            self.firsts.setdefault(txn, base)
        self.rows += [(txn, payload)] * records
        return base

    def end(self, txn: TxnId, commit: bool, watermark: int) -> None:
        self._mark(txn, commit)
        self.marks[txn.coordinator] = max(watermark, self.marks.get(txn.coordinator, -1))
        for each in [
            t for t in self.firsts if t.coordinator == txn.coordinator and t.serial <= self.marks[t.coordinator]
        ]:
            self._mark(each, False)

    def _mark(self, txn: TxnId, commit: bool) -> None:
        if self.firsts.pop(txn, None) is not None:
            self.rows.append((txn, b""))
            self.outcome[txn] = commit
        self.outcome.setdefault(txn, commit)

    def seen(self, offset: int) -> list[tuple[int, bytes]]:
        """(offset, payload) of what a committed reader gets from an offset on."""
        return [
            (at, payload)
            for at, (txn, payload) in enumerate(self.rows[: self.stable])
            if at >= offset and payload and (txn is None or self.outcome[txn])
        ]


class SidecarBuffer(MarkerBuffer):
    """Records of open transactions are beside the rows; a commit puts them at the end, an abort forgets them."""

    def __init__(self) -> None:
        super().__init__()
        self.aside: dict[TxnId, list[bytes]] = {}

    @property
    def stable(self) -> int:
        return len(self.rows)

    def write(self, txn: TxnId | None, payload: bytes, records: int) -> int:
        if txn is None:
            return super().write(None, payload, records)
        self.firsts.setdefault(txn, len(self.rows))
        self.aside.setdefault(txn, []).extend([payload] * records)
        return -1

    def _mark(self, txn: TxnId, commit: bool) -> None:
        if self.firsts.pop(txn, None) is not None:
            self.rows += [(txn, payload) for payload in self.aside.pop(txn) if commit]
        self.outcome.setdefault(txn, commit)


txns = st.builds(TxnId, st.sampled_from([0, 31, 32, 32767]), st.sampled_from([3, 9, 10, 2**48 - 2, 2**48 - 1]))
records_ = st.integers(1, 3)
steps_ = st.one_of(
    st.tuples(st.just("plain"), records_, st.integers(1, 3)),
    st.tuples(st.just("write"), txns, records_),
    st.tuples(st.just("write"), txns, records_),
    st.tuples(st.just("end"), txns, st.tuples(st.booleans(), st.sampled_from([-1, 0, 8, 9, 2**48 - 3]))),
    st.tuples(st.just("end"), txns, st.tuples(st.booleans(), st.just(-1))),
    st.tuples(st.just("trim"), st.integers(0, 60), st.just(0)),
    st.tuples(st.just("roll"), st.just(0), st.just(0)),
    st.tuples(st.just("release"), st.just(0), st.just(0)),
)


async def play(store: Store, history: list[tuple[str, Any, Any]], bytes_max: int, *, aside: bool) -> None:
    """aside: in the sidecar buffer."""
    store.prefix = f"b{next(names)}"
    clock, config, model = ManualClock(), Config(), SidecarBuffer() if aside else MarkerBuffer()
    partition = Partition(store, TOPIC, 0, TOPIC_ID, config, clock)
    ends = Participants(store, config, clock)
    partition._has_sidecar = aside
    assert await partition.create()
    for n, (what, x, y) in enumerate(history):
        payload = f"step {n}".encode()
        clock.advance(1)
        if what == "plain":
            futures = [partition.append(AppendRequest(payload, x, 0)) for _ in range(y)]
            assert [(await f).base_offset for f in futures] == [model.write(None, payload, x) for _ in range(y)]
        elif what == "write" and model.may_write(x):
            accepted = await partition.append(AppendRequest(payload, y, 0, producer_id=x.producer_id, epoch=0), x)
            assert accepted.base_offset == model.write(x, payload, y)
        elif what == "write":
            event("refused")
            with pytest.raises(TransactionEnded):
                await partition.append(AppendRequest(payload, y, 0, producer_id=x.producer_id, epoch=0), x)
        elif what == "end":
            commit, watermark = y
            state = TxnState.COMMITTING if commit else TxnState.ABORTING
            await ends.end(Decision(x, state, [Participant(TOPIC, TOPIC_ID, 0)], watermark))
            model.end(x, commit, watermark)
        elif what == "trim":
            start = (await partition.trim(retention_ms=-1, retention_bytes=-1, below_offset=x)).start_offset
            assert model.start <= start <= max(model.start, min(x, model.stable))
            assert start == x or x > model.stable or x <= model.start
            model.start = start
        elif what == "release":
            await release_sidecar(store, partition.keys, TOPIC, TOPIC_ID)
        else:
            await partition.roll()
            if aside:
                await partition._rotate()
        head = await partition.offsets.head()
        assert (head.start_offset, head.stable_offset, head.end_offset) == (model.start, model.stable, len(model.rows))
    for offset in range(model.start, len(model.rows) + 1):
        await compare(partition, model, offset, bytes_max)
    for outside in (model.start - 1, len(model.rows) + 1):
        with pytest.raises(OffsetOutOfRange):
            await partition.reader.read(outside, committed=True, bytes_max=bytes_max)
    event(f"aborted {sum(not commit for commit in model.outcome.values()) > 0}, open {len(model.firsts) > 0}")


async def compare(partition: Partition, model: MarkerBuffer, offset: int, bytes_max: int) -> None:
    """Reads to the end in pieces, both ways."""
    for committed in (True, False):
        seen, at = [], offset
        while True:
            read = await partition.reader.read(at, committed=committed, bytes_max=bytes_max)
            for entry, payload in zip(read.entries, read.payloads, strict=True):
                assert entry.base_offset == at or entry.base_offset <= offset <= entry.last_offset, (
                    "offsets are not dense"
                )
                at = entry.last_offset + 1
                if committed and (entry.is_marker or is_aborted(entry, read.aborted)):
                    continue
                seen += [(o, payload) for o in range(entry.base_offset, at) if o >= offset]
            if not read.entries:
                break
        assert at == max(offset, model.stable if committed else len(model.rows))
        everything = [(o, payload) for o, (_, payload) in enumerate(model.rows) if o >= offset]
        assert seen == (model.seen(offset) if committed else everything)


@pytest.fixture(scope="module")
def runner(url) -> Iterator[tuple[asyncio.Runner, Store]]:
    with asyncio.Runner() as loop:
        store = loop.run(Store.open(url))
        yield loop, store
        loop.run(store.close())


@settings(max_examples=examples(250), suppress_health_check=list(HealthCheck))
@given(
    history=st.lists(steps_, min_size=4, max_size=30),
    bytes_max=st.sampled_from([1, 25, 1000]),
    known=st.sampled_from([1, 2, 256]),
    aside=st.booleans(),
)
def test_a_reader_sees_what_the_model_sees(runner, history, bytes_max, known, aside):
    """TB-05, TB-06, TB-31, SC-03, SC-05, SC-07, SC-10, SC-14."""
    loop, store = runner
    with patch.object(partitions, "ABORTED_MAX", known):  # how much of the aborted set a read brings along
        loop.run(play(store, history, bytes_max, aside=aside))
    assert store.prefix.startswith("b")
