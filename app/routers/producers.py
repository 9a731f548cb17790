"""/v1/producers: ids for idempotent producing."""

from __future__ import annotations

from app import bodies, examples
from app.calls import Call
from app.needs import IDENTITY
from app.operations import Routes

routes = Routes("producers")


@routes.post("/v1/producers", needs=(IDENTITY,), status=201, keyed=True, optional=True, examples=examples.PRODUCER)
async def create_producer(call: Call, body: bodies.Empty) -> bodies.Producer:
    """Get an id for idempotent producing.

    Count a sequence per partition from 0, one for every record. A repeated batch is then answered with its first
    outcome instead of being written twice.
    """
    producer_id, epoch = await call.broker.producers.allocate()
    return bodies.Producer(producer_id=producer_id, epoch=epoch)
