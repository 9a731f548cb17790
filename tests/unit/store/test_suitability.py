"""Problems of a Redis server at each level of durability, with advice for operators."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redis_ledger.store.copies import CopiesRequired
from redis_ledger.store.replication_info import ReplicationInfo
from redis_ledger.store.server_info import NodeInfo
from redis_ledger.store.suitability import APPENDFSYNC, problems

GOOD = NodeInfo(
    address="r:1", version="7.0.15", product="redis", product_version="7.0.15", role="master",
    used_memory_bytes=1 << 20, fragmentation=1.0, maxmemory_bytes=0, maxmemory_policy="noeviction",
    appendonly=True, appendfsync="always", replicas=0, replication_id="a", run_id="1",
    config_file="/etc/redis.conf", keys=5, min_replicas_to_write=0,
)  # fmt: skip
SILENT = replace(
    GOOD, version=None, maxmemory_policy=None, appendonly=None, appendfsync=None, config_file=None, keys=None
)
VALKEY = replace(GOOD, product="valkey", is_cluster_node=True)


@pytest.mark.parametrize(
    ("node", "level", "seen"),
    [
        (GOOD, "disk", []),
        (GOOD, "process", []),
        (GOOD, "lossy", []),
        (replace(GOOD, appendfsync="no"), "process", []),
        (replace(GOOD, appendfsync="no"), "disk", ["does not sync to disk"]),
        (replace(GOOD, appendfsync="everysec"), "process", ["appendfsync everysec"]),
        (replace(GOOD, appendfsync="everysec"), "lossy", []),
        (replace(GOOD, appendonly=False), "process", ["appendonly no"]),
        (replace(GOOD, appendonly=False), "lossy", []),
        (replace(GOOD, maxmemory_policy="allkeys-lru"), "lossy", ["may evict"]),
        (replace(GOOD, version="6.2.14"), "lossy", ["version 6.2.14"]),
        (replace(GOOD, role="slave", follows="p:2"), "lossy", ["read-only replica of p:2"]),
        (GOOD, "replicas", []),
        (replace(VALKEY, product_version="9.0.4"), "process", []),
        (replace(VALKEY, product_version="9.0.5"), "process", ["atomic slot migration"]),
        (replace(VALKEY, product_version="9.1.1"), "process", ["atomic slot migration"]),
        (replace(VALKEY, product_version="9.1.2"), "process", []),
        (replace(VALKEY, product_version="9.1.0", is_cluster_node=False), "process", []),
        (replace(GOOD, replicas=1), "disk", ["min-replicas-to-write 0"]),
        (replace(GOOD, replicas=1, min_replicas_to_write=1), "disk", []),
        (replace(GOOD, maxmemory_bytes=1 << 20), "disk", ["uses 1 of 1 MiB"]),
        (SILENT, "disk", ["does not tell its version", "its maxmemory-policy", "its appendonly and appendfsync"]),
        (
            replace(GOOD, version="6.0.1", maxmemory_policy="allkeys-lru", appendonly=False, appendfsync="everysec",
                    replicas=2),
            "disk",
            ["version 6.0.1", "may evict", "appendonly no", "appendfsync everysec", "min-replicas-to-write"],
        ),
    ],
)  # fmt: skip
def test_all_problems_of_a_server_are_named_at_once_by_level(node, level, seen):
    found = problems(node, level)
    assert len(found) == len(seen)
    assert all(part in each.seen for part, each in zip(seen, found, strict=True))
    assert [each.level for each in found] == sorted(each.level for each in found)
    assert all(each.cure.endswith(".") and not each.seen.endswith(".") for each in found)


@pytest.mark.parametrize(
    ("lags", "min_insync", "level", "seen"),
    [
        ((0, 0), 3, [], []),
        ((0, 7), 3, ["problem"], ["has 1 of the 2 in-sync replicas"]),
        ((), 2, ["problem"], ["has 0 of the 1 in-sync replicas"]),
        ((0, 0), 2, ["warning"], ["has 2 replicas, and answers wait for 1 of them"]),
        (None, 2, [], []),
    ],
)
def test_level_replicas_needs_as_many_replicas_as_it_waits_for_and_warns_of_more(lags, min_insync, level, seen):
    node = replace(
        GOOD, replicas=len(lags or ()), min_replicas_to_write=1, replication=ReplicationInfo(True, "a", lags)
    )
    found = problems(node, "replicas", copies=CopiesRequired(min_insync, 5_000))
    assert [each.level for each in found] == level
    assert all(part in each.seen for part, each in zip(seen, found, strict=True))
    assert all(each.cure.endswith(".") and not each.seen.endswith(".") for each in found)


@pytest.mark.parametrize("level", ["process", "disk", "replicas"])
@pytest.mark.parametrize("found", ["no", "everysec", "always"])
def test_the_advised_appendfsync_is_one_that_the_level_accepts(level, found):
    wrong = [each for each in problems(replace(GOOD, appendfsync=found), level) if each.level == "problem"]
    assert bool(wrong) == (found not in APPENDFSYNC[level])
    for each in wrong:
        advised = each.cure.split("`appendfsync ")[1].split("`")[0]
        assert not [p for p in problems(replace(GOOD, appendfsync=advised), level) if p.level == "problem"]


@pytest.mark.parametrize(
    "node",
    [
        replace(GOOD, appendfsync="everysec"),
        replace(GOOD, maxmemory_policy="volatile-lru"),
        replace(GOOD, appendonly=False),
        replace(GOOD, replicas=1),
    ],
)
@pytest.mark.parametrize("config_file", ["", "/etc/redis.conf", None])
def test_advice_survives_a_restart(node, config_file):
    (problem,) = problems(replace(node, config_file=config_file), "disk")
    if config_file == "":
        assert "how Redis is started" in problem.cure
    else:
        assert "CONFIG REWRITE" in problem.cure


@pytest.mark.parametrize(
    ("node", "restarted", "config_set_is_advised"),
    [
        (replace(GOOD, appendonly=False, keys=0), False, False),  # an older file may hold the data
        (replace(GOOD, appendonly=False, keys=5), True, False),  # it does: it was on before the restart
        (replace(GOOD, appendonly=False, keys=0), True, False),
        (replace(GOOD, appendonly=False, keys=5), False, True),  # the data is in memory, and perhaps nowhere else
    ],
)
def test_advice_never_replaces_an_append_only_file_that_may_hold_the_data(node, restarted, config_set_is_advised):
    (problem,) = problems(node, "disk", restarted=restarted)
    assert ("run CONFIG SET appendonly yes and then" in problem.cure) == config_set_is_advised
    assert ("Do not run CONFIG SET appendonly yes" in problem.cure) != config_set_is_advised
    if config_set_is_advised:
        assert "If it has not restarted since its data was written" in problem.cure
