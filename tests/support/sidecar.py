"""Topics of both transaction buffers, and what the sidecar buffer holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from redis_ledger.broker.broker import Broker
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from tests.support.broker import begun

# Of the topics `left` and `right` of a step.
MARKER, SIDECAR, MIXED = ("marker", "marker"), ("sidecar", "sidecar"), ("marker", "sidecar")
APPENDS = {"marker": "XADD+ledger/append", "sidecar": "XADD+ledger/append_sidecar"}


async def create_sinks(broker: Broker, names: Sequence[str], buffers: Sequence[str]) -> None:
    """A sidecar buffer has had an aborted transaction: the first batch of all makes its ledger, and is sent again."""
    for name, buffer in zip(names, buffers, strict=True):
        await broker.topics.create(name, settings={TXN_BUFFER: BUFFERS[buffer]})
        if buffer == "sidecar":
            await broker.transactions.abort(await begun(broker, "aborted", topic=name))


def appends(buffers: Sequence[str]) -> dict[str, int]:
    """The writes of a batch into a topic of each buffer, by name."""
    return dict(Counter(APPENDS[buffer] for buffer in buffers))


async def buffered(broker: Broker, topic: str, number: int = 0) -> int:
    """Members of a partition's buffer, without the sentinel."""
    k = (await broker.catalog.partition(topic, number)).keys
    return int(await broker.store.command("ZCARD", k.sidecar, key=k.state)) - 1


async def all_buffered(broker: Broker, topics: Sequence[str]) -> int:
    """Members of all buffers after the broker has deleted what no reader needs."""
    await broker.aborted_payload.look_at_all()
    count = 0
    for topic in topics:
        entry, _ = await broker.topics.describe(topic)
        count += sum([await buffered(broker, topic, number) for number in range(entry.partitions)])
    return count
