"""Reading offloaded records."""

from __future__ import annotations

from redis_ledger.errors.base import LedgerError, Unavailable


class OffloadedUnavailable(Unavailable):
    """Offloaded records cannot be read right now. Try again; if it lasts, see whether offload_home can be reached."""

    code, kafka_code = "offloaded_unavailable", 56


class OffloadedDamaged(LedgerError):
    """A file of offloaded records is damaged. Restore it from a copy; the detail names it."""

    code, kafka_code = "offloaded_damaged", 2
