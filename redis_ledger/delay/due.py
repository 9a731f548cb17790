"""Computes when a record is due, from its requested delay and the settings of its topic.

requested     deliver_at_ms, or deliver_after_ms from receipt
Redis's time  between low and high, as estimated by the broker: a time up to `low` has passed for certain; a delay
              counts from `high`, so that the record is not early
"""

from __future__ import annotations

from redis_ledger.config import Config
from redis_ledger.errors import DelayTooLong, InvalidDelay
from redis_ledger.records.split_by_due import DueOf

DUE_MAX = 1 << 52  # a sorted set's score holds it exactly


def rule(config: Config, low_ms: int, high_ms: int) -> DueOf:
    """Returns the rule for records that are received together.  config: of their topic.

    The rule returns the due time; None: now.  It raises InvalidDelay (both given, out of range) and
    DelayTooLong.
    """
    enabled, most = config.delayed_delivery_enabled, config.delayed_delivery_max_delay_ms

    def due_of(deliver_at_ms: int | None, deliver_after_ms: int | None) -> int | None:
        if deliver_after_ms is None:
            if deliver_at_ms is None:
                return None
            due, delay = deliver_at_ms, deliver_at_ms - low_ms
        elif deliver_at_ms is None:
            due, delay = high_ms + deliver_after_ms, deliver_after_ms
        else:
            raise InvalidDelay(
                "A record is delivered at a time or after one: give deliver_at or deliver_after, not both."
            )
        if not 0 <= due <= DUE_MAX or (delay < 0 and deliver_at_ms is None):
            raise InvalidDelay(
                f"{deliver_after_ms if deliver_at_ms is None else deliver_at_ms} is no time of delivery."
            )
        if most and delay > most:
            raise DelayTooLong(
                f"A delay of {delay} ms exceeds the maximum allowed delivery delay of {most} ms.", max_delay_ms=most
            )
        return due if enabled and delay > 0 else None

    return due_of
