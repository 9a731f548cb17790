"""Rules about subscriptions and groups: every message is delivered, and not again after its acknowledgement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.sim.history import NEVER, History, Operation
from tests.sim.recorder import Event
from tests.sim.rules.finding import rule

Found = Iterator[tuple[str, Sequence[Event]]]
Place = tuple[str, int, int]  # subscription or group, partition, offset


def _acknowledged(history: History) -> dict[Place, tuple[float, Operation]]:
    """Where an acknowledgement counts for good: since when, and by which call."""
    found: dict[Place, tuple[float, Operation]] = {}
    for ack in history.of("ack"):
        name = ack.get("txn")
        since = ack.ended_at if name is None else history.txns[name].committed_at
        if ack.is_ok and since < NEVER:
            for partition, offset in ack.get("ids"):
                place = (ack.get("subscription"), partition, offset)
                if place not in found or since < found[place][0]:
                    found[place] = (since, ack)
    return found


@rule
def redelivered_after_ack(history: History) -> Found:
    """A receive that begins after an acknowledgement was confirmed does not return that message, unless a promotion may
    have taken the acknowledgement back."""
    acknowledged = _acknowledged(history)
    for receive in history.of("receive"):
        if not receive.is_ok or receive.get("prefetched"):
            continue  # the time of a prefetching consumer's request is unknown
        for partition, offset, value in receive.get("records"):
            since, ack = acknowledged.get((receive.get("subscription"), partition, offset), (NEVER, None))
            if ack is not None and since < receive.invoked_at and not history.may_be_lost(since):
                yield (
                    f"{value} at {partition}:{offset} was delivered after its acknowledgement",
                    ack.events + receive.events,
                )


@rule
def delivered_twice_at_once(history: History) -> Found:
    """What one receive returns has each message once, also if a prefetching consumer joins several answers."""
    for receive in history.of("receive"):
        if receive.is_ok:
            places = [(partition, offset) for partition, offset, _ in receive.get("records")]
            twice = sorted({each for each in places if places.count(each) > 1})
            if twice:
                yield f"{receive.get('subscription')} delivered {twice} twice in one answer", receive.events


@rule
def never_delivered(history: History) -> Found:
    """Every record in the log was delivered to every subscription and group of its topic."""
    seen: dict[tuple[str, str], set[tuple[int, int]]] = defaultdict(set)
    for each in history.of("receive", "poll"):
        by = each.get("subscription") or each.get("group")
        if by is not None:
            places = seen[each.get("topic"), by]
            if each.is_ok:
                places.update((partition, offset) for partition, offset, _ in each.get("records"))
    for (topic, by), places in seen.items():
        for (name, partition), log in history.final.items():
            for record in log if name == topic else ():
                if (partition, record.offset) not in places:
                    acks = [
                        event for ack in history.of("ack")
                        if ack.get("subscription") == by and [partition, record.offset] in ack.get("ids")
                        for event in ack.events
                    ]  # fmt: skip
                    yield f"{by} never got {record.value} at {topic}-{partition}:{record.offset}", acks


@rule
def exclusive_out_of_order(history: History) -> Found:
    """An exclusive or failover subscription delivers a record first after every record before it."""
    streams: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    for receive in history.of("receive"):
        if receive.is_ok and receive.get("sharing") in ("exclusive", "failover"):
            streams[receive.get("topic"), receive.get("subscription")].append(receive)
    for (topic, subscription), receives in streams.items():
        delivered: dict[int, int] = {}  # partition → records of the log that were delivered
        for receive in sorted(receives, key=lambda each: each.ended_at):
            for partition, offset, _ in receive.get("records"):
                log = history.final.get((topic, partition), [])
                at = delivered.get(partition, 0)
                if at < len(log) and offset > log[at].offset:
                    skipped = f"{partition}:{log[at].offset} ({log[at].value})"
                    yield f"{subscription} delivered {partition}:{offset} before {skipped}", receive.events
                    break
                if at < len(log) and offset == log[at].offset:
                    delivered[partition] = at + 1


@rule
def group_offset_lost(history: History) -> Found:
    """The offset of a group at the end is at least the highest that was confirmed.  Exception: a lower commit with an
    unknown result was sent before that one; it may have arrived late."""
    last: dict[tuple[str, str, int], int] = {}
    for note in history.notes("group_offsets"):
        for partition, offset in note["positions"].items():
            last[note["group"], note["topic"], int(partition)] = offset
    unknown: dict[tuple[str, str, int], list[Operation]] = defaultdict(list)
    confirmed: dict[tuple[str, str, int], tuple[int, Operation]] = {}
    for commit in history.of("offsets"):
        txn = commit.get("txn")
        is_ok = commit.is_ok and (txn is None or history.txns[txn].outcome == "committed")
        for partition, offset in commit.get("positions").items():
            at = (commit.get("group"), commit.get("topic"), int(partition))
            if is_ok and offset > confirmed.get(at, (-1, commit))[0]:
                confirmed[at] = (offset, commit)
            if not commit.is_ok:
                unknown[at].append(commit)
    for at, (offset, commit) in confirmed.items():
        if at not in last or last[at] >= offset or history.may_be_lost(commit.ended_at):
            continue
        late = [
            each for each in unknown[at]
            if each.get("positions")[str(at[2])] == last[at] and each.invoked_at < commit.ended_at
        ]  # fmt: skip
        if not late:
            yield f"{at[0]} committed {offset} on {at[1]}-{at[2]} and is at {last[at]}", commit.events


RULES = (redelivered_after_ack, delivered_twice_at_once, never_delivered, exclusive_out_of_order, group_offset_lost)
