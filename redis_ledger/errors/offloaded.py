"""Reading offloaded records."""

from __future__ import annotations

from redis_ledger.errors.base import LedgerError, Unavailable


class OffloadedUnavailable(Unavailable):
    """Offloaded records cannot be read right now. Try again; if it persists, check access to offload_home."""

    code, kafka_code = "offloaded_unavailable", 56


class OffloadedDamaged(LedgerError):
    """A file of offloaded records is damaged. Restore the file named in the detail from a backup."""

    code, kafka_code = "offloaded_damaged", 2
