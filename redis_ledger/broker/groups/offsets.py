"""A Kafka group's offsets: on every partition a register, in that partition's slot.

    {orders:0}:sub:<group>     offset 41, fence 7            {group:<group>}:topics   orders, ...
    {orders:1}:sub:<group>     offset 17, fence 7            {catalog}:groups         <group> → classic

Any broker handles a commit: the fence stored with the offset decides whether it is accepted
(lua/include/group_offset).  The group and its topics are registered before its first commit.  Partition 0 has an offset
of every group, so it lists the topic's groups.  Transactional commits take effect when their transaction ends.
Source: KIP-98, KIP-211 (expiration), KIP-447 (offsets and generations), KIP-496 (deletion).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.cursor import group_offsets as registers
from redis_ledger.cursor.group_offsets import NOTHING, GroupOffset, What, When
from redis_ledger.decoding.budget import Pace
from redis_ledger.errors import (
    IllegalGeneration,
    InvalidTopicName,
    LedgerError,
    StaleMember,
    StoreUnavailable,
    TransactionNotFound,
    UnknownPartition,
    UnknownTopic,
    WrongSubscriptionKind,
)  # fmt: skip
from redis_ledger.ids import TxnId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.topic_entry import TopicEntry
from redis_ledger.store.keys import CatalogKeys, GroupKeys, encode_name
from redis_ledger.store.store import Store
from redis_ledger.txn.coordinator import Coordinators, Decision
from redis_ledger.txn.states import TxnState

FEW = 16  # topics that are looked for one by one
UNDER_WAY_MAX = 1_000  # calls of one request that wait for Redis together
NOTED_MAX = 50_000  # groups on topics; one that is forgotten is only noted again
NOTED_S = 30.0  # bounds how long a registration that another broker removed is missing
T = TypeVar("T")
Place = Partition | LedgerError


class OffsetEntry(NamedTuple):
    """A commit.  Any offset and epoch of 63 and 31 bits may be kept."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class StoredOffset(NamedTuple):
    """offset -1: none is committed.  pending: open transactions that have committed another one."""

    topic: str
    partition: int
    offset: int = -1
    leader_epoch: int = -1
    metadata: str = ""
    pending: tuple[TxnId, ...] = ()
    error: LedgerError | None = None


class Offsets:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        coordinators: Coordinators,
        finish: Callable[[Decision], Awaitable[None]],
        config: Config,
        clock: Clock,
        is_time_doubted: Callable[[], bool],
    ) -> None:
        """finish: carries a decision to its participants."""
        self._store, self._catalog, self._coordinators, self._finish = store, catalog, coordinators, finish
        self._config, self._clock, self._is_time_doubted = config, clock, is_time_doubted
        self._keys = CatalogKeys(store.prefix)
        self._noted: OrderedDict[tuple[str, str], float] = OrderedDict()  # group, topic id → when
        self._ownerless: set[str] = set()  # groups that no live broker owned when `expire` looked last
        self._loop = asyncio.get_running_loop()

    # -- commit ------------------------------------------------------------------------------------------------------

    async def locate(self, partitions: Iterable[tuple[str, int]]) -> list[Place]:
        """The partitions, or for each that is not there why not.  Cost: none for what this broker has used before."""
        wanted = list(partitions)
        topics = list(dict.fromkeys(topic for topic, _ in wanted))
        absent = await _caught(self._catalog.absent(topics)) if len(topics) > FEW else ()
        gone = () if isinstance(absent, LedgerError) else absent  # then each read below raises it
        found = [topic for topic in topics if topic not in gone]
        entries = dict(zip(found, await _each(self._catalog.get, found), strict=True))
        entries |= {topic: UnknownTopic(f"Topic {topic!r} does not exist.", topic=topic) for topic in gone}
        ends = {topic: entry.partitions for topic, entry in entries.items() if isinstance(entry, TopicEntry)}
        for topic in {topic for topic, number in wanted if topic in ends and number >= ends[topic]}:
            entries[topic] = await _caught(self._catalog.get(topic, fresh=True))  # it may have grown
        places, pace = list[Place](), Pace()
        for topic, number in wanted:
            await pace.rest()
            entry = entries[topic]
            if isinstance(entry, LedgerError):
                places.append(UnknownTopic(entry.detail) if isinstance(entry, InvalidTopicName) else entry)
            elif not 0 <= number < entry.partitions:
                places.append(UnknownPartition(f"Topic {topic!r} has no partition {number}."))
            else:
                places.append(await _caught(self._catalog.partition(topic, number)))
        return places

    async def commit(
        self,
        group: str,
        entries: Sequence[OffsetEntry],
        *,
        fence: int,
        transaction: TxnId | None = None,
        places: Sequence[Place] | None = None,
    ) -> list[LedgerError | None]:
        """What became of each: None when it is committed, with a transaction until its end.

        fence        generation of the group, or epoch of the member, that commits; -1: a commit from outside the group
        transaction  the places must be registered with it as participants, under the group's name
        places       of the entries, as `locate` has found them
        """
        if places is None:
            places = await self.locate((entry.topic, entry.partition) for entry in entries)
        refused = await self._note(group, places)
        made: list[Partition] = []

        async def one(pair: tuple[OffsetEntry, Place]) -> None:
            entry, place = pair
            if isinstance(place, LedgerError):
                raise place
            if place.topic in refused:
                raise refused[place.topic]

            async def put(p: Partition) -> None:
                if await registers.commit(
                    self._store, p.keys, p.topic_id, group, offset=entry.offset, leader_epoch=entry.leader_epoch,
                    metadata=entry.metadata, generation=fence, txn=transaction, now_ms=self._clock.now_ms(),
                ):  # fmt: skip
                    made.append(p)

            if transaction is None:
                await self._on(place, put)
            else:
                await put(place)  # and on no other than the one that is registered

        outcomes = await _each(one, list(zip(entries, places, strict=True)))
        if made:  # another broker has removed the offsets, and perhaps the registration
            await self._note(group, made, again=True)
        if any(isinstance(outcome, IllegalGeneration) for outcome in outcomes) and await self._is_consumer(group):
            outcomes = [StaleMember(o.detail) if isinstance(o, IllegalGeneration) else o for o in outcomes]
        return outcomes

    async def _on(self, place: Partition, act: Callable[[Partition], Awaitable[T]]) -> T:
        """Acts on the partition; on that of a topic's next life, when this broker only remembers an earlier one."""
        try:
            return await act(place)
        except UnknownTopic:
            self._catalog.forget(place.topic)
        return await act(await self._catalog.partition(place.topic, place.number))

    async def _is_consumer(self, group: str) -> bool:
        state = GroupKeys(self._store.prefix, group).state
        return bool(await self._store.command("HGET", state, "kind", key=state) == b"consumer")

    async def _note(self, group: str, places: Iterable[Place], *, again: bool = False) -> dict[str, LedgerError]:
        """Notes that the group has offsets on these topics, before it has.  Topics on which it cannot have any."""
        known, since = {}, self._loop.time() - NOTED_S
        for place in places:
            if isinstance(place, Partition) and (again or self._noted.get((group, place.topic_id), since) <= since):
                known[place.topic] = place.topic_id
        if not known:
            return {}
        outcomes = await _each(lambda topic: self._note_one(group, topic), list(known))
        for topic, outcome in zip(known, outcomes, strict=True):
            if outcome is None:
                self._noted[group, known[topic]] = self._loop.time()
                self._noted.move_to_end((group, known[topic]))
        while len(self._noted) > NOTED_MAX:
            self._noted.popitem(last=False)
        return {topic: outcome for topic, outcome in zip(known, outcomes, strict=True) if outcome is not None}

    async def _note_one(self, group: str, topic: str) -> None:
        command, k, name = self._store.command, GroupKeys(self._store.prefix, group), encode_name(group)
        has_topic, is_listed = await asyncio.gather(
            command("SISMEMBER", k.topics, topic, key=k.topics),
            command("HEXISTS", self._keys.groups, name, key=self._keys.groups),
        )
        if not has_topic:
            await self._store.write_allow_oom("SADD", k.topics, topic)
        if not is_listed:
            await self._store.write_allow_oom("HSETNX", self._keys.groups, name, "classic")
        await self._on(await self._catalog.partition(topic, 0), lambda p: self._make(p, group))

    async def _make(self, p: Partition, group: str) -> None:
        await registers.fetch(self._store, p.keys, p.topic_id, group, make=True, now_ms=self._clock.now_ms())

    # -- fetch -------------------------------------------------------------------------------------------------------

    async def fetch(
        self,
        group: str,
        partitions: Sequence[tuple[str, int]] | None,
        *,
        raise_fence: int = -1,
        settle: bool = False,
    ) -> list[StoredOffset]:
        """In the order asked for; None: all that are committed.  A partition that is not there has none.

        raise_fence  from then on commits of earlier generations are refused there
        settle       transactions that are decided already are ended first, so that `pending` has only what is open
        """
        wanted = await self._all_of(group) if partitions is None else partitions
        places = await self.locate(wanted)
        refused = await self._note(group, places) if raise_fence >= 0 else {}

        async def one(place: Place) -> GroupOffset:
            if isinstance(place, UnknownTopic | UnknownPartition):
                return NOTHING
            if isinstance(place, LedgerError):
                raise place
            if place.topic in refused:
                raise refused[place.topic]
            fetch = partial(registers.fetch, generation=raise_fence, now_ms=self._clock.now_ms())
            return await self._on(place, lambda p: fetch(self._store, p.keys, p.topic_id, group))

        found = await _each(one, places)
        waiting = {txn for each in found if isinstance(each, GroupOffset) for txn in each.pending} if settle else ()
        if any(await _each(self._end, waiting)):
            again = [i for i, each in enumerate(found) if isinstance(each, GroupOffset) and each.pending]
            for i, each in zip(again, await _each(one, [places[i] for i in again]), strict=True):
                found[i] = each
        stored = [_stored(*where, what) for where, what in zip(wanted, found, strict=True)]
        if partitions is None:
            is_kept = [isinstance(what, LedgerError) or what.time_ms >= 0 for what in found]
            stored = [each for each, kept in zip(stored, is_kept, strict=True) if kept]
        return stored

    async def _end(self, txn: TxnId) -> bool:
        """Ends the transaction if its outcome is certain; False when it is open, or cannot be ended now."""
        try:
            record = await self._coordinators.get(txn)
            decision, is_overdue = None, record.deadline_ms <= self._clock.now_ms()
            if record.state.is_ending:
                decision = await self._coordinators.decide(txn, commit=record.state is TxnState.COMMITTING)
            elif record.state is TxnState.OPEN and is_overdue and not self._is_time_doubted():
                decision = await self._coordinators.expire(txn)
            if decision is not None and decision.state.is_ending:
                await self._finish(decision)
            return record.state is not TxnState.OPEN or decision is not None
        except TransactionNotFound:
            return True
        except LedgerError:
            return False  # the next request tries again

    async def _all_of(self, group: str) -> list[tuple[str, int]]:
        topics = sorted(await self.topics_of(group))
        entries = zip(topics, await _each(self._catalog.get, topics), strict=True)
        return [(t, number) for t, e in entries if isinstance(e, TopicEntry) for number in range(e.partitions)]

    async def topics_of(self, group: str) -> set[str]:
        """Topics that the group has, or had, offsets on."""
        topics = GroupKeys(self._store.prefix, group).topics
        return {topic.decode() for topic in await self._store.command("SMEMBERS", topics, key=topics)}

    # -- delete ------------------------------------------------------------------------------------------------------

    async def delete(self, group: str, partitions: Sequence[tuple[str, int]]) -> list[LedgerError | None]:
        """What became of each: None when there is no offset any more.  A partition named twice costs one write."""
        places = await self.locate(once := list(dict.fromkeys(partitions)))

        async def one(place: Place) -> None:
            if isinstance(place, LedgerError):
                raise place
            await self._on(place, lambda p: self._forget(p, group, "offset", "always"))

        outcomes = dict(zip(once, await _each(one, places), strict=True))
        for topic in {place.topic for place in places if isinstance(place, Partition)}:
            await self.forget_topic(group, topic, "empty")
        return [outcomes[each] for each in partitions]

    async def delete_group(self, group: str, generation: int = -1) -> None:
        """All its offsets, except those of later generations.  The group stays listed.  Raises StoreUnavailable if some
        may be left; a repetition finds them."""
        topics = sorted(await self.topics_of(group))
        left = [topic for topic in topics if await self.forget_topic(group, topic, "always", generation)]
        if left:
            raise StoreUnavailable(
                f"Some offsets of group {group!r} on {', '.join(left)} may be left; repeat the request."
            )

    async def expire(self, is_live: Callable[[str], bool]) -> int:
        """Removes offsets that were committed more than offsets_retention_ms ago, of groups that have had no members
        for as long; on how many topics.

        is_live: whether there is a broker of this name.  A group that such a broker owns may have members, and keeps
        all it has.  A group has to be found without an owner twice, in this call and in the one before, so a broker
        that is silent for a moment does not count as gone.  A member that takes over a partition in between reads its
        offset there, which keeps it.
        """
        expired, cursor, ownerless = 0, b"0", set()
        while True:
            command = ("HSCAN", self._keys.groups, cursor, "COUNT", 100)
            cursor, rows = await self._store.command(*command, key=self._keys.groups)
            groups = [unquote(name.decode()) for name in rows[::2] if name]
            stored = await asyncio.gather(*map(self._stored, groups))
            for group, (owner, kind, members, empty_ms) in zip(groups, stored, strict=True):
                if (owner and is_live(owner.decode())) or int(members or 0) > 0:
                    continue
                ownerless.add(group)
                is_recent = int(empty_ms or 0) > self._clock.now_ms() - self._config.offsets_retention_ms
                if group in self._ownerless and not is_recent:
                    expired += await self._expire_group(group, kind is None)
            if cursor == b"0":
                break
        self._ownerless = ownerless
        return expired

    def _stored(self, group: str) -> asyncio.Future[Any]:
        state = GroupKeys(self._store.prefix, group).state
        return self._store.command("HMGET", state, "owner", "kind", "members", "empty", key=state)

    async def _expire_group(self, group: str, is_simple: bool) -> int:
        """is_simple: the group never had members and consists of its offsets only."""
        topics = await self.topics_of(group)
        left = [topic for topic in topics if await self.forget_topic(group, topic, "idle")]
        if is_simple and not left:
            await self._store.write_allow_oom("HDEL", self._keys.groups, encode_name(group))
        return len(topics) - len(left)

    async def forget_topic(self, group: str, topic: str, when: When, generation: int = -1) -> bool:
        """True when the group has something left there.  Partition 0 goes last: until then the group is found there."""
        entry = await _caught(self._catalog.get(topic, fresh=True))
        left = False
        if isinstance(entry, TopicEntry):
            self._noted.pop((group, entry.id), None)
            first, *others = await self.locate((topic, number) for number in range(entry.partitions))

            async def one(place: Place, what: What) -> bool:
                if isinstance(place, LedgerError):
                    raise place
                return await self._forget(place, group, what, when, generation)

            outcomes = await _each(lambda place: one(place, "register"), others)
            left = any(outcome is not False for outcome in outcomes)
            last = await _caught(one(first, "offset" if left else "register"))
            left = left or last is not False
        elif not isinstance(entry, UnknownTopic):
            return True
        if not left:
            topics = GroupKeys(self._store.prefix, group).topics
            await self._store.write_allow_oom("SREM", topics, topic)
        return left

    async def _forget(self, p: Partition, group: str, what: What, when: When, generation: int = -1) -> bool:
        before = self._clock.now_ms() - self._config.offsets_retention_ms
        try:
            return await registers.delete(self._store, p.keys, p.topic_id, group, what, when, before, generation)
        except WrongSubscriptionKind:
            return False  # it belongs to another incarnation of the topic


def _stored(topic: str, partition: int, what: GroupOffset | LedgerError) -> StoredOffset:
    if isinstance(what, LedgerError):
        return StoredOffset(topic, partition, error=what)
    return StoredOffset(topic, partition, what.offset, what.leader_epoch, what.metadata, what.pending)


async def _caught(work: Awaitable[T]) -> T | LedgerError:
    try:
        return await work
    except LedgerError as error:
        return error.with_traceback(None)  # its frames would be kept with it


async def _each(act: Callable[[Any], Awaitable[T]], subjects: Iterable[Any]) -> list[T | LedgerError]:
    """The outcomes, in order; of all that arrive together, a limited number is under way at a time."""
    waiting, outcomes = list(subjects), []
    for at in range(0, len(waiting), UNDER_WAY_MAX):
        part = waiting[at : at + UNDER_WAY_MAX]
        outcomes += await asyncio.gather(*(_caught(act(subject)) for subject in part))
    return outcomes
