"""Rules, tokens and the audit by the SDK, against a broker with authentication."""

from __future__ import annotations

import httpx
import pytest

from redis_ledger import AsyncClient
from redis_ledger.app.http.application import create_app
from redis_ledger.client import Acl
from redis_ledger.errors import ClusterForbidden, TopicForbidden, Unauthenticated, UnknownToken
from tests.support.principals import ROOT
from tests.support.secured_rest import secured


async def test_an_administrator_gives_a_right_and_a_token_and_takes_them_back(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        http = httpx.ASGITransport(app=create_app(world.broker))
        async with AsyncClient("http://b", http=http, token=await world.token(ROOT)) as admin:
            await admin.topics.create("orders")
            made = await admin.tokens.create("User:ada", note="laptop")
            async with AsyncClient("http://b", http=http, token=made.token) as ada:
                with pytest.raises(TopicForbidden):
                    await ada.topics.describe("orders")
                rule = Acl("User:ada", "DESCRIBE", "TOPIC", "orders")
                assert await admin.acls.add([rule]) == 1
                assert (await ada.topics.describe("orders")).name == "orders"
                assert await admin.acls.list(name="orders", pattern="MATCH") == [rule]
                with pytest.raises(ClusterForbidden):
                    await ada.acls.list()
                assert [token.id for token in await ada.tokens.list()] == [made.id]
                assert await admin.acls.delete(principal="User:ada") == [rule]
                await admin.tokens.revoke(made.id)
                with pytest.raises(UnknownToken):
                    await admin.tokens.revoke(made.id)
                with pytest.raises(Unauthenticated):
                    await ada.topics.list()
            acts = [entry.act for entry in await admin.audit.list()]
            assert acts == ["token.revoke", "acl.remove", "acl.add", "token.create", "topic.create"]
            newest = (await admin.audit.list(limit=1))[0]
            assert (await admin.audit.list(limit=1, before=newest.id))[0].act == "acl.remove"
