"""What do idle brokers cost Redis?

    3x3000    brokers x partitions; each partition has a record; there are no clients

`commands_per_s` counts the commands of all brokers together: searches for ledgers to trim or seal and transactions to
end, heartbeats, and the list of topics.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from bench.growth.counts import Counts
from bench.lab import Lab
from bench.load import connected, request
from bench.processes import broker, folder

BROKERS, TOPICS, PARTITIONS = 3, 3, 1_000
CASE, GOAL = "3x3000", 300
# After the last append, the first round of each job checks every partition once.  That is a cost of the appends and
# not of being idle, so the measurement starts after it.  It lasts for a round of the leaders' retention.
SETTLE_S, MEASURED_S = 75.0, 125.0


async def measure(lab: Lab) -> None:
    scale = lab.pace.scale
    with folder() as name:
        home = Path(name)
        async with contextlib.AsyncExitStack() as stack:
            served = [await stack.enter_async_context(broker("process", kafka=True, home=home)) for _ in range(BROKERS)]
            counts = Counts(home, served[0].redis_pid)
            client = await stack.enter_async_context(connected(served[0], 8))
            partitions = max(1, int(PARTITIONS * scale))
            for number in range(TOPICS):
                await client.call("POST", "/v1/topics", {"name": f"t{number}", "partitions": partitions})
                body = [{"partition": each, "records": [{"text": "x"}]} for each in range(partitions)]
                await client.each([request("POST", f"/v1/topics/t{number}/records", each) for each in body])
            await asyncio.sleep(SETTLE_S * scale)
            spent = await counts.over(MEASURED_S * scale)
            await counts.close()
    lab.note(CASE, "commands_per_s", spent.calls_per_s, "commands a second", "process", GOAL)
    lab.note(CASE, "redis_cpu_percent", 100 * spent.cpu_s / spent.seconds, "% of a core", "process")
    for command in list(spent.commands)[:3]:
        lab.note(CASE, f"{command}_per_s", spent.commands[command] / spent.seconds, "commands a second", "process")
