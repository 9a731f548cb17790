"""Consumer groups: membership at the coordinator of a group, and administration at any broker.

    join  sync  heartbeat  leave          for members; only the coordinator serves them (NotCoordinator)
    check_commit  fence_for_fetch         the fencing generation of commits and fetches
    describe  list  delete                for administrators; any broker answers for a group without a coordinator

If the coordinator dies, the first broker that a member reaches takes over the group with all its members.
Source: Kafka's group coordinator; KIP-848 for groups of the kind `consumer`.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import uuid
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol
from urllib.parse import unquote

from redis_ledger.auth.acl import Caller
from redis_ledger.broker.cluster.live_brokers import LiveBrokers
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.errors import (
    GroupFull,
    GroupNotEmpty,
    GroupNotFound,
    IllegalGeneration,
    InconsistentProtocol,
    InvalidGroup,
    InvalidRequest,
    InvalidSessionTimeout,
    LedgerError,
    NotCoordinator,
    UnknownMember,
)
from redis_ledger.groups import classic_rows, consumer_rows
from redis_ledger.groups.classic import ClassicGroup
from redis_ledger.groups.consumer import ConsumerGroup
from redis_ledger.groups.coordinator import Coordinator
from redis_ledger.groups.group import Group, Maker
from redis_ledger.groups.member import Described, GroupState, Join, Joined, Limits, Sync, Synced
from redis_ledger.groups.ownership import Ownership, Stored
from redis_ledger.groups.subscribed_topics import Visible, all_visible
from redis_ledger.store.keys import CatalogKeys, encode_name
from redis_ledger.store.store import Store

NAME_CHARS_MAX = 32_767  # of a group, as in Kafka
INSTANCE_CHARS_MAX = 249  # of a group.instance.id, as Kafka's clients have it
ID_CHARS = 200  # of a client's own name in the id it is given
CONSUMER = "consumer"  # the protocol type of consumers, and the kind of groups of KIP-848


class GroupOffsets(Protocol):
    """What has to be known of offsets here: broker/groups/offsets.py."""

    async def topics_of(self, group: str) -> set[str]: ...
    async def delete_group(self, group: str, generation: int) -> None: ...


class Listed(NamedTuple):
    name: str
    protocol_type: str
    state: str
    kind: str


def check_group(name: str) -> str:
    """Raises InvalidGroup."""
    if not 1 <= len(name) <= NAME_CHARS_MAX:
        raise InvalidGroup(f"{name[:80]!r} is not a group's name; use 1 to {NAME_CHARS_MAX} characters.")
    return name


def _is_current(stored: Stored, generation: int) -> bool:
    """Members of KIP-848 may be behind the group's epoch; the fence beside the offset refuses who lost a partition."""
    return 0 < generation <= stored.generation if stored.kind == CONSUMER else generation == stored.generation


class Groups:
    """coordinator: the groups that this broker owns, of every kind."""

    def __init__(
        self,
        store: Store,
        members: LiveBrokers,
        offsets: GroupOffsets,
        config: Config,
        clock: Clock,
        visible: Visible = all_visible,
    ) -> None:
        self._store, self._members, self._offsets, self._config = store, members, offsets, config
        self._visible = visible
        self._limits = Limits(config.group_initial_rebalance_delay_ms, config.group_members_max)
        self._registry = CatalogKeys(store.prefix).groups
        self._ownership = Ownership(store, members, clock)
        kinds: dict[str, Maker] = {"classic": self._make_classic, CONSUMER: self._make_consumer}
        self.coordinator = Coordinator(self._ownership, kinds, self._give_up, self.tidy, config.group_bytes_max)

    def _make_classic(self, name: str, stored: Stored, rows: Mapping[str, bytes], now: float) -> ClassicGroup:
        head, roster = classic_rows.resume(
            name, stored.generation, stored.protocol_type, stored.summary.membership, rows, now
        )
        return ClassicGroup(name, self._limits, head, roster, now)

    def _make_consumer(self, name: str, stored: Stored, rows: Mapping[str, bytes], now: float) -> ConsumerGroup:
        session_ms, members_max = self._config.group_session_ms, self._config.group_members_max
        return ConsumerGroup(
            name, stored.generation, session_ms=session_ms, members_max=members_max, visible=self._visible,
            members=consumer_rows.resume(name, stored.summary.membership, rows, session_ms, now, Caller._make),
        )  # fmt: skip

    async def close(self) -> None:
        """Releases all groups.  Waiting and later requests fail with NotCoordinator."""
        await self.coordinator.close()

    # -- members of classic groups -----------------------------------------------------------------------------------

    async def join(self, group: str, join: Join, closing: asyncio.Event) -> Joined:
        """Returns when a generation begins that the member is part of.  new_id of join is made here.

        closing: set when the client's connection closes, which withdraws the request.
        Raises NotCoordinator, and the errors of ClassicGroup.join; an error's fact `member_id`, if it has one, is the
        client's member id from now on.
        """
        least, most = self._config.group_session_timeout_ms_min, self._config.group_session_timeout_ms_max
        if not least <= join.session_ms <= most:
            raise InvalidSessionTimeout(f"A session timeout of {join.session_ms} ms is not one of {least} to {most}.")
        if len(join.instance_id or "") > INSTANCE_CHARS_MAX:
            raise InvalidRequest(f"A group.instance.id has at most {INSTANCE_CHARS_MAX} characters.")
        self.coordinator.check_room(group, join.size, is_known=join.member_id != "")
        if join.member_id:
            known = await self._owned(group, InconsistentProtocol)
        else:
            opened = await self.coordinator.open(check_group(group), "classic")
            assert isinstance(opened, ClassicGroup), f"{group!r} is of the kind {opened.kind}"
            known = opened
        join = join._replace(new_id=f"{(join.instance_id or join.client_id)[:ID_CHARS]}-{uuid.uuid4()}")
        joined: Joined = await self.coordinator.wait(
            known,
            lambda ticket, now: known.join(join, ticket, now),
            lambda ticket, now: known.withdraw(join.member_id or join.new_id, ticket, now),
            closing,
        )
        return joined

    async def sync(self, group: str, sync: Sync, closing: asyncio.Event) -> Synced:
        """Returns when the leader's assignment is there.  closing: as for join.

        Raises NotCoordinator, and the errors of ClassicGroup.sync.
        """
        self.coordinator.check_room(group, sum(map(len, sync.assignments.values())), is_known=True)
        known = await self._owned(group)
        synced: Synced = await self.coordinator.wait(
            known,
            lambda ticket, now: known.sync(sync, ticket, now),
            lambda ticket, now: known.withdraw(sync.member_id, ticket, now),
            closing,
        )
        return synced

    async def heartbeat(self, group: str, member_id: str, instance_id: str | None, generation: int) -> None:
        """Raises NotCoordinator, and what ClassicGroup.heartbeat says."""
        known = await self._owned(group)
        try:
            known.heartbeat(member_id, instance_id, generation, self.coordinator.now())
        finally:
            self.coordinator.carry(known, [])

    async def leave(self, group: str, leaving: Sequence[tuple[str, str | None]]) -> builtins.list[LedgerError | None]:
        """One answer for each member id and instance id.  Raises NotCoordinator."""
        try:
            known = await self._owned(group)
        except UnknownMember as error:
            return [error] * len(leaving)
        answers, replies = known.leave(leaving, self.coordinator.now())
        self.coordinator.carry(known, replies)
        return answers

    async def _owned(self, group: str, mismatch: type[LedgerError] = UnknownMember) -> ClassicGroup:
        """Raises NotCoordinator, UnknownMember; mismatch where the group has members of another kind."""
        held = await self.held(group)
        if isinstance(held, ClassicGroup):
            return held
        if held is not None and not held.is_empty:
            raise mismatch(f"Group {group!r} has members of the {held.kind} protocol.")
        raise UnknownMember(f"Group {group!r} has no such member; join it without a member id.")

    async def held(self, group: str) -> Group | None:
        """The group, taken over with its members if its owner is gone; None if it has no members.

        Raises InvalidGroup, and NotCoordinator when it is in another broker's memory.
        """
        held = self.coordinator.held(check_group(group))
        if held is None:
            stored = await self.look(group)
            if stored.members:
                held = await self.coordinator.open(group, stored.kind)
        return held

    async def look(self, group: str) -> Stored:
        """A group that is not in memory here.  Raises NotCoordinator when it is in another broker's."""
        if self.coordinator.is_closed:
            raise NotCoordinator("This broker is shutting down.")
        (stored,) = await self._ownership.look([group])
        if self._ownership.is_elsewhere(stored):
            raise NotCoordinator(f"Group {group!r} is coordinated by {stored.owner}.")
        return stored

    # -- offsets -----------------------------------------------------------------------------------------------------

    async def check_commit(
        self, group: str, member_id: str, instance_id: str | None, generation: int, *, transactional: bool = False
    ) -> int:
        """Returns the fence of the commit: its generation (or member epoch), or -1 for a commit from outside the group.

        Of a group without members, its last generation may commit until a later one has begun, except static members,
        which may have been replaced.
        transactional: TxnOffsetCommit, whose older versions name no member.
        Raises NotCoordinator, UnknownMember, IllegalGeneration, RebalanceInProgress, FencedInstance; FencedMember and
        StaleMember in a group of KIP-848.
        """
        held = await self.held(group)
        if held is not None:
            now = self.coordinator.now()
            return held.check_commit(member_id, instance_id, generation, now, transactional=transactional)
        stored = await self.look(group)
        if generation < 0 or (instance_id is None and _is_current(stored, generation)):
            return generation
        if stored.kind == CONSUMER:
            raise UnknownMember(f"Group {group!r} has no members; its member epoch {generation} is over.")
        raise IllegalGeneration(f"Group {group!r} has no members; generation {generation} is over.")

    async def fence_for_fetch(self, group: str, member_id: str | None = None, member_epoch: int = -1) -> int:
        """The generation that reading offsets raises in the partitions: earlier ones commit nothing there from then on.

        -1 while the group has no members: what administrators read changes nothing.
        member_id: of a member of KIP-848, for whom it is the member's epoch.  Raises NotCoordinator, UnknownMember and
        StaleMember for one.
        """
        held = self.coordinator.held(check_group(group))
        if held is None:
            (stored,) = await self._ownership.look([group])
            if stored.kind == CONSUMER and member_id is not None and member_epoch >= 0:
                held = await self.held(group)
                if held is None:
                    raise UnknownMember(f"Group {group!r} has no members; join it again.")
            else:
                is_owned = self._ownership.is_mine(stored) or self._ownership.is_elsewhere(stored)
                has_members = stored.members > 0 or is_owned  # members are stored when they have joined
                return stored.generation if stored.kind != CONSUMER and has_members else -1
        return -1 if held.is_empty and member_epoch < 0 else held.check_fetch(member_id, member_epoch)

    # -- administrators ----------------------------------------------------------------------------------------------

    async def describe(self, group: str) -> Described:
        """A classic group.  Raises NotCoordinator, GroupNotFound."""
        held = await self.held(group)
        if isinstance(held, ClassicGroup):
            return held.describe()
        if held is None:
            stored = await self.look(group)
            if stored.kind != CONSUMER and (stored.kind or await self._is_listed(group)):
                return Described(GroupState.EMPTY.value, stored.protocol_type)
        raise GroupNotFound(f"There is no classic group {group!r}.")

    async def list(self, states: Sequence[str] = (), kinds: Sequence[str] = ()) -> builtins.list[Listed]:
        """The groups that this broker coordinates, of these states and kinds in any spelling; all if none is named.

        Cost: the whole registry of groups, and one look at each that is not in memory here.
        """
        mine = {g.name: Listed(g.name, g.protocol_type, g.state.value, g.kind) for g in self.coordinator.groups}
        others = [(name, kind) for name, kind in (await self._registered()).items() if name not in mine]
        looked = await self._ownership.look([name for name, _ in others])
        for (name, kind), stored in zip(others, looked, strict=True):
            assigned = self._members.assigned(name)
            is_mine = self._ownership.is_mine(stored) or assigned is None or assigned.name == self._members.name
            if is_mine and not self._ownership.is_elsewhere(stored):
                kind = stored.kind or kind
                protocol_type = CONSUMER if kind == CONSUMER else stored.protocol_type
                state = (
                    GroupState.STABLE if stored.members else GroupState.EMPTY
                )  # members of a broker that is gone come here
                mine[name] = Listed(name, protocol_type, state.value, kind)
        wanted_states, wanted_kinds = ({text.lower() for text in texts} for texts in (states, kinds))
        return [
            group
            for group in sorted(mine.values())
            if (not wanted_states or group.state.lower() in wanted_states)
            and (not wanted_kinds or group.kind.lower() in wanted_kinds)
        ]

    async def delete(self, group: str) -> None:
        """With all its offsets.  Raises GroupNotEmpty, GroupNotFound, NotCoordinator."""
        await self.held(group)
        async with self.coordinator.alone(group):
            held = self.coordinator.held(group)
            if held is None:
                stored = await self.look(group)
                if not stored.kind and not await self._is_listed(group):
                    raise GroupNotFound(f"There is no group {group!r}.")
                if stored.members:
                    raise GroupNotEmpty(f"Group {group!r} has members; stop them first.")
                # So that no other broker creates it concurrently.
                generation = (await self._ownership.claim(group, stored.kind or "classic")).generation
            elif not held.is_empty:
                raise GroupNotEmpty(f"Group {group!r} has members; stop them first.")
            else:
                generation = held.generation
                self.coordinator.drop(held, UnknownMember(f"Group {group!r} was deleted.", member_id=""))
            await self._offsets.delete_group(group, generation)
            await self._give_up(group)

    async def check_empty(self, group: str) -> None:
        """At any broker.  Raises GroupNotEmpty, InvalidGroup.  Takes over a group whose coordinator is gone, so that
        the sessions of its members end."""
        try:
            held = await self.held(group)
            is_empty = held is None or held.is_empty
        except NotCoordinator:
            (stored,) = await self._ownership.look([group])
            is_empty = not stored.members
        if not is_empty:
            raise GroupNotEmpty(f"Group {group!r} has members. Stop them first; they would overwrite the offsets.")

    async def tidy(self) -> None:
        """Takes over groups whose owner is gone, so that the sessions of their members end, and forgets those that have
        neither members nor offsets."""
        names = [name for name in await self._registered() if self.coordinator.held(name) is None]
        for name, stored in zip(names, await self._ownership.look(names), strict=True):
            if not stored.kind or self._ownership.is_elsewhere(stored):
                continue
            if stored.members:
                with contextlib.suppress(NotCoordinator, GroupFull):
                    await self.held(name)
            elif not await self._offsets.topics_of(name):
                async with self.coordinator.alone(name):
                    with contextlib.suppress(NotCoordinator):
                        if self.coordinator.held(name) is None:
                            await self._ownership.claim(name, stored.kind)
                            await self._give_up(name)

    async def _give_up(self, group: str) -> None:
        """Releases an empty group.  One without offsets is deleted, so that random group names do not use memory."""
        if await self._offsets.topics_of(group):
            await self._ownership.release(group)
            return
        await self._ownership.delete(group)
        if await self._offsets.topics_of(group):  # a concurrent commit expects the group to be listed
            k = self._registry
            await self._store.write_allow_oom("HSETNX", k, encode_name(group), "classic")

    async def names(self) -> builtins.list[str]:
        """Returns the names of all groups, of all coordinators."""
        return sorted(await self._registered())

    async def _is_listed(self, group: str) -> bool:
        k = self._registry
        return bool(await self._store.command("HEXISTS", k, encode_name(group), key=k))

    async def _registered(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        cursor = b"0"
        while True:
            cursor, row = await self._store.command("HSCAN", self._registry, cursor, "COUNT", 1000, key=self._registry)
            found |= {unquote(n.decode()): k.decode() for n, k in zip(row[::2], row[1::2], strict=True) if n}
            if cursor == b"0":
                return found
