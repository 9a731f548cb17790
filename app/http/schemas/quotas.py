"""Bodies of quotas."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from redis_ledger.app.http.schemas.core import NUMBER_MAX, Reply, Request

Limit = Annotated[int, Meta(ge=0, le=NUMBER_MAX, description="On each broker; 0: no limit.")]


class SetQuota(Request):
    bytes_in_per_s: Limit | UnsetType | None = UNSET
    bytes_out_per_s: Limit | UnsetType | None = UNSET
    requests_per_s: Limit | UnsetType | None = UNSET
    open_transactions: Limit | UnsetType | None = UNSET


class Quota(Reply):
    principal: str
    bytes_in_per_s: int | None
    bytes_out_per_s: int | None
    requests_per_s: int | None
    open_transactions: int | None


class Quotas(Reply):
    quotas: list[Quota]
