"""fsck on a topic with the sidecar buffer: differences are reported, and repaired if something holds what is right."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import NewRecord
from redis_ledger.fsck import delay_reader, partition_reader, service
from redis_ledger.ids import TxnId
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from redis_ledger.ledger.sidecar import txn_name
from redis_ledger.store.keys import PartitionKeys
from tests.support.broker import begun, one, raw, values_of
from tests.support.fsck_scene import HOUR_MS, SETTINGS, Scene, checked, sentences


@pytest.fixture
def redis_url(own_redis_url: str) -> str:
    return own_redis_url


class Buffered(NamedTuple):
    """committed, open: transactions of two batches."""

    scene: Scene
    committed: TxnId
    open: TxnId

    @property
    def k(self) -> PartitionKeys:
        return self.scene.partition

    async def command(self, *args: Any) -> Any:
        return await self.scene.command(*args)

    async def members(self, txn: TxnId) -> list[bytes]:
        name = txn_name(txn)
        found: list[bytes] = await self.command("ZRANGEBYLEX", self.k.sidecar, b"[%s " % name, b"(%s!" % name)
        return found


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "BETWEEN_S", 0.02)


@pytest.fixture
async def buffered(redis_url: str, prefix: str) -> AsyncIterator[Buffered]:
    """Transactions of one batch and of two, an aborted one that is not deleted yet, and an open one."""
    async with one(redis_url, prefix, **SETTINGS) as broker:
        await broker.topics.create("t", settings={TXN_BUFFER: BUFFERS["sidecar"]})
        await broker.transactions.commit(await begun(broker, "one"))
        committed = await begun(broker, "a", "b")
        await broker.transactions.commit(committed)
        await broker.records.produce("t", [NewRecord(None, b"later", deliver_after_ms=HOUR_MS)])
        await broker.transactions.abort(await begun(broker, "x", "y"))
        opened = await begun(broker, "c", "d", timeout_ms=600_000)
        yield Buffered(Scene(broker, redis_url, opened, opened.producer_id, ""), committed, opened)


async def test_a_whole_buffer_is_clean(buffered: Buffered):
    assert sentences(await checked(buffered.scene)) == []
    assert sentences(await checked(buffered.scene, full=False)) == []
    await ends_well(buffered.scene.broker, buffered.open)
    assert sentences(await checked(buffered.scene)) == []


async def ends_well(broker: Broker, opened: TxnId) -> None:
    await broker.aborted_payload.look_at_all()
    await broker.transactions.commit(opened)
    assert await raw(broker) == await values_of(broker, "t") == ["one", "a", "b", "c", "d"]


async def _delete_open_row(b: Buffered) -> None:
    await b.command("HDEL", b.k.open, b.open.producer_id)


async def _delete_all_of_open(b: Buffered) -> None:
    await b.command("HDEL", b.k.open, b.open.producer_id)
    await b.command("ZREM", b.k.firsts, b.open.producer_id)


async def _wrong_score(b: Buffered) -> None:
    await b.command("ZADD", b.k.firsts, 3, b.open.producer_id)


async def _wrong_totals(b: Buffered) -> None:
    row = (await b.command("HGET", b.k.open, b.open.producer_id)).split(b" ")
    row[5] = b"77"
    await b.command("HSET", b.k.open, b.open.producer_id, b" ".join(row))


async def _row(b: Buffered, at: int, value: int) -> None:
    row = (await b.command("HGET", b.k.ledgers, -1)).split(b" ")
    row[at] = b"%d" % value
    await b.command("HSET", b.k.ledgers, -1, b" ".join(row))


async def _wrong_unlogged(b: Buffered) -> None:
    await _row(b, 4, 1)


async def _low_max_offset(b: Buffered) -> None:
    await _row(b, 3, 1)


async def _no_ledger_row(b: Buffered) -> None:
    await b.command("HDEL", b.k.ledgers, -1)


async def _stray_batch(b: Buffered) -> None:
    await b.command("ZADD", b.k.sidecar, 0, "0-77 000000000000 -1 999 1 70 0")


async def _malformed_member(b: Buffered) -> None:
    await b.command("ZADD", b.k.sidecar, 0, "0-77 what")


REPAIRED: dict[str, tuple[Callable[[Buffered], Any], str]] = {
    "row of open": (_delete_open_row, "neither open here nor in the log"),
    "row and score": (_delete_all_of_open, "neither open here nor in the log"),
    "score": (_wrong_score, "in the sidecar buffer, with score -5; `firsts` has 3"),
    "totals": (_wrong_totals, "has 77 records"),
    "unlogged": (_wrong_unlogged, "has 1 unlogged entries; 5 are pending"),
    "ledger end": (_low_max_offset, "ends at offset 1 by its row; the sidecar buffer says 2"),
    "ledger row": (_no_ledger_row, "Delay ledger -1 has no row"),
    "stray batch": (_stray_batch, "transaction 0-77, which is neither open here"),
    "form": (_malformed_member, "has a member of another form"),
}


@pytest.mark.parametrize("name", REPAIRED)
async def test_damage_is_reported_and_repaired(name: str, buffered: Buffered):
    damage, words = REPAIRED[name]
    await damage(buffered)
    seen = sentences(await checked(buffered.scene))
    assert any(words in sentence for sentence in seen), seen
    assert sentences(await checked(buffered.scene, repair=True)) == []
    await ends_well(buffered.scene.broker, buffered.open)
    assert sentences(await checked(buffered.scene)) == []


async def test_large_buffers_are_compared_page_by_page(buffered: Buffered, monkeypatch: pytest.MonkeyPatch):
    for module in (partition_reader, delay_reader):
        monkeypatch.setattr(module, "SMALL", 0)
    monkeypatch.setattr("redis_ledger.fsck.sidecar_reader.PAGE", 1)
    assert sentences(await checked(buffered.scene)) == []
    await _delete_open_row(buffered)
    await _wrong_unlogged(buffered)
    assert sentences(await checked(buffered.scene, repair=True)) == []
    await ends_well(buffered.scene.broker, buffered.open)


@pytest.mark.parametrize("whose", ["committed", "open"])
async def test_a_batch_that_is_missing_is_reported(whose: str, buffered: Buffered):
    txn = getattr(buffered, whose)
    await buffered.command("ZREM", buffered.k.sidecar, (await buffered.members(txn))[0])
    report = await checked(buffered.scene, repair=True)
    assert f"Transaction {txn} has no batch with its record 0 in the sidecar buffer." in {
        each.detail for each in report.left
    }


@pytest.mark.parametrize(
    ("whose", "words"), [("committed", "offsets 1 to 1, in ledger -1"), ("open", "of open transaction")]
)
async def test_payload_that_is_missing_is_reported(whose: str, words: str, buffered: Buffered):
    member = (await buffered.members(getattr(buffered, whose)))[0].split()
    await buffered.command("XDEL", buffered.k.data(-1), b"0-" + member[3])
    (seen,) = [each for each in sentences(await checked(buffered.scene)) if "payload of" in each]
    assert words in seen
    assert "is missing" in seen
