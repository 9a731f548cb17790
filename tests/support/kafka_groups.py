"""Members of classic groups as clients are, and several brokers with listeners on one Redis, for tests."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from redis_ledger.broker.broker import Broker
from redis_ledger.kafka.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from redis_ledger.kafka.protocol.messages.heartbeat_request import HeartbeatRequest
from redis_ledger.kafka.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from redis_ledger.kafka.protocol.messages.join_group_response import JoinGroupResponse
from redis_ledger.kafka.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from redis_ledger.kafka.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from redis_ledger.store.keys import GroupKeys
from tests.support.broker import eventually, one, vanish
from tests.support.kafka_client import KafkaClient, listening

MEMBER_ID_REQUIRED = 79
TAKEN_OVER_S_MAX = 10.0  # a broker counts as dead some seconds after its last sign of life
QUICK: dict[str, Any] = {"group_initial_rebalance_delay_ms": 20, "group_session_timeout_ms_min": 50}


class Member:
    """version: of JoinGroup; the others follow.  It keeps its id and generation, as a client does."""

    def __init__(
        self,
        client: KafkaClient,
        *,
        group: str = "g",
        version: int = 9,
        instance: str | None = None,
        session_ms: int = 30_000,
    ) -> None:
        self.client, self.group, self.version, self.instance = client, group, version, instance
        self.session_ms = session_ms
        self.id, self.generation, self.protocol = "", -1, "range"

    async def join(self, metadata: bytes = b"m", **more: Any) -> JoinGroupResponse:
        """The answer; one that gives an id is followed by another join with it."""
        asked = {
            "group_id": self.group,
            "session_timeout_ms": self.session_ms,
            "rebalance_timeout_ms": 30_000 if self.version >= 1 else -1,
            "member_id": self.id,
            "group_instance_id": self.instance,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequestProtocol(self.protocol, metadata)],
            **more,
        }
        answer = await self.client.ask(JoinGroupRequest(**asked), self.version)
        assert isinstance(answer, JoinGroupResponse)
        if answer.error_code in (0, MEMBER_ID_REQUIRED):
            self.id, self.generation = answer.member_id, answer.generation_id
        if answer.error_code == MEMBER_ID_REQUIRED:
            return await self.join(metadata, **more)
        return answer

    async def sync(self, assignments: Mapping[str, bytes] | None = None, **more: Any) -> Any:
        given = [SyncGroupRequestAssignment(*pair) for pair in (assignments or {}).items()]
        asked = {"protocol_type": "consumer", "protocol_name": self.protocol, **more}
        if self.version < 9:
            asked = {}
        request = SyncGroupRequest(self.group, self.generation, self.id, self.instance, assignments=given, **asked)
        return await self.client.ask(request, SYNC.get(self.version, 5))

    async def beat(self) -> int:
        request = HeartbeatRequest(self.group, self.generation, self.id, self.instance)
        code: int = (await self.client.ask(request, min(self.version, 4) if self.version >= 3 else 1)).error_code
        return code

    async def leave(self) -> Any:
        if self.version < 3:
            return await self.client.ask(LeaveGroupRequest(self.group, self.id), self.version)
        request = LeaveGroupRequest(self.group, members=[MemberIdentity(self.id, self.instance)])
        return await self.client.ask(request, min(self.version, 5))


SYNC = {0: 0, 1: 1, 2: 2, 3: 2, 4: 2, 5: 3, 6: 4, 7: 4, 8: 4}  # JoinGroup version → SyncGroup version


class Node:
    """A broker with a listener.  url: of its own way to Redis."""

    def __init__(self, broker: Broker, address: tuple[str, int], stack: contextlib.AsyncExitStack) -> None:
        self.broker, self.address, self._stack = broker, address, stack

    async def client(self) -> KafkaClient:
        return await self._stack.enter_async_context(KafkaClient(self.address))

    async def die(self) -> None:
        """Ends without leaving the group, as kill -9 does."""
        await vanish(self.broker)
        await self._stack.aclose()


@contextlib.asynccontextmanager
async def nodes(*urls: str, prefix: str, **settings: Any) -> AsyncIterator[list[Node]]:
    """A broker for each url, all of the same Redis; they know of each other."""
    async with contextlib.AsyncExitStack() as all_of_them:
        made = []
        for number, url in enumerate(urls):
            broker = await all_of_them.enter_async_context(one(url, prefix, name=f"b{number}", **{**QUICK, **settings}))
            stack = await all_of_them.enter_async_context(contextlib.AsyncExitStack())
            made.append(Node(broker, await stack.enter_async_context(listening(broker)), stack))
        for node in made:
            await node.broker.live_brokers.send_heartbeat()
        yield made


async def coordinator_of(client: KafkaClient, group: str = "g") -> tuple[int, str, int]:
    """Error code, host and port."""
    answer = await client.ask(FindCoordinatorRequest(coordinator_keys=[group]), 4)
    (found,) = answer.coordinators
    return found.error_code, found.host, found.port


async def state_of(node: Node, group: str = "g") -> dict[str, str]:
    """The stored state of a group, without its members."""
    key = GroupKeys(node.broker.store.prefix, group).state
    row = await node.broker.store.command("HGETALL", key, key=key)
    pairs = zip(row[::2], row[1::2], strict=True)
    return {
        name.decode(): value.decode() for name, value in pairs if name in (b"owner", b"kind", b"generation", b"type")
    }


async def settled(node: Node, **more: Any) -> Member:
    """A member of its own at this broker, with an assignment."""
    member = Member(await node.client(), **more)
    assert (await member.join()).error_code == 0
    assert (await member.sync({member.id: b"all"})).error_code == 0
    return member


async def together(node: Node, **more: Any) -> list[Member]:
    """Two members at this broker, which are assigned "1" and "2"."""
    one, two = [Member(await node.client(), **more) for _ in range(2)]
    await asyncio.gather(one.join(), two.join())
    while one.generation != two.generation:
        await asyncio.gather(one.join(), two.join())
    assigned = {one.id: b"1", two.id: b"2"}
    answers = await asyncio.gather(one.sync(assigned), two.sync(assigned))
    assert [answer.assignment for answer in answers] == [b"1", b"2"]
    return [one, two]


async def stored_members(node: Node, group: str = "g") -> set[str]:
    return set(await node.broker.groups._ownership.rows(group))


async def moved_to(node: Node, group: str = "g") -> None:
    """Returns when clients are sent to this node."""
    client = await node.client()

    async def where() -> tuple[int, str, int]:
        return await coordinator_of(client, group)

    assert await eventually(where, (0, *node.address), TAKEN_OVER_S_MAX) == (0, *node.address)
