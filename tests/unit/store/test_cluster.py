"""A Redis Cluster: its map of slots, how it is read, and when it is read again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from redis_ledger.errors import StoreUnavailable
from redis_ledger.store import cluster
from redis_ledger.store.cluster import key_slot
from tests.support.store_nodes import rest
from tests.support.stub_cluster import LAST, ClusterMap, OneCluster, nodes_of, stub_cluster


@pytest.fixture
async def made(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[ClusterMap, OneCluster]]:
    redis, closed = stub_cluster(monkeypatch)
    yield redis, closed
    if not closed.closed:
        await closed.close()


@pytest.fixture
def redis(made: tuple[ClusterMap, OneCluster]) -> ClusterMap:
    return made[0]


@pytest.fixture
def closed(made: tuple[ClusterMap, OneCluster]) -> OneCluster:
    """A cluster of nodes a and b that is not opened yet."""
    return made[1]


@pytest.fixture
async def opened(closed: OneCluster) -> OneCluster:
    """Slots 0 to 99 are at a, the others at b."""
    await closed.open(lambda sentence: None)
    return closed


# -- slots of keys -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "slot"),
    [
        (b"123456789", 12_739),  # of the Redis Cluster specification
        (b"{user1000}.following", key_slot(b"user1000")),
        (b"{user1000}.followers", key_slot(b"user1000")),
        (b"foo{bar}{zap}", key_slot(b"bar")),
        (b"foo{{bar}}zap", key_slot(b"{bar")),
        (b"x{1", key_slot(b"x{1")),
    ],
)
def test_a_key_has_the_slot_of_its_hash_tag(key, slot):
    assert key_slot(key) == slot


def test_an_empty_hash_tag_is_part_of_the_key():
    assert key_slot(b"foo{}{bar}") != key_slot(b"{bar}")
    assert len({key_slot(b"{}%d" % n) for n in range(9)}) > 1


async def test_the_slots_of_keys_are_remembered_up_to_a_number(opened, monkeypatch):
    monkeypatch.setattr(cluster, "_KEYS_CACHED_MAX", 2)
    for n in range(5):
        assert opened.slot(b"%d" % n) == key_slot(b"%d" % n)
        assert len(opened._slots) <= 2


# -- reading the map ---------------------------------------------------------------------------------------------------


async def test_slots_belong_to_the_primaries_of_the_map(opened, redis):
    assert [opened.owner_name(slot) for slot in (0, 99, 100, LAST)] == ["a:1", "a:1", "b:2", "b:2"]
    assert opened.names() == {"a:1", "b:2"}  # no replicas
    assert redis.users == {"user"}


async def test_a_seed_that_fails_is_passed_over(closed, redis):
    redis.answers = {"a:1": ConnectionRefusedError("LOADING"), "b:2": nodes_of((0, LAST, "b:2"))}
    await closed.open(lambda sentence: None)
    assert (redis.asked, closed.names()) == (["a:1", "b:2"], {"b:2"})


async def test_a_node_without_slots_is_passed_over(closed, redis):
    redis.answers = {"a:1": [], "b:2": nodes_of((0, LAST, "b:2"))}
    await closed.open(lambda sentence: None)
    assert closed.names() == {"b:2"}


@pytest.mark.parametrize(
    ("answers", "reason"),
    [({}, "b:2"), ({"a:1": [], "b:2": []}, "b:2 knows no slots. Finish the cluster with redis-cli --cluster.")],
)
async def test_without_a_map_the_store_is_unavailable_with_the_reason(closed, redis, answers, reason):
    redis.answers = answers
    closed.watch.retry_ms = 0
    with pytest.raises(StoreUnavailable, match=f"the Redis cluster cannot be used: {reason}"):
        await closed.open(lambda sentence: None)


async def test_opening_waits_until_a_node_knows_the_slots(closed, redis):
    redis.answers, sentences = {}, []

    def told(sentence: str) -> None:
        sentences.append(sentence)
        redis.answers = {"b:2": nodes_of((0, LAST, "b:2"))}

    await closed.open(told)
    assert closed.names() == {"b:2"}
    assert sentences[0].startswith("waiting for the Redis cluster: b:2: ")


@pytest.mark.parametrize("host", [b"", b"?", None])
async def test_a_node_that_does_not_know_its_host_is_where_it_was_asked(closed, redis, host):
    redis.answers = {"a:1": [[0, LAST, [host, 7, b"id"]]]}
    await closed.open(lambda sentence: None)
    assert closed.names() == {"a:7"}


async def test_a_slot_without_an_owner_is_asked_for_at_any_connected_node(closed, redis):
    redis.answers = {"a:1": nodes_of((0, 99, "a:1"), (200, LAST, "b:2"))}
    await closed.open(lambda sentence: None)
    assert closed.owner_name(150) == "a:1"
    closed.stubs["a:1"].conn = None
    assert [closed.owner_name(slot) for slot in (150, -1, 0)] == ["b:2", "b:2", "a:1"]


async def test_connected_nodes_are_asked_before_the_seeds(opened, redis):
    redis.asked.clear()
    redis.answers = {"b:2": nodes_of((0, LAST, "b:2"))}
    opened.stubs["a:1"].conn = None
    await opened.reread()
    assert redis.asked == ["b:2"]


async def test_while_no_node_answers_the_known_owners_stay(opened, redis):
    redis.answers = {}
    await opened.reread()
    assert [opened.owner_name(slot) for slot in (0, LAST)] == ["a:1", "b:2"]
    assert redis.asked[1:] == ["a:1", "b:2"]
    # When they answer again, then the map is theirs
    redis.answers = {"b:2": nodes_of((0, LAST, "b:2"))}
    await opened.reread()
    assert opened.owner_name(0) == "b:2"


# -- when it is read again ---------------------------------------------------------------------------------------------


async def test_many_refusals_lead_to_one_read(opened, redis):
    redis.asked.clear()
    redis.gate = asyncio.Event()
    a = opened.stubs["a:1"]
    for slot in range(10):
        opened.issue(f"{slot}", slot)
    await a.reply(*[f"MOVED {slot} b:2" for slot in range(10)])
    assert redis.asked == ["a:1"]
    # When more arrive while it is under way, which may miss what they report, then it is read once more
    for slot in range(10, 20):
        opened.issue(f"{slot}", slot)
    await a.reply(*[f"MOVED {slot} b:2" for slot in range(10, 20)])
    assert redis.asked == ["a:1"]
    redis.gate.set()
    await rest()
    assert redis.asked == ["a:1", "a:1"]


async def test_a_refusal_after_a_read_leads_to_another(opened, redis):
    redis.asked.clear()
    for number in range(1, 4):
        opened.issue("x", number)
        await opened.stubs["a:1"].reply("CLUSTERDOWN Hash slot not served")
        await rest()
        assert len(redis.asked) == number


async def test_a_node_that_is_lost_leads_to_a_read(opened, redis):
    redis.asked.clear()
    opened.stubs["b:2"].lose()
    await rest()
    assert redis.asked == ["a:1"]


async def test_a_reader_of_the_map_that_gives_up_does_not_end_the_read(opened, redis):
    redis.gate, redis.answers = asyncio.Event(), {"a:1": nodes_of((0, LAST, "a:1"))}
    learning = asyncio.ensure_future(opened.learn())
    await rest()
    learning.cancel()
    await rest()
    redis.gate.set()
    await rest()
    assert opened.owner_name(LAST) == "a:1"


async def test_closing_ends_reads_and_nodes(opened, redis):
    redis.gate = asyncio.Event()
    read = opened.refresh()
    await rest()
    await opened.close()
    await rest()
    assert read.cancelled()
    assert all(stub.is_closed for stub in opened.stubs.values())
