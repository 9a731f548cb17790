"""/v1/quotas: limits of principals on each broker."""

from __future__ import annotations

import msgspec

from redis_ledger.app.http.authorization import ALTER_CLUSTER, DESCRIBE_CLUSTER
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.schemas import quotas as bodies
from redis_ledger.auth.quota import Quota

routes = Routes("quotas")
_SHOWN = {"bytes_in_per_s": 1_048_576, "bytes_out_per_s": None, "requests_per_s": 500, "open_transactions": None}


@routes.get(
    "/v1/quotas",
    requires=(DESCRIBE_CLUSTER,),
    examples={"200": {"quotas": [{"principal": "User:ada", **_SHOWN}]}},
)
async def list_quotas(request: HttpRequest) -> bodies.Quotas:
    """List the configured quotas. For a null limit, the quota of `User:*` or the broker setting applies."""
    found = await request.broker.quotas.all()
    return bodies.Quotas(quotas=[_to_body(principal, quota) for principal, quota in found.items()])


@routes.put(
    "/v1/quotas/{principal}",
    requires=(ALTER_CLUSTER,),
    act="quota.set",
    examples={
        "request": {"bytes_in_per_s": 1_048_576, "requests_per_s": 500},
        "200": {"principal": "User:ada", **_SHOWN},
    },
)
async def set_quota(request: HttpRequest, principal: str, body: bodies.SetQuota) -> bodies.Quota:
    """Set limits of a principal; null removes a limit, omitted limits stay.

    Limits apply on each broker: with three brokers, a principal has three times the quota. Changes take effect on this
    broker immediately and on the others within two seconds. 0 exempts the principal from the default limit.
    """
    wanted = msgspec.to_builtins(body)
    request.facts = wanted
    return _to_body(principal, await request.broker.quotas.change(principal, wanted))


@routes.delete("/v1/quotas/{principal}", requires=(ALTER_CLUSTER,), act="quota.remove", status=204)
async def remove_quota(request: HttpRequest, principal: str) -> None:
    """Remove a principal's quota; the default applies then. Removing a quota that does not exist is not an error."""
    await request.broker.quotas.remove(principal)


def _to_body(principal: str, quota: Quota) -> bodies.Quota:
    return bodies.Quota(principal=principal, **msgspec.structs.asdict(quota))
