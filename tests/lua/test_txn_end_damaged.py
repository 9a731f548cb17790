"""lua/txn/end where a queue of a key_shared subscription is damaged: nothing is written before all are read."""

from __future__ import annotations

import pytest
from redis.exceptions import ResponseError

from redis_ledger.cursor.key_shared import hash_of
from redis_ledger.store.script_status import Status
from tests.support.key_shared import KeySharedSubscription

KEYS = {0: "a", 1: "b", 2: "c", 3: "d"}


@pytest.fixture
def keyed(ledger):
    """c1 has leased four records, each of a key and a slot of its own."""
    for _ in KEYS:
        ledger.append(1)
    sub = KeySharedSubscription(ledger, KEYS)
    assert sorted(sub.receive("c1").offsets) == [*KEYS]
    return sub


def damage(sub, offset):
    """Returns a function that puts it right."""
    name, client, leases = f"s{hash_of(KEYS[offset].encode(), offset)[-1]}", sub.log.client, sub.keys.leases
    text = client.hget(leases, name)
    client.hset(leases, name, text[:2])
    return lambda: client.hset(leases, name, text)


def stored(sub):
    client = sub.log.client
    return {key: client.dump(key) for key in sorted(client.keys(f"{sub.log.tag}:*"))}


@pytest.mark.parametrize("commit", [True, False])
def test_acknowledgements_stay_pending_until_the_queue_is_put_right(ledger, keyed, commit):
    assert keyed.hold("0-5", [1, 2])[0] == Status.OK
    put_right = damage(keyed, 1)
    before = stored(keyed)
    end = {"txn": (0, 5), "commit": commit, "subs": [keyed.name]}
    for _ in range(2):
        with pytest.raises(ResponseError, match=r"^DAMAGED The queue of hash slot"):
            ledger.end(end)
        assert stored(keyed) == before
    put_right()
    assert ledger.end(end) == [Status.OK, "-1"]
    assert keyed.stats()["held"] == 0
    assert sorted(keyed.leases()) == ([0, 3] if commit else [0, 1, 2, 3])
    keyed.checked()


def test_no_marker_of_another_transaction_of_the_call_is_written(ledger, keyed):
    ends = [{"txn": (0, serial), "commit": True, "subs": [keyed.name]} for serial in (5, 6)]
    for offset, serial in enumerate((5, 6)):
        ledger.append(1, txn=(0, serial))
        keyed.hold(f"0-{serial}", [offset])
    put_right = damage(keyed, 1)
    before = stored(keyed)
    with pytest.raises(ResponseError, match=r"^DAMAGED The queue of hash slot"):
        ledger.end(*ends)
    assert stored(keyed) == before
    put_right()
    assert ledger.end(*ends) == [Status.OK, "6", "7"]
    keyed.checked()


def test_what_ended_transactions_have_left_there_stays_pending_and_the_call_goes_on(ledger, keyed):
    keyed.hold("0-5", [0])
    keyed.hold("0-6", [1])
    put_right = damage(keyed, 1)
    ledger.append(1, txn=(0, 7))
    assert ledger.end({"txn": (0, 7), "commit": True, "watermark": 6, "subs": [keyed.name]}) == [Status.OK, "5"]
    assert keyed.stats()["held"] == 1
    put_right()
    assert ledger.end({"txn": (0, 8), "commit": True, "watermark": 7, "subs": [keyed.name]}) == [Status.OK, "-1"]
    assert keyed.stats()["held"] == 0
    keyed.checked()
