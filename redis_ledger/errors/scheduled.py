"""Scheduled records."""

from __future__ import annotations

from redis_ledger.errors.base import BadRequest, Conflict, NotFound


class InvalidDelay(BadRequest):
    """The time of delivery cannot be read. Give deliver_at in milliseconds since 1970 (UTC), or deliver_after."""

    code, kafka_code = "invalid_delay", 87


class DelayTooLong(BadRequest):
    """The delay exceeds what the topic allows. Deliver earlier, or raise delayed_delivery_max_delay_ms."""

    code, kafka_code = "delay_too_long", 87


class InvalidRepeat(BadRequest):
    """The repetition cannot be read. Use a duration such as PT1H, or a cron expression of five fields."""

    code = "invalid_repeat"


class UnknownScheduled(NotFound):
    """There is no such scheduled record (any more). Use ids exactly as scheduling returned them."""

    code = "unknown_scheduled"


class AlreadyDelivered(Conflict):
    """The scheduled record is in the log already. It was not cancelled or changed."""

    code = "already_delivered"


class AlreadyCancelled(Conflict):
    """The scheduled record was cancelled. It will not be delivered."""

    code, http_status = "already_cancelled", 410
