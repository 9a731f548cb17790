"""Server-side assignors of consumer groups.  Pure, deterministic functions.

    uniform   equal numbers of partitions per member (differences of at most one), with few moves
    range     a contiguous range of each topic per member, so that topics with equal counts are co-partitioned

    uniform   keep current partitions ──▶ assign free ones ──▶ even out
              members with equal topics: exactly, with minimum moves
              others: topic by topic, from the largest to the smallest member

Source: KIP-848 "server-side assignors"; KIP-54 and KIP-341 for what sticky means.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple, TypeAlias

TopicId: TypeAlias = bytes
Slice: TypeAlias = tuple[TopicId, int]  # a partition, by its topic's id
ROUNDS_MAX = 16  # of evening out unequal members; every round roughly halves the difference


class Subscriber(NamedTuple):
    """A member as input of an assignor.  held: its previous target assignment."""

    topics: frozenset[TopicId]
    held: frozenset[Slice] = frozenset()
    instance_id: str | None = None


Members: TypeAlias = Mapping[str, Subscriber]
Partitions: TypeAlias = Mapping[TopicId, int]  # topic → number of partitions
Assigned: TypeAlias = dict[str, frozenset[Slice]]


def uniform(members: Members, partitions: Partitions) -> Assigned:
    """Cost: O(p + m log m) if all have the same topics, else up to ROUNDS_MAX times O(p log m + topics times m)."""
    held, free = _keep(members, partitions)
    alike: dict[frozenset[TopicId], list[str]] = defaultdict(list)
    for name in sorted(members):
        alike[members[name].topics].append(name)
    if len(alike) > 1:
        _give(members, held, free)
        _even_out(members, held)
        free = []
    for names in alike.values():
        _level(names, held, free)
    return {name: frozenset(slices) for name, slices in held.items()}


def range_(members: Members, partitions: Partitions) -> Assigned:
    """Static members come first, ordered by instance id, so that they keep their range under a new member id."""
    order = sorted(
        members, key=lambda name: (members[name].instance_id is None, members[name].instance_id or name, name)
    )
    readers: dict[TopicId, list[str]] = defaultdict(list)
    for name in order:
        for topic in members[name].topics:
            readers[topic].append(name)
    assigned: dict[str, set[Slice]] = {name: set() for name in members}
    for topic, names in readers.items():
        least, extra = divmod(partitions.get(topic, 0), len(names))
        begin = 0
        for place, name in enumerate(names):
            end = begin + least + (place < extra)
            assigned[name].update((topic, number) for number in range(begin, end))
            begin = end
    return {name: frozenset(slices) for name, slices in assigned.items()}


ASSIGNORS: dict[str, Callable[[Members, Partitions], Assigned]] = {"uniform": uniform, "range": range_}
DEFAULT = "uniform"

_Held: TypeAlias = dict[str, set[Slice]]


def _keep(members: Members, partitions: Partitions) -> tuple[_Held, list[Slice]]:
    """Returns the partitions that members keep, and the unassigned ones, in order."""
    held: _Held = {}
    taken: set[Slice] = set()
    wanted: set[TopicId] = set()
    for name in sorted(members):
        topics = members[name].topics
        kept = {
            (topic, number)
            for topic, number in members[name].held
            if topic in topics and number < partitions.get(topic, 0) and (topic, number) not in taken
        }
        held[name] = kept
        taken |= kept
        wanted |= topics
    every = ((topic, number) for topic in sorted(wanted) for number in range(partitions.get(topic, 0)))
    return held, [one for one in every if one not in taken]


def _level(names: Sequence[str], held: _Held, free: Iterable[Slice]) -> None:
    """Distributes `free` and surplus partitions among members of the same topics.

    If the count is not divisible, the members with most partitions keep the extra ones, which minimizes moves.
    """
    spare = list(free)
    least, extra = divmod(sum(len(held[name]) for name in names) + len(spare), len(names))
    by_size = sorted(names, key=lambda name: -len(held[name]))
    quota = {name: least + (place < extra) for place, name in enumerate(by_size)}
    for name in names:
        if len(held[name]) > quota[name]:
            kept = sorted(held[name], key=lambda one: (one[1], one[0]))  # so that it gives up partitions of all topics
            spare += kept[quota[name] :]
            held[name] = set(kept[: quota[name]])
    hungry = deque(name for name in names if len(held[name]) < quota[name])
    for one in sorted(spare):  # adjacent partitions go to different members
        name = hungry.popleft()
        held[name].add(one)
        if len(held[name]) < quota[name]:
            hungry.append(name)


def _give(members: Members, held: _Held, free: Sequence[Slice]) -> None:
    """Assigns each free partition to the subscriber with the fewest; topics with few subscribers go first."""
    readers = _readers(members)
    by_topic: dict[TopicId, list[Slice]] = defaultdict(list)
    for one in free:
        by_topic[one[0]].append(one)
    for topic in sorted(by_topic, key=lambda topic: (len(readers[topic]), topic)):
        least = [(len(held[name]), name) for name in readers[topic]]
        heapify(least)
        for one in by_topic[topic]:
            count, name = heappop(least)
            held[name].add(one)
            heappush(least, (count + 1, name))


def _readers(members: Members) -> dict[TopicId, list[str]]:
    readers: dict[TopicId, list[str]] = defaultdict(list)
    for name in sorted(members):
        for topic in members[name].topics:
            readers[topic].append(name)
    return readers


def _even_out(members: Members, held: _Held) -> None:
    """Moves partitions while that reduces differences; terminates because the sum of squares decreases."""
    readers = _readers(members)
    held_of: dict[TopicId, dict[str, list[Slice]]] = defaultdict(lambda: defaultdict(list))
    for name, slices in held.items():
        for one in sorted(slices):
            held_of[one[0]][name].append(one)
    for _ in range(ROUNDS_MAX):
        if not sum(_even_out_topic(readers[topic], held_of[topic], held) for topic in sorted(held_of)):
            return


def _even_out_topic(names: Sequence[str], holders: dict[str, list[Slice]], held: _Held) -> int:
    """Evens out one topic; returns the number of moves."""
    most = [(-len(held[name]), name) for name, slices in holders.items() if slices]
    least = [(len(held[name]), name) for name in names]
    heapify(most)
    heapify(least)
    moved = 0
    while most:
        if -most[0][0] != len(held[most[0][1]]) or not holders[most[0][1]]:
            heappop(most)  # counts before a move
        elif least[0][0] != len(held[least[0][1]]):
            heappop(least)
        elif -most[0][0] - least[0][0] < 2:
            break
        else:
            giver, taker = most[0][1], least[0][1]
            one = holders[giver].pop()
            holders[taker].append(one)
            held[giver].remove(one)
            held[taker].add(one)
            for name in (giver, taker):
                heappush(most, (-len(held[name]), name))
                heappush(least, (len(held[name]), name))
            moved += 1
    return moved
