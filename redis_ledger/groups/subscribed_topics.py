"""The topics to which the members of a group are subscribed, and their partition counts.

    names, expression  ──topics that exist──▶  topic ids   (one object for members with equal subscriptions)
                                               topic id → partitions

If either changes, through a member or the catalog, the group needs a new target.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import NamedTuple

from redis_ledger.errors import InvalidRegex
from redis_ledger.groups.assignors import TopicId
from redis_ledger.groups.patterns import Pattern, Resolver

STRING_BYTES = 64  # memory of a string besides its characters


class TopicFacts(NamedTuple):
    id: TopicId
    partitions: int


class Topics:
    """A snapshot of the existing topics; a changed catalog has another one."""

    __slots__ = ("by_name", "names")

    def __init__(self, by_name: Mapping[str, TopicFacts]) -> None:
        self.by_name = by_name
        self.names: dict[TopicId, str] = {facts.id: name for name, facts in by_name.items()}


Visible = Callable[[Hashable, str], bool]


def all_visible(who: Hashable, topic: str) -> bool:
    return True


class MemberSubscription(NamedTuple):
    """The subscription of a member: topic names and, if `regex` is not empty, a regular expression, which matches only
    topics that the principal `who` may describe."""

    names: frozenset[str]
    regex: str = ""
    who: Hashable = None

    @property
    def size(self) -> int:
        return sum(map(len, self.names)) + STRING_BYTES * len(self.names) + len(self.regex)


NO_SUBSCRIPTION = MemberSubscription(frozenset())


class SubscribedTopics(NamedTuple):
    """The resolved subscriptions of a group; equal if no new assignment is necessary."""

    topics: dict[MemberSubscription, frozenset[TopicId]]
    partitions: dict[TopicId, int]


NO_INTERESTS = SubscribedTopics({}, {})


class Expressions:
    """Compiled regular expressions of a group's members.  visible: whether a principal may describe a topic."""

    def __init__(self, visible: Visible = all_visible) -> None:
        self._resolvers: dict[str, Resolver] = {}
        self._visible = visible

    def __contains__(self, regex: str) -> bool:
        return regex in self._resolvers

    def keep(self, pattern: Pattern, tried: Mapping[str, bool]) -> None:
        """tried: results for names that it has been tried on."""
        self._resolvers[pattern.text] = Resolver(pattern, tried)

    def resume(self, regex: str) -> None:
        """Restores the expression of a stored member.  An invalid expression matches nothing; the member stays."""
        try:
            self._resolvers[regex] = Resolver(Pattern(regex))
        except InvalidRegex:
            self._resolvers[regex] = Resolver(None)

    def untried(self, regex: str, who: Hashable, topics: Topics) -> list[str]:
        """The names that a new expression must be tried on: only topics that `who` may describe."""
        return [] if regex in self._resolvers else [name for name in topics.by_name if self._visible(who, name)]

    def interests(self, subscriptions: Iterable[MemberSubscription], topics: Topics) -> SubscribedTopics:
        """Returns the resolved subscriptions; expressions without a member are dropped."""
        of_wish: dict[MemberSubscription, frozenset[TopicId]] = {}
        same: dict[frozenset[TopicId], frozenset[TopicId]] = {}
        partitions: dict[TopicId, int] = {}
        used = set[str]()
        for subscription in subscriptions:
            if subscription in of_wish:
                continue
            names: Collection[str] = subscription.names
            if subscription.regex:
                names = subscription.names | self._matching(subscription, topics)
                used.add(subscription.regex)
            facts = [topics.by_name[name] for name in names if name in topics.by_name]
            ids = frozenset(fact.id for fact in facts)
            of_wish[subscription] = same.setdefault(ids, ids)
            partitions.update(facts)
        self._resolvers = {regex: self._resolvers[regex] for regex in used}
        for resolver in self._resolvers.values():
            resolver.forget(topics.by_name)
        return SubscribedTopics(of_wish, partitions)

    def _matching(self, subscription: MemberSubscription, topics: Topics) -> frozenset[str]:
        """Checks visibility before a first match, and the cached match before visibility."""
        resolver, sees = self._resolvers[subscription.regex], self._visible
        return frozenset(
            name
            for name in topics.by_name
            if not resolver.is_known_not_to_match(name) and sees(subscription.who, name) and resolver.matches(name)
        )
