"""lua/cursor/offset_* and include/group_offset: offsets of Kafka groups, transactional or not, and their fence."""

from __future__ import annotations

import pytest

from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import Subscription
from tests.support.group_offset_scripts import Group, Value

OK, FENCED, WRONG_KIND = Status.OK, Status.FENCED, Status.WRONG_KIND


@pytest.fixture
def group(ledger) -> Group:
    """On a log of ten records."""
    for _ in range(5):
        ledger.append(2)
    return Group(ledger)


# -- commit and fetch --------------------------------------------------------------------------------------------------


def test_committed_offset_is_fetched_with_its_metadata(group):
    group.now = 1_700_000_000_123
    assert group.commit(7, epoch=3, metadata="from here") == [OK, 1]
    assert group.fetch() == [OK, "7", "3", "from here", "1700000000123"]
    assert group.value == Value("7", "3", "from here", "1700000000123")


def test_the_last_commit_counts_backward_and_beyond_the_end_of_the_log_too(group):
    for offset in (4, 9, 2, 1_000_000, 0):
        group.commit(offset)
        assert group.offset == offset


@pytest.mark.parametrize("offset", [2**53 + 1, 2**63 - 1, -1, -(2**63)])
def test_an_offset_is_kept_to_the_last_digit(group, offset):
    group.commit(offset)
    assert group.offset == offset
    group.commit(offset, txn="32-9007199254740993")
    group.log.commit(32, 9_007_199_254_740_993, subs=["g"])
    assert group.offset == offset


def test_a_group_that_has_committed_nothing_has_no_offset_and_looking_makes_nothing(group):
    assert group.fetch() == [OK, "-1", "-1", "", "-1"]
    assert group.held() == {}


def test_a_commit_repeated_after_its_reply_was_lost_changes_nothing_that_can_be_seen(group):
    group.commit(5, metadata="m")
    before = group.fetch()
    assert group.commit(5, metadata="m") == [OK, 0]
    assert group.fetch() == before


@pytest.mark.parametrize("metadata", ["", "a b  c ", "line\nline", "nul\0nul", "ü€😀", "-1 2 3 4"])
def test_metadata_of_any_kind_survives_a_commit_and_a_transaction(group, metadata):
    group.commit(1, metadata=metadata)
    assert group.fetch()[3] == metadata
    group.commit(2, metadata="other")
    group.commit(3, metadata=metadata, txn="0-1")
    group.log.commit(0, 1, subs=["g"])
    assert group.fetch()[1:4] == ["3", "-1", metadata]


def test_groups_do_not_see_each_other(group):
    other = Group(group.log, "g|pending")
    group.commit(3)
    other.commit(8)
    assert (group.offset, other.offset) == (3, 8)
    other.forget()
    assert group.offset == 3


def test_another_topic_of_the_name_has_no_offsets_and_takes_none(group):
    group.commit(3)
    before = group.held()
    for refused in (
        group.commit(4, topic_id="t-2"), group.fetch(1, topic_id="t-2"), group.forget(topic_id="t-2"),
    ):  # fmt: skip
        assert refused == [Status.UNKNOWN_TOPIC]
    assert group.held() == before


# -- the fence ---------------------------------------------------------------------------------------------------------


def test_a_commit_of_an_earlier_generation_is_refused_and_changes_nothing(group):
    group.commit(5, generation=4)
    before = group.held()
    assert group.commit(3, generation=3) == [FENCED, 4]
    assert group.commit(3, generation=3, txn="0-1") == [FENCED, 4]
    assert group.held() == before


def test_a_fetch_fences_the_previous_owner_even_without_a_commit(group):
    # Given a member of generation 3 that has not committed yet
    # When a member of generation 4 takes the partition over
    assert group.fetch(4) == [OK, "-1", "-1", "", "-1"]
    # Then what the first one sends late is refused, and the second one works
    assert group.commit(8, generation=3) == [FENCED, 4]
    assert group.commit(2, generation=4) == [OK, 0]
    assert group.offset == 2


@pytest.mark.parametrize("raise_it", ["commit", "fetch", "txn"])
def test_the_fence_rises_and_never_sinks(group, raise_it):
    acts = {
        "commit": lambda g: group.commit(1, generation=g),
        "fetch": group.fetch,
        "txn": lambda g: group.commit(1, generation=g, txn="0-1"),
    }
    acts[raise_it](2_147_483_647)
    group.fetch(3)
    group.fetch(-1)
    assert group.commit(1, generation=2_147_483_646) == [FENCED, 2_147_483_647]
    assert group.commit(1, generation=2_147_483_647)[0] == OK


def test_a_commit_without_a_generation_passes_the_fence_and_leaves_it(group):
    group.fetch(4)
    assert group.commit(6)[0] == OK
    assert group.commit(7, generation=3) == [FENCED, 4]


def test_a_read_without_a_generation_fences_no_member(group):
    group.commit(1, generation=2)
    group.fetch()
    group.fetch(make=True)
    assert group.commit(2, generation=2)[0] == OK


# -- transactions ------------------------------------------------------------------------------------------------------


def test_an_offset_committed_in_a_transaction_counts_from_the_commit_of_it_on(group):
    group.commit(1, epoch=5, metadata="before")
    group.now += 7
    assert group.commit(4, txn="0-7", epoch=6, metadata="after") == [OK, 0]
    assert group.fetch() == [OK, "1", "5", "before", str(group.now - 7), "0-7"]
    group.log.commit(0, 7, subs=["g"])
    assert group.fetch() == [OK, "4", "6", "after", str(group.now)]


def test_an_offset_committed_in_a_transaction_is_forgotten_when_it_aborts(group):
    group.commit(1)
    group.commit(4, txn="0-7")
    group.log.abort(0, 7, subs=["g"])
    assert (group.offset, group.pending) == (1, set())


def test_an_abort_wakes_no_reader_for_there_is_nothing_new_to_read(group):
    group.commit(4, txn="0-7")
    pubsub = group.log.client.pubsub(ignore_subscribe_messages=True)
    pubsub.ssubscribe(group.log.keys.wake)
    pubsub.get_sharded_message(timeout=1)
    group.log.abort(0, 7, subs=["g"])
    group.log.append()
    message = pubsub.get_sharded_message(timeout=1)
    pubsub.close()
    assert message["data"] != b"look again"


def test_within_a_transaction_the_last_commit_counts(group):
    for offset in (4, 9, 6):
        group.commit(offset, txn="0-7")
    assert group.pending == {"0-7"}
    group.log.commit(0, 7, subs=["g"])
    assert group.offset == 6


def test_a_first_commit_may_be_in_a_transaction(group):
    assert group.commit(4, txn="0-7") == [OK, 1]
    assert group.value is None
    group.log.commit(0, 7, subs=["g"])
    assert group.offset == 4


def test_later_write_wins_in_any_order_of_ends(group):
    # Given t1 and t2 that commit one after the other, then a commit outside of any
    group.commit(1, txn="0-1")
    group.commit(2, txn="0-2")
    # When the later one ends first
    group.log.commit(0, 2, subs=["g"])
    group.log.commit(0, 1, subs=["g"])
    # Then the earlier one does not turn it back
    assert group.offset == 2
    group.commit(3, txn="0-3")
    group.commit(4)
    group.log.commit(0, 3, subs=["g"])
    assert group.offset == 4


def test_a_repeated_end_settles_once(group):
    group.commit(4, txn="0-7")
    group.log.commit(0, 7, subs=["g"])
    group.commit(5)
    before = group.held()
    group.log.commit(0, 7, subs=["g"])
    group.log.abort(0, 7, subs=["g"])
    assert group.held() == before


@pytest.mark.parametrize("watermark", ["", 7])
def test_a_transaction_that_has_ended_commits_nothing_more(group, watermark):
    group.log.commit(0, 7, watermark=watermark)
    assert group.commit(4, txn="0-7") == [Status.TXN_ENDED]
    assert group.held() == {}


@pytest.mark.parametrize("coordinator", [0, 31, 32, 32_767])
def test_serials_that_are_equal_as_doubles_are_kept_apart(group, coordinator):
    low, high = 2**53, 2**53 + 1
    group.commit(1, txn=f"{coordinator}-{low}")
    group.commit(2, txn=f"{coordinator}-{high}")
    group.log.abort(coordinator, high, subs=["g"])
    assert group.pending == {f"{coordinator}-{low}"}
    group.log.commit(coordinator, low, subs=["g"])
    assert group.offset == 1


def test_leftovers_below_a_watermark_are_dropped(group):
    for serial in (3, 4, 9):
        group.commit(serial, txn=f"5-{serial}")
    group.commit(70, txn="6-3")
    group.log.commit(5, 8, watermark=4, subs=["g"])
    assert group.pending == {"5-9", "6-3"}
    assert group.value is None


def test_one_end_settles_offsets_and_acknowledgements_together(group):
    # Given a transaction that has acknowledged on a subscription and committed an offset of a group
    sub = Subscription(group.log)
    sub.receive("c1", 6)
    sub.hold("0-7", range(4))
    group.commit(6, txn="0-7")
    # When it ends
    group.log.commit(0, 7, subs=["sub", "g"])
    # Then both have taken effect
    assert (sub.content().mark, group.offset) == (4, 6)


def test_several_ends_in_one_call_settle_one_group_in_their_order(group):
    for serial in (1, 2, 3):
        group.commit(10 * serial, txn=f"0-{serial}")
    group.log.end(*({"txn": (0, serial), "commit": serial != 3, "subs": ["g"]} for serial in (2, 1, 3)))
    assert (group.offset, group.pending) == (20, set())


def test_of_a_crowd_of_open_transactions_a_hundred_are_named(group):
    for serial in range(150):
        group.commit(serial, txn=f"0-{serial}")
    assert len(group.pending) == 100


def test_an_end_where_the_group_is_gone_succeeds(group):
    group.commit(4, txn="0-7")
    group.forget()
    assert group.log.end({"txn": (0, 7), "commit": True, "subs": ["g"]})[0] == OK
    assert group.held() == {}


# -- kinds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["shared", "exclusive"])
def test_a_subscription_is_no_group(ledger, kind):
    sub = Subscription(ledger, "s", kind)
    group, before = Group(ledger, "s"), sub.content()
    for refused in (group.commit(1), group.commit(1, txn="0-1"), group.fetch(), group.fetch(1), group.forget()):
        assert refused == [WRONG_KIND, kind]
    assert sub.content() == before


def test_a_group_is_no_subscription(group):
    # Given a group with an offset, and another in a transaction
    group.commit(3, generation=1)
    group.commit(5, generation=1, txn="0-1")
    before = group.held()
    # When it is treated as a subscription in every way there is
    refused = (
        group.receive_raw("c1"), group.ack([0]), group.ack_cumulative(0), group.hold("0-2", [0]),
        group.hold_cumulative("0-2", 0), group.nack([0]), group.nack(None), group.seek("earliest"),
    )  # fmt: skip
    # Then it is refused, and nothing has changed
    assert [reply[:2] for reply in refused] == [[WRONG_KIND, "kafka"]] * len(refused)
    assert group.create("shared") == [Status.EXISTS, "kafka"]
    assert group.held() == before


def test_a_group_shows_its_lag(group):
    names = ("kind", "mark", "read", "stable", "acked", "leased", "held", "backlog")
    group.fetch(make=True)
    assert [group.stats()[name] for name in names] == ["kafka", "-1", "-1", 10, 0, 0, 0, 0]
    group.commit(4)
    group.commit(6, txn="0-1")
    assert [group.stats()[name] for name in names] == ["kafka", "4", "4", 10, 0, 0, 1, 6]
    group.log.commit(0, 1, subs=["g"])
    assert [group.stats()[name] for name in names] == ["kafka", "6", "6", 10, 0, 0, 0, 4]
    group.commit(2**63 - 1)
    assert group.stats()["backlog"] == 0


def test_trimmed_records_are_not_in_the_lag_and_not_held_back(group):
    group.commit(2)
    group.log.trim(below=6)
    assert (group.log.state()["start"], group.stats()["mark"], group.stats()["backlog"]) == ("6", "2", 4)


@pytest.mark.parametrize(("seen", "is_deleted"), [(3, True), (4, True), (5, False)])
@pytest.mark.parametrize("what", ["offset", "register"])
def test_deletion_of_a_group_leaves_an_offset_that_a_later_generation_has_committed(group, seen, is_deleted, what):
    group.commit(42, generation=seen)
    assert (group.forget(what, generation=4)[0] == OK) == is_deleted
    assert group.offset == (-1 if is_deleted else 42)


def test_a_group_is_deleted_as_a_subscription_is(group):
    group.commit(4, generation=3)
    assert group.delete() == [OK, 1, ""]
    assert group.held() == {}
    assert group.commit(1, generation=1) == [OK, 1]


# -- forgetting --------------------------------------------------------------------------------------------------------


def test_a_forgotten_offset_is_none_and_the_fence_stays(group):
    group.commit(4, generation=3, metadata="m")
    group.commit(5, generation=3, txn="0-1")
    assert group.forget("offset") == [OK, 1]
    assert group.fetch() == [OK, "-1", "-1", "", "-1"]
    assert group.commit(1, generation=2) == [FENCED, 3]
    group.log.commit(0, 1, subs=["g"])
    assert group.value is None
    # and the next commit counts as ever
    group.commit(2, generation=3, txn="0-2")
    group.log.commit(0, 2, subs=["g"])
    assert group.offset == 2


@pytest.mark.parametrize("what", ["offset", "register"])
@pytest.mark.parametrize("when", ["always", "empty", "idle"])
def test_forgetting_what_is_not_there_is_done_already(group, what, when):
    assert group.forget(what, when, 2_000_000) == [OK, 0]
    assert group.held() == {}


def test_a_register_is_empty_without_an_offset_and_without_one_to_come(group):
    group.commit(4)
    assert group.forget("register", "empty") == [OK, 1]
    group.forget("offset")
    group.commit(5, txn="0-1")
    assert group.forget("register", "empty") == [OK, 1]
    group.log.abort(0, 1, subs=["g"])
    assert group.forget("register", "empty") == [OK, 0]
    assert group.held() == {}


@pytest.mark.parametrize("act", ["commit", "take over", "transaction"])
def test_a_register_without_recent_clients_is_idle(group, act):
    # Given a commit, and a second later a sign of life of one kind
    group.commit(4, generation=1)
    group.now += 1000
    {
        "commit": lambda: group.commit(5),
        "take over": lambda: group.fetch(1),
        "transaction": lambda: (group.commit(5, txn="0-1"), group.log.commit(0, 1, subs=["g"])),
    }[act]()
    # Then it is idle only from that on
    assert group.forget("register", "idle", group.now) == [OK, 1]
    assert group.forget("register", "idle", group.now + 1) == [OK, 0]
    assert group.held() == {}


def test_a_register_with_a_commit_pending_is_not_idle(group):
    group.commit(6, txn="0-2")
    assert group.forget("register", "idle", group.now + 1) == [OK, 1]
    group.log.abort(0, 2, subs=["g"])
    assert group.forget("register", "idle", group.now + 1) == [OK, 0]


def test_a_look_does_not_keep_a_register_from_being_idle(group):
    group.commit(4)
    group.now += 1000
    group.fetch()
    group.fetch(make=True)
    assert group.forget("register", "idle", group.now) == [OK, 0]


def test_an_idle_offset_can_go_without_its_register(group):
    group.commit(4, generation=3)
    group.now += 1000
    assert group.forget("offset", "idle", group.now - 1000) == [OK, 1]
    assert group.offset == 4
    assert group.forget("offset", "idle", group.now) == [OK, 1]
    assert (group.value, group.commit(5, generation=2)) == (None, [FENCED, 3])
