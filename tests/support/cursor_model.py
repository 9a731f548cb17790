"""A model of subscriptions that keeps one state for each offset, without ranges, bitmaps or spans.

    DONE | Leased(consumer, times, deadline) | Held(transaction, times)        absent: never dispatched

Each method returns what the script of that name returns: a status if it refuses, else the number of offsets.  Who owns
an exclusive or failover subscription is in tests/support/owner_model.py.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import ACK_TIMEOUT
from tests.support.owner_model import Owner

DONE = "done"
UNASSIGNED = ("", "%")  # of %, the last delivery does not count


class Leased(NamedTuple):
    consumer: str
    times: int
    deadline: int


class Held(NamedTuple):
    txn: str
    times: int


class Model:
    def __init__(self, kind: str, start: int) -> None:
        self.kind, self.read = kind, start
        self.at: dict[int, Any] = {}
        self._done_below = start
        self.owner = Owner(kind) if kind in ("exclusive", "failover") else None
        self.epoch = 0  # of the last receive
        self.last_consumer, self.taken = "", 0
        self.request_of: dict[int, str] = {}  # of leases
        self.attempts: dict[tuple[str, str], int] = {}  # consumer, request → the last attempt that was not the first
        self.is_more = False
        self.ahead = set[int]()  # acknowledged from `read` on, by a snapshot
        self.upto: dict[str, int] = {}  # cumulative: transaction → offset

    @property
    def mark(self) -> int:
        """What is below it is forgotten, so that gaps of thousands of offsets are passed once."""
        while self._done_below < self.read and self.at.get(self._done_below) in (None, DONE):
            self.at.pop(self._done_below, None)
            self._done_below += 1
        return self._done_below

    def is_reserved(self, offset: int) -> bool:
        state = self.at.get(offset)
        has_consumer = isinstance(state, Leased) and state.consumer not in UNASSIGNED
        return has_consumer and self.request_of.get(offset, "").startswith("~")

    def trim(self, start: int) -> None:
        self.read = max(self.read, start)
        self.at.update({o: DONE for o in self.at if o < start})

    def receive(
        self,
        consumer: str,
        most: int,
        after: int | None,
        now: int,
        log: Any,
        what: dict[int, str],
        request: str = "",
        attempt: int = 0,
    ) -> Any:
        """after None: not given; else leases of the consumer beyond it were not received and keep their count.
        request, attempt: leases of earlier attempts become leases of this one."""
        has, unseen = -1 if after is None else after, after is not None
        if self.owner and self.owner.epochs.get(consumer, -1) < self.epoch:
            return Status.NOT_OWNER
        if request and attempt < self.attempts.get((consumer, request), 0):
            return {}
        if attempt:
            self.attempts = {k: v for k, v in self.attempts.items() if k[0] != consumer} | {
                (consumer, request): attempt
            }
        self.trim(log.start)
        if self.owner:
            self.epoch = self.owner.epochs[consumer]
            self.owner.heard(consumer, now)
            if self.last_consumer != consumer:
                self.last_consumer, self.taken, has, unseen = consumer, self.read, -1, False
        mine, counts = dict[int, int](), dict[int, int]()
        for o, s in self.at.items():
            if isinstance(s, Leased):
                is_own, is_due = s.consumer == consumer, s.deadline <= now
                is_of_it = attempt > 0 and is_own and self.request_of.get(o) == request
                if not self.owner and is_of_it:
                    mine[o] = s.times
                elif is_due or (self.owner and o > has and s.consumer not in UNASSIGNED):
                    keeps = self.owner and o > has and is_own and (unseen or is_of_it)
                    counts[o] = s.times + (0 if keeps or s.consumer == "%" or self.is_reserved(o) else 1)
        room = max(most - len(mine), 0)
        got = mine | {o: counts[o] for o in sorted(counts)[:room]}
        self.is_more = len(counts) > room
        while self.read < log.stable and (self._passes(what) or len(got) < most):
            if not self._passes(what):
                got[self.read] = 0
            self.at[self.read] = DONE
            self.read += 1
        self.is_more = self.is_more or self.read < log.stable
        self.at.update({o: Leased(consumer, count, now + ACK_TIMEOUT) for o, count in got.items()})
        self.request_of.update(dict.fromkeys(got, request))
        return got

    def _passes(self, what: dict[int, str]) -> bool:
        return what[self.read] != "data" or self.read in self.ahead

    def _refused(self, offsets: list[int], consumer: str) -> Status | None:
        if max(offsets) >= self.read:
            return Status.NOT_DELIVERED
        states = [self.at.get(o, DONE) for o in offsets]
        if any(isinstance(s, Leased) and s.consumer not in (*UNASSIGNED, consumer) for s in states):
            return Status.NOT_LEASED
        return None

    def ack(self, offsets: list[int], consumer: str) -> Any:
        refused = self._refused(offsets, consumer)
        if refused is None:
            self.at.update({o: DONE for o in offsets if not isinstance(self.at.get(o, DONE), Held)})
            return sum(self.at[o] == DONE for o in offsets)
        return refused

    def _not_cumulative(self, offset: int) -> Status | None:
        if not self.owner:
            return Status.WRONG_KIND
        return Status.NOT_DELIVERED if offset >= self.read else None

    def _unconfirmed(self, offset: int, consumer: str) -> Status | None:
        for o in sorted(self.at):
            s = self.at[o]
            if o <= offset and isinstance(s, Leased):
                if s.consumer not in (*UNASSIGNED, consumer):
                    return Status.NOT_LEASED
                if s.consumer == "%" or (s.consumer == "" and o < self.taken):
                    return Status.NOT_DELIVERED
        return None

    def ack_cumulative(self, offset: int, consumer: str) -> Any:
        refused = self._not_cumulative(offset) or self._unconfirmed(offset, consumer)
        if refused is not None:
            return refused
        mine = [o for o, s in self.at.items() if o <= offset and isinstance(s, Leased)]
        self.at.update(dict.fromkeys(mine, DONE))
        return len(mine)

    def _hold(self, offsets: list[int], txn: str) -> None:
        leased = {o: self.at[o] for o in offsets if isinstance(self.at.get(o), Leased)}
        self.at.update({o: Held(txn, s.times) for o, s in leased.items()})

    def hold(self, txn: str, offsets: list[int], consumer: str) -> Any:
        refused = self._refused(offsets, consumer)
        if refused is not None:
            return refused
        states = [self.at.get(o, DONE) for o in offsets]
        if any(s == DONE or (isinstance(s, Held) and s.txn != txn) for s in states):
            return Status.TXN_CONFLICT
        self._hold(offsets, txn)
        return len(offsets)

    def hold_cumulative(self, txn: str, offset: int, consumer: str) -> Any:
        refused = self._not_cumulative(offset)
        if refused is not None:
            return refused
        held = {o: s.txn for o, s in self.at.items() if isinstance(s, Held)}
        upto = {t: o for t, o in self.upto.items() if t in held.values()}  # a trim may have taken all that one held
        if offset == self.upto.get(txn):
            return len([o for o, t in held.items() if t == txn])
        if offset < self.mark or offset <= upto.get(txn, -1) or upto.keys() - {txn}:
            return Status.TXN_CONFLICT
        if any(o <= offset and t != txn for o, t in held.items()):
            return Status.TXN_CONFLICT
        refused = self._unconfirmed(offset, consumer)
        if refused is not None:
            return refused
        self._hold([o for o in self.at if o <= offset], txn)
        self.upto[txn] = offset
        return sum(isinstance(s, Held) and s.txn == txn for s in self.at.values())

    def settle(self, txn: str, commit: bool, now: int) -> int:
        mine = {o: s for o, s in self.at.items() if isinstance(s, Held) and s.txn == txn}
        self.at.update({o: DONE if commit else Leased("", s.times, now) for o, s in mine.items()})
        self.upto.pop(txn, None)
        return len(mine)

    def nack(self, offsets: list[int] | None, consumer: str, due: int) -> int:
        mine = {o: s for o, s in self.at.items() if isinstance(s, Leased) and s.consumer == consumer}
        mine = {o: s for o, s in mine.items() if offsets is None or o in offsets}
        unseen = {o for o in mine if offsets is None and self.is_reserved(o)}
        self.at.update({o: Leased("%" if o in unseen else "", s.times, due) for o, s in mine.items()})
        return len(mine)

    def extend(self, offsets: list[int] | None, consumer: str, until: int) -> list[int]:
        mine = {o: s for o, s in self.at.items() if isinstance(s, Leased) and s.consumer == consumer}
        mine = {o: s for o, s in mine.items() if offsets is None or o in offsets}
        self.at.update({o: Leased(consumer, s.times, max(s.deadline, until)) for o, s in mine.items()})
        if offsets is not None:
            self.request_of.update(dict.fromkeys(mine, ""))
        return sorted(mine)

    def leave(self, consumer: str) -> None:
        """Its leases stay, until their time is over or the next owner takes them."""
        if self.owner:
            self.owner.leave(consumer)

    def snapshot(self) -> tuple[int, set[int]]:
        """The mark, and what is acknowledged beyond it."""
        done = {o for o, s in self.at.items() if s == DONE} | {o for o in self.ahead if o >= self.read}
        return self.mark, {o for o in done if o >= self.mark}

    def seek(self, to: int, acked: Collection[int] = ()) -> None:
        self.read, self.at, self._done_below, self.taken, self.ahead = to, {}, to, to, set(acked)
        self.upto.clear()
