"""Jobs in numbered steps whose position is a subscription; the broker commits both together.

    step 7   its records + its number + the offsets where step 8 begins          one commit, so both reads agree:
             the last committed number, and the start of the next step

The number is read first, then the offsets.  If another run commits a step in between, this run's step has the same
number and is not committed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from redis_ledger.client import Client
from redis_ledger.errors import Unavailable, UnknownSubscription
from redis_ledger.spark.task_commit import Step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LOOK_AGAIN_S = 0.2
WAIT_S = 60.0


def last_number(client: Client, name: str) -> int | None:
    """Returns the last number committed under the name; None if there is none, or it has expired.  Its effects are
    visible when this returns, even if a driver died before completing the commit.  Raises Unavailable."""
    number = client.transactions.once(name)
    owner, until_s = Step(name, None).owner, time.monotonic() + WAIT_S
    while client.transactions.list("committing", owner=owner, limit=1):
        if time.monotonic() > until_s:
            raise Unavailable("The last step of this job is committed but not complete yet; run it again later.")
        time.sleep(LOOK_AGAIN_S)
    return number


def committed_offsets(client: Client, topic: str, subscription: str) -> dict[int, int] | None:
    """Returns offsets by partition, without partitions that have none.  None if there are none at all."""
    try:
        cursors = client.subscriptions.stats(topic, subscription).cursors
    except UnknownSubscription:
        return None
    return {at.partition: at.mark_delete for at in cursors if at.mark_delete >= 0} or None


def append(frame: DataFrame, options: Mapping[str, str]) -> int:
    """Writes the frame with these options of the sink; returns the number of records."""
    from pyspark.sql import Observation
    from pyspark.sql.functions import count, lit

    seen = Observation()
    observed = frame.observe(seen, count(lit(1)).alias("records"))
    observed.write.format("redis-ledger").options(**options).mode("append").save()
    return int(seen.get["records"])
