"""Subscriptions as the broker describes them: positions, backlogs, and how consumers share the keys."""

from __future__ import annotations

import msgspec

from redis_ledger.client.models import AnyKind
from redis_ledger.client.redelivery_models import Backoff, DeadLetters


class Subscription(msgspec.Struct, frozen=True):
    name: str
    kind: AnyKind


class CursorStats(msgspec.Struct, frozen=True):
    partition: int
    mark_delete: int  # everything below is acknowledged
    read: int = 0
    end: int = 0
    acked_ahead: int = 0
    leased: int = 0
    pending: int = 0
    backlog: int = 0
    redelivered: int = 0
    waiting: int = 0
    backlog_is_exact: bool = True


class KeyShare(msgspec.Struct, frozen=True):
    """What a consumer of a key_shared subscription has, on all partitions together."""

    consumer: str
    slots: int  # hash slots of keys, of 256 on each partition
    unacknowledged: int = 0  # leased, or acknowledged in open transactions
    waiting: int = 0  # records of its slots that no consumer has
    returned: int = 0  # those of them that were delivered before
    session_ends_ms: int = 0  # 0 if it was closed


class Extended(msgspec.Struct, frozen=True):
    """lost: ids that are not leased to the consumer: settled, or another consumer's."""

    extended: int
    lost: tuple[str, ...] = ()


class SubscriptionStats(msgspec.Struct, frozen=True):
    topic: str
    name: str
    kind: AnyKind
    backlog: int = 0
    backlog_is_exact: bool = True  # False: an upper bound, which counts markers and aborted records as well
    delayed: int = 0  # records that are not due yet; no backlog counts them
    leased: int = 0
    pending: int = 0
    waiting: int = 0  # read from the log, and no consumer has them: returned, or for the consumer of their key
    cursors: list[CursorStats] = []
    consumers: list[KeyShare] = []  # of a key_shared subscription, as `stats` returns it
    dead_letters: DeadLetters | None = None
    redelivery: Backoff | None = None
