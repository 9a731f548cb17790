"""Whom the SDK and the commands say they are."""

from __future__ import annotations

import httpx
import pytest

from redis_ledger import AsyncClient, Client
from redis_ledger.client.security_models import NewToken
from redis_ledger.errors import InvalidRequest


class Listening(httpx.AsyncBaseTransport, httpx.BaseTransport):
    def __init__(self) -> None:
        self.shown: list[str | None] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.shown.append(request.headers.get("authorization"))
        return httpx.Response(200, json={"topics": []})

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self.handle_request(request)


async def test_a_token_is_shown_with_every_request_the_given_one_before_that_of_the_environment(monkeypatch):
    http = Listening()
    async with AsyncClient("http://b", http=http) as client:
        await client.topics.list()
    async with AsyncClient("http://b", http=http, token="t1") as client:
        await client.topics.list()
    monkeypatch.setenv("REDIS_LEDGER_TOKEN", "t2")
    with Client("http://b", http=http) as threads:
        threads.topics.list()
    with Client("http://b", http=http, token="t1", headers={"x-more": "1"}) as threads:
        threads.topics.list()
    assert http.shown == [None, "Bearer t1", "Bearer t2", "Bearer t1"]


@pytest.mark.parametrize("token", ["a b", "a\r\nx: y", "ä", "\x00"])
def test_what_a_header_cannot_carry_is_refused_and_not_told(token):
    with pytest.raises(InvalidRequest) as refused:
        Client("http://b", token=token)
    assert token not in refused.value.detail


def test_a_new_token_is_not_shown_by_accident():
    made = NewToken("id", "User:ada", 1, 0, "", "rl_id_secret")
    assert "secret" not in f"{made!r} {made}"
