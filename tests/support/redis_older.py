"""Two brokers on a Redis that can be set back to an earlier state:  python -m tests.support.redis_older

    → 127.0.0.1:9092,127.0.0.1:9093      the brokers' Kafka addresses
    ← keep                               remembers the state of Redis as it is now
    → done
    ← back                               Redis is killed, and starts again in that state
    → done

Until stdin ends.  For Kafka clients whose environment is not this project's: they run it as a process of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
import tempfile
from pathlib import Path

from tests.support.processes import Serve
from tests.support.redis_servers import redis_server
from tests.support.rolling_restart import know_each_other


def main() -> int:
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="redis-ledger-older-"))
        redis = stack.enter_context(redis_server(appendonly="yes", appendfsync="always"))
        files, copy = redis.folder / "appendonlydir", Path(folder) / "copy"
        brokers = []
        for number in range(2):
            more = ("--durability", "disk", "--kafka", "127.0.0.1:0")
            broker = Serve("--redis", redis.url, "--data-dir", Path(folder) / str(number), *more)
            stack.callback(broker.clean_up)
            brokers.append(broker)
        asyncio.run(know_each_other(*brokers))
        print(",".join(broker.field("kafka") for broker in brokers), flush=True)
        for line in sys.stdin:
            if line.strip() == "keep":
                shutil.copytree(files, copy)
            else:
                redis.kill()
                shutil.rmtree(files)
                shutil.copytree(copy, files)
                redis.start()
            print("done", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
