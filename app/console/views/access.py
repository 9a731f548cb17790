"""Access control: users, API tokens, ACLs, quotas and the audit log."""

from __future__ import annotations

import msgspec

from redis_ledger.app.console.pages import ActionResult, NoParameters, PageContext, action, href, page
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
from redis_ledger.auth.requirement import cluster
from redis_ledger.broker.security.audit import Entry
from redis_ledger.errors import InvalidRequest

AUDIT_SHOWN = 50
ALTER = cluster(Op.ALTER)
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
    """Limits that are None are those of User:* or of the settings."""

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


@page("access", "Access control", nav="access", requires=cluster(Op.DESCRIBE))
async def access(context: PageContext, query: NoParameters) -> AccessPage:
    broker, security = context.broker, context.broker.security
    users = await broker.scram_credentials.all()
    tokens = await security.list_tokens()
    rules = await security.list_rules()
    return AccessPage(
        is_on=security.is_on,
        may_change=security.is_on and context.may(Op.ALTER, Resource.CLUSTER),
        supers=sorted(security.rules.supers),
        users=[UserLine(name, sorted(kept)) for name, kept in users.items()],
        tokens=[
            TokenLine(id, t.principal, t.note, t.created_ms, t.expires_ms, t.is_over(context.now_ms))
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
            raise InvalidRequest(f"{error.args[0]!r} is not valid in an ACL.") from None


@action("access/rule/add", "acl.add", *_RULE, requires=ALTER)
async def add_rule(context: PageContext, form: RuleForm) -> ActionResult:
    context.broker.security.check_on()
    rule = form.rule()
    added = await context.broker.security.add_rules([rule])
    return ActionResult(
        f"{'Added the ACL' if added else 'The ACL already exists'}: {said(rule)}.", href("access"), facts=facts([rule])
    )


@action("access/rule/remove", "acl.remove", *_RULE, requires=ALTER)
async def remove_rule(context: PageContext, form: RuleForm) -> ActionResult:
    context.broker.security.check_on()
    rule = form.rule()
    wanted = Filter(rule.resource, rule.name, rule.pattern, rule.principal, rule.host, rule.operation, rule.effect)
    await context.broker.security.remove_rules([wanted])
    return ActionResult(f"Removed the ACL: {said(rule)}.", href("access"), facts=facts([rule]))


class TokenForm(msgspec.Struct):
    """days: until it expires, 0 never."""

    principal: str
    note: str = ""
    days: int = 0


@action("access/token/create", "token.create", "principal", requires=ALTER)
async def create_token(context: PageContext, form: TokenForm) -> ActionResult:
    context.broker.security.check_on()
    expires = context.now_ms + form.days * DAY_MS if form.days > 0 else 0
    id, text = await context.broker.security.create_token(form.principal, expires_ms=expires, note=form.note)
    sentence = f"Created token {id} for {form.principal}."
    return ActionResult(sentence, href("access"), secret=text, facts={"id": id, "expires_ms": expires})


class TokenId(msgspec.Struct):
    id: str


@action("access/token/revoke", "token.revoke", "id", requires=ALTER)
async def revoke_token(context: PageContext, form: TokenId) -> ActionResult:
    context.broker.security.check_on()
    was = await context.broker.security.revoke_token(form.id)
    sentence = f"Revoked token {form.id} of {was.principal}."
    return ActionResult(sentence, href("access"), facts={"principal": was.principal})


class UserForm(msgspec.Struct):
    name: str
    password: str


@action("access/user/add", "user.add", "name", requires=ALTER)
async def add_user(context: PageContext, form: UserForm) -> ActionResult:
    context.broker.security.check_on()
    is_new = await context.broker.scram_credentials.add(form.name, form.password)
    sentence = f"Added user {form.name}." if is_new else f"Changed the password of {form.name}."
    return ActionResult(sentence, href("access"), facts={"new": is_new})


class UserName(msgspec.Struct):
    name: str


@action("access/user/remove", "user.remove", "name", requires=ALTER)
async def remove_user(context: PageContext, form: UserName) -> ActionResult:
    context.broker.security.check_on()
    await context.broker.scram_credentials.remove(form.name)
    return ActionResult(f"Removed user {form.name}.", href("access"))


class QuotaForm(msgspec.Struct):
    """An empty limit is removed."""

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
                raise InvalidRequest(f"{name} must be a whole number, not {text[:40]!r}.")
        return {name: int(text) if text else None for name, text in given.items()}


@action("access/quota/set", "quota.set", "principal", requires=ALTER)
async def set_quota(context: PageContext, form: QuotaForm) -> ActionResult:
    context.broker.security.check_on()
    wanted = form.wanted()
    await context.broker.quotas.change(form.principal, wanted)
    return ActionResult(f"Set the quota of {form.principal}.", href("access"), facts=dict(wanted))


class QuotaOf(msgspec.Struct):
    principal: str


@action("access/quota/remove", "quota.remove", "principal", requires=ALTER)
async def remove_quota(context: PageContext, form: QuotaOf) -> ActionResult:
    context.broker.security.check_on()
    was_there = await context.broker.quotas.remove(form.principal)
    return ActionResult(
        f"Removed the quota of {form.principal}." if was_there else f"{form.principal} has no quota.", href("access")
    )
