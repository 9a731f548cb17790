"""The authorization table of the Kafka APIs: complete, and denials in the form of each response."""

from __future__ import annotations

from types import ModuleType

import pytest

from redis_ledger.auth.acl import OPERATIONS_OF
from redis_ledger.kafka.protocol.api import Api
from redis_ledger.kafka.protocol.messages import API_VERSIONS
from redis_ledger.kafka.protocol.registry import message_module
from redis_ledger.kafka.router import routes
from redis_ledger.kafka.security.api_authorization import ROWS, guarded


def test_every_served_api_has_a_row():
    assert ROWS.keys() == {route.name for route in routes().values()}


def test_a_handler_without_a_row_is_not_served():
    with pytest.raises(AssertionError, match="no row"):
        guarded(Api(999, "Anything", "anything", 0, 0, 1), ModuleType("anything"))


@pytest.mark.parametrize("api", API_VERSIONS.values(), ids=lambda api: api.name)
def test_row_has_requirements_or_a_reason_for_none(api):
    row = ROWS[api.name]
    assert bool(row.exempt) != bool(row.requirements)
    request = getattr(message_module(f"{api.module}_request"), f"{api.name}Request")
    for requirement in row.requirements:
        assert not requirement.field or requirement.field in request.__struct_fields__
        for each in requirement.alternatives or (requirement,):
            assert each.operation in OPERATIONS_OF[each.resource], "an ACL can allow the operation"
