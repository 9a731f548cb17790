"""Reading offloaded records and the values of large messages."""

from __future__ import annotations

from redis_ledger.errors.base import LedgerError, NotFound, Unavailable


class OffloadedUnavailable(Unavailable):
    """Offloaded records cannot be read right now. Try again; if it persists, check access to offload_home."""

    code, kafka_code = "offloaded_unavailable", 56


class OffloadedDamaged(LedgerError):
    """A file of offloaded records is damaged. Restore the file named in the detail from a backup."""

    code, kafka_code = "offloaded_damaged", 2


class UnknownLargeMessage(NotFound):
    """No large message begins at this offset. Use the id of a message with the header rl-large."""

    code = "unknown_large_message"


class LargeMessageDamaged(LedgerError):
    """A chunk of the large message is missing or differs from what was sent. Acknowledge it, or send it again."""

    code = "large_message_damaged"
