"""Groups of the consumer protocol (KIP-848): heartbeats of their members, and the topics these can subscribe to.

    heartbeat ──▶ the topics there are ──▶ the group's state machine, which answers now or with its next generation
                   the broker's view is a second old at most; who says what it subscribes to has it looked up

A member of a group that has no members joins again with epoch 0.
Source: KIP-848; Kafka's group coordinator.
"""

from __future__ import annotations

import asyncio
import contextlib

from redis_ledger.broker.groups.service import CONSUMER, Groups, check_group
from redis_ledger.broker.security.service import Security
from redis_ledger.errors import GroupNotFound, TopicBusy, UnknownMember
from redis_ledger.groups.consumer import ConsumerGroup
from redis_ledger.groups.consumer_member import (
    JOIN,
    ConsumerGroupState,
    DescribedConsumers,
    Heartbeat,
    HeartbeatResult,
    check,
)
from redis_ledger.groups.patterns import Pattern
from redis_ledger.groups.subscribed_topics import TopicFacts, Topics
from redis_ledger.ledger.catalog import Catalog


class ConsumerGroups:
    def __init__(self, groups: Groups, catalog: Catalog, security: Security) -> None:
        self._groups, self._catalog, self._security = groups, catalog, security
        self._topics, self._version, self._rules = Topics({}), -1, security.rules
        self._reading = asyncio.Lock()
        self._trying = asyncio.Lock()  # one expression at a time

    async def heartbeat(self, group: str, request: Heartbeat) -> HeartbeatResult:
        """Returns when the member's epoch is stored.

        Raises InvalidGroup, InvalidRequest, UnsupportedAssignor, NotCoordinator, GroupNotFound for who would join a
        classic group with members, and what ConsumerGroup.heartbeat says.
        """
        check_group(group)
        check(request)
        coordinator = self._groups.coordinator
        if request.has_subscription:
            coordinator.check_room(group, request.size, is_known=request.epoch != JOIN)
            with contextlib.suppress(TopicBusy):  # one that is in the making will be there at a later heartbeat
                await self._catalog.refresh()
        topics = await self.topics()
        known = await self._opened(group) if request.epoch == JOIN else await self._owned(group)
        if request.regex:
            request = await self._try(known, request, topics)
        beaten: HeartbeatResult = await coordinator.wait(
            known, lambda ticket, now: known.heartbeat(request, topics, ticket, now)
        )
        return beaten

    async def _try(self, group: ConsumerGroup, request: Heartbeat, topics: Topics) -> Heartbeat:
        """A new expression is tried on all topics that its member sees, in a thread: RE2 does not hold Python's lock.
        Raises InvalidRegex."""
        assert request.regex is not None
        names = group.expressions.untried(request.regex, request.who, topics)
        if not names:
            return request
        pattern = Pattern(request.regex)
        async with self._trying:
            return request._replace(tried=await asyncio.to_thread(pattern.find, names))

    async def describe(self, group: str) -> DescribedConsumers:
        """Raises InvalidGroup, NotCoordinator, GroupNotFound."""
        held = await self._groups.held(group)
        if isinstance(held, ConsumerGroup):
            return held.describe()
        if held is None:
            stored = await self._groups.look(group)
            if stored.kind == CONSUMER:
                return DescribedConsumers(ConsumerGroupState.EMPTY.value, stored.generation)
        raise GroupNotFound(f"Group {group!r} is not a consumer group.")

    async def topics(self) -> Topics:
        """Those that exist; the same object until they change, or what members may see of them."""
        if self._rules is not self._security.rules:
            self._rules = self._security.rules
            self._topics = Topics(self._topics.by_name)
        if self._catalog.versions.names != self._version:
            async with self._reading:
                version = self._catalog.versions.names
                if version != self._version:
                    entries = await self._catalog.list()
                    facts = {entry.name: TopicFacts(bytes.fromhex(entry.id), entry.partitions) for entry in entries}
                    if facts != self._topics.by_name:
                        self._topics = Topics(facts)
                    self._version = version
        return self._topics

    async def _opened(self, group: str) -> ConsumerGroup:
        opened = await self._groups.coordinator.open(group, CONSUMER)
        assert isinstance(opened, ConsumerGroup), f"{group!r} is of the kind {opened.kind}"
        return opened

    async def _owned(self, group: str) -> ConsumerGroup:
        held = await self._groups.held(group)
        if isinstance(held, ConsumerGroup):
            return held
        raise UnknownMember(f"Group {group!r} has no such member; join it again.")
