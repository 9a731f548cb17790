"""Scheduled records."""

from __future__ import annotations

from redis_ledger.errors.base import BadRequest, Conflict, NotFound


class InvalidDelay(BadRequest):
    """The delivery time is invalid. Give deliver_at in milliseconds since 1970 (UTC), or deliver_after."""

    code, kafka_code = "invalid_delay", 87


class DelayTooLong(BadRequest):
    """The delay exceeds the topic's maximum. Deliver earlier or raise delayed_delivery_max_delay_ms."""

    code, kafka_code = "delay_too_long", 87


class InvalidRepeat(BadRequest):
    """The repetition is invalid. Use a duration such as PT1H or a cron expression with five fields."""

    code = "invalid_repeat"


class UnknownScheduled(NotFound):
    """The scheduled record does not exist. Use ids exactly as scheduling returned them."""

    code = "unknown_scheduled"


class AlreadyDelivered(Conflict):
    """The scheduled record has been delivered. It can no longer be cancelled or changed."""

    code = "already_delivered"


class AlreadyCancelled(Conflict):
    """The scheduled record was cancelled. Schedule it again if it should be delivered."""

    code, http_status = "already_cancelled", 410
