"""Assignors: properties of any assignment, for any members and topics."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redis_ledger.groups.assignors import ASSIGNORS, Assigned, Members, Partitions, Slice, Subscriber, range_, uniform
from tests.support.examples import examples

TOPICS = [bytes([n]) * 16 for n in range(1, 6)]
NAMES = [f"m{n}" for n in range(12)]

partitions_of = st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 9), min_size=1)
some_topics = st.frozensets(st.sampled_from(TOPICS))
anything_held = st.frozensets(st.tuples(st.sampled_from(TOPICS), st.integers(0, 12)), max_size=20)
any_members = st.dictionaries(
    st.sampled_from(NAMES), st.builds(Subscriber, some_topics, anything_held), min_size=1, max_size=10
)


@st.composite
def existing(draw: st.DrawFn, alike: bool = False) -> tuple[Members, Partitions]:
    """Members that subscribe only to topics that exist, as the group resolves them."""
    partitions, members = draw(partitions_of), draw(any_members)
    shared = frozenset(partitions)
    there = {
        name: member._replace(topics=shared if alike else member.topics & shared) for name, member in members.items()
    }
    return there, partitions


def given_out(assigned: Assigned) -> list[Slice]:
    return sorted(one for slices in assigned.values() for one in slices)


def subscribed(members: Members, partitions: Partitions) -> list[Slice]:
    topics = {topic for member in members.values() for topic in member.topics}
    return sorted((topic, number) for topic in topics for number in range(partitions[topic]))


def settled(members: Members, partitions: Partitions) -> Members:
    """The same members, each holding what uniform gives it from scratch."""
    assigned = uniform({name: member._replace(held=frozenset()) for name, member in members.items()}, partitions)
    return {name: member._replace(held=assigned[name]) for name, member in members.items()}


def moved(members: Members, assigned: Assigned) -> int:
    """Partitions that another member than before is to read."""
    before = {one: name for name, member in members.items() for one in member.held}
    return sum(before[one] != name for name, slices in assigned.items() for one in slices if one in before)


@pytest.mark.parametrize("name", ASSIGNORS)
@given(case=existing())
def test_every_partition_goes_to_exactly_one_member_that_subscribes_to_it(name, case):
    members, partitions = case
    assigned = ASSIGNORS[name](members, partitions)
    assert given_out(assigned) == subscribed(members, partitions)
    assert all(topic in members[one].topics for one, slices in assigned.items() for topic, _ in slices)
    assert assigned.keys() == members.keys()


@given(case=existing())
def test_members_with_equal_topics_get_equal_numbers_give_or_take_one(case):
    members, partitions = case
    assigned = uniform(members, partitions)
    for one in members:
        for other in members:
            if members[one].topics == members[other].topics:
                assert abs(len(assigned[one]) - len(assigned[other])) <= 1


@given(case=existing())
def test_no_partition_of_unequal_members_could_be_moved_to_even_them_out(case):
    members, partitions = case
    assigned = uniform(members, partitions)
    for name, slices in assigned.items():
        for topic, _ in slices:
            least = min(len(assigned[other]) for other in members if topic in members[other].topics)
            assert len(slices) - least <= 1, (name, topic)


@given(case=existing())
def test_an_assignment_that_is_even_already_is_left_as_it_is(case):
    members, partitions = case
    before = settled(members, partitions)
    assert moved(before, uniform(before, partitions)) == 0


@given(case=existing(alike=True))
def test_a_member_that_joins_is_given_its_share_and_nothing_else_moves(case):
    members, partitions = case
    before = settled(members, partitions)
    joined = {**before, "newcomer": Subscriber(frozenset(partitions))}
    assigned = uniform(joined, partitions)
    share = len(assigned["newcomer"])
    assert moved(before, {name: assigned[name] for name in before}) == 0
    assert share == sum(partitions.values()) // len(joined)


@given(case=existing(alike=True), data=st.data())
def test_a_member_that_leaves_moves_only_what_it_had(case, data):
    members, partitions = case
    before = settled(members, partitions)
    gone = data.draw(st.sampled_from(sorted(before)))
    left = {name: member for name, member in before.items() if name != gone}
    if not left:
        return
    assert moved(left, uniform(left, partitions)) == 0


@given(case=existing(alike=True), more=st.integers(1, 9))
def test_partitions_that_are_added_move_none_that_are_there(case, more):
    members, partitions = case
    before = settled(members, partitions)
    grown = {topic: count + more for topic, count in partitions.items()}
    assert moved(before, uniform(before, grown)) == 0


def test_members_that_cannot_come_out_even_keep_what_they_have_when_one_leaves():
    # Given five partitions: a has two, b has two, c has one
    topic = TOPICS[0]
    members = {
        "a": Subscriber(frozenset({topic}), frozenset({(topic, 0), (topic, 1)})),
        "b": Subscriber(frozenset({topic}), frozenset({(topic, 2), (topic, 3)})),
        "c": Subscriber(frozenset({topic}), frozenset({(topic, 4)})),
    }
    # When b leaves
    del members["b"]
    assigned = uniform(members, {topic: 5})
    # Then a and c have what they had, and b's
    assert members["a"].held <= assigned["a"]
    assert members["c"].held <= assigned["c"]
    assert sorted(map(len, assigned.values())) == [2, 3]


def test_a_partition_that_two_members_claim_stays_with_one_of_them():
    topic = TOPICS[0]
    both = frozenset({(topic, 0), (topic, 1)})
    members = {name: Subscriber(frozenset({topic}), both) for name in ("a", "b")}
    assert given_out(uniform(members, {topic: 2})) == [(topic, 0), (topic, 1)]


def test_fresh_topics_are_spread_over_members_not_heaped_on_one():
    one, other = TOPICS[:2]
    members = {name: Subscriber(frozenset({one, other})) for name in ("a", "b")}
    assigned = uniform(members, {one: 2, other: 2})
    assert {topic for topic, _ in assigned["a"]} == {one, other}


def test_a_line_of_members_that_share_topics_two_by_two_is_evened_out():
    # Given ten members, each sharing one topic with the next, and all partitions held by the first two
    topics = [bytes([n]) * 16 for n in range(1, 12)]
    members = {f"m{n:02}": Subscriber(frozenset(topics[n : n + 2])) for n in range(10)}
    partitions = dict.fromkeys(topics, 4)
    held = frozenset((topics[n], number) for n in (0, 1) for number in range(4))
    members["m00"] = members["m00"]._replace(held=held)
    # When they are assigned
    assigned = uniform(members, partitions)
    # Then no member has two more than another one that could take a partition
    assert given_out(assigned) == subscribed(members, partitions)
    assert max(map(len, assigned.values())) <= 6


def test_range_cuts_equal_topics_in_equal_places():
    topics = frozenset(TOPICS[:3])
    members = {name: Subscriber(topics) for name in ("b", "a", "c")}
    assigned = range_(members, dict.fromkeys(topics, 7))
    numbers = {name: {topic: sorted(n for t, n in slices if t == topic) for topic in topics}
               for name, slices in assigned.items()}  # fmt: skip
    for topic in topics:
        assert [numbers[name][topic] for name in ("a", "b", "c")] == [[0, 1, 2], [3, 4], [5, 6]]


def test_range_keeps_the_place_of_a_static_member_that_comes_back_under_another_id():
    topics = frozenset({TOPICS[0]})
    before = {"x": Subscriber(topics, instance_id="i1"), "y": Subscriber(topics, instance_id="i2")}
    after = {"z": Subscriber(topics, instance_id="i1"), "y": Subscriber(topics, instance_id="i2")}
    assert range_(before, {TOPICS[0]: 5})["x"] == range_(after, {TOPICS[0]: 5})["z"]


@settings(max_examples=examples(20))
@given(case=existing())
def test_order_of_members_makes_no_difference(case):
    members, partitions = case
    turned = dict(reversed(members.items()))
    assert uniform(members, partitions) == uniform(turned, partitions)
    assert range_(members, partitions) == range_(turned, partitions)


def test_ten_thousand_partitions_are_ten_for_each_of_a_thousand_members():
    topics = frozenset(TOPICS)
    members = {f"m{n}": Subscriber(topics) for n in range(1000)}
    assigned = uniform(members, dict.fromkeys(topics, 2000))
    assert {len(slices) for slices in assigned.values()} == {10}
