"""CreateAcls, DescribeAcls and DeleteAcls in every version, with their errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from redis_ledger.auth.acl import Caller, Op, Resource
from redis_ledger.kafka.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from redis_ledger.kafka.protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from redis_ledger.kafka.protocol.messages.describe_acls_request import DescribeAclsRequest
from tests.support.kafka_admin import serving
from tests.support.kafka_client import KafkaClient
from tests.support.secured_kafka import Secured, secured

INVALID_REQUEST, SECURITY_DISABLED, CLUSTER_FORBIDDEN = 42, 54, 31
VERSIONS = (1, 2, 3)
ADA = Caller("User:ada", "127.0.0.1")
ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
TOPIC, GROUP, CLUSTER = 2, 3, 4
READ, DENY, ALLOW = 3, 2, 3


@pytest.fixture
async def world(redis_url, prefix) -> AsyncIterator[Secured]:
    async with secured(redis_url, prefix) as opened:
        yield opened


def creation(name: str = "orders", **more: Any) -> AclCreation:
    asked = {
        "resource_type": TOPIC, "resource_name": name, "resource_pattern_type": LITERAL, "principal": "User:ada",
        "host": "*", "operation": READ, "permission_type": ALLOW,
    }  # fmt: skip
    return AclCreation(**{**asked, **more})


async def create(client: KafkaClient, *creations: AclCreation, version: int = 3) -> list[int]:
    answer = await client.ask(CreateAclsRequest(list(creations)), version)
    assert all(bool(each.error_code) == bool(each.error_message) for each in answer.results)
    return [each.error_code for each in answer.results]


async def described(client: KafkaClient, version: int = 3, **wanted: Any) -> dict[tuple[int, str, int], list[Any]]:
    asked = {
        "resource_type_filter": ANY, "resource_name_filter": None, "pattern_type_filter": ANY,
        "principal_filter": None, "host_filter": None, "operation": ANY, "permission_type": ANY,
    }  # fmt: skip
    answer = await client.ask(DescribeAclsRequest(**{**asked, **wanted}), version)
    assert answer.error_code == 0, answer.error_message
    return {
        (each.resource_type, each.resource_name, each.pattern_type): [
            (acl.principal, acl.host, acl.operation, acl.permission_type) for acl in each.acls
        ]
        for each in answer.resources
    }


@pytest.mark.parametrize("version", VERSIONS)
async def test_created_rule_is_listed_effective_and_removable(world, version):
    admin = await world.client("root")
    ada = await world.client("ada")
    before = await described(admin, version)
    assert not world.broker.security.allows(ADA, Op.READ, Resource.TOPIC, "orders")
    wanted = creation(), creation("pay", resource_pattern_type=PREFIXED, permission_type=DENY, host="10.0.0.1")
    assert await create(admin, *wanted, version=version) == [0, 0]
    assert await create(admin, creation(), version=version) == [0], "what is there already is no error"
    assert world.broker.security.allows(ADA, Op.READ, Resource.TOPIC, "orders")
    made = {
        (TOPIC, "orders", LITERAL): [("User:ada", "*", READ, ALLOW)],
        (TOPIC, "pay", PREFIXED): [("User:ada", "10.0.0.1", READ, DENY)],
    }
    assert await described(admin, version) == before | made
    assert await described(admin, version, resource_name_filter="payments", pattern_type_filter=MATCH) == {
        (TOPIC, "pay", PREFIXED): made[TOPIC, "pay", PREFIXED]
    }
    filters = [DeleteAclsFilter(TOPIC, name, ANY, None, None, ANY, ANY) for name in ("orders", "pay", "nothing")]
    answer = await admin.ask(DeleteAclsRequest(filters), version)
    removed = [[acl.resource_name for acl in each.matching_acls] for each in answer.filter_results]
    assert removed == [["orders"], ["pay"], []]
    assert await described(admin, version) == before
    assert not world.broker.security.allows(ADA, Op.READ, Resource.TOPIC, "orders")
    assert (await ada.ask(DescribeAclsRequest(1, None, 1, None, None, 1, 1), version)).error_code == CLUSTER_FORBIDDEN


@pytest.mark.parametrize(
    "odd", [{"resource_type": 0}, {"resource_type": 8}, {"operation": 99}, {"permission_type": 4},
            {"resource_pattern_type": -1}],
)  # fmt: skip
async def test_numbers_that_kafka_does_not_know_refuse_the_whole_request(world, odd):
    admin = await world.client("root")
    before = await described(admin)
    assert await create(admin, creation(), creation("x", **odd)) == [INVALID_REQUEST] * 2
    names = {"resource_type": "resource_type_filter", "resource_pattern_type": "pattern_type_filter"}
    odd = {names.get(key, key): value for key, value in odd.items()}
    plain = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    answer = await admin.ask(DescribeAclsRequest(**{**plain, **odd}, principal_filter=None, host_filter=None), 3)
    assert answer.error_code == INVALID_REQUEST
    everything = DeleteAclsFilter(1, None, 1, None, None, 1, 1)
    request = DeleteAclsRequest([everything, DeleteAclsFilter(**{**plain, **odd})])
    results = (await admin.ask(request, 3)).filter_results
    assert [(each.error_code, each.matching_acls) for each in results] == [(INVALID_REQUEST, [])] * 2
    assert await described(admin) == before


async def test_invalid_rules_are_refused_and_the_others_created(world):
    admin = await world.client("root")
    wrong = [
        creation(resource_type=7), creation(resource_type=6), creation(operation=13), creation(""),
        creation(resource_type=CLUSTER, name="other"), creation(principal="ada"), creation(principal="Group:x"),
        creation(resource_type=GROUP, operation=4), creation(permission_type=ANY), creation(operation=ANY),
        creation(resource_pattern_type=MATCH), creation(host=""),
    ]  # fmt: skip
    assert await create(admin, *wrong, creation("good")) == [INVALID_REQUEST] * len(wrong) + [0]
    assert (TOPIC, "good", LITERAL) in await described(admin)
    assert await described(admin, resource_type_filter=7) == {}, "there are no rules for users"


async def test_rules_cannot_be_changed_without_alter_on_the_cluster(world):
    admin, ada = await world.client("root"), await world.client("ada")
    before = await described(admin)
    assert await create(ada, creation(), creation("x")) == [CLUSTER_FORBIDDEN] * 2
    results = (await ada.ask(DeleteAclsRequest([DeleteAclsFilter(1, None, 1, None, None, 1, 1)]), 3)).filter_results
    assert [each.error_code for each in results] == [CLUSTER_FORBIDDEN]
    assert await described(admin) == before
    entries = [(each.act, each.principal, each.outcome) for each in await world.broker.audit.entries(2)]
    assert entries == [("acl.remove", "User:ada", "refused"), ("acl.add", "User:ada", "refused")]


async def test_changes_are_noted_with_what_they_were(world):
    admin = await world.client("root")
    await create(admin, creation("pay-", resource_pattern_type=PREFIXED))
    await admin.ask(DeleteAclsRequest([DeleteAclsFilter(TOPIC, "pay-", ANY, None, None, ANY, ANY)]), 3)
    removed, added = await world.broker.audit.entries(2)
    assert (added.act, added.target, added.principal) == ("acl.add", "1 rule of User:ada", "User:root")
    assert added.facts == removed.facts
    assert added.facts == {"acls": ["ALLOW User:ada READ on TOPIC pay-*"]}
    assert removed.act == "acl.remove"


async def test_without_authentication_there_are_no_rules(redis_url, prefix):
    async with serving(redis_url, prefix) as cluster:
        assert await create(cluster.client, creation()) == [SECURITY_DISABLED]
        answer = await cluster.client.ask(DescribeAclsRequest(1, None, 1, None, None, 1, 1), 3)
        assert answer.error_code == SECURITY_DISABLED
        results = (await cluster.client.ask(DeleteAclsRequest([DeleteAclsFilter()]), 3)).filter_results
        assert [each.error_code for each in results] == [SECURITY_DISABLED]
