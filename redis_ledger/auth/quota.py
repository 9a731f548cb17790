"""Quotas: token buckets for rates, and which quota applies to a principal.

    bucket   holds the tokens of one second, refills at the rate, may become negative
             not negative ─▶ the request is charged      negative ─▶ wait until the bucket is zero again

A large request is admitted and charged afterwards, so no request is too large for a quota; over time the rate holds for
requests of any size.  Pure: time is a parameter.
Source: KIP-13 (rates for each user), KIP-219 (answered at once, and then not read from), KIP-599 (a bucket below zero).
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from redis_ledger.config import Config

OTHERS = "User:*"  # the key of the default quota, for principals without a quota of their own
BURST_S = 1.0
QUOTA_MAX = 2**53 - 1


class Quota(Struct, frozen=True, omit_defaults=True):
    """None: what applies to others applies.  0: no limit."""

    bytes_in_per_s: int | None = None
    bytes_out_per_s: int | None = None
    requests_per_s: int | None = None
    open_transactions: int | None = None

    def over(self, other: Quota) -> Quota:
        """This, and what it leaves open from the other."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__struct_fields__)
        return Quota(*(theirs if own is None else own for own, theirs in pairs))

    @property
    def is_nothing(self) -> bool:
        """Whether it limits nothing."""
        return not any(getattr(self, name) for name in self.__struct_fields__)


def defaults(config: Config) -> Quota:
    return Quota(
        config.quota_bytes_in_per_s,
        config.quota_bytes_out_per_s,
        config.quota_requests_per_s,
        config.quota_open_transactions,
    )


def quota_of(principal: str, table: Mapping[str, Quota], default: Quota) -> Quota:
    """A row of its own, then that of all others, then the setting."""
    others = table.get(OTHERS, Quota()).over(default)
    return table.get(principal, Quota()).over(others)


class Bucket:
    """A token bucket.  rate: units per second; 0: unlimited."""

    __slots__ = ("_at", "_left", "rate")

    def __init__(self, rate: int, now_s: float) -> None:
        self.rate, self._at = rate, now_s
        self._left = rate * BURST_S

    def take(self, units: float, now_s: float) -> None:
        if self.rate:
            self._fill(now_s)
            self._left -= units

    def wait_s(self, now_s: float) -> float:
        """Until it is not below zero; 0.0 if it is not."""
        if not self.rate:
            return 0.0
        self._fill(now_s)
        return max(-self._left / self.rate, 0.0)

    def _fill(self, now_s: float) -> None:
        self._left = min(self._left + (now_s - self._at) * self.rate, self.rate * BURST_S)
        self._at = now_s


class Use:
    """What one principal has used of its quota."""

    __slots__ = ("bytes_in", "bytes_out", "quota", "requests")

    def __init__(self, quota: Quota, now_s: float) -> None:
        self.quota = quota
        self.bytes_in = Bucket(quota.bytes_in_per_s or 0, now_s)
        self.bytes_out = Bucket(quota.bytes_out_per_s or 0, now_s)
        self.requests = Bucket(quota.requests_per_s or 0, now_s)

    def take(self, now_s: float, *, requests: int = 0, bytes_in: int = 0, bytes_out: int = 0) -> None:
        self.requests.take(requests, now_s)
        self.bytes_in.take(bytes_in, now_s)
        self.bytes_out.take(bytes_out, now_s)

    def wait_s(self, now_s: float) -> float:
        """Until it may go on: the longest of the three."""
        return max(self.requests.wait_s(now_s), self.bytes_in.wait_s(now_s), self.bytes_out.wait_s(now_s))
