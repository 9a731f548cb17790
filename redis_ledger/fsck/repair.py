"""Repairs that take more than one script call.  Each is prepared from what is stored now, and is a compare-and-set.

find_open     which transaction an open row belongs to: the coordinator's rows say it
rebuild_txn   a transaction's row from its log records; its nonce from `nonces` or `ids`
end           the outcome of a transaction, carried to one partition once more
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.delay.bucket_storage import read_stored
from redis_ledger.delay.index import DelayIndex
from redis_ledger.delay.live_bitmap import CHUNK
from redis_ledger.errors import LedgerError
from redis_ledger.fsck.coordinator_facts import CoordinatorPlace, LoggedTxn, TxnRow, padded
from redis_ledger.fsck.delay_reader import delay_index
from redis_ledger.fsck.finding import Action, Edit, Guard, Write, carry_out, edit, hget
from redis_ledger.fsck.held_check import Held
from redis_ledger.fsck.partition_check import restore_open
from redis_ledger.fsck.partition_facts import LedgerRow
from redis_ledger.fsck.sidecar_repair import SidecarRepair
from redis_ledger.ids import TxnId
from redis_ledger.ledger.log_trace import OpenTransaction, open_text
from redis_ledger.ledger.place import Place
from redis_ledger.store.keys import CoordinatorKeys
from redis_ledger.store.reading import Reading
from redis_ledger.txn.coordinator import Decision, Participant, Producer
from redis_ledger.txn.participants import Participants
from redis_ledger.txn.states import TxnState


class Repairs:
    def __init__(self, reading: Reading, config: Config, clock: Clock) -> None:
        self._reading, self._config, self._clock = reading, config, clock
        self._actions: dict[str, Callable[..., Awaitable[bool]]] = {
            "find_open": self._find_open,
            "rebuild_txn": self._rebuild_txn,
            "revive": self._revive,
            "relive": self._relive,
            "kill": self._kill,
            "end": self._end,
            "restore": self._restore,
            "reindex": self._reindex,
            "bring_back": self._bring_back,
            "fill_live": self._fill_live,
            "clear_live": self._clear_live,
            "empty_closing": self._empty_closing,
            "rebuild_parts": self._rebuild_parts,
            "delay_row": self._delay_row,
            "own_aside": self._own_aside,
        }

    async def _write(self, changes: Edit) -> bool:
        return await carry_out(self._reading.store, changes)

    async def apply(self, repair: Edit | Action | None) -> bool:
        """Whether anything was written."""
        if repair is None:
            return False
        if isinstance(repair, Edit):
            return await self._write(repair)
        return await self._actions[repair.name](*repair.args)

    # -- transactions ------------------------------------------------------------------------------------------------

    async def _find_open(self, place: Place, pid: int, held: OpenTransaction, guards: tuple[Guard, ...]) -> bool:
        """The transaction of a producer: its own id, or the live one of a Kafka client with this id and epoch."""
        own = TxnId.of_producer(pid)
        k = CoordinatorKeys(self._reading.store.prefix, own.coordinator)
        serial: int | None = None
        nonce = f"@{own.serial}:{held.epoch}:"
        async for page in self._reading.rows(k.state, k.txns):
            for name, text in page:
                row = TxnRow.parse(text)
                if row is not None and (int(name) == own.serial or row.nonce.startswith(nonce)):
                    serial = int(name)
        if serial is None:
            serial = own.serial  # no coordinator has it: it is aborted as one that is not known
        row_text = open_text(held, own.coordinator, serial)
        opened, pid_name = place.keys.open, str(pid).encode()
        write = restore_open(list(guards), opened, place.keys.firsts, pid_name, row_text, held.first_offset)
        return await self._write(write)

    async def _own_aside(self, place: Place, name: bytes) -> bool:
        return await SidecarRepair(self._reading, self._clock).own(place, name)

    async def _end(self, place: Place, held: Held, is_commit: bool) -> bool:
        """Carries the outcome to the partition; a repeated end changes nothing."""
        here = Participant(place.topic, place.topic_id, place.number)
        several = [here] if held.subscription is None else [here, here._replace(subscription=held.subscription)]
        producer = None
        if held.producer_id >= 0 and held.producer_id != held.txn.producer_id:
            producer = Producer(held.producer_id, held.epoch, "")
        state = TxnState.COMMITTING if is_commit else TxnState.ABORTING
        ends = Participants(self._reading.store, self._config, self._clock)
        try:
            await ends.end(Decision(held.txn, state, several, -1, producer))
        except LedgerError:
            return False
        return True

    async def _rebuild_txn(self, place: CoordinatorPlace, serial: int, row: bytes | None, logged: LoggedTxn) -> bool:
        k = place.keys
        nonce = await self._nonce(k, serial)
        prefix = f"{serial} ".encode()
        wide = await self._reading.command(
            k.state, "ZRANGEBYLEX", k.wide, b"[" + prefix, f"({serial}!", "LIMIT", 0, 20_000
        )
        further = [member.removeprefix(prefix).decode() for member in wide or ()]
        text = logged.row(nonce, further, self._clock.now_ms())
        guards = [hget(k.txns, serial, row), hget(k.outcomes, serial, None)]
        return await self._write(edit(
                guards, ("HSET", k.txns, serial, text.text), ("ZADD", k.order, 0, padded(serial)),
                ("ZADD", k.deadlines, text.deadline, serial),
            )
        )  # fmt: skip

    async def _nonce(self, k: CoordinatorKeys, serial: int) -> str:
        wanted = str(serial).encode()
        async for page in self._reading.rows(k.state, k.nonces):
            for nonce, value in page:
                if value == wanted:
                    return nonce.decode()
        async for page in self._reading.rows(k.state, k.ids):
            for name, row in page:
                words = row.decode(errors="replace").split(" ")
                if len(words) == 9 and words[3] == str(serial):
                    return f"@{words[0]}:{words[1]}:{name.decode()}"
        return "-"

    # -- transaction log ---------------------------------------------------------------------------------------------

    async def _revive(self, place: CoordinatorPlace, serial: int, positions: list[str]) -> bool:
        return await self._set_bits(place, positions, "1", [])

    async def _kill(self, place: CoordinatorPlace, serial: int, row: bytes | None, positions: list[str]) -> bool:
        return await self._set_bits(place, positions, "0", [hget(place.keys.txns, serial, row)])

    async def _set_bits(self, place: CoordinatorPlace, positions: list[str], bit: str, guards: list[Guard]) -> bool:
        """An entry without a live record is deleted with its bits, as lua/include/txn_write does."""
        k, by_entry = place.keys, dict[str, list[int]]()
        for position in positions:
            entry, _, at = position.partition(":")
            by_entry.setdefault(entry, []).append(int(at))
        has_written = False
        for entry, numbers in by_entry.items():
            stored = await self._reading.command(k.state, "HGET", k.live, entry)
            if stored is None:
                continue
            bits = [*stored.decode()]
            for number in numbers:
                if number <= len(bits):
                    bits[number - 1] = bit
            text = "".join(bits)
            writes = [Write("HSET", k.live, (entry, text))]
            if "1" not in text:
                writes = [Write("HDEL", k.live, (entry,)), Write("XDEL", k.log, (f"{entry}-1",))]
            has_written |= await self._write(Edit((*guards, hget(k.live, entry, stored)), tuple(writes)))
        return has_written

    async def _relive(self, place: CoordinatorPlace, number: str, bits: bytes | None, records: int) -> bool:
        """Bits of a log entry that has none, or a wrong number: records of live transactions are alive."""
        k, alive = place.keys, set[str]()
        async for page in self._reading.rows(k.state, k.txns):
            for _, text in page:
                row = TxnRow.parse(text)
                alive.update(each for each in (row.positions if row is not None else ()))
        right = "".join("1" if f"{number}:{at}" in alive else "0" for at in range(1, records + 1))
        if not alive or "1" not in right:
            right = "1" * records if not alive else right  # without rows, all of them may be needed
        if "1" in right:
            return await self._write(edit([hget(k.live, number, bits)], ("HSET", k.live, number, right)))
        writes: list[Any] = [Write("XDEL", k.log, (f"{number}-1",))]
        if bits is not None:
            writes.append(Write("HDEL", k.live, (number,)))
        return await self._write(Edit((hget(k.live, number, bits),), tuple(writes)))

    # -- delayed records ---------------------------------------------------------------------------------------------

    def _index(self, place: Place) -> DelayIndex:
        return delay_index(self._reading, place, self._config, self._clock)

    async def _restore(self, place: Place, ledger: int) -> bool:
        await self._index(place).repairs.restore(ledger)
        return True

    async def _reindex(self, place: Place, name: str) -> bool:
        index = self._index(place)
        bucket = next((each for each in await index.storage.buckets() if each.name == name), None)
        return bucket is not None and await index.repairs.reindex(bucket)

    async def _bring_back(self, place: Place, name: str, horizon: str) -> bool:
        await self._index(place).repairs.bring_back(name, horizon)
        return True

    async def _fill_live(self, place: Place, entries: list[int]) -> bool:
        return await self._change_live(place, entries, is_set=True)

    async def _clear_live(self, place: Place, entries: list[int]) -> bool:
        return await self._change_live(place, entries, is_set=False)

    async def _change_live(self, place: Place, entries: list[int], *, is_set: bool) -> bool:
        k, by_chunk, has_written = place.keys, dict[int, list[int]](), False
        for entry in entries:
            by_chunk.setdefault(entry // CHUNK, []).append(entry % CHUNK)
        for chunk, places in by_chunk.items():
            stored = await self._reading.command(k.state, "HGET", k.delay.live, chunk)
            bits = bytearray(stored or bytes(CHUNK // 8))
            for at in places:
                bits[at >> 3] = bits[at >> 3] | 1 << (at & 7) if is_set else bits[at >> 3] & ~(1 << (at & 7))
            write = ("HSET", k.delay.live, chunk, bytes(bits)) if any(bits) else ("HDEL", k.delay.live, chunk)
            has_written |= await self._write(edit([hget(k.delay.live, chunk, stored)], write))
        return has_written

    async def _empty_closing(self, place: Place) -> bool:
        """Entries of a bucket that nothing will seal go to the queue."""
        d, has_written = place.keys.delay, False
        async for members in self._reading.members(place.keys.state, d.closing):
            for at in range(0, len(members), 100):
                some = members[at : at + 100]
                writes = [Write("ZADD", d.queue, ("NX", due, member)) for member, due in some]
                writes += [Write("ZREM", d.closing, (member,)) for member, _ in some]
                has_written |= await self._write(Edit((hget(d.state, "closing", ""),), tuple(writes)))
        return has_written

    async def _delay_row(self, place: Place, number: int, active: bytes | None) -> bool:
        """The row of a delay ledger from its stream; its count of pending entries comes with the next round."""
        k = place.keys
        key = k.data(number)
        info, newest, active = await self._reading.atomic(
            [("XINFO STREAM", key), ("XREVRANGE", key, "+", "-", "COUNT", 1), ("HGET", k.delay.state, "ledger")]
        )
        length, last = info or (0, b"0-0")
        sealed = 0 if active == str(number).encode() else 1
        if sealed and newest:
            last = newest[0][0]  # a sealed ledger may have refused entries after its last one
        issued = int(last.partition(b"-")[2])
        row = LedgerRow(issued, issued - length, sealed, -1, 0, 0, self._clock.now_ms())
        return await self._write(edit([hget(k.ledgers, number, None)], ("HSET", k.ledgers, number, row.text)))

    async def _rebuild_parts(self, place: Place, entry: int, dues: dict[int, int], is_whole: bool) -> bool:
        """Marks of an entry's records: those that are indexed by themselves are pending, the others if it is."""
        k, d = place.keys, place.keys.delay
        for ledger in [int(name) async for page in self._reading.fields(k.state, k.ledgers) for name in page]:
            if ledger >= 0:
                continue
            rows = await self._reading.command(k.state, "XRANGE", k.data(ledger), f"0-{entry}", f"0-{entry}")
            if not rows:
                continue
            indexed, stored = read_stored(ledger, entry, rows[0][1])
            is_block, marks = len(stored) > 1, list[str]()
            moved = await self._reading.command(
                k.state, "HMGET", d.moved, *(f"{entry}.{index}" for index in range(indexed.records))
            )
            for index in range(indexed.records):
                if index not in dues:
                    marks.append("1" if is_whole and not is_block else "f")
                else:
                    marks.append("b" if is_block and moved[index] is None else "m")
            writes = [Write("HSET", d.parts, (entry, "".join(marks)))]
            for index, due in dues.items():
                if marks[index] == "m" and moved[index] is None:
                    writes.append(Write("HSET", d.moved, (f"{entry}.{index}", due)))
            return await self._write(Edit((hget(d.parts, entry, None),), tuple(writes)))
        return False
