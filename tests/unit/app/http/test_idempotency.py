"""When an Idempotency-Key is released, so that a corrected request may use it."""

from __future__ import annotations

import msgspec
import pytest

from redis_ledger.app.http.idempotency import is_in_doubt
from redis_ledger.broker.idempotency import Claim
from redis_ledger.errors import (
    OutcomeUnknown,
    RequestTooLarge,
    StorageFull,
    StoreUnavailable,
    TransactionConflict,
    UnknownTopic,
)

REFUSED = (RequestTooLarge(), UnknownTopic(), msgspec.ValidationError())
WRITES, STEP = 7, None  # the producer id of a request that writes without a transaction


@pytest.mark.parametrize(
    ("error", "producer_id", "expected"),
    [
        *((error, producer_id, False) for error in REFUSED for producer_id in (WRITES, STEP)),
        (StorageFull(), STEP, False),
        (StorageFull(), WRITES, True),
        (TransactionConflict(), STEP, False),
        (TransactionConflict(), WRITES, True),
        *((error, STEP, True) for error in (StoreUnavailable(), OutcomeUnknown(), RuntimeError())),
    ],
)
def test_the_key_of_a_first_attempt_is_released_if_nothing_can_have_changed(error, producer_id, expected):
    assert is_in_doubt(error, Claim("nonce", producer_id)) is expected


@pytest.mark.parametrize("error", [*REFUSED, StorageFull(), TransactionConflict(), StoreUnavailable()])
@pytest.mark.parametrize("producer_id", [WRITES, STEP])
def test_an_error_of_a_repeated_request_says_nothing_about_its_first_attempt(error, producer_id):
    assert is_in_doubt(error, Claim("nonce", producer_id, resumed=True))
