"""The table of console pages and actions: declared beside their functions, found by path.

    @page("topic", "Topic", requires=named(Op.DESCRIBE, Resource.TOPIC, "name"))
    async def topic(context: PageContext, query: TopicQuery) -> TopicPage

    @action("topic/delete", "topic.delete", "name", requires=named(Op.DELETE, Resource.TOPIC, "name"))
    async def delete(context: PageContext, form: DeleteTopic) -> ActionResult

`named` refers to the member of the query or form with the resource's name.  A page with several resources filters them
by `context.may`.  An administrative action declares its name in the audit log and the form members that name its
target; it is logged when it is done and when it is denied.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints
from urllib.parse import urlencode

import msgspec

from redis_ledger.auth.acl import CLUSTER_NAME, Caller, Op, Resource
from redis_ledger.auth.requirement import Requirement, Scope
from redis_ledger.broker.broker import Broker


class NoParameters(msgspec.Struct):
    """A query or form without members."""


class ActionResult(msgspec.Struct):
    """The result of an action.

    message   what was done
    location  the page to show next
    secret    shown once, such as a new token
    facts     additional fields of the audit entry; None: nothing was done, so no entry
    """

    message: str
    location: str
    secret: str = ""
    facts: dict[str, Any] | None = msgspec.field(default_factory=dict)


def href(path: str, **query: Any) -> str:
    """A link to a page; members that are None or empty are left out."""
    kept = {name: value for name, value in query.items() if value not in (None, "")}
    return f"/console/{path}{'?' + urlencode(kept) if kept else ''}"


@dataclass(slots=True)
class PageContext:
    """What a page function may use: the broker, the caller, the broker's clock and the quota of decoded bytes."""

    broker: Broker
    caller: Caller
    now_ms: int
    charge_decoded: Callable[[int], None]

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
    """A page or an action.

    nav           the menu entry of the page
    audit_action  the action's name in the audit log
    audit_target  the form members that name the action's target
    """

    path: str
    title: str
    nav: str
    requires: Sequence[Requirement]
    handler: Callable[[PageContext, Any], Awaitable[Any]]
    query: type[msgspec.Struct]
    audit_action: str = ""
    audit_target: tuple[str, ...] = ()

    @property
    def template(self) -> str:
        return f"{self.path}.html"

    def read(self, given: dict[str, str]) -> Any:
        """Raises msgspec.ValidationError."""
        return msgspec.convert(given, self.query, strict=False)

    def check(self, context: PageContext, query: Any) -> None:
        """Raises Forbidden."""
        for requirement in self.requires:
            name = None if requirement.scope is Scope.CLUSTER else getattr(query, requirement.field)
            context.check(requirement.operation, requirement.resource, name)

    def target(self, query: Any) -> str:
        return " ".join(getattr(query, member) for member in self.audit_target)


PAGES: dict[str, Page] = {}
ACTIONS: dict[str, Page] = {}

Handler = Callable[..., Awaitable[Any]]


def page(
    path: str, title: str, *, nav: str = "", requires: Sequence[Requirement] | Requirement = ()
) -> Callable[[Handler], Handler]:
    return _declare(PAGES, "query", path, title, nav or path, requires)


def action(
    path: str, audit_action: str = "", *audit_target: str, requires: Sequence[Requirement] | Requirement = ()
) -> Callable[[Handler], Handler]:
    return _declare(ACTIONS, "form", path, "", "", requires, audit_action, audit_target)


def _declare(
    table: dict[str, Page], parameter: str, path: str, title: str, nav: str,
    requires: Sequence[Requirement] | Requirement,
    audit_action: str = "", audit_target: tuple[str, ...] = (),
) -> Callable[[Handler], Handler]:  # fmt: skip
    listed = (requires,) if isinstance(requires, Requirement) else requires

    def declare(handler: Handler) -> Handler:
        assert path not in table, f"{path} is declared twice"
        query = get_type_hints(handler).get(parameter, NoParameters)
        for requirement in listed:
            field = requirement.field
            assert not field or field in query.__struct_fields__, f"{path} has no member {field!r}"
        assert bool(audit_action) == bool(audit_target), f"{path}: {audit_action!r} of {audit_target}"
        assert {*audit_target} <= {*query.__struct_fields__}, f"{path}: {audit_target}"
        table[path] = Page(path, title, nav, tuple(listed), handler, query, audit_action, audit_target)
        return handler

    return declare
