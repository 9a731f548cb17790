"""/v1/acls, /v1/tokens, /v1/users, /v1/audit: ACLs, credentials and the audit log.

Rejected while auth_required is off: any client of an open broker could create a token that stays valid after
authentication is turned on.  Prepare ACLs and tokens with the command line, which accesses Redis.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from redis_ledger.app.http.authorization import ALTER_CLUSTER, DESCRIBE_CLUSTER, OWN_TOKEN
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.schemas import examples_security as examples
from redis_ledger.app.http.schemas import security as bodies
from redis_ledger.auth import tokens
from redis_ledger.auth.acl import (
    CLUSTER_NAME,
    Effect,
    Filter,
    Op,
    Pattern,
    Resource,
    Rule,
    audit_summary,
    everything,
    facts,
)
from redis_ledger.broker.security.service import Security
from redis_ledger.errors import InvalidRequest, SecurityDisabled, UnacceptableCredential, UnknownToken, UnknownUser

routes = Routes("security")
_OFF = (SecurityDisabled,)


@routes.get("/v1/acls", requires=(DESCRIBE_CLUSTER,), errors=_OFF, examples=examples.LIST_ACLS)
async def list_acls(request: HttpRequest, query: bodies.AclFilter) -> bodies.Acls:
    """List ACLs."""
    return bodies.Acls(acls=[_to_body(each) for each in await _security(request).list_rules(_filter(query))])


@routes.post("/v1/acls", requires=(ALTER_CLUSTER,), act="acl.add", keyed=True, errors=_OFF, examples=examples.ADD_ACLS)
async def add_acls(request: HttpRequest, body: bodies.AddAcls) -> bodies.AclsAdded:
    """Add ACLs, all or none. An ACL that already exists is not an error.

    They take effect on this broker immediately and on the others within two seconds.
    """
    rules = [_rule(each) for each in body.acls]
    request.target, request.facts = audit_summary(rules), facts(rules)
    return bodies.AclsAdded(added=await _security(request).add_rules(rules))


@routes.post(
    "/v1/acls:delete",
    requires=(ALTER_CLUSTER,),
    act="acl.remove",
    keyed=True,
    errors=_OFF,
    examples=examples.DELETE_ACLS,
)
async def delete_acls(request: HttpRequest, body: bodies.DeleteAcls) -> bodies.AclsDeleted:
    """Delete the ACLs that match any of the filters, and return them."""
    if any(msgspec.to_builtins(each) == {} for each in body.filters):
        raise InvalidRequest("$.filters: an empty filter would match all ACLs; give at least one member.")
    removed = [
        rule for rules in await _security(request).remove_rules([_filter(f) for f in body.filters]) for rule in rules
    ]
    request.target, request.facts = audit_summary(removed), facts(removed)
    return bodies.AclsDeleted(deleted=[_to_body(each) for each in removed])


@routes.get("/v1/tokens", requires=(), errors=_OFF, examples=examples.LIST_TOKENS)
async def list_tokens(request: HttpRequest, query: bodies.TokensQuery) -> bodies.Tokens:
    """List API tokens without their secrets: the caller's own, or all with DESCRIBE on the cluster."""
    security, caller = _security(request), request.caller
    sees_all = security.allows(caller, Op.DESCRIBE, Resource.CLUSTER, CLUSTER_NAME)
    found = (await security.list_tokens()).items()
    return bodies.Tokens(
        tokens=[
            bodies.Token(**_token(id, row))
            for id, row in found
            if (sees_all or row.principal == caller.principal) and query.principal in (UNSET, row.principal)
        ]
    )


@routes.post(
    "/v1/tokens", requires=(ALTER_CLUSTER,), act="token.create", status=201, errors=_OFF, examples=examples.CREATE_TOKEN
)
async def create_token(request: HttpRequest, body: bodies.CreateToken) -> bodies.TokenCreated:
    """Create an API token for a principal. Only this response contains its text."""
    security = _security(request)
    request.target = body.principal
    id, text = await security.create_token(body.principal, expires_ms=body.expires_ms or 0, note=body.note)
    request.facts = {"id": id, "expires_ms": body.expires_ms or 0, "super": body.super}
    if body.super:
        await security.add_rules(everything(body.principal))
    return bodies.TokenCreated(token=text, **_token(id, security.tokens[id]))


@routes.delete(
    "/v1/tokens/{token}", requires=(OWN_TOKEN,), act="token.revoke", status=204, errors=(*_OFF, UnknownToken)
)
async def revoke_token(request: HttpRequest, token: str) -> None:
    """Revoke an API token by its id. Any principal may revoke its own tokens."""
    request.facts = {"principal": (await _security(request).revoke_token(token)).principal}


@routes.get("/v1/users", requires=(DESCRIBE_CLUSTER,), errors=_OFF, examples=examples.LIST_USERS)
async def list_users(request: HttpRequest) -> bodies.Users:
    """List SCRAM users and their mechanisms."""
    _security(request)
    found = await request.broker.scram_credentials.all()
    return bodies.Users(users=[bodies.User(user=name, mechanisms=sorted(each)) for name, each in found.items()])


@routes.put(
    "/v1/users/{user}",
    requires=(ALTER_CLUSTER,),
    act="user.add",
    errors=(*_OFF, UnacceptableCredential),
    examples=examples.SET_USER,
)
async def set_user(request: HttpRequest, user: str, body: bodies.SetUser) -> bodies.UserSet:
    """Add a SCRAM user for Kafka clients, or change its password.

    Only the SCRAM credentials derived from the password are stored.
    """
    _security(request)
    is_new = await request.broker.scram_credentials.add(user, body.password)
    request.facts = {"new": is_new}
    return bodies.UserSet(user=user, new=is_new)


@routes.delete(
    "/v1/users/{user}", requires=(ALTER_CLUSTER,), act="user.remove", status=204, errors=(*_OFF, UnknownUser)
)
async def remove_user(request: HttpRequest, user: str) -> None:
    """Remove a SCRAM user; its connections are closed."""
    _security(request)
    await request.broker.scram_credentials.remove(user)


@routes.get("/v1/audit", requires=(DESCRIBE_CLUSTER,), examples=examples.AUDIT)
async def list_audit(request: HttpRequest, query: bodies.AuditQuery) -> bodies.AuditEntries:
    """List the audit log, newest first: principal, action, address and result.

    For the next page, set `before` to the id of the last entry. About 100 000 entries are retained.
    """
    found = await request.broker.audit.entries(query.limit, "" if query.before is UNSET else query.before)
    return bodies.AuditEntries(
        entries=[
            bodies.AuditEntry(
                id=e.id, time_ms=e.at_ms, principal=e.principal, host=e.host, act=e.act, target=e.target,
                outcome=e.outcome, facts=e.facts,
            )
            for e in found
        ]
    )  # fmt: skip


def _security(request: HttpRequest) -> Security:
    """Raises SecurityDisabled."""
    request.broker.security.check_on()
    return request.broker.security


def _rule(acl: bodies.Acl) -> Rule:
    return Rule(
        Effect[acl.permission], acl.principal, acl.host, Op[acl.operation], Resource[acl.resource],
        Pattern[acl.pattern], acl.name,
    )  # fmt: skip


def _to_body(rule: Rule) -> bodies.Acl:
    body: dict[str, Any] = {
        "principal": rule.principal, "operation": rule.operation.name, "resource": rule.resource.name,
        "name": rule.name, "pattern": rule.pattern.name, "permission": rule.effect.name, "host": rule.host,
    }  # fmt: skip
    return bodies.Acl(**body)


def _filter(given: bodies.AclFilter) -> Filter:
    return Filter(
        Resource.ANY if given.resource is UNSET else Resource[given.resource],
        None if given.name is UNSET else given.name,
        Pattern.ANY if given.pattern is UNSET else Pattern[given.pattern],
        None if given.principal is UNSET else given.principal,
        None if given.host is UNSET else given.host,
        Op.ANY if given.operation is UNSET else Op[given.operation],
        Effect.ANY if given.permission is UNSET else Effect[given.permission],
    )


def _token(id: str, row: tokens.Stored) -> dict[str, Any]:
    return {
        "id": id, "principal": row.principal, "created_ms": row.created_ms, "expires_ms": row.expires_ms,
        "note": row.note,
    }  # fmt: skip
