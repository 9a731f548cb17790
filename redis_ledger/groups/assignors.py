"""Who should read what: the assignors a broker runs for consumer groups.  Pure functions, the same result everywhere.

    uniform   every member the same number of partitions, give or take one, and as few as possible change hands
    range     of every topic each member takes one run of neighbours, so that equal topics are cut in equal places

    uniform   keep what is held ──▶ give out what is free ──▶ even out
                                                              members of equal topics: exactly, as few moves as can be
                                                              others: topic by topic, from who has most to who has least

Source: KIP-848 "server-side assignors"; KIP-54 and KIP-341 for what sticky means.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple, TypeAlias

TopicId: TypeAlias = bytes
Slice: TypeAlias = tuple[TopicId, int]  # a partition, by its topic's id
ROUNDS_MAX = 16  # of evening out unequal members; every round roughly halves what is left to do


class Subscriber(NamedTuple):
    """What an assignor knows of a member.  held: what it was to read until now."""

    topics: frozenset[TopicId]
    held: frozenset[Slice] = frozenset()
    instance_id: str | None = None


Members: TypeAlias = Mapping[str, Subscriber]
Partitions: TypeAlias = Mapping[TopicId, int]  # topic → how many it has
Assigned: TypeAlias = dict[str, frozenset[Slice]]


def uniform(members: Members, partitions: Partitions) -> Assigned:
    """Cost: O(p + m log m) where all have the same topics, else up to ROUNDS_MAX times O(p log m + topics times m)."""
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
    """Members with an instance id come first, by that id: who comes back under another member id keeps its place."""
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
    """Deals out `free` and what some have too many of, among members of the same topics.

    Where the numbers do not come out even, who holds most keeps one more than the others: nothing moves that need not.
    """
    spare = list(free)
    least, extra = divmod(sum(len(held[name]) for name in names) + len(spare), len(names))
    by_size = sorted(names, key=lambda name: -len(held[name]))
    quota = {name: least + (place < extra) for place, name in enumerate(by_size)}
    for name in names:
        if len(held[name]) > quota[name]:
            kept = sorted(held[name], key=lambda one: (one[1], one[0]))  # so that it gives up some of every topic
            spare += kept[quota[name] :]
            held[name] = set(kept[: quota[name]])
    hungry = deque(name for name in names if len(held[name]) < quota[name])
    for one in sorted(spare):  # neighbours go to different members
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
    """Moves partitions while that makes two members' numbers more alike; ends because their squares' sum falls."""
    readers = _readers(members)
    held_of: dict[TopicId, dict[str, list[Slice]]] = defaultdict(lambda: defaultdict(list))
    for name, slices in held.items():
        for one in sorted(slices):
            held_of[one[0]][name].append(one)
    for _ in range(ROUNDS_MAX):
        if not sum(_even_out_topic(readers[topic], held_of[topic], held) for topic in sorted(held_of)):
            return


def _even_out_topic(names: Sequence[str], holders: dict[str, list[Slice]], held: _Held) -> int:
    """How many partitions of this topic changed hands."""
    most = [(-len(held[name]), name) for name, slices in holders.items() if slices]
    least = [(len(held[name]), name) for name in names]
    heapify(most)
    heapify(least)
    moved = 0
    while most:
        if -most[0][0] != len(held[most[0][1]]) or not holders[most[0][1]]:
            heappop(most)  # of before a move
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
