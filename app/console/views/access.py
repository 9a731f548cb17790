"""Who may do what: users, API tokens, rules, and the acts that were noted."""

from __future__ import annotations

import msgspec

from redis_ledger.app.console.pages import Done, Nothing, Visit, act, href, page
from redis_ledger.auth.acl import (
    CLUSTER_NAME,
    OPERATIONS_OF,
    Effect,
    Filter,
    Op,
    Pattern,
    Resource,
    Rule,
    facts,
    said,
)
from redis_ledger.auth.quota import OTHERS, Quota
from redis_ledger.broker.security.audit import Entry
from redis_ledger.errors import InvalidRequest

AUDIT_SHOWN = 50
ALTER = (Op.ALTER, Resource.CLUSTER, None)
DAY_MS = 86_400_000
_RULE = ("principal", "operation", "resource", "name")


class UserLine(msgspec.Struct):
    name: str
    mechanisms: list[str]


class TokenLine(msgspec.Struct):
    id: str
    principal: str
    note: str
    created_ms: int
    expires_ms: int
    is_over: bool


class RuleLine(msgspec.Struct):
    effect: str
    principal: str
    host: str
    operation: str
    resource: str
    pattern: str
    name: str


class QuotaLine(msgspec.Struct):
    """Parts that are None are those of User:*, or of the settings."""

    principal: str
    quota: Quota


class AccessPage(msgspec.Struct):
    is_on: bool
    may_change: bool
    supers: list[str]
    users: list[UserLine]
    tokens: list[TokenLine]
    rules: list[RuleLine]
    quotas: list[QuotaLine]
    quota_of_others: Quota
    audit: list[Entry]
    operations: dict[str, list[str]]


@page("access", "Users and rules", nav="access", needs=(Op.DESCRIBE, Resource.CLUSTER, None))
async def access(visit: Visit, query: Nothing) -> AccessPage:
    broker, security = visit.broker, visit.broker.security
    users = await broker.scram_credentials.all()
    tokens = await security.list_tokens()
    rules = await security.list_rules()
    return AccessPage(
        is_on=security.is_on,
        may_change=security.is_on and visit.may(Op.ALTER, Resource.CLUSTER),
        supers=sorted(security.rules.supers),
        users=[UserLine(name, sorted(kept)) for name, kept in users.items()],
        tokens=[
            TokenLine(id, t.principal, t.note, t.created_ms, t.expires_ms, t.is_over(visit.now_ms))
            for id, t in tokens.items()
        ],
        rules=[_line(rule) for rule in rules],
        quotas=[QuotaLine(who, quota) for who, quota in (await broker.quotas.all()).items()],
        quota_of_others=broker.quotas.quota_of(OTHERS),
        audit=await broker.audit.entries(AUDIT_SHOWN),
        operations={kind.name: sorted(op.name for op in ops) for kind, ops in OPERATIONS_OF.items()},
    )


def _line(rule: Rule) -> RuleLine:
    return RuleLine(
        rule.effect.name, rule.principal, rule.host, rule.operation.name, rule.resource.name, rule.pattern.name,
        rule.name,
    )  # fmt: skip


class RuleForm(msgspec.Struct):
    principal: str
    operation: str
    resource: str
    name: str = CLUSTER_NAME
    pattern: str = "LITERAL"
    effect: str = "ALLOW"
    host: str = "*"

    def rule(self) -> Rule:
        """Raises InvalidRequest."""
        try:
            kind = Resource[self.resource]
            name = CLUSTER_NAME if kind is Resource.CLUSTER else self.name
            return Rule(
                Effect[self.effect], self.principal, self.host, Op[self.operation], kind, Pattern[self.pattern], name
            )
        except KeyError as error:
            raise InvalidRequest(f"{error.args[0]!r} is no word of a rule.") from None


@act("access/rule/add", "acl.add", *_RULE, needs=ALTER)
async def add_rule(visit: Visit, form: RuleForm) -> Done:
    visit.broker.security.check_on()
    rule = form.rule()
    added = await visit.broker.security.add_rules([rule])
    return Done(f"{'Added' if added else 'There was already'}: {said(rule)}.", href("access"), facts=facts([rule]))


@act("access/rule/remove", "acl.remove", *_RULE, needs=ALTER)
async def remove_rule(visit: Visit, form: RuleForm) -> Done:
    visit.broker.security.check_on()
    rule = form.rule()
    wanted = Filter(rule.resource, rule.name, rule.pattern, rule.principal, rule.host, rule.operation, rule.effect)
    await visit.broker.security.remove_rules([wanted])
    return Done(f"Removed: {said(rule)}.", href("access"), facts=facts([rule]))


class TokenForm(msgspec.Struct):
    """days: until it expires, 0 never."""

    principal: str
    note: str = ""
    days: int = 0


@act("access/token/create", "token.create", "principal", needs=ALTER)
async def create_token(visit: Visit, form: TokenForm) -> Done:
    visit.broker.security.check_on()
    expires = visit.now_ms + form.days * DAY_MS if form.days > 0 else 0
    id, text = await visit.broker.security.create_token(form.principal, expires_ms=expires, note=form.note)
    sentence = f"Made token {id} for {form.principal}."
    return Done(sentence, href("access"), told=text, facts={"id": id, "expires_ms": expires})


class TokenId(msgspec.Struct):
    id: str


@act("access/token/revoke", "token.revoke", "id", needs=ALTER)
async def revoke_token(visit: Visit, form: TokenId) -> Done:
    visit.broker.security.check_on()
    was = await visit.broker.security.revoke_token(form.id)
    sentence = f"Revoked token {form.id} of {was.principal}."
    return Done(sentence, href("access"), facts={"principal": was.principal})


class UserForm(msgspec.Struct):
    name: str
    password: str


@act("access/user/add", "user.add", "name", needs=ALTER)
async def add_user(visit: Visit, form: UserForm) -> Done:
    visit.broker.security.check_on()
    is_new = await visit.broker.scram_credentials.add(form.name, form.password)
    sentence = f"Added {form.name}." if is_new else f"Changed the password of {form.name}."
    return Done(sentence, href("access"), facts={"new": is_new})


class UserName(msgspec.Struct):
    name: str


@act("access/user/remove", "user.remove", "name", needs=ALTER)
async def remove_user(visit: Visit, form: UserName) -> Done:
    visit.broker.security.check_on()
    await visit.broker.scram_credentials.remove(form.name)
    return Done(f"Removed {form.name}.", href("access"))


class QuotaForm(msgspec.Struct):
    """Parts that are empty are taken back."""

    principal: str
    bytes_in_per_s: str = ""
    bytes_out_per_s: str = ""
    requests_per_s: str = ""
    open_transactions: str = ""

    def wanted(self) -> dict[str, int | None]:
        """Raises InvalidRequest."""
        given = {name: getattr(self, name).strip() for name in Quota.__struct_fields__}
        for name, text in given.items():
            if text and not (text.isascii() and text.isdigit()):
                raise InvalidRequest(f"{name} is a whole number, and not {text[:40]!r}.")
        return {name: int(text) if text else None for name, text in given.items()}


@act("access/quota/set", "quota.set", "principal", needs=ALTER)
async def set_quota(visit: Visit, form: QuotaForm) -> Done:
    visit.broker.security.check_on()
    wanted = form.wanted()
    await visit.broker.quotas.change(form.principal, wanted)
    return Done(f"Set the quota of {form.principal}.", href("access"), facts=dict(wanted))


class QuotaOf(msgspec.Struct):
    principal: str


@act("access/quota/remove", "quota.remove", "principal", needs=ALTER)
async def remove_quota(visit: Visit, form: QuotaOf) -> Done:
    visit.broker.security.check_on()
    was_there = await visit.broker.quotas.remove(form.principal)
    return Done(
        f"Removed the quota of {form.principal}." if was_there else f"{form.principal} had none.", href("access")
    )
