"""The table of what each API asks: complete, and told in the answers' own form."""

from __future__ import annotations

from types import ModuleType

import pytest

from redis_ledger.auth.acl import OPERATIONS_OF
from redis_ledger.kafka.protocol.api import Api
from redis_ledger.kafka.protocol.messages import API_VERSIONS
from redis_ledger.kafka.protocol.registry import message_module
from redis_ledger.kafka.router import routes
from redis_ledger.kafka.security.api_authorization import ROWS, guarded


def test_every_api_that_is_served_has_a_row_and_every_row_an_api():
    assert ROWS.keys() == {route.name for route in routes().values()}


def test_a_handler_without_a_row_is_not_served():
    with pytest.raises(AssertionError, match="no row"):
        guarded(Api(999, "Anything", "anything", 0, 0, 1), ModuleType("anything"))


@pytest.mark.parametrize("api", API_VERSIONS.values(), ids=lambda api: api.name)
def test_a_row_asks_something_or_says_why_it_does_not(api):
    row = ROWS[api.name]
    assert bool(row.free) != bool(row.whole or row.items)
    request = getattr(message_module(f"{api.module}_request"), f"{api.name}Request")
    for ask in row.whole:
        assert not ask.field or ask.field in request.__struct_fields__
    for ask in (*row.whole, *row.items):
        assert OPERATIONS_OF[ask.resource].issuperset(ask.operations), "a rule can give what is asked"
