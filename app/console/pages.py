"""The table of pages and acts: declared once beside the function that makes them, found by path.

    @page("topic", "Topic", needs=(Op.DESCRIBE, Resource.TOPIC, "name"))
    async def topic(visit: Visit, query: TopicQuery) -> TopicPage

    @act("topic/delete", "topic.delete", "name", needs=(Op.DELETE, Resource.TOPIC, "name"))
    async def delete(visit: Visit, form: DeleteTopic) -> Done

A name in `needs` is a member of the query or form that names the resource; None is the cluster.  What a page shows of
several resources it filters by `visit.may`.  An administrative act says what the audit calls it, and which members of
its form name what it is done to: it is noted when it was done, and when it was refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints
from urllib.parse import urlencode

import msgspec

from redis_ledger.auth.acl import CLUSTER_NAME, Caller, Op, Resource
from redis_ledger.broker.broker import Broker

Need = tuple[Op, Resource, str | None]


class Nothing(msgspec.Struct):
    """A query or form without members."""


class Done(msgspec.Struct):
    """What an act did, in a sentence, and where to go on.  told: what is shown once, such as a new token.  facts: for
    the audit, beside the act and what it was done to; None: nothing was done."""

    sentence: str
    go_to: str
    told: str = ""
    facts: dict[str, Any] | None = msgspec.field(default_factory=dict)


def href(path: str, **query: Any) -> str:
    """A link to a page; members that are None or empty are left out."""
    kept = {name: value for name, value in query.items() if value not in (None, "")}
    return f"/console/{path}{'?' + urlencode(kept) if kept else ''}"


@dataclass(slots=True)
class Visit:
    """One request.  caller: who asks; now_ms: the broker's time; pay_decoded: charges the caller for decoded bytes."""

    broker: Broker
    caller: Caller
    now_ms: int
    pay_decoded: Callable[[int], None]

    def may(self, operation: Op, resource: Resource, name: str | None = None) -> bool:
        return self.broker.security.allows(self.caller, operation, resource, CLUSTER_NAME if name is None else name)

    def may_some(self, operation: Op, resource: Resource) -> bool:
        """On at least one name."""
        security = self.broker.security
        return not security.is_on or security.rules.allow_some(self.caller, operation, resource)

    def may_create(self, topic: str) -> bool:
        return self.broker.security.may_create(self.caller, topic)

    def check(self, operation: Op, resource: Resource, name: str | None = None) -> None:
        """Raises Forbidden."""
        self.broker.security.check(self.caller, operation, resource, CLUSTER_NAME if name is None else name)


@dataclass(frozen=True, slots=True)
class Page:
    """nav: the entry of the menu that is marked while the page is shown.  noted, about: of an act, what the audit calls
    it, and the members that name what it is done to."""

    path: str
    title: str
    nav: str
    needs: Sequence[Need]
    make: Callable[[Visit, Any], Awaitable[Any]]
    query: type[msgspec.Struct]
    noted: str = ""
    about: tuple[str, ...] = ()

    @property
    def template(self) -> str:
        return f"{self.path}.html"

    def read(self, given: dict[str, str]) -> Any:
        """Raises msgspec.ValidationError."""
        return msgspec.convert(given, self.query, strict=False)

    def check(self, visit: Visit, asked: Any) -> None:
        """Raises Forbidden."""
        for operation, resource, member in self.needs:
            visit.check(operation, resource, None if member is None else getattr(asked, member))

    def target(self, asked: Any) -> str:
        return " ".join(getattr(asked, member) for member in self.about)


PAGES: dict[str, Page] = {}
ACTS: dict[str, Page] = {}

Make = Callable[..., Awaitable[Any]]


def page(path: str, title: str, *, nav: str = "", needs: Sequence[Need] | Need = ()) -> Callable[[Make], Make]:
    return _declare(PAGES, "query", path, title, nav or path, needs)


def act(path: str, noted: str = "", *about: str, needs: Sequence[Need] | Need = ()) -> Callable[[Make], Make]:
    return _declare(ACTS, "form", path, "", "", needs, noted, about)


def _declare(
    table: dict[str, Page], asked: str, path: str, title: str, nav: str, needs: Sequence[Need] | Need,
    noted: str = "", about: tuple[str, ...] = (),
) -> Callable[[Make], Make]:  # fmt: skip
    listed: Sequence[Any] = (needs,) if needs and isinstance(needs[0], Op) else needs

    def declare(make: Make) -> Make:
        assert path not in table, f"{path} is there twice"
        query = get_type_hints(make).get(asked, Nothing)
        for _, resource, member in listed:
            assert (member is None) == (resource is Resource.CLUSTER), f"{path}: {resource.name} and {member!r}"
            assert member is None or member in query.__struct_fields__, f"{path} has no member {member!r}"
        assert bool(noted) == bool(about), f"{path}: {noted!r} of {about}"
        assert {*about} <= {*query.__struct_fields__}, f"{path}: {about}"
        table[path] = Page(path, title, nav, tuple(listed), make, query, noted, about)
        return make

    return declare
