"""/v1/producers: producer ids for idempotent production."""

from __future__ import annotations

from redis_ledger.app.http.authorization import INIT_PRODUCER_ID
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.schemas import core, examples

routes = Routes("producers")


@routes.post(
    "/v1/producers", requires=(INIT_PRODUCER_ID,), status=201, keyed=True, optional=True, examples=examples.PRODUCER
)
async def create_producer(request: HttpRequest, body: core.Empty) -> core.Producer:
    """Get a producer id for idempotent production.

    Number the records of each partition from 0. A repeated batch is not written again; the response contains its
    original offsets.
    """
    producer_id, epoch = await request.broker.producers.allocate()
    return core.Producer(producer_id=producer_id, epoch=epoch)
