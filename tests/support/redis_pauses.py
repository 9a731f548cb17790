"""Two brokers on a Redis Cluster whose three primaries can be paused:  python -m tests.support.redis_pauses

    → 127.0.0.1:9092,127.0.0.1:9093      the brokers' Kafka addresses
    ← freeze 0                           the first primary keeps its connections and answers nothing
    → done
    ← thaw 0
    → done

Until stdin ends.  For Kafka clients whose environment is not this project's: they run it as a process of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
from pathlib import Path

from tests.support.processes import Serve
from tests.support.redis_servers import redis_cluster
from tests.support.rolling_restart import know_each_other

LASTING = {"appendonly": "yes", "appendfsync": "no", "cluster_node_timeout": "2000"}
LASTING["cluster_require_full_coverage"] = "no"
# Brokers give a call up before the pause is over.
IMPATIENT = ("--set", "redis_timeout_ms=2000", "--set", "redis_retry_ms=1000")


def main() -> int:
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="redis-ledger-pausing-"))
        cluster = stack.enter_context(redis_cluster(**LASTING))
        brokers = []
        for number in range(2):
            data_dir = Path(folder) / str(number)
            more = ("--durability", "process", "--kafka", "127.0.0.1:0", *IMPATIENT)
            broker = Serve("--redis", cluster.url, "--data-dir", data_dir, *more)
            stack.callback(broker.clean_up)
            brokers.append(broker)
        asyncio.run(know_each_other(*brokers))
        print(",".join(broker.field("kafka") for broker in brokers), flush=True)
        for line in sys.stdin:
            order, index = line.split()
            server = cluster.servers[int(index)]
            (server.freeze if order == "freeze" else server.thaw)()
            print("done", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
