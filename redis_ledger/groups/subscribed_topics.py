"""Which topics the members of a group are interested in, and how many partitions these have.

    names, expression  ──topics that exist──▶  topic ids   (equal for members with equal wishes: one object)
                                               topic id → partitions

When either changes, by a member or by the catalog, the group needs a new target.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import NamedTuple

from redis_ledger.errors import InvalidRegex
from redis_ledger.groups.assignors import TopicId
from redis_ledger.groups.patterns import Pattern, Resolver

STRING_BYTES = 64  # what a string costs besides its characters


class TopicFacts(NamedTuple):
    id: TopicId
    partitions: int


class Topics:
    """The topics that exist, as of one look at the catalog.  A changed catalog is another object."""

    __slots__ = ("by_name", "names")

    def __init__(self, by_name: Mapping[str, TopicFacts]) -> None:
        self.by_name = by_name
        self.names: dict[TopicId, str] = {facts.id: name for name, facts in by_name.items()}


Visible = Callable[[Hashable, str], bool]


def everybody_sees_all(who: Hashable, topic: str) -> bool:
    return True


class Wish(NamedTuple):
    """What a member subscribes to: topics by name and, if `regex` is not empty, by expression, which finds only
    topics that `who` may see: the one who said it."""

    names: frozenset[str]
    regex: str = ""
    who: Hashable = None

    @property
    def size(self) -> int:
        return sum(map(len, self.names)) + STRING_BYTES * len(self.names) + len(self.regex)


NO_WISH = Wish(frozenset())


class SubscribedTopics(NamedTuple):
    """Equal when nothing has changed that an assignment depends on."""

    topics: dict[Wish, frozenset[TopicId]]
    partitions: dict[TopicId, int]


NO_INTERESTS = SubscribedTopics({}, {})


class Expressions:
    """Compiled regular expressions of a group's members.  visible: whether a principal may describe a topic."""

    def __init__(self, visible: Visible = everybody_sees_all) -> None:
        self._resolvers: dict[str, Resolver] = {}
        self._visible = visible

    def __contains__(self, regex: str) -> bool:
        return regex in self._resolvers

    def keep(self, pattern: Pattern, tried: Mapping[str, bool]) -> None:
        """tried: names that it has been tried on."""
        self._resolvers[pattern.text] = Resolver(pattern, tried)

    def resume(self, regex: str) -> None:
        """Of a stored member.  A refused expression matches nothing, and the member stays in the group."""
        try:
            self._resolvers[regex] = Resolver(Pattern(regex))
        except InvalidRegex:
            self._resolvers[regex] = Resolver(None)

    def untried(self, regex: str, who: Hashable, topics: Topics) -> list[str]:
        """The names that a new expression is to be tried on: only topics that `who` may see."""
        return [] if regex in self._resolvers else [name for name in topics.by_name if self._visible(who, name)]

    def interests(self, wishes: Iterable[Wish], topics: Topics) -> SubscribedTopics:
        """Returns the resolved subscriptions; expressions without a member are dropped."""
        of_wish: dict[Wish, frozenset[TopicId]] = {}
        same: dict[frozenset[TopicId], frozenset[TopicId]] = {}
        partitions: dict[TopicId, int] = {}
        used = set[str]()
        for wish in wishes:
            if wish in of_wish:
                continue
            names: Collection[str] = wish.names
            if wish.regex:
                names = wish.names | self._matching(wish, topics)
                used.add(wish.regex)
            facts = [topics.by_name[name] for name in names if name in topics.by_name]
            ids = frozenset(fact.id for fact in facts)
            of_wish[wish] = same.setdefault(ids, ids)
            partitions.update(facts)
        self._resolvers = {regex: self._resolvers[regex] for regex in used}
        for resolver in self._resolvers.values():
            resolver.forget(topics.by_name)
        return SubscribedTopics(of_wish, partitions)

    def _matching(self, wish: Wish, topics: Topics) -> frozenset[str]:
        """Visibility first: what a member may not see costs no match, and what did not match costs no look."""
        resolver, sees = self._resolvers[wish.regex], self._visible
        return frozenset(
            name
            for name in topics.by_name
            if not resolver.is_known_not_to_match(name) and sees(wish.who, name) and resolver.matches(name)
        )
