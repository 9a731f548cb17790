from __future__ import annotations

import pytest

import redis_ledger
from redis_ledger import Client
from tests.support.stub_broker import StubBroker


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> StubBroker:
    """A broker behind every client that a command opens."""
    stub = StubBroker()
    monkeypatch.setattr(redis_ledger, "Client", lambda urls, **more: Client(urls, http=stub, **more), raising=False)
    return stub
