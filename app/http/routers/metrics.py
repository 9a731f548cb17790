"""/metrics in Prometheus text format."""

from __future__ import annotations

import asyncio

from redis_ledger.app.http.authorization import DESCRIBE_CLUSTER
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest, HttpResponse
from redis_ledger.telemetry import exposition

routes = Routes("health")


@routes.get("/metrics", requires=(DESCRIBE_CLUSTER,), answers={200: str})
async def show_metrics(request: HttpRequest) -> HttpResponse:
    """Metrics of this broker for Prometheus."""
    await asyncio.gather(request.broker.delayed.update_metrics(), request.broker.metrics_collector.show())
    shown = []
    for part in exposition.parts():
        shown.append(part)
        await asyncio.sleep(0)  # other requests run in between
    return HttpResponse(200, b"".join(shown), exposition.CONTENT_TYPE.encode())
