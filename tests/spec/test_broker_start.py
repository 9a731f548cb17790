"""Requests that reach a broker process before it is ready: it has bound its listeners, and waits for Redis."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx

from tests.support.broker import begun, one, records, vanish
from tests.support.busy_machine import busy_machine
from tests.support.free_ports import free_port
from tests.support.kafka_batches import fetch, fetched, values
from tests.support.kafka_client import KafkaClient
from tests.support.loading_redis import fill, finish_loading, is_loading, restart_loading
from tests.support.processes import Serve
from tests.support.redis_servers import redis_server


class Starting:
    """A broker process that starts while Redis loads, and its clients, whose requests wait for it."""

    def __init__(self, server, folder):
        self.ports = http, kafka = free_port(), free_port()
        words = ("--redis", server.url, "--durability", "lossy", "--data-dir", folder, "--kafka", f"127.0.0.1:{kafka}",
                 "--set", "redis_retry_ms=60000")  # fmt: skip
        self.process = Serve(*words, http=f"127.0.0.1:{http}")
        self.http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{http}", timeout=60)

    async def listens(self):
        for port in self.ports:
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.01)
                else:
                    writer.close()
                    break

    async def post(self, path, body):
        answer = await self.http.post(f"/v1/{path}", json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    async def send(self, older, lasting):
        """A plain record, a transaction, the end of an older one, and a record of one that stays open."""
        await self.post("topics/t/records", {"records": [{"text": "plain"}]})
        txn = (await self.post("transactions", {}))["id"]
        await self.post("topics/t/records", {"records": [{"text": "transactional"}], "transaction": txn})
        await self.post(f"transactions/{txn}:commit", {})
        await self.post(f"transactions/{older}:commit", {})
        await self.post("topics/t/records", {"records": [{"text": "undecided"}], "transaction": str(lasting)})

    async def read(self, count):
        found: list[str] = []
        at = 0
        while len(found) < count:
            query: dict[str, Any] = {"offset": at, "wait_ms": 20_000, "as": "text"}
            body = (await self.http.get("/v1/topics/t/partitions/0/records", params=query)).json()
            found, at = found + [record["text"] for record in body["records"]], body["next_offset"]
        return found

    async def receive(self, count):
        found: list[str] = []
        while len(found) < count:
            body = {"consumer": "c", "wait_ms": 20_000, "as": "text"}
            found += [each["text"] for each in (await self.post("topics/t/subscriptions/s:receive", body))["messages"]]
        return found

    async def fetch(self, count):
        async with KafkaClient(("127.0.0.1", self.ports[1])) as kafka:
            found: list[str] = []
            while len(found) < count:
                found = values(fetched(await kafka.ask(fetch("t", 0, wait_ms=500), 12)))
            return found


LOADED_S = 120.0  # or until `finish_loading`


async def test_what_is_sent_while_a_broker_starts_is_read_within_a_second_after_it_is_ready(tmp_path):
    """TB-18: Redis loads, and everything is sent to the broker that waits for it."""
    with redis_server() as server:
        fill(server)
        async with one(server.url, "rl") as before:
            await before.topics.create("t")
            await before.subscriptions.create("t", "s")
            await before.transactions.abort(await begun(before, "never"))
            older, lasting = await begun(before, "older"), (await before.transactions.begin()).id
            await before.records.produce("t", records("behind"))
            await vanish(before)
        restart_loading(server, LOADED_S)
        starting = Starting(server, tmp_path)
        try:
            await starting.listens()
            clients = [starting.read(4), starting.receive(4), starting.fetch(4), starting.send(older, lasting)]
            *readers, sending = [asyncio.create_task(each) for each in clients]
            await asyncio.sleep(0.2)  # they have sent their requests
            assert is_loading(server), "Redis had loaded everything by then"
            assert not any(task.done() for task in (*readers, sending))
            finish_loading(server)
            await asyncio.to_thread(lambda: starting.process.ready)
            began = time.monotonic()
            async with busy_machine() as machine:
                seen = await asyncio.gather(*readers)
            assert time.monotonic() - began < 1 + machine.lost_s
            await sending
            assert seen == [["older", "behind", "plain", "transactional"]] * 3
            assert await starting.read(4) == seen[0]
        finally:
            await starting.http.aclose()
            starting.process.clean_up()
