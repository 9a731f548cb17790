"""lua/include/slot_queues: what is stored of a key_shared subscription stays small and right in unusual histories."""

from __future__ import annotations

import pytest
from redis.exceptions import ResponseError

from redis_ledger.cursor import slot_queues
from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import ACK_TIMEOUT
from tests.support.key_shared import KeySharedSubscription

GRANTS_MAX = 254  # ids 2 to 255


@pytest.fixture
def one_key(log):
    """A function that appends records of one key, for a subscription with one consumer."""
    keys: dict[int, str] = {}
    sub = KeySharedSubscription(log, keys)
    sub.receive("c1")

    def fill(count: int, name: str = "a") -> None:
        base = log.append(count)
        keys.update(dict.fromkeys(range(base, base + count), name))

    sub.fill = fill  # type: ignore[attr-defined]
    return sub


def stored(sub, letter):
    names = sub.log.client.hkeys(sub.keys.leases)
    return sorted(name for name in names if name[:1] == letter)


def test_many_small_receives_share_grants_and_no_deadline_comes_earlier(one_key):
    one_key.fill(400)
    wanted = {}
    for _ in range(400):
        (offset,) = one_key.receive("c1", 1).offsets
        wanted[offset] = one_key.now + ACK_TIMEOUT
        one_key.now += 10
    content = one_key.checked()
    (name,) = stored(one_key, b"s")
    text = one_key.log.client.hget(one_key.keys.leases, name)
    deadlines = {offset: lease[2] for offset, lease in content.leases.items()}
    assert len(set(deadlines.values())) <= GRANTS_MAX
    assert all(wanted[offset] <= deadlines[offset] <= wanted[offset] + 400 * 10 for offset in wanted)
    assert len(text) < 400 * 10 + GRANTS_MAX * 40
    assert one_key.ack(range(400))[:3] == [Status.OK, 400, 400]
    assert one_key.checked().mark == 400


def test_many_receives_of_a_consumer_end_together_and_the_recent_ones_are_known_apart(one_key):
    one_key.fill(400)
    wanted, grants = {}, 0
    for number in range(400):
        (offset,) = one_key.receive("c1", 1, request=f"r{number}.0").offsets
        wanted[offset] = one_key.now + ACK_TIMEOUT
        one_key.now += ACK_TIMEOUT // 4_000
        grants = max(grants, len({deadline for _, _, deadline in one_key.leases().values()}))
    assert grants <= 32
    late = [one_key.leases()[offset][2] - deadline for offset, deadline in wanted.items()]
    assert min(late) == 0
    assert max(late) <= ACK_TIMEOUT // 16
    for number in (392, 399):
        assert [*one_key.receive("c1", 1, request=f"r{number}.1", again=1).offsets] == [number]
    # A grant that receives share has the name of none, so a late attempt of one of them returns nothing of the others.
    entries = slot_queues.all_entries(one_key.log.client.hgetall(one_key.keys.leases))
    assert all(each.request in ("", f"r{each.offset}.0", f"r{each.offset}.1") for each in entries.values())
    one_key.checked()
    one_key.now = max(wanted.values()) + ACK_TIMEOUT // 16
    assert sorted(one_key.receive("c1", 400).offsets) == list(range(400))


@pytest.mark.parametrize("letter", ["s", "m"])
def test_a_call_that_reads_what_is_damaged_says_so_and_changes_nothing(one_key, prefix, letter):
    one_key.fill(20)
    one_key.receive("c1", 10, request="r.0")
    one_key.fill(5, "b")
    (name,) = stored(one_key, letter.encode())
    client, leases = one_key.log.client, one_key.keys.leases
    client.hset(leases, name, client.hget(leases, name)[:2])

    def dumped():
        return {key: client.dump(key) for key in client.scan_iter(f"{prefix}:*", count=10_000)}

    before = dumped()
    assert leases in before
    calls = [
        lambda: one_key.receive("c1", 10),
        lambda: one_key.ack([0, 1]),
        lambda: one_key.nack([0, 1]),
        lambda: one_key.hold("1-5", [0, 1]),
    ]
    if letter == "s":
        calls += [one_key.nack, lambda: one_key.receive("c1", 10, request="r.1", again=1)]
    for call in calls:
        with pytest.raises(ResponseError, match=r"^DAMAGED The "):
            call()
        assert dumped() == before


def test_counts_of_many_returns_do_not_use_up_the_grants(one_key):
    one_key.fill(300)
    for turn in range(300):
        got = sorted(one_key.receive("c1", 300 - turn).offsets)
        one_key.nack(got, "c1", delay=turn)  # the last one stays behind, with its own count and delay
        one_key.now += 1
    one_key.checked()
    one_key.now += 1_000
    assert sorted(one_key.receive("c1", 300).offsets) == list(range(300))
    one_key.checked()


def test_queues_and_places_go_with_their_offsets(one_key):
    one_key.fill(1_000)
    one_key.receive("c1", 1_000)
    assert len(stored(one_key, b"m")) == 4
    one_key.ack(range(1, 1_000))
    assert (stored(one_key, b"m"), len(stored(one_key, b"s"))) == ([b"m0"], 1)
    one_key.ack([0])
    assert (stored(one_key, b"m"), stored(one_key, b"s")) == ([], [])
    one_key.fill(5, "b")
    assert sorted(one_key.receive("c1").offsets) == list(range(1_000, 1_005))
    one_key.checked()


def test_a_trim_forgets_what_transactions_hold_as_well(one_key):
    one_key.fill(600)
    one_key.receive("c1", 600)
    one_key.hold("0-1", range(100, 300))
    one_key.log.trim(280)
    assert one_key.stats()["held"] == 20
    assert [entry.offset for entry in entries_of(one_key) if entry.consumer is None] == list(range(280, 300))
    one_key.checked()
    one_key.settle("0-1", commit=False)
    one_key.checked()
    assert sorted(one_key.receive("c1", 600).offsets)[:2] == [280, 281]


@pytest.mark.parametrize("first", [0, 1])
def test_of_leases_that_end_at_different_times_each_is_due_at_its_own(one_key, first):
    one_key.fill(2)
    begin = one_key.now
    for _ in range(2):
        assert len(one_key.receive("c1", 1).offsets) == 1
        one_key.now += 100
    one_key.checked()
    # When one of them is acknowledged, then the other one is due when it ends
    one_key.ack([first])
    one_key.checked()
    (score,) = [at for name, at in one_key.log.client.zrange(one_key.keys.due, 0, -1, withscores=True) if name]
    assert score == begin + ACK_TIMEOUT + 100 * (1 - first)


def test_a_trim_far_ahead_removes_all_places(one_key):
    one_key.fill(2_000)
    one_key.receive("c1", 1_000)
    one_key.log.trim(2_000)
    one_key.stats()
    assert (stored(one_key, b"m"), stored(one_key, b"s")) == ([], [])
    assert one_key.checked().mark == 2_000


def test_a_consumer_that_leaves_returns_everything_in_several_calls(one_key):
    one_key.fill(500)
    for number in range(390):
        one_key.fill(1, f"k{number}")
    assert len(one_key.receive("c1", 900).offsets) == 890
    returned = []
    while (reply := one_key.nack(None, "c1", most=100))[2:]:
        assert reply[2] == -1
        returned.append(reply[1])
    assert sum(returned) + reply[1] == 890
    assert len(returned) in (3, 4)  # the first of the 500 takes the others with it
    assert one_key.stats()["leased"] == 0
    one_key.checked()


def test_a_long_acknowledgement_is_split(one_key):
    one_key.fill(1_000)
    one_key.receive("c1", 1_000)
    assert one_key.ack(range(1_000), most=100)[3:] == [399]
    assert one_key.stats()["leased"] == 1_000  # nothing was acknowledged
    status, count, mark, reached = one_key.ack(range(1_000), how="page", most=100)
    assert (status, count, mark, reached) == (Status.OK, 400, 400, 399)
    one_key.checked()


def test_one_of_several_refused_offsets_changes_nothing(one_key):
    one_key.fill(10)
    one_key.receive("c1", 10)
    before = entries_of(one_key)
    assert one_key.ack([1, 2], "c2") == [Status.NOT_LEASED, 1, "c1"]
    assert one_key.ack([1, 10])[:2] == [Status.NOT_DELIVERED, 10]
    assert entries_of(one_key) == before


def test_new_records_wait_until_others_have_got_theirs(log):
    """A call that found enough in the queues reads no new records, so that those which do read many at once."""
    keys: dict[int, str] = {}
    sub = KeySharedSubscription(log, keys)
    for consumer in ("c1", "c2", "c3"):
        sub.receive(consumer)
    base = log.append(200)
    keys.update({offset: f"k{offset}" for offset in range(base, base + 200)})
    first = sub.receive("c1", 10, waiting_max=100)
    others = sub.receive("c2", 1_000, waiting_max=20)
    assert others.offsets
    assert others.read == first.read
    everything = dict.fromkeys([*first.offsets, *others.offsets])
    for _ in range(20):
        for consumer in ("c1", "c2", "c3"):
            everything |= dict.fromkeys(sub.receive(consumer, 1_000, waiting_max=100).offsets)
    assert sorted(everything) == list(range(200))
    sub.checked()


def entries_of(sub):
    return sorted(slot_queues.all_entries(sub.log.client.hgetall(sub.keys.leases)).values())
