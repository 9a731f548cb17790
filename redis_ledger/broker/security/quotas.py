"""Quotas of principals: limits, usage at this broker, and changes.

    {catalog}:quotas   principal (User:* all others) → JSON of its quota      {catalog}:state   "quotas" → version

Each broker has a cached copy and counts for itself, as in Kafka: with three brokers a principal may use three times its
quota.  Kafka and REST requests share the buckets.  Over quota, a Kafka connection is answered and then not read for the
throttle time; REST returns 429 until the bucket has recovered.  Without any quota the cost is the check of a flag.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from redis_ledger.auth.acl import check_principal
from redis_ledger.auth.quota import QUOTA_MAX, Quota, Use, defaults, quota_of
from redis_ledger.broker.cluster.metadata_cache import MetadataCache, Row
from redis_ledger.config import Config
from redis_ledger.errors import InvalidRequest, QuotaExceeded, TransactionQuotaExceeded
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store
from redis_ledger.store.stored_json import stored_json
from redis_ledger.telemetry import metrics

PRINCIPALS_MAX = 10_000  # whose use is remembered; forgetting the one that asked longest ago forgives a second's worth
ASKED_AGAIN_S = 1.0  # after this, whether transactions that seem open still are
THROTTLE_S_MAX = 30.0  # a connection is not read from for longer; what is left is waited for after the next request


class Quotas:
    """is_on: whether anybody has a quota."""

    def __init__(
        self, store: Store, config: Config, is_open: Callable[[object], Awaitable[bool]] | None = None
    ) -> None:
        """is_open: whether the transaction of a key is still open; not needed by who only looks and changes."""
        self._is_open = is_open
        self._key = CatalogKeys(store.prefix).quotas
        self._copied = MetadataCache(store, "quotas", (self._key,), self._take)
        self._default = defaults(config)
        self._table: dict[str, Quota] = {}
        self._uses: OrderedDict[str, Use] = OrderedDict()
        self._open: dict[str, dict[object, None]] = {}  # principal → transactions begun here
        self._asked: dict[str, float] = {}  # principal → when these were asked about, and none of them had ended
        self._decode = stored_json(Quota, "A quota")
        self._loop = asyncio.get_running_loop()
        self.is_on = not self._default.is_nothing

    async def open(self) -> None:
        await self._copied.open()

    async def close(self) -> None:
        await self._copied.close()

    # -- use ---------------------------------------------------------------------------------------------------------

    def charge(self, principal: str, *, requests: int = 0, bytes_in: int = 0, bytes_out: int = 0) -> float:
        """Takes what was used out of the principal's buckets; for how many seconds it must not go on then."""
        if not self.is_on:
            return 0.0
        now, use = self._loop.time(), self._use(principal)
        use.take(now, requests=requests, bytes_in=bytes_in, bytes_out=bytes_out)
        return use.wait_s(now)

    def payer(self, principal: str) -> Callable[[int], object]:
        """What decoded bytes are charged to, as bytes that were read."""
        return lambda count: self.charge(principal, bytes_out=count)

    def wait_s(self, principal: str) -> float:
        """For how long the principal must not go on."""
        return self._use(principal).wait_s(self._loop.time()) if self.is_on else 0.0

    def admit(self, principal: str, bytes_in: int = 0) -> None:
        """One request that is refused, or counted.  Raises QuotaExceeded; then nothing is counted."""
        wait_s = self.wait_s(principal)
        if wait_s > 0.0:
            self.throttled("rest", wait_s)
            raise QuotaExceeded(
                f"{principal} has used more than its quota allows; go on in {wait_s:.1f} s.", retry_after_s=wait_s
            )
        self.charge(principal, requests=1, bytes_in=bytes_in)

    def throttled(self, door: str, wait_s: float) -> None:
        metrics.throttled_requests.labels(door).inc()
        metrics.throttled_seconds.labels(door).inc(wait_s)

    def quota_of(self, principal: str) -> Quota:
        """What applies to it."""
        return quota_of(principal, self._table, self._default)

    def bytes_out_max(self, principal: str, most: int) -> int:
        """How much one answer should hold: of more than a few seconds' worth the rest can wait for the next."""
        rate = self._use(principal).quota.bytes_out_per_s if self.is_on else 0
        return min(most, int(rate * 5)) if rate else most

    def _use(self, principal: str) -> Use:
        use = self._uses.get(principal)
        if use is None:
            use = self._uses[principal] = Use(self.quota_of(principal), self._loop.time())
            if len(self._uses) > PRINCIPALS_MAX:
                self._uses.popitem(last=False)
        else:
            self._uses.move_to_end(principal)
        return use

    # -- open transactions -------------------------------------------------------------------------------------------

    async def may_open(self, principal: str, key: object) -> None:
        """Counts a transaction that is about to begin at this broker.  Raises TransactionQuotaExceeded.

        key  its id, its transactional id, or an object until it has one
        If the quota is used up, the state of the other transactions is read: another broker may have ended them.
        """
        most = self.quota_of(principal).open_transactions if self.is_on else 0
        if not most:
            return
        begun = self._open.get(principal, {})
        if key in begun:
            return
        if len(begun) >= most:
            await self._forget_ended(principal, list(begun))
            begun = self._open.get(principal, {})
        if len(begun) >= most:
            self.throttled("transactions", 0.0)
            raise TransactionQuotaExceeded(
                f"{principal} has {len(begun)} open transactions at this broker, as many as it may; end some.",
                retry_after_s=ASKED_AGAIN_S,
            )
        self._open.setdefault(principal, begun)[key] = None

    async def _forget_ended(self, principal: str, keys: list[object]) -> None:
        """Cost: a read for each; so that clients which try again all the time do not read all the time, only now and
        then."""
        now = self._loop.time()
        if now - self._asked.get(principal, -ASKED_AGAIN_S) < ASKED_AGAIN_S:
            return
        self._asked[principal] = now
        assert self._is_open is not None
        for each, is_it in zip(keys, await asyncio.gather(*map(self._is_open, keys)), strict=True):
            if not is_it:
                self._forget(principal, each)

    def opened(self, principal: str, before: object, key: object) -> None:
        """The transaction counted under `before` is known by this key from now on; None: it did not come to be."""
        begun = self._open.get(principal, {})
        if before in begun and key is not None:
            begun[key] = None
        self._forget(principal, before)

    def ended(self, key: object) -> None:
        """A transaction has ended here."""
        for principal in [who for who, begun in self._open.items() if key in begun]:
            self._forget(principal, key)

    def _forget(self, principal: str, key: object) -> None:
        begun = self._open.get(principal, {})
        begun.pop(key, None)
        if not begun:
            self._open.pop(principal, None)
            self._asked.pop(principal, None)

    # -- change ------------------------------------------------------------------------------------------------------

    async def all(self) -> dict[str, Quota]:
        """Returns quotas by principal; User:* is the default."""
        await self.refresh()
        return dict(sorted(self._table.items()))

    async def change(self, principal: str, wanted: Mapping[str, int | None]) -> Quota:
        """Sets parts of a principal's quota, or (None) takes them back; what it has then.  Raises InvalidRequest."""
        check_principal(principal)
        for name, value in wanted.items():
            if name not in Quota.__struct_fields__:
                raise InvalidRequest(f"{name[:80]!r} is not a quota; there are {', '.join(Quota.__struct_fields__)}.")
            if value is not None and not 0 <= value <= QUOTA_MAX:
                raise InvalidRequest(f"{name}={value} cannot be; give 0 (no limit) or a number from 1 up.")
        await self.refresh()
        quota = msgspec.structs.replace(self._table.get(principal, Quota()), **wanted)
        row = "" if quota == Quota() else msgspec.json.encode(quota).decode()
        await self._copied.write(self._key, {principal: row})
        return quota

    async def remove(self, principal: str) -> bool:
        """Whether it had one of its own."""
        check_principal(principal)
        return bool(await self._copied.write(self._key, {principal: ""}))

    async def refresh(self) -> None:
        """Reads the table again if it changed."""
        await self._copied.refresh()

    def _take(self, tables: Sequence[Sequence[Row]]) -> None:
        self._table = {name.decode(): self._decode(row) for name, row in tables[0]}
        self._uses.clear()
        self.is_on = not self._default.is_nothing or any(not quota.is_nothing for quota in self._table.values())
