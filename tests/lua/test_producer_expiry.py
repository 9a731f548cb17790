"""lua/include/producers: a partition that has forgotten a producer, or never had it."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.ids import EACH_MS, SINCE_MS, TxnId, keyed
from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import Ledger

DAY_MS = 86_400_000


def sent(ledger: Ledger, *sequences: int, records: int = 2) -> list[Any]:
    return [ledger.append(records, pid=5, epoch=0, sequence=s) for s in sequences]


@pytest.mark.parametrize("coordinator", [0, 31, 32, 32_767])
@pytest.mark.parametrize(
    ("issued", "created", "now", "is_taken"),
    [
        pytest.param(500, 1, 500 + DAY_MS, True, id="silent for a day"),
        pytest.param(500, 1, 500 + DAY_MS // 2, False, id="its row would still be here"),
        pytest.param(5, 2_000, 3_000, True, id="the topic was created again"),
        pytest.param(2_000, 5, 3_000, False, id="new"),
    ],
)
def test_a_forgotten_producer_continues_with_any_sequence(ledger, coordinator, issued, created, now, is_taken):
    since = SINCE_MS + DAY_MS
    ledger.client.hset(ledger.keys.state, "created", since + created)
    ledger.now = since + now
    pid = TxnId(coordinator, (DAY_MS + issued) * EACH_MS).producer_id
    reply = ledger.append(pid=pid, epoch=3, sequence=41)
    assert reply[0] == (Status.OK if is_taken else Status.UNKNOWN_PRODUCER)
    assert ledger.append(pid=keyed(pid), sequence=41)[0] == Status.UNKNOWN_PRODUCER


def test_what_lies_before_the_first_batch_of_a_forgotten_producer_is_not_a_duplicate(ledger):
    # Given a forgotten producer with five batches in flight, of which the first was refused for another reason
    ledger.now = SINCE_MS + 2 * DAY_MS
    assert [r[0] for r in sent(ledger, 12, 14, 16, 18)] == [Status.OK] * 4
    # Then the first one is a gap when it comes again: the client has to send it under another epoch
    assert sent(ledger, 10) == [[Status.SEQUENCE_GAP, 20]]
    assert sent(ledger, 12)[0][0] == Status.DUPLICATE
    assert sent(ledger, 12, records=1) == [[Status.DUPLICATE_SEQUENCE]]
