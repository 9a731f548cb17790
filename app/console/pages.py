"""The table of pages and acts: declared once beside the function that makes them, found by path.

    @page("topic", "Topic", needs=(Op.DESCRIBE, Resource.TOPIC, "name"))
    async def topic(visit: Visit, query: TopicQuery) -> TopicPage

    @act("topic/produce", needs=(Op.WRITE, Resource.TOPIC, "topic"))
    async def produce(visit: Visit, form: Produce) -> Done

A name in `needs` is a member of the query or form that names the resource; None is the cluster.  What a page shows of
several resources it filters by `visit.may`.
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
    """What an act did, in a sentence, and where to go on.  told: what is shown once, such as a new token."""

    sentence: str
    go_to: str
    told: str = ""


def href(path: str, **query: Any) -> str:
    """A link to a page; members that are None or empty are left out."""
    kept = {name: value for name, value in query.items() if value not in (None, "")}
    return f"/console/{path}{'?' + urlencode(kept) if kept else ''}"


@dataclass(slots=True)
class Visit:
    """One request.  caller: who asks; now_ms: the broker's time."""

    broker: Broker
    caller: Caller
    now_ms: int

    def may(self, operation: Op, resource: Resource, name: str | None = None) -> bool:
        return self.broker.security.allows(self.caller, operation, resource, CLUSTER_NAME if name is None else name)

    def may_some(self, operation: Op, resource: Resource) -> bool:
        """On at least one name."""
        security = self.broker.security
        return not security.is_on or security.rules.allow_some(self.caller, operation, resource)

    def check(self, operation: Op, resource: Resource, name: str | None = None) -> None:
        """Raises Forbidden."""
        self.broker.security.check(self.caller, operation, resource, CLUSTER_NAME if name is None else name)


@dataclass(frozen=True, slots=True)
class Page:
    """An act if `is_act`.  nav: the entry of the menu that is marked while the page is shown."""

    path: str
    title: str
    nav: str
    needs: Sequence[Need]
    make: Callable[[Visit, Any], Awaitable[Any]]
    query: type[msgspec.Struct]
    is_act: bool

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


PAGES: dict[str, Page] = {}
ACTS: dict[str, Page] = {}

Make = Callable[..., Awaitable[Any]]


def page(path: str, title: str, *, nav: str = "", needs: Sequence[Need] | Need = ()) -> Callable[[Make], Make]:
    return _declare(PAGES, path, title, nav or path, needs, is_act=False)


def act(path: str, *, needs: Sequence[Need] | Need = ()) -> Callable[[Make], Make]:
    return _declare(ACTS, path, "", "", needs, is_act=True)


def _declare(
    table: dict[str, Page], path: str, title: str, nav: str, needs: Sequence[Need] | Need, *, is_act: bool
) -> Callable[[Make], Make]:
    listed: Sequence[Any] = (needs,) if needs and isinstance(needs[0], Op) else needs

    def declare(make: Make) -> Make:
        assert path not in table, f"{path} is there twice"
        hints = get_type_hints(make)
        query = hints.get("form" if is_act else "query", Nothing)
        for _, resource, member in listed:
            assert (member is None) == (resource is Resource.CLUSTER), f"{path}: {resource.name} and {member!r}"
            assert member is None or member in query.__struct_fields__, f"{path} has no member {member!r}"
        table[path] = Page(path, title, nav, tuple(listed), make, query, is_act)
        return make

    return declare
