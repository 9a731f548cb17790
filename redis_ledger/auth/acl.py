"""Who may do what: rules as Kafka has them, and the one function that decides.

    Rule(ALLOW, "User:ada", "*", WRITE, TOPIC, PREFIXED, "orders-")

    super user ─▶ yes
    a DENY that fits ─▶ no          it fits when principal, host, operation and resource fit; ALL is every operation
    an ALLOW that fits ─▶ yes       READ, WRITE, DELETE, ALTER allow DESCRIBE too, ALTER_CONFIGS DESCRIBE_CONFIGS
    no rule names the resource ─▶ what allow_everyone_if_no_acl says
    else no

The numbers are those of Kafka's protocol, and the names those of its tools.  A subscription is a GROUP of its name.
Pure: no I/O, no clock.  Source: KIP-11 (rules), KIP-290 (prefixes), KIP-679 (authorize by resource type).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from redis_ledger.errors import InvalidRequest

ANYBODY, ANY_HOST, ANY_NAME = "User:*", "*", "*"
CLUSTER_NAME = "kafka-cluster"
NAME_CHARACTERS_MAX = 255
AUDITED_MAX = 20
MEMORY_MAX = 65_536  # answers remembered until the rules change


class Op(IntEnum):
    ANY = 1  # in filters only
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


class Resource(IntEnum):
    ANY = 1  # in filters only
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5


class Pattern(IntEnum):
    ANY = 1  # in filters only: whatever the pattern
    MATCH = 2  # in filters only: every pattern that covers the name
    LITERAL = 3
    PREFIXED = 4


class Effect(IntEnum):
    ANY = 1  # in filters only
    DENY = 2
    ALLOW = 3


IMPLIED_BY: dict[Op, frozenset[Op]] = {
    Op.DESCRIBE: frozenset((Op.READ, Op.WRITE, Op.DELETE, Op.ALTER)),
    Op.DESCRIBE_CONFIGS: frozenset((Op.ALTER_CONFIGS,)),
}
_COMMON = (Op.DESCRIBE, Op.ALL)
OPERATIONS_OF: dict[Resource, frozenset[Op]] = {
    Resource.TOPIC: frozenset(
        (Op.READ, Op.WRITE, Op.CREATE, Op.DELETE, Op.ALTER, Op.DESCRIBE_CONFIGS, Op.ALTER_CONFIGS, *_COMMON)
    ),
    Resource.GROUP: frozenset((Op.READ, Op.DELETE, Op.DESCRIBE_CONFIGS, Op.ALTER_CONFIGS, *_COMMON)),
    Resource.CLUSTER: frozenset(
        (
            Op.CREATE, Op.ALTER, Op.CLUSTER_ACTION, Op.DESCRIBE_CONFIGS, Op.ALTER_CONFIGS, Op.IDEMPOTENT_WRITE,
            *_COMMON,
        )
    ),
    Resource.TRANSACTIONAL_ID: frozenset((Op.WRITE, *_COMMON)),
}  # fmt: skip


class Caller(NamedTuple):
    """Who asks, and from where.  principal: "User:ada"; host: the address of the connection, by `host_of`."""

    principal: str
    host: str


def host_of(address: str) -> str:
    """A peer's address as rules have it.  A socket of both families tells an IPv4 client as ::ffff:10.0.0.1, which a
    rule for 10.0.0.1 would not fit."""
    mapped = address.removeprefix("::ffff:")
    return mapped if "." in mapped else address


ANONYMOUS = "User:ANONYMOUS"


class Rule(NamedTuple):
    effect: Effect
    principal: str
    host: str
    operation: Op
    resource: Resource
    pattern: Pattern
    name: str

    def covers(self, name: str) -> bool:
        """Whether the rule's pattern names this resource, of the rule's kind."""
        if self.pattern is Pattern.PREFIXED:
            return name.startswith(self.name)
        return self.name in (name, ANY_NAME)

    def is_for(self, principal: str, host: str) -> bool:
        return self.principal in (principal, ANYBODY) and self.host in (host, ANY_HOST)

    def gives(self, operation: Op) -> bool:
        """Whether the rule's operation is this one or includes it; what an ALLOW implies a DENY does not."""
        if self.operation in (operation, Op.ALL):
            return True
        return self.effect is Effect.ALLOW and self.operation in IMPLIED_BY.get(operation, ())


class Filter(NamedTuple):
    """Which rules are meant, by Kafka's DescribeAcls and DeleteAcls.  None and ANY: whatever it is."""

    resource: Resource = Resource.ANY
    name: str | None = None
    pattern: Pattern = Pattern.ANY
    principal: str | None = None
    host: str | None = None
    operation: Op = Op.ANY
    effect: Effect = Effect.ANY

    def takes(self, rule: Rule) -> bool:
        return (
            self.resource in (Resource.ANY, rule.resource)
            and self.operation in (Op.ANY, rule.operation)
            and self.effect in (Effect.ANY, rule.effect)
            and self.principal in (None, rule.principal)
            and self.host in (None, rule.host)
            and (self.pattern in (Pattern.ANY, Pattern.MATCH, rule.pattern))
            and (self.name is None or self._names(rule, self.name))
        )

    def _names(self, rule: Rule, name: str) -> bool:
        return rule.covers(name) if self.pattern is Pattern.MATCH else rule.name == name


def everything(principal: str) -> list[Rule]:
    """What allows a principal all there is."""
    names = dict.fromkeys(OPERATIONS_OF, ANY_NAME) | {Resource.CLUSTER: CLUSTER_NAME}
    return [
        Rule(Effect.ALLOW, principal, ANY_HOST, Op.ALL, kind, Pattern.LITERAL, name) for kind, name in names.items()
    ]


def is_principal_name(name: str) -> bool:
    """Returns whether a user, a token or a certificate may have this name.  "*" matches all principals in a rule, and
    a blank name could not be told from none."""
    return name != ANY_NAME and not name.isspace()


def check_own_principal(principal: str) -> None:
    """As check_principal, but refuses User:* and blank names, which no credential may identify."""
    check_principal(principal)
    if principal == ANYBODY:
        raise InvalidRequest(f"{ANYBODY} matches every principal in a rule and cannot be the name of a principal.")
    if not is_principal_name(principal.removeprefix("User:")):
        raise InvalidRequest(f"The principal {principal[:80]!r} has a blank name.")


def check_principal(principal: str) -> None:
    """Raises InvalidRequest unless the principal has the form User:name."""
    if (
        not principal.startswith("User:")
        or not 6 <= len(principal) <= NAME_CHARACTERS_MAX
        or not principal.isprintable()
    ):
        raise InvalidRequest(f"The principal {principal[:80]!r} does not have the form User:name.")


def said(rule: Rule) -> str:
    """ "ALLOW User:ada READ on TOPIC pay-*", "DENY User:eve ALL on CLUSTER kafka-cluster from 10.0.0.1"."""
    name = f"{rule.name}*" if rule.pattern is Pattern.PREFIXED else rule.name
    host = "" if rule.host == ANY_HOST else f" from {rule.host}"
    return f"{rule.effect.name} {rule.principal} {rule.operation.name} on {rule.resource.name} {name}{host}"


def audit_summary(rules: Sequence[Rule]) -> str:
    """Rules in the audit: "1 rule of User:ada", "3 rules of User:ada, User:eve", "no rules"."""
    principals = ", ".join(dict.fromkeys(rule.principal for rule in rules))
    return f"{len(rules)} rule{'' if len(rules) == 1 else 's'} of {principals}" if rules else "no rules"


def facts(rules: Sequence[Rule]) -> dict[str, list[str]]:
    """What the audit keeps of them: the first AUDITED_MAX."""
    return {"acls": [said(rule) for rule in rules[:AUDITED_MAX]]}


def flaw(rule: Rule) -> str | None:
    """What makes a rule impossible, in one sentence; None if nothing does."""
    if Effect.ANY is rule.effect or Resource.ANY is rule.resource or rule.pattern < Pattern.LITERAL:
        return "A rule names one effect, one kind of resource and one pattern, LITERAL or PREFIXED."
    if not rule.principal.startswith("User:") or len(rule.principal) <= len("User:"):
        return f"The principal {rule.principal[:80]!r} does not have the form User:name."
    for text in (rule.principal, rule.host, rule.name):
        if not 1 <= len(text) <= NAME_CHARACTERS_MAX or not text.isprintable():
            return f"Principal, host and name have 1 to {NAME_CHARACTERS_MAX} printable characters."
    if rule.host != ANY_HOST and rule.host != _normalized_host(rule.host):
        return f"The host {rule.host[:80]!r} is no address of a connection; give one, as in 10.0.0.1, or *."
    if rule.operation not in OPERATIONS_OF[rule.resource]:
        possible = ", ".join(sorted(op.name for op in OPERATIONS_OF[rule.resource]))
        return f"{rule.operation.name} cannot be allowed on a {rule.resource.name}; what can is {possible}."
    if rule.resource is Resource.CLUSTER and (rule.name, rule.pattern) != (CLUSTER_NAME, Pattern.LITERAL):
        return f"The cluster is named {CLUSTER_NAME}, and its pattern is LITERAL."
    return None


def _normalized_host(host: str) -> str | None:
    """An address as `host_of` has it; None for what is none.  No name is looked up."""
    try:
        return host_of(str(ipaddress.ip_address(host)))
    except ValueError:
        return None


class Rules:
    """An immutable set of rules, compiled for decisions.  supers: principals that are allowed everything.

    Decisions are cached, so a repeated one is a dict lookup.  A new one costs a lookup for each length of a prefix and
    the rules that name the resource; it does not visit all rules, since callers can invent resource names.
    """

    def __init__(self, rules: Iterable[Rule], supers: Iterable[str] = (), *, open_without_rule: bool = False) -> None:
        self.all = tuple(rules)
        self.supers = frozenset(supers)
        self._open = open_without_rule
        self._tells_hosts = any(rule.host != ANY_HOST for rule in self.all)
        self._by_name: dict[tuple[Resource, Pattern, str], list[Rule]] = {}
        self._by_principal: dict[tuple[Resource, str], list[Rule]] = {}
        for rule in self.all:
            self._by_name.setdefault((rule.resource, rule.pattern, rule.name), []).append(rule)
            self._by_principal.setdefault((rule.resource, rule.principal), []).append(rule)
        prefixed = {(kind, len(name)) for kind, pattern, name in self._by_name if pattern is Pattern.PREFIXED}
        self._lengths = {kind: sorted(length for of, length in prefixed if of is kind) for kind in Resource}
        self._known: dict[tuple[str, str, Op, Resource, str], bool] = {}
        self._some: dict[tuple[str, str, Op, Resource], bool] = {}

    def allow(self, caller: Caller, operation: Op, resource: Resource, name: str) -> bool:
        host = caller.host if self._tells_hosts else ANY_HOST
        key = (caller.principal, host, operation, resource, name)
        known = self._known.get(key)
        if known is None:
            if len(name) > NAME_CHARACTERS_MAX:  # not of anything there is; who asks for many must fill no memory
                return self._decide(*key)
            if len(self._known) >= MEMORY_MAX:
                self._known.clear()
            known = self._known[key] = self._decide(*key)
        return known

    def _decide(self, principal: str, host: str, operation: Op, resource: Resource, name: str) -> bool:
        if principal in self.supers:
            return True
        naming = self._naming(resource, name)
        fitting = [rule for rule in naming if rule.is_for(principal, host) and rule.gives(operation)]
        if any(rule.effect is Effect.DENY for rule in fitting):
            return False
        return bool(fitting) or (self._open and not naming)

    def _naming(self, resource: Resource, name: str) -> list[Rule]:
        """The rules whose pattern covers the name."""
        found = [*self._by_name.get((resource, Pattern.LITERAL, name), ())]
        if name != ANY_NAME:
            found += self._by_name.get((resource, Pattern.LITERAL, ANY_NAME), ())
        for length in self._lengths[resource]:
            if length > len(name):
                break
            found += self._by_name.get((resource, Pattern.PREFIXED, name[:length]), ())
        return found

    def allow_some(self, caller: Caller, operation: Op, resource: Resource) -> bool:
        """Whether there is any name at all for which the caller may: an ALLOW that no DENY takes back whole."""
        host = caller.host if self._tells_hosts else ANY_HOST
        key = (caller.principal, host, operation, resource)
        known = self._some.get(key)
        if known is None:
            if len(self._some) >= MEMORY_MAX:
                self._some.clear()
            known = self._some[key] = self._decide_some(*key)
        return known

    def _decide_some(self, principal: str, host: str, operation: Op, resource: Resource) -> bool:
        if principal in self.supers:
            return True
        of = self._by_principal
        whose = [*of.get((resource, principal), ()), *of.get((resource, ANYBODY), ())]
        rules = [rule for rule in whose if rule.is_for(principal, host) and rule.gives(operation)]
        denied = [rule for rule in rules if rule.effect is Effect.DENY]
        everything = any(rule.pattern is Pattern.LITERAL and rule.name == ANY_NAME for rule in denied)
        if everything:
            return False
        if self._open:
            return True
        return any(
            rule.effect is Effect.ALLOW and not any(_takes_back(deny, rule) for deny in denied) for rule in rules
        )


def _takes_back(deny: Rule, allow: Rule) -> bool:
    """Whether nothing is left of what is allowed.  A literal "*" stands for names that no prefix covers, too."""
    if allow.pattern is Pattern.LITERAL and allow.name == ANY_NAME:
        return False
    if allow.pattern is Pattern.LITERAL:
        return deny.covers(allow.name)
    return deny.pattern is Pattern.PREFIXED and allow.name.startswith(deny.name)
