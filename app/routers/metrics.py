"""/metrics in Prometheus text format."""

from __future__ import annotations

import asyncio

from app.calls import Answer, Call
from app.needs import DESCRIBE_CLUSTER
from app.operations import Routes
from redis_ledger import exposition

routes = Routes("health")


@routes.get("/metrics", needs=(DESCRIBE_CLUSTER,), answers={200: str})
async def show_metrics(call: Call) -> Answer:
    """Metrics of this broker for Prometheus."""
    if call.services.is_given:
        await asyncio.gather(call.broker.delays.show(), call.broker.overview.show())
    shown = []
    for part in exposition.parts():
        shown.append(part)
        await asyncio.sleep(0)  # others go on meanwhile
    return Answer(200, b"".join(shown), exposition.CONTENT_TYPE.encode())
