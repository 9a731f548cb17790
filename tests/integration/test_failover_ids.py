"""Failover to a lagging replica on a real cluster: it allocates no id twice."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.errors import TransactionNotFound
from redis_ledger.ids import TxnId
from redis_ledger.store.cluster import key_slot
from tests.support.broker import eventually, live_transactions, one, records, values_of
from tests.support.redis_servers import Server, redis_cluster


@pytest.mark.full
async def test_a_failover_that_loses_a_begin_gives_its_numbers_to_no_other_client(prefix):
    """TC-04"""
    with redis_cluster(cluster_node_timeout="2000", cluster_require_full_coverage="no") as cluster:
        settings: dict[str, Any] = {"coordinators": 1, "default_timeout_ms": 300_000, "redis_timeout_ms": 20_000}
        slot = key_slot(f"{prefix}:{{tc:0}}:state".encode())
        primary = cluster.owner(slot)
        topic = next(name for name in "abcdefgh" if cluster.owner(key_slot(f"{{{name}:0}}".encode())) is not primary)
        async with one(cluster.url, prefix, **settings) as first, one(cluster.url, prefix, **settings) as second:
            with cluster.replica_of(primary, cluster_node_timeout="2000") as replica:
                await first.topics.create(topic, 1)
                known = (await first.transactions.begin()).id
                await first.records.produce(topic, records("committed"), transaction=known)
                await first.transactions.commit(known)
                assert await eventually(lambda: live_transactions(first), 0) == 0
                assert await eventually(lambda: behind(primary, replica), 0) == 0
                # Given a begin, a producer id and a transactional id that only the primary has
                cluster.cut_off(replica, primary)
                lost = (await first.transactions.begin()).id
                await first.records.produce(topic, records("of a transaction that is lost"), transaction=lost)
                producer_id, _ = await first.producers.allocate()
                transactional_id, _ = await first.producers.init("pay", 60_000)
                # When the primary dies
                cluster.take_over(replica, primary)
                # Then everything handed out afterwards is new
                begun = (await second.transactions.begin()).id
                others = [await second.producers.allocate(), await second.producers.init("pay", 60_000)]
                taken = {lost, TxnId.of_producer(producer_id), TxnId.of_producer(transactional_id)}
                assert begun > max(taken)
                assert min(TxnId.of_producer(pid) for pid, _ in others) > max(taken)
                # and what the first client wrote stays unseen when the second commits
                await second.records.produce(topic, records("of the second client"), transaction=begun)
                await second.transactions.commit(begun)
                with pytest.raises(TransactionNotFound):
                    await first.transactions.commit(lost)
                assert await values_of(second, topic) == ["committed", "of the second client"]


async def behind(primary: Server, replica: Server) -> int:
    """Bytes of the primary's stream that the replica has not got."""
    return written(primary) - written(replica)


def written(server: Server) -> int:
    lines = server.info("replication").splitlines()
    return next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"master_repl_offset:"))
