"""Steps on partition 0 of topic `t` and its subscriptions, for tests of acknowledgement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from redis_ledger.broker.broker import Broker
from redis_ledger.ids import MessageId, TxnId
from tests.support.broker import receive_values, records


def at(*offsets: int) -> list[MessageId]:
    return [MessageId(0, offset) for offset in offsets]


async def filled(broker: Broker, count: int, name: str = "s", kind: Literal["shared", "exclusive"] = "shared") -> None:
    """Writes so many records in one batch, which c1 receives.  A kind other than shared: creates the subscription."""
    if kind != "shared":
        await broker.subscriptions.create("t", name, kind)
    await broker.records.produce("t", records(*[str(n) for n in range(count)]))
    assert len(await receive_values(broker, "t", name)) == count


async def ack(
    broker: Broker, offsets: Iterable[int], txn: TxnId | None = None, consumer: str = "c1", name: str = "s"
) -> int:
    return await broker.subscriptions.ack("t", name, consumer, at(*offsets), transaction=txn)


async def ack_upto(broker: Broker, offset: int, txn: TxnId | None = None, name: str = "x") -> Any:
    return await broker.subscriptions.ack_cumulative("t", name, "c1", MessageId(0, offset), transaction=txn)


async def offsets(broker: Broker, name: str = "s", consumer: str = "c1", **more: Any) -> list[int]:
    """The next delivery to a consumer."""
    return [id_.offset for id_ in await receive_values(broker, "t", name, consumer, **more)]


async def cursor(broker: Broker, name: str = "s") -> Any:
    (found,) = (await broker.subscriptions.stats("t", name)).cursors
    return found
