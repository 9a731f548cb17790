"""`redis-ledger acls`: list, add and remove ACLs.  Accesses Redis directly.

redis-ledger acls add User:ada --allow READ,WRITE --topic 'orders-*'
redis-ledger acls add User:eve --deny ALL --topic secret --host 10.0.0.7
redis-ledger acls remove User:ada
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from redis_ledger.app.cli.output import Json, counted, document, group, reporting, table
from redis_ledger.app.cli.redis_access import DataDir, Redis, RedisAccess, Set, principal_of, run
from redis_ledger.app.cli.serve_options import DATA_DIR
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.auth.acl import (
    ANY_HOST,
    CLUSTER_NAME,
    Effect,
    Filter,
    Op,
    Pattern,
    Resource,
    Rule,
    audit_summary,
    facts,
)

acls = group("List, add and remove ACLs.")

Principal = Annotated[str, typer.Argument(metavar="PRINCIPAL", help="User:ada, or ada; '*': all principals.")]
Whose = Annotated[str | None, typer.Argument(metavar="PRINCIPAL", help="Only ACLs of this principal.")]
Names = list[str] | None
Topic = Annotated[Names, typer.Option(metavar="NAME", help="A topic, or a prefix as in 'orders-*'; may be repeated.")]
Group = Annotated[Names, typer.Option(metavar="NAME", help="A consumer group or subscription; likewise.")]
TransactionalId = Annotated[Names, typer.Option(metavar="NAME", help="A transactional id; likewise.")]
Cluster = Annotated[bool, typer.Option("--cluster", help="The cluster.")]
Host = Annotated[str, typer.Option(help="Client address.")]


@acls.command()
def add(
    principal: Principal,
    allow: Annotated[str, typer.Option(metavar="OPERATIONS", help="READ, WRITE, ..., separated by commas.")] = "",
    deny: Annotated[str, typer.Option(metavar="OPERATIONS", help="The same; DENY takes precedence.")] = "",
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    cluster: Cluster = False,
    host: Host = ANY_HOST,
    data_dir: DataDir = DATA_DIR,
    redis: Redis = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Add ACLs: each operation on each resource."""

    async def act(desk: RedisAccess) -> int:
        added = await desk.security.add_rules(rules)
        await desk.note("acl.add", audit_summary(rules), **facts(rules))
        return added

    with reporting(json):
        places = _patterns(topic, group, transactional_id, cluster)
        wanted = [(Effect.ALLOW, op) for op in _operations(allow)] + [(Effect.DENY, op) for op in _operations(deny)]
        if not places or not wanted:
            raise CommandError("Give operations and resources, as in --allow READ --topic orders.")
        rules = [
            Rule(effect, principal_of(principal), host, op, kind, pattern, name)
            for effect, op in wanted
            for kind, pattern, name in places
        ]
        added = run(act, data_dir, redis, set_)
    if json:
        document({"added": added})
    else:
        typer.echo(f"Added {counted(added, 'ACL')}.")


@acls.command("list")
def list_(
    principal: Whose = None,
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    cluster: Cluster = False,
    data_dir: DataDir = DATA_DIR,
    redis: Redis = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    """List all ACLs, those of a principal, or those that match resources.

    An ACL on 'orders-*' also matches orders-eu.
    """

    async def act(desk: RedisAccess) -> list[Rule]:
        found = [rule for each in filters for rule in await desk.security.list_rules(each)]
        return list(dict.fromkeys(found))

    with reporting(json):
        whose = None if principal is None else principal_of(principal)
        places = _patterns(topic, group, transactional_id, cluster)
        matching = [Filter(kind, name, Pattern.MATCH, whose) for kind, _, name in places]
        filters = matching or [Filter(principal=whose)]
        found = run(act, data_dir, redis, set_)
    if json:
        for rule in found:
            document(_to_json(rule))
    else:
        table(["principal", "permission", "operation", "resource", "name", "host"], [_row(rule) for rule in found])


@acls.command()
def remove(
    principal: Principal,
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    cluster: Cluster = False,
    data_dir: DataDir = DATA_DIR,
    redis: Redis = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Remove all ACLs of a principal, or those on given resources.

    The pattern must be the same: orders-eu does not remove an ACL on 'orders-*'.
    """

    async def act(desk: RedisAccess) -> list[Rule]:
        removed = [rule for rules in await desk.security.remove_rules(filters) for rule in rules]
        await desk.note("acl.remove", audit_summary(removed), **facts(removed))
        return removed

    with reporting(json):
        whose, places = principal_of(principal), _patterns(topic, group, transactional_id, cluster)
        exact = [Filter(kind, name, pattern, whose) for kind, pattern, name in places]
        filters = exact or [Filter(principal=whose)]
        removed = run(act, data_dir, redis, set_)
    if json:
        for rule in removed:
            document(_to_json(rule))
    else:
        typer.echo(f"Removed {counted(len(removed), 'ACL')}.")


def _operations(text: str) -> list[Op]:
    """Raises CommandError."""
    names = [name.strip().upper() for name in text.split(",") if name.strip()]
    known = [op.name for op in Op if op is not Op.ANY]
    for name in names:
        if name not in known:
            raise CommandError(f"{name!r} is not an operation; use one of {', '.join(known)}.")
    return [Op[name] for name in names]


def _patterns(
    topics: Sequence[str] | None, groups: Sequence[str] | None, ids: Sequence[str] | None, cluster: bool
) -> list[tuple[Resource, Pattern, str]]:
    """'*' matches any name, 'orders-*' a prefix.  Topic names cannot contain a star."""
    kinds = ((Resource.TOPIC, topics), (Resource.GROUP, groups), (Resource.TRANSACTIONAL_ID, ids))
    places = [(kind, *_pattern(name)) for kind, names in kinds for name in names or ()]
    return places + ([(Resource.CLUSTER, Pattern.LITERAL, CLUSTER_NAME)] if cluster else [])


def _pattern(name: str) -> tuple[Pattern, str]:
    if name.endswith("*") and name != "*":
        return Pattern.PREFIXED, name[:-1]
    return Pattern.LITERAL, name


def _to_json(rule: Rule) -> dict[str, object]:
    return {
        "principal": rule.principal, "operation": rule.operation.name, "resource": rule.resource.name,
        "name": rule.name, "pattern": rule.pattern.name, "permission": rule.effect.name, "host": rule.host,
    }  # fmt: skip


def _row(rule: Rule) -> tuple[str, ...]:
    name = f"{rule.name}*" if rule.pattern is Pattern.PREFIXED else rule.name
    return rule.principal, rule.effect.name, rule.operation.name, rule.resource.name, name, rule.host
