"""lua/include/producers: the ownership check of a producer id."""

from __future__ import annotations

from redis_ledger.store.script_status import Status


def test_a_producer_id_is_bound_to_its_first_writer(ledger):
    assert ledger.append(pid=7, sequence=0, owner="ada")[0] == Status.OK
    before = ledger.client.hgetall(ledger.keys.producers)
    for more in ({"sequence": 1}, {"sequence": 0}, {"sequence": 0, "epoch": 4}):
        assert ledger.append(pid=7, owner="eve", **more) == [Status.NOT_OWNER]
    assert (ledger.client.hgetall(ledger.keys.producers), ledger.next) == (before, 1)
    assert ledger.append(pid=7, sequence=1, owner="ada")[0] == Status.OK
    assert ledger.append(pid=7, sequence=0, epoch=1, owner="ada")[0] == Status.OK
    assert ledger.append(pid=7, sequence=1, epoch=1, owner="eve") == [Status.NOT_OWNER]


def test_a_batch_that_is_not_compared_leaves_the_owner(ledger):
    ledger.append(pid=7, sequence=0, owner="ada")
    assert ledger.append(pid=7, sequence=1)[0] == Status.OK
    assert ledger.append(pid=7, sequence=0, epoch=1)[0] == Status.OK
    assert ledger.append(pid=7, sequence=1, epoch=1, owner="eve") == [Status.NOT_OWNER]


def test_a_row_of_an_older_release_gets_its_owner_with_the_next_batch(ledger):
    ledger.has_written(7, 0, 0, 0)
    assert ledger.append(pid=7, sequence=1, owner="ada")[0] == Status.OK
    assert ledger.client.hget(ledger.keys.producers, "7").split()[2:] == [b"@ada", b"0:0:0", b"1:1:0"]
    assert ledger.append(pid=7, sequence=2, owner="eve") == [Status.NOT_OWNER]


def test_a_verified_transaction_takes_its_producer_id_from_the_previous_owner(ledger):
    ledger.append(pid=7, sequence=0, epoch=9, owner="eve")
    assert ledger.append(pid=7, sequence=0, epoch=1, owner="t", txn=(0, 5))[0] == Status.OK
    assert ledger.append(pid=7, sequence=1, epoch=9, owner="eve") == [Status.NOT_OWNER]
    assert ledger.append(pid=7, sequence=1, epoch=1, owner="t", txn=(0, 5))[0] == Status.OK


def test_without_a_producer_id_nothing_is_compared(ledger):
    assert [ledger.append(owner=owner)[0] for owner in ("ada", "eve")] == [Status.OK, Status.OK]


def test_key_retention_is_stored_in_the_row_and_not_compared(ledger):
    assert ledger.append(pid=7, sequence=0, owner="~60")[0] == Status.OK
    assert ledger.client.hget(ledger.keys.producers, "7").split()[2:] == [b"@~60", b"0:0:0"]
    for owner in ("~90", "", "~60"):  # a repeat
        assert ledger.append(pid=7, sequence=0, owner=owner)[0] == Status.DUPLICATE
