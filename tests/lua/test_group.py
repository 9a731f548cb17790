"""lua/group: one owner at a time, generations that only rise and only for the owner, and stored members."""

from __future__ import annotations

import pytest

from redis_ledger.store.keys import GroupKeys
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from tests.support.script_functions import run_script


class Group:
    """The keys of one group, and the scripts on them."""

    def __init__(self, client, prefix):
        self.client, self.key = client, GroupKeys(prefix, "g").state

    def run(self, script, *args):
        reply = run_script(self.client, Script.load(f"group/{script}"), [self.key], args)
        return [Status(reply[0]), *(value.decode() for value in reply[1:])]

    def claim(self, broker, dead="", kind="classic", generation=0):
        """Without what it answers of members."""
        return self.run("claim", broker, dead, kind, generation)[:4]

    def members(self, broker):
        """The members and their rows in the reply to a claim by the owner."""
        rows = {name.removeprefix("m:"): row for name, row in self.stored.items() if name.startswith("m:")}
        return self.run("claim", broker, "", "classic", 0)[4:], rows

    def store(self, broker, generation, rows, *, members, is_whole=False, membership="head", now=7):
        pairs = [part for row in rows.items() for part in row]
        return self.run("store", broker, generation, membership, members, int(is_whole), now, *pairs)

    def advance(self, broker, generation, protocol_type="consumer"):
        return self.run("advance", broker, generation, protocol_type)

    @property
    def stored(self):
        return {name.decode(): value.decode() for name, value in self.client.hgetall(self.key).items()}


@pytest.fixture
def group(connect, prefix):
    return Group(connect(GroupKeys(prefix, "g").state.decode()), prefix)


def test_a_group_without_an_owner_can_be_claimed(group):
    assert group.claim("b1") == [Status.OK, "0", "", "classic"]
    assert group.stored == {"owner": "b1", "kind": "classic", "generation": "0"}


def test_a_repeated_claim_finds_itself_the_owner(group):
    group.claim("b1")
    group.advance("b1", 0)
    assert group.claim("b1") == [Status.OK, "1", "consumer", "classic"]


def test_an_owner_is_not_replaced_unless_it_is_named_as_dead(group):
    group.claim("b1")
    group.advance("b1", 0)
    before = group.stored
    assert group.claim("b2") == [Status.NOT_OWNER, "b1"]
    assert group.claim("b2", dead="b3") == [Status.NOT_OWNER, "b1"]
    assert group.stored == before
    assert group.claim("b2", dead="b1") == [Status.OK, "1", "consumer", "classic"]
    # Of two that have found the owner dead, the second learns of the first
    assert group.claim("b3", dead="b1") == [Status.NOT_OWNER, "b2"]


def test_a_claim_may_change_the_kind_and_keeps_the_generation(group):
    group.claim("b1")
    group.advance("b1", 0)
    assert group.claim("b1", kind="consumer") == [Status.OK, "1", "consumer", "consumer"]
    assert group.stored["kind"] == "consumer"
    assert group.stored["generation"] == "1"


def test_generations_rise_by_one_and_a_repeated_call_is_answered_as_the_first(group):
    group.claim("b1")
    assert group.advance("b1", 0) == [Status.OK, "1"]
    assert group.advance("b1", 0) == [Status.OK, "1"]
    assert group.advance("b1", 1, "connect") == [Status.OK, "2"]
    assert group.stored == {"owner": "b1", "kind": "classic", "generation": "2", "type": "connect"}


def test_a_generation_goes_to_the_owner_alone(group):
    assert group.advance("b1", 0) == [Status.NOT_OWNER, ""]
    group.claim("b1")
    group.claim("b2", dead="b1")
    assert group.advance("b1", 0) == [Status.NOT_OWNER, "b2"]
    assert group.stored["generation"] == "0"


def test_generations_that_redis_has_lost_are_not_handed_out_again(group):
    # Given a failover after which an older generation stands in Redis
    group.claim("b1")
    group.advance("b1", 0)
    # When the owner, which has handed out the seventh, asks for the next
    assert group.advance("b1", 7) == [Status.OK, "8"]


def test_claim_lost_by_redis_is_renewed_with_its_generation(group):
    assert group.claim("b1", generation=7) == [Status.OK, "7", "", "classic"]
    assert group.claim("b1", generation=3) == [Status.OK, "7", "", "classic"]
    assert group.advance("b1", 7) == [Status.OK, "8"]


def test_a_claim_after_a_loss_keeps_the_generation_that_the_owner_has_handed_out(group):
    # Given a failover after which an older generation stands in Redis
    group.claim("b1")
    group.advance("b1", 0)
    assert group.claim("b1", generation=7)[:2] == [Status.OK, "7"]
    assert group.claim("b2", dead="b1")[:2] == [Status.OK, "7"]


@pytest.mark.parametrize(("stored", "known", "highest"), [(9, 10, 10), (10, 9, 10), (99, 100, 100), (100, 99, 100)])
def test_of_two_generations_of_any_length_the_higher_one_counts(group, stored, known, highest):
    group.claim("b1", generation=stored)
    assert group.claim("b1", generation=known)[1] == str(highest)
    group.claim("b2", dead="b1", generation=stored)
    assert group.stored["generation"] == str(highest)


def test_the_next_generation_is_above_the_one_that_redis_has_lost(group):
    group.claim("b1", generation=9)
    assert group.advance("b1", 10) == [Status.OK, "11"]
    assert group.advance("b1", 10) == [Status.OK, "11"]
    group.claim("b1", generation=99)
    assert group.advance("b1", 100) == [Status.OK, "101"]


def test_large_generations_are_returned_in_full(group):
    group.claim("b1")
    assert group.advance("b1", 2**31 - 2) == [Status.OK, str(2**31 - 1)]


def test_a_group_that_is_given_up_keeps_its_generation(group):
    group.claim("b1")
    group.advance("b1", 0)
    assert group.run("release", "b2") == [Status.OK]
    assert group.stored["owner"] == "b1"
    for _ in range(2):
        assert group.run("release", "b1") == [Status.OK]
    assert group.stored == {"kind": "classic", "generation": "1", "type": "consumer"}
    assert group.claim("b2") == [Status.OK, "1", "consumer", "classic"]


def test_only_its_owner_deletes_a_group(group):
    group.claim("b1")
    assert group.run("delete", "b2") == [Status.NOT_OWNER, "b1"]
    for _ in range(2):
        assert group.run("delete", "b1") == [Status.OK]
    assert group.stored == {}


def test_members_are_stored_by_their_owner_alone_and_only_those_that_changed(group):
    group.claim("b1")
    assert group.members("b1") == (["", "", "0"], {})
    assert group.store("b1", 1, {"x": "1", "y": "1"}, members=2) == [Status.OK]
    for _ in range(2):  # a repeated call changes nothing more
        assert group.store("b1", 2, {"x": "", "y": "2", "m:z": "2"}, members=2, membership="other") == [Status.OK]
        assert group.members("b1") == (["2", "other", "2"], {"y": "2", "m:z": "2"})
    before = group.stored
    assert group.store("b2", 9, {"y": "9"}, members=1) == [Status.NOT_OWNER, "b1"]
    assert group.stored == before


def test_a_broker_that_was_replaced_cannot_overwrite_the_members_of_its_successor(group):
    group.claim("b1")
    group.store("b1", 1, {"x": "1"}, members=1)
    group.claim("b2", dead="b1")
    group.store("b2", 2, {"x": "2"}, members=1)
    before = group.stored
    assert group.store("b1", 3, {"x": "3"}, members=1, is_whole=True) == [Status.NOT_OWNER, "b2"]
    group.run("release", "b2")
    assert group.store("b2", 3, {"x": "3"}, members=1) == [Status.NOT_OWNER, ""]
    assert group.stored == {name: value for name, value in before.items() if name != "owner"}


def test_all_rows_are_replaced_where_some_were_lost(group):
    group.claim("b1")
    group.store("b1", 1, {"x": "1", "y": "1"}, members=2)
    assert group.store("b1", 2, {"z": "2"}, members=1, is_whole=True) == [Status.OK]
    assert group.members("b1") == (["2", "head", "1"], {"z": "2"})
    assert group.stored["kind"] == "classic"


def test_a_group_with_members_stored_keeps_its_kind(group):
    group.claim("b1", kind="consumer")
    group.store("b1", 1, {"x": "1"}, members=1)
    assert group.claim("b2", dead="b1", kind="classic")[3] == group.stored["kind"] == "consumer"
    group.store("b2", 1, {"x": ""}, members=0)
    assert group.claim("b2", kind="classic")[3] == group.stored["kind"] == "classic"


def test_members_are_deleted_with_their_group(group):
    group.claim("b1")
    group.store("b1", 1, {"x": "1"}, members=1)
    assert group.run("delete", "b1") == [Status.OK]
    assert group.stored == {}


def test_a_group_remembers_since_when_it_is_empty(group):
    group.claim("b1")
    for now, members, since in ((1, 0, "1"), (2, 0, "1"), (3, 1, None), (4, 1, None), (5, 0, "5"), (6, 0, "5")):
        group.store("b1", 1, {"x": "row" if members else ""}, members=members, now=now)
        assert group.stored.get("empty") == since
