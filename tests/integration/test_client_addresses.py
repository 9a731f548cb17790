"""A request's client address is the address of its connection, at both ports; headers do not change it."""

from __future__ import annotations

import pytest

from redis_ledger.auth.acl import CLUSTER_NAME, Effect, Op, Pattern, Resource, Rule, flaw
from redis_ledger.kafka.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tests.support.attack_target import attack_target
from tests.support.kafka_client import KafkaClient
from tests.support.secured_kafka import log_in

CLUSTER_FORBIDDEN = 31


def of(host: str, effect: Effect = Effect.ALLOW) -> Rule:
    return Rule(effect, "User:ada", host, Op.DESCRIBE, Resource.CLUSTER, Pattern.LITERAL, CLUSTER_NAME)


async def test_an_address_in_a_header_is_ignored(redis_url, prefix):
    async with attack_target(redis_url, prefix) as target:
        await target.broker.security.add_rules([of("10.9.8.7")])
        for header in (b"x-forwarded-for: 10.9.8.7", b"forwarded: for=10.9.8.7", b"x-real-ip: 10.9.8.7"):
            assert (await target.ask("ada", "GET", "/metrics", b"", header))[0] == 403
            assert (await target.ask("ada", "POST", "/v1/acls", b'{"acls":[]}', header))[0] == 403
        noted = await target.broker.audit.entries(10)
        assert [(each.act, each.host) for each in noted] == [("acl.add", "127.0.0.1")] * 3


async def test_a_rule_for_an_ipv4_address_counts_where_both_families_are_listened_to(redis_url, prefix):
    async with attack_target(redis_url, prefix, host="::") as target:
        await target.broker.security.add_rules([of("*"), of("127.0.0.1", Effect.DENY)])
        target.rest, target.kafka = (("127.0.0.1", port[1]) for port in (target.rest, target.kafka))
        assert (await target.ask("ada", "GET", "/metrics"))[0] == 403
        async with KafkaClient(target.kafka) as client:
            assert (await log_in(client, "token", await target.token("ada"))).error_code == 0
            assert (await client.ask(DescribeLogDirsRequest(None), 4)).error_code == CLUSTER_FORBIDDEN
        target.rest = "::1", target.rest[1]
        assert (await target.ask("ada", "GET", "/metrics"))[0] == 200


@pytest.mark.parametrize("host", ["ada.example", "10.0.0.0/8", "10.0.0.01", "2001:DB8::1", "::ffff:10.0.0.1", "10.*"])
def test_a_rule_for_what_no_connection_comes_from_is_refused(host):
    """It would never fit, and who denied by it would believe that it does."""
    assert "address" in str(flaw(of(host, Effect.DENY)))
    for fits in ("*", "10.0.0.1", "2001:db8::1"):
        assert flaw(of(fits)) is None
