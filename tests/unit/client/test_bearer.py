"""Credentials of the SDK and the commands."""

from __future__ import annotations

import re

import httpx
import pytest

from redis_ledger import AsyncClient, Client
from redis_ledger.client.security_models import NewToken
from redis_ledger.errors import InvalidRequest, Unauthenticated


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
    own = {"Authorization": "Basic YQ=="}
    with Client("http://b", http=http, token="t1", headers=own) as threads:
        threads.topics.list()
    assert http.shown == [None, "Bearer t1", "Bearer t2", "Bearer t1", "Basic YQ=="]


class Asking(Listening):
    """Refuses every token but one."""

    counts = "t1"

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        problem = {"code": "unauthenticated", "detail": "It has expired."}
        return answer if self.shown[-1] == f"Bearer {self.counts}" else httpx.Response(401, json=problem)


async def test_a_token_file_is_read_again_when_its_token_is_refused(tmp_path, monkeypatch):
    # Given a client of a token file
    http, file = Asking(), tmp_path / "token"
    file.write_text("t1\n")
    async with AsyncClient("http://b", http=http, token_file=str(file)) as client:
        await client.topics.list()
        # When there is a new token, and the old one counts still
        file.write_text("t2\n")
        await client.topics.list()
        # Then it goes on with the old one until that is refused, and then with the new one
        http.counts = "t2"
        await client.topics.list()
        await client.topics.list()
        assert http.shown == [f"Bearer {text}" for text in ("t1", "t1", "t1", "t2", "t2")]
        # And without another token in the file, the refusal is raised once
        http.counts = "t3"
        for text in ("t2", "", None):
            file.unlink() if text is None else file.write_text(text)
            with pytest.raises(Unauthenticated, match="It has expired"):
                await client.topics.list()
        assert http.shown[5:] == ["Bearer t2"] * 3
    # And the environment may name the file
    file.write_text("t3")
    monkeypatch.setenv("REDIS_LEDGER_TOKEN_FILE", str(file))
    monkeypatch.setenv("REDIS_LEDGER_TOKEN", "t4")
    with Client("http://b", http=http) as threads:
        threads.topics.list()
    for said in ("", None):
        file.write_text("") if said == "" else file.unlink()
        with pytest.raises(InvalidRequest, match=f"token file {re.escape(str(file))}"):
            Client("http://b", http=http)


@pytest.mark.parametrize("token", ["a b", "a\r\nx: y", "ä", "\x00"])
def test_invalid_header_value_is_refused_without_being_repeated(token):
    with pytest.raises(InvalidRequest) as refused:
        Client("http://b", token=token)
    assert token not in refused.value.detail


def test_a_new_token_is_not_shown_by_accident():
    made = NewToken("id", "User:ada", 1, 0, "", "rl_id_secret")
    assert "secret" not in f"{made!r} {made}"
