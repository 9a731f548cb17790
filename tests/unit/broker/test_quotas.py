"""Quotas of principals at one broker, with the table of the cluster in a dict.

What is over a quota here is over it for hours, so no test depends on how fast it runs."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.auth.quota import OTHERS
from redis_ledger.broker.security import quotas as module
from redis_ledger.broker.security.quotas import Quotas
from redis_ledger.config import Config
from redis_ledger.errors import QuotaExceeded, TransactionQuotaExceeded
from tests.support.cached_tables import TableStore

ADA, EVE = "User:ada", "User:eve"
LOW, HIGH, HOURS = 1_000, 10**12, 10**9


@pytest.fixture
def store() -> Any:
    return TableStore()


@pytest.fixture
async def quotas(store) -> Quotas:
    return Quotas(store, Config())


async def test_decoded_bytes_are_charged_as_bytes_that_were_read(quotas):
    await quotas.change(ADA, {"bytes_out_per_s": LOW})
    await quotas.change(EVE, {"bytes_in_per_s": LOW})
    for principal in (ADA, EVE):
        quotas.payer(principal)(HOURS)
    assert quotas.wait_s(ADA) > 3_600
    assert quotas.wait_s(EVE) == 0


@pytest.mark.parametrize("used", ["bytes_in", "bytes_out", "requests"])
async def test_each_use_is_charged_to_its_own_limit_only(quotas, used):
    await quotas.change(ADA, {f"{used}_per_s": LOW})
    for other in {"bytes_in", "bytes_out", "requests"} - {used}:
        assert quotas.charge(ADA, **{other: HOURS}) == 0
    assert quotas.charge(ADA, **{used: HOURS}) > 3_600


@pytest.mark.parametrize("row", [ADA, OTHERS])
async def test_a_changed_quota_applies_to_a_principal_that_has_used_the_one_before(quotas, row):
    # Given a principal that has used its quota
    await quotas.change(row, {"bytes_out_per_s": HIGH, "requests_per_s": HIGH})
    assert quotas.charge(ADA, bytes_out=HOURS, requests=1) == 0
    # When it is lowered, then it is over the new one
    await quotas.change(row, {"bytes_out_per_s": LOW})
    assert quotas.charge(ADA, bytes_out=HOURS) > 3_600
    assert quotas.bytes_out_max(ADA, HIGH) == 5 * LOW
    with pytest.raises(QuotaExceeded):
        quotas.admit(ADA)
    # and it may go on when the quota is raised
    await quotas.change(row, {"bytes_out_per_s": HIGH})
    quotas.admit(ADA)
    assert quotas.bytes_out_max(ADA, HIGH) == HIGH
    # or removed
    await quotas.change(row, {"bytes_out_per_s": LOW})
    assert quotas.charge(ADA, bytes_out=HOURS) > 3_600
    assert await quotas.remove(row)
    assert quotas.charge(ADA, bytes_out=HOURS) == 0


async def test_a_quota_of_its_own_replaces_that_of_all_others_after_first_use(quotas):
    await quotas.change(OTHERS, {"bytes_in_per_s": LOW})
    assert quotas.charge(ADA, bytes_in=HOURS) > 3_600
    await quotas.change(ADA, {"bytes_in_per_s": 0})
    assert quotas.charge(ADA, bytes_in=HOURS) == 0
    assert quotas.charge(EVE, bytes_in=HOURS) > 3_600


async def test_a_change_of_another_broker_applies_to_a_principal_that_has_asked_here(store, quotas):
    await quotas.change(ADA, {"bytes_in_per_s": HIGH})
    assert quotas.charge(ADA, bytes_in=HOURS) == 0
    await Quotas(store, Config()).change(ADA, {"bytes_in_per_s": LOW})
    await quotas.refresh()
    assert quotas.charge(ADA, bytes_in=HOURS) > 3_600


async def test_a_look_without_a_change_forgives_nothing(quotas):
    await quotas.change(ADA, {"bytes_in_per_s": LOW})
    quotas.charge(ADA, bytes_in=HOURS)
    await quotas.refresh()
    await quotas.change(ADA, {"bytes_in_per_s": LOW})
    assert quotas.wait_s(ADA) > 3_600


async def test_use_of_the_principal_that_asked_longest_ago_is_forgotten_first(quotas, monkeypatch):
    monkeypatch.setattr(module, "PRINCIPALS_MAX", 2)
    await quotas.change(OTHERS, {"bytes_in_per_s": LOW})
    for principal in (ADA, EVE):
        quotas.charge(principal, bytes_in=HOURS)
    assert quotas.wait_s(ADA) > 3_600  # it has asked again
    quotas.charge("User:new", bytes_in=HOURS)
    assert quotas.wait_s(ADA) > 3_600
    assert quotas.wait_s(EVE) == 0


async def test_a_changed_limit_of_transactions_counts_those_that_are_open(store):
    async def is_open(key: object) -> bool:
        return True

    quotas = Quotas(store, Config(), is_open)
    await quotas.change(ADA, {"open_transactions": 3})
    for key in (1, 2):
        await quotas.may_open(ADA, key)
    await quotas.change(ADA, {"open_transactions": 2})
    await quotas.may_open(ADA, 2)  # it is one of them
    with pytest.raises(TransactionQuotaExceeded):
        await quotas.may_open(ADA, 3)
    quotas.ended(1)
    await quotas.may_open(ADA, 3)
    await quotas.change(ADA, {"open_transactions": 3})
    await quotas.may_open(ADA, 4)
