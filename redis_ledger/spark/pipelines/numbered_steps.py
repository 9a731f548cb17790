"""A job in numbered steps whose position is a subscription: where it stands, by what the broker has committed.

    step 7   what it wrote + its number + the offsets where step 8 begins        one decision, so one answer to both
             "which was the last?" and "where does the next one begin?"

The number is asked for first, then the offsets.  A step that somebody else commits in between is above that number, and
the one that is made of these two answers has the same number and commits nothing.
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
    """Of the steps that are committed under the name; None: none is, or too long ago.  What they did can be seen when
    this returns: a driver may have died between the decision and its being carried out.  Raises Unavailable."""
    number = client.transactions.once(name)
    owner, until_s = Step(name, None).owner, time.monotonic() + WAIT_S
    while client.transactions.list("committing", owner=owner, limit=1):
        if time.monotonic() > until_s:
            raise Unavailable("The last step of this job is committed and not carried out yet; run it again later.")
        time.sleep(LOOK_AGAIN_S)
    return number


def noted(client: Client, topic: str, subscription: str) -> dict[int, int] | None:
    """By partition; without those on which nothing is noted.  None when there is nothing at all."""
    try:
        cursors = client.subscriptions.stats(topic, subscription).cursors
    except UnknownSubscription:
        return None
    return {at.partition: at.mark_delete for at in cursors if at.mark_delete >= 0} or None


def append(frame: DataFrame, options: Mapping[str, str]) -> int:
    """Writes it as these options of the sink say; how many records it has."""
    from pyspark.sql import Observation
    from pyspark.sql.functions import count, lit

    seen = Observation()
    observed = frame.observe(seen, count(lit(1)).alias("records"))
    observed.write.format("redis-ledger").options(**options).mode("append").save()
    return int(seen.get["records"])
