"""Offloads a topic over REST, without Spark:  python -m tests.support.offload_over_rest URL TOPIC

For tests whose environment has neither pyarrow nor this project's dependencies: they run it as a separate process.
"""

from __future__ import annotations

import sys

from redis_ledger.client import Client
from redis_ledger.offload.manifest import Plan, Segment, Stretch
from redis_ledger.offload.segment import Row, SegmentWriter, open_home, to_record_batch


def main(url: str, topic: str) -> int:
    with Client(url) as client:
        topic_id = client.topics.describe(topic).id
        offloaded = client.offload.describe(topic)
        for partition in offloaded.partitions:
            plan = client.offload.plan(topic, partition.partition, seal=True)
            if plan is not None:
                segments = _written(client, offloaded.home, topic, topic_id, partition.partition, plan)
                client.offload.publish(topic, partition.partition, plan, segments)
    return 0


def _written(client: Client, home: str, topic: str, topic_id: str, partition: int, plan: Plan) -> list[Segment]:
    def write(stretch: Stretch) -> Segment:
        rows = []
        for message in client.read(topic, partition, stretch.first):
            if message.offset >= stretch.end:
                break
            headers = tuple(message.headers.items())
            rows.append(Row(message.offset, message.timestamp_ms, message.key, message.value, headers))
        with SegmentWriter(open_home(home), stretch, topic_id, group_bytes=64 << 10) as writer:
            for at in range(0, len(rows), 100):
                writer.add(to_record_batch(topic, partition, rows[at : at + 100]))
            return writer.finish()

    return [write(stretch) for stretch in plan.stretches]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
