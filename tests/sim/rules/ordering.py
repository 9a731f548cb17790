"""Rules about failover and key_shared subscriptions: one active consumer, one consumer for each key, both in order.

    failover     c1 ─ 0 1 2 ──── session ends ──── c2 ─ 1 2 3     c1 acknowledged 0
    key_shared   c1 ─ k1:0 k1:2                     k1:4 goes to c1 until 0 and 2 are acknowledged or returned

Receives are requests of the consumers, so what one returns was delivered while it ran.  What a prefetching consumer
returns was delivered earlier: rules about times leave it out.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

from tests.sim.history import NEVER, History, Operation, Sighting
from tests.sim.recorder import Event
from tests.sim.rules.finding import rule

Found = Iterator[tuple[str, Sequence[Event]]]
Place = tuple[int, int]  # partition, offset
CLOCK_S_MAX = 25.0  # a clock that was 20 s ahead may have set the end of a session or of a lease
TAKEOVER_S_MAX = 2.0  # beyond two sessions
LATE_S_MAX = 15.0  # a broker may carry out a request so long after its client gave it up
SLACK_S = 1.0


class Subscription:
    """The operations on one subscription, and when its messages were acknowledged and returned."""

    def __init__(self, history: History, topic: str, name: str) -> None:
        self.topic, self.name, self._history = topic, name, history
        self.receives = sorted(self._of("receive"), key=lambda each: each.ended_at)
        self.handed_out = [each for each in self.receives if each.is_ok]
        self.answers = [each for each in self.handed_out if not each.get("prefetched")]
        self.nacks: dict[Place, list[Operation]] = defaultdict(list)
        for nack in self._of("nack"):
            for partition, offset in nack.get("ids"):
                self.nacks[partition, offset].append(nack)

    def _of(self, op: str) -> list[Operation]:
        return [
            each for each in self._history.of(op)
            if each.get("subscription") == self.name and each.get("topic") == self.topic
        ]  # fmt: skip

    @cached_property
    def calls(self) -> list[Operation]:
        return [each for op in ("receive", "ack", "nack", "close") for each in self._of(op)]

    @cached_property
    def closes(self) -> dict[str, float]:
        """Consumer → when it began to close."""
        return {each.get("consumer"): each.invoked_at for each in self._of("close")}

    @cached_property
    def acks(self) -> dict[Place, list[Operation]]:
        found: dict[Place, list[Operation]] = defaultdict(list)
        for ack in self._of("ack"):
            for partition, offset in ack.get("ids"):
                found[partition, offset].append(ack)
        return found

    @cached_property
    def _cumulative(self) -> dict[int, list[tuple[float, int]]]:
        """Partition → time and the highest offset that a cumulative acknowledgement had named by then."""
        found: dict[int, list[tuple[float, int]]] = defaultdict(list)
        for ack in sorted(self._of("ack"), key=lambda each: each.invoked_at):
            for partition, offset in ack.get("ids") if ack.get("cumulative") else ():
                before = found[partition][-1][1] if found[partition] else -1
                found[partition].append((ack.invoked_at, max(before, offset)))
        return found

    @cached_property
    def _acked_at(self) -> dict[Place, float]:
        return {place: min(self._takes_effect(ack) for ack in acks) for place, acks in self.acks.items()}

    def _takes_effect(self, ack: Operation) -> float:
        """The earliest time at which it may count; NEVER in a transaction that was not committed."""
        name = ack.get("txn")
        if name is None:
            return ack.invoked_at
        txn = self._history.txns[name]
        return NEVER if txn.outcome == "aborted" else txn.commit_invoked_at

    def may_be_acked(self, partition: int, offset: int, at: float) -> bool:
        """Whether an acknowledgement may have counted by then."""
        if self._acked_at.get((partition, offset), NEVER) < at:
            return True
        marks = self._cumulative.get(partition, [])
        number = bisect.bisect_left(marks, (at, -1))
        return number > 0 and marks[number - 1][1] >= offset

    def log(self, partition: int) -> list[Sighting]:
        return self._history.final.get((self.topic, partition), [])


def _subscriptions(history: History, sharing: str = "") -> list[Subscription]:
    names = {
        (each.get("topic"), each.get("subscription"))
        for each in history.of("receive")
        if sharing in ("", each.get("sharing"))
    }
    return [Subscription(history, topic, name) for topic, name in sorted(names)]


def _has_fault(history: History, first: float, last: float, kind: str = "") -> bool:
    """Whether a fault was there in that time."""
    return any(each.startswith(kind) and begin <= last and end >= first for each, begin, end in history.faults)


@rule
def two_active_consumers(history: History) -> Found:
    """Two consumers of a failover subscription get messages only if one has closed, or if its session has ended.

    A broker extends a session at least once in a third of it, so the calls are two thirds of a session apart."""
    limit = history.session_s * 2 / 3
    for subscription in _subscriptions(history, "failover"):
        answers = sorted((each for each in subscription.answers if each.get("records")), key=lambda e: e.invoked_at)
        for number, first in enumerate(answers):
            for second in answers[number + 1 :]:
                if second.invoked_at - first.invoked_at >= limit:
                    break
                its = (first, second)
                last = max(each.ended_at for each in its)
                closed = min(subscription.closes.get(each.get("consumer"), NEVER) for each in its)
                if first.get("consumer") == second.get("consumer") or closed <= last:
                    continue
                is_close = second.ended_at - first.invoked_at < limit and first.ended_at - second.invoked_at < limit
                is_excused = any(history.may_be_lost(each.invoked_at) for each in its) or _has_fault(
                    history, first.invoked_at - history.session_s, last, "clock."
                )
                if is_close and not is_excused:
                    names = f"{first.get('consumer')} and {second.get('consumer')}"
                    yield f"{subscription.name} delivered to {names} within a session", first.events + second.events


@rule
def takeover_skipped(history: History) -> Found:
    """A consumer of a failover subscription gets a record after every record before it that was not acknowledged.
    Exception: a record that was returned with a delay."""
    for subscription in _subscriptions(history, "failover"):
        got: dict[str, set[Place]] = defaultdict(set)
        done: dict[tuple[str, int], int] = defaultdict(int)  # records of the log that were acknowledged or delivered
        for receive in subscription.handed_out:
            consumer, records = receive.get("consumer"), receive.get("records")
            got[consumer].update((partition, offset) for partition, offset, _ in records)
            for partition in sorted({each[0] for each in records}):
                last = max(offset for each, offset, _ in records if each == partition)
                log, at = subscription.log(partition), done[consumer, partition]
                while at < len(log) and (
                    (partition, log[at].offset) in got[consumer]
                    or subscription.may_be_acked(partition, log[at].offset, receive.ended_at)
                ):
                    at += 1
                done[consumer, partition] = at
                if at == len(log) or log[at].offset > last or _is_delayed(history, subscription, log[at], receive):
                    continue
                yield (
                    f"{subscription.name} delivered {partition}:{last} to {consumer}, and not "
                    f"{partition}:{log[at].offset} ({log[at].value}), which was not acknowledged",
                    receive.events,
                )


def _is_delayed(history: History, subscription: Subscription, record: Sighting, receive: Operation) -> bool:
    """A prefetched answer may be from a time when a delay lasted that is over now."""
    is_prefetched = receive.get("prefetched", False)
    ahead_s = receive.get("ack_timeout_ms", 0) / 1000 if is_prefetched else 0.0
    for nack in subscription.nacks[record.partition, record.offset]:
        is_over = nack.is_ok and nack.ended_at + nack.get("delay_ms") / 1000 + SLACK_S < receive.invoked_at
        if nack.invoked_at < receive.ended_at and (is_prefetched or not is_over):
            return True
    return _has_fault(history, receive.invoked_at - ahead_s - CLOCK_S_MAX, receive.ended_at, "clock.")


@rule
def takeover_missing(history: History) -> Found:
    """Two sessions after the active consumer of a failover subscription made its last call, a stand-by gets what that
    one left unacknowledged.  Without faults, and by the machine clock.  Prefetching consumers are not judged: it is
    unknown whether they are active."""
    limit = 2 * history.session_s + TAKEOVER_S_MAX
    for subscription in _subscriptions(history, "failover"):
        active, held = "", dict[Place, str]()  # delivered last; to whom
        for receive in subscription.receives:
            consumer, is_prefetched = receive.get("consumer"), receive.get("prefetched", False)
            if not receive.is_ok or receive.get("records"):
                active = consumer if receive.is_ok and not is_prefetched else ""
                for partition, offset, _ in receive.get("records") or ():
                    held[partition, offset] = consumer
                continue
            if active in ("", consumer) or is_prefetched:
                continue
            calls = [each for each in subscription.calls if each.get("consumer") == active]
            since = max(min(each.ended_at, receive.ended_at) for each in calls if each.invoked_at < receive.ended_at)
            is_long = history.machine_s(receive.invoked_at) - history.machine_s(since) >= limit
            if not is_long or _has_fault(history, since, receive.ended_at):
                continue
            if _has_fault(history, since - CLOCK_S_MAX, receive.ended_at, "clock.") or history.may_be_lost(since):
                continue
            left = [
                place for place, by in held.items()
                if by == active and not subscription.may_be_acked(*place, receive.ended_at)
                and not subscription.nacks[place]
            ]  # fmt: skip
            if left:
                yield f"{active} made no call, and {consumer} did not get {left[:3]}", receive.events
                break


@rule
def key_out_of_order(history: History) -> Found:
    """A key_shared subscription delivers a record of a key if the earlier ones are acknowledged, or if that consumer
    has them and has not returned them.  Exception: the consumer may have them by an answer that was lost."""
    for subscription in _subscriptions(history, "key_shared"):
        earlier = _earlier(history, subscription)
        given: dict[Place, list[Operation]] = defaultdict(list)
        unknown: dict[str, list[Operation]] = defaultdict(list)
        for receive in subscription.receives:
            if not receive.is_ok:
                unknown[receive.get("consumer")].append(receive)
        for receive in subscription.answers:
            places = [(partition, offset) for partition, offset, _ in receive.get("records")]
            order = {place: number for number, place in enumerate(places)}
            for place in places:
                given[place].append(receive)
            for place in places:
                for before in earlier.get(place, ()):
                    if order.get(before, -1) > order[place]:
                        yield f"{before} came behind {place} of the same key", receive.events
                    elif not subscription.may_be_acked(*before, receive.ended_at) and not _has(
                        history, subscription, before, receive, given[before], unknown[receive.get("consumer")]
                    ):
                        yield (
                            f"{subscription.name} delivered {place} to {receive.get('consumer')}, which does not have "
                            f"{before} of the same key, and that was not acknowledged",
                            [*(event for each in given[before][-2:] for event in each.events), *receive.events],
                        )
                        break


def _earlier(history: History, subscription: Subscription) -> dict[Place, list[Place]]:
    """Place → the records of its key before it."""
    found: dict[Place, list[Place]] = {}
    for (topic, partition), log in history.final.items():
        behind: dict[str, list[Place]] = defaultdict(list)
        for seen in log if topic == subscription.topic else ():
            write = history.writes.get(seen.value)
            if write is not None and write.key is not None:
                found[partition, seen.offset] = list(behind[write.key])
                behind[write.key].append((partition, seen.offset))
    return found


def _has(
    history: History, subscription: Subscription, place: Place, receive: Operation, given: Sequence[Operation],
    unknown: Sequence[Operation],
) -> bool:  # fmt: skip
    """Whether the consumer may still have a message when it receives.  given: the receives that returned it."""
    consumer, now = receive.get("consumer"), receive.invoked_at
    lease_s = receive.get("ack_timeout_ms", NEVER) / 1000
    if any(each.ended_at + lease_s + LATE_S_MAX > now for each in unknown if each.invoked_at < receive.ended_at):
        return True
    returned = [nack.ended_at for nack in subscription.nacks[place] if nack.is_ok and nack.get("consumer") == consumer]
    is_in_txn = False
    for ack in subscription.acks.get(place, ()):
        if ack.get("txn") is not None and ack.get("consumer") == consumer:
            ends = history.txns[ack.get("txn")].ends
            aborted = [each.ended_at for each in ends if each.is_ok and each.get("outcome") == "aborted"]
            returned += aborted
            is_in_txn = is_in_txn or not aborted
    for each in given:
        if each.get("consumer") != consumer:
            continue
        is_over = each.ended_at + lease_s + SLACK_S < now and not is_in_txn
        if is_over and not _has_fault(history, each.invoked_at, receive.ended_at, "clock."):
            continue
        if each is receive or not any(each.ended_at < at < now and not history.may_be_lost(at) for at in returned):
            return True
    return False


@rule
def dropped_without_ack(history: History) -> Found:
    """A backlog that is gone was acknowledged: each record by a client, and in a transaction that may have been
    committed."""
    drained = history.mark("drained")
    if drained is None or drained["left"]:
        return
    for subscription in _subscriptions(history):
        for (topic, partition), log in history.final.items():
            for seen in log if topic == subscription.topic else ():
                if not subscription.may_be_acked(partition, seen.offset, NEVER):
                    yield f"{subscription.name} has passed {partition}:{seen.offset} ({seen.value})", []


RULES = (two_active_consumers, takeover_skipped, takeover_missing, key_out_of_order, dropped_without_ack)
