"""Starts the rendered containers with a Redis: readiness, the first commands, a drain.

Containers run as rendered (tests/support/pod.py); addresses are those of loopback.
"""

from __future__ import annotations

import json
import re
import shlex
import ssl
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiokafka.client import AIOKafkaClient

from tests.support import chart, free_ports, redis_servers
from tests.support.certificates import Authority
from tests.support.pod import Pod, secrets_of
from tests.support.processes import eventually

BROKERS, REDIS = "ledger-redis-ledger", "ledger-redis-ledger-redis"
ADVERTISED = f"{BROKERS}-0.{BROKERS}-brokers.streams.svc.cluster.local:9092"


class World:
    """A broker of a values file and, where the chart brings one, its Redis.  ports: HOST:PORT of the broker's doors."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pods: list[Pod] = []
        self.ports = {door: f"127.0.0.1:{free_ports.free_port()}" for door in ("rest", "kafka", "kafka-external")}

    def redis(self, values: str) -> str:
        """Starts the bundled server as rendered; HOST:PORT."""
        server = redis_servers.Server(self._folder)  # only to ask: it is not started
        here = {"bind * -::*": "bind 127.0.0.1", "port 6379": f"port {server.port}"}
        secrets = secrets_of(values)
        pod = Pod(values, REDIS, self._folder / "redis", secrets, here)
        self._pods.append(pod)
        pod.start(redis_servers.binary())
        asked = ("AUTH", secrets[REDIS]["password"]), ("PING",)
        eventually(lambda: answers(server, *asked) == [b"OK", b"PONG"])
        return f"127.0.0.1:{server.port}"

    def broker(self, values: str, addresses: dict[str, str], secrets=None, fields=None) -> Pod:
        ports = {"0.0.0.0:8080": "rest", "0.0.0.0:9092": "kafka", "0.0.0.0:9094": "kafka-external"}
        here = {**{there: self.ports[door] for there, door in ports.items()}, **addresses}
        pod = Pod(values, BROKERS, self._folder / "broker", {**secrets_of(values), **(secrets or {})}, here, fields)
        self._pods.append(pod)
        pod.start()
        return pod

    def clean_up(self) -> None:
        for pod in reversed(self._pods):
            pod.clean_up()


def answers(server: redis_servers.Server, *commands: tuple[str, ...]) -> list[object]:
    try:
        return server.ask_all(*commands)
    except OSError:
        return []


@pytest.fixture
def world(tmp_path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.clean_up()


def curls(text: str, world: World, token: str = "", where: Path | None = None) -> list[str]:
    """Runs the curl lines of a text that calls behind port-forward, in a folder; what is answered."""
    lines = [line.strip() for line in re.sub(r"\\\n\s*", "", text).splitlines()]
    said = []
    for line in lines:
        if not line.startswith("curl "):
            continue
        here = line.replace("localhost:8080", world.ports["rest"]).replace("curl ", "curl -sS --noproxy '*' ", 1)
        ran = subprocess.run(
            ["sh", "-c", here], env={"PATH": "/usr/bin:/bin", "token": token},
            cwd=where, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        said.append(ran.stdout)
    return said


def first_commands(values: str, world: World, token: str = "", where: Path | None = None) -> None:
    """The notes' commands write a record and read it."""
    produced, read = curls(chart.notes(values), world, token, where)
    assert json.loads(produced)["results"][0]["base_offset"] == 0
    assert [record["value"] for record in json.loads(read)["records"]] == [{"order": 1}]


async def advertised_addresses(world: World, door: str = "kafka", **credentials: Any) -> list[tuple[str, int]]:
    """The addresses that a Kafka client gets from this bootstrap broker."""
    client = AIOKafkaClient(bootstrap_servers=world.ports[door], **credentials)
    await client.bootstrap()
    try:
        return [(node.host, node.port) for node in client.cluster.brokers()]
    finally:
        await client.close()


def test_default_installation_serves_the_token_and_drains(world):
    # Given the bundled Redis and a broker, with nothing chosen
    redis = world.redis("defaults")
    broker = world.broker("defaults", {f"{REDIS}.streams.svc.cluster.local:6379": redis})
    assert broker.line().startswith("ready ")
    # Then every probe is answered
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert broker.probe(probe, world.ports) == 200
    # And Redis keeps what --durability disk promises
    with httpx.Client(base_url=f"http://{world.ports['rest']}", trust_env=False, timeout=30) as http:
        assert http.get("/readyz").json()["durability"] == "disk"
        # And who has no token is not let in, while what the notes say works
        assert http.get("/v1/topics").status_code == 401
        token = secrets_of("defaults")[f"{BROKERS}-bootstrap"]["token"]
        first_commands("defaults", world, token)
        # When it gets SIGTERM while a client waits for records
        with ThreadPoolExecutor(1) as others:
            path = "/v1/topics/hello/partitions/0/records?offset=1&wait_ms=20000"
            waiting = others.submit(http.get, path, headers={"Authorization": f"Bearer {token}"})
            broker.terminate()
            code, errors = broker.end()
        # Then that call ends in peace, and so does it
        assert waiting.result().status_code in (200, 503), waiting.result().text
    assert code == 0, errors
    # And it has written nothing outside of what is mounted.
    assert list((broker.root / "work").iterdir()) == []


def test_tokens_and_acls_are_created_in_a_pod_as_in_the_guide(world):
    redis = world.redis("defaults")
    broker = world.broker("defaults", {f"{REDIS}.streams.svc.cluster.local:6379": redis})
    broker.line()
    # When what docs/howto/deploy.md runs by kubectl exec is run
    guide = (chart.ROOT / "docs" / "howto" / "deploy.md").read_text()
    lines = re.findall(rf"(?m)^kubectl -n streams exec {BROKERS}-0 -- (.+)$", guide)
    said = [broker.exec(*shlex.split(line)) for line in lines]
    token = re.search(r"rl_\w+", said[-1])
    assert token is not None, said
    # Then its bearer may do what the rule says, and nothing else.
    with httpx.Client(base_url=f"http://{world.ports['rest']}", trust_env=False, timeout=30) as http:
        http.headers["Authorization"] = f"Bearer {token[0]}"
        one = {"records": [{"value": 1}]}
        eventually(lambda: http.post("/v1/topics/orders-new/records", json=one).status_code == 200)
        assert http.post("/v1/topics/invoices/records", json=one).status_code == 403


def test_prometheus_authenticates_with_the_token_of_the_guide(world):
    redis = world.redis("defaults")
    broker = world.broker("defaults", {f"{REDIS}.streams.svc.cluster.local:6379": redis})
    broker.line()
    # Given what docs/howto/deploy.md says below "Metrics"
    guide = (
        (chart.ROOT / "docs" / "howto" / "deploy.md").read_text().partition("\n## Metrics\n")[2].partition("\n## ")[0]
    )
    _, made = curls(guide, world, secrets_of("defaults")[f"{BROKERS}-bootstrap"]["token"])
    # When the token of its last answer is shown as the ServiceMonitor shows it
    monitor = chart.one("monitored", "ServiceMonitor", BROKERS)["spec"]["endpoints"][0]
    shown = {"Authorization": f"{monitor['authorization']['type']} {json.loads(made)['token']}"}
    with httpx.Client(base_url=f"http://{world.ports['rest']}", trust_env=False, timeout=30) as http:
        # Then there are metrics, once the rule has come around, and none without.
        eventually(lambda: http.get(monitor["path"], headers=shown).status_code == 200)
        assert http.get(monitor["path"]).status_code == 401


async def test_kafka_accepts_the_token_and_advertises_the_pod_name(world):
    redis = world.redis("defaults")
    broker = world.broker("defaults", {f"{REDIS}.streams.svc.cluster.local:6379": redis})
    broker.line()
    token = secrets_of("defaults")[f"{BROKERS}-bootstrap"]["token"]
    addresses = await advertised_addresses(
        world, security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN",
        sasl_plain_username="token", sasl_plain_password=token,
    )  # fmt: skip
    host, _, port = ADVERTISED.rpartition(":")
    assert addresses == [(host, int(port))]


async def test_anonymous_clients_are_served_if_allowed(world):
    with redis_servers.redis_server(appendonly="yes", appendfsync="no", maxmemory_policy="noeviction") as redis:
        broker = world.broker("anonymous", {"redis.data:6379": f"127.0.0.1:{redis.port}"})
        broker.line()
        assert broker.probe("readinessProbe", world.ports) == 200
        first_commands("anonymous", world)
        assert [host for host, _ in await advertised_addresses(world)] == [ADVERTISED.partition(":")[0]]
        broker.terminate()
        code, errors = broker.end()
        assert code == 0, errors


async def test_broker_advertises_its_own_node_port(world):
    # Given the fourth of ten brokers, and Redis by your secret
    fields = {
        "metadata.name": f"{BROKERS}-3",
        "metadata.labels['apps.kubernetes.io/pod-index']": "3",
        "status.hostIP": "192.0.2.5",
    }
    with redis_servers.redis_server(appendonly="yes", appendfsync="always", maxmemory_policy="noeviction") as redis:
        broker = world.broker("node-ports", {}, {"ledger-redis-url": {"url": redis.url}}, fields)
        broker.line()
        token = secrets_of("node-ports")[f"{BROKERS}-bootstrap"]["token"]
        login = {
            "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN",
            "sasl_plain_username": "token", "sasl_plain_password": token,
        }  # fmt: skip
        assert await advertised_addresses(world, "kafka-external", **login) == [("192.0.2.5", 31243)]
        # And a client inside the cluster gets the name of the pod
        inside = ADVERTISED.replace("-0.", "-3.").rpartition(":")[0]
        assert await advertised_addresses(world, **login) == [(inside, 9092)]


async def test_external_kafka_listener_may_use_tls_alone(world, tmp_path):
    authority = Authority(tmp_path)
    certificate, key = (path.read_text() for path in authority.issue("server"))
    fields = {"metadata.labels['apps.kubernetes.io/pod-index']": "0", "status.hostIP": "192.0.2.5"}
    with redis_servers.redis_server(appendonly="yes", appendfsync="always", maxmemory_policy="noeviction") as redis:
        secrets = {"ledger-cert": {"tls.crt": certificate, "tls.key": key}, "ledger-redis-url": {"url": redis.url}}
        broker = world.broker("two-networks", {}, secrets, fields)
        broker.line()
        assert broker.probe("readinessProbe", world.ports, ssl._create_unverified_context()) == 200
        token = secrets_of("two-networks")[f"{BROKERS}-bootstrap"]["token"]
        login = {"sasl_mechanism": "PLAIN", "sasl_plain_username": "token", "sasl_plain_password": token}
        trusted = ssl.create_default_context(cafile=str(authority.ca))
        outside = await advertised_addresses(
            world, "kafka-external", security_protocol="SASL_SSL", ssl_context=trusted, **login
        )
        assert outside == [("broker-0.kafka.example.com", 9094)]
        inside = await advertised_addresses(world, security_protocol="SASL_PLAINTEXT", **login)
        assert inside == [(ADVERTISED.partition(":")[0], 9092)]


def test_settings_reach_the_broker_unchanged(world):
    # Given the settings of external-redis.yaml, some of them large, and a token under another key
    secrets = {"ledger-redis-url": {"REDIS_URL": ""}, "first-admin": {"bearer": "x" * 40}, "redis-ca": {"ca.crt": ""}}
    with redis_servers.redis_server(appendonly="yes", appendfsync="always", maxmemory_policy="noeviction") as redis:
        secrets["ledger-redis-url"]["REDIS_URL"] = redis.url
        broker = world.broker("external-redis", {}, secrets)
        broker.line()
        with httpx.Client(base_url=f"http://{world.ports['rest']}", trust_env=False, timeout=30) as http:
            http.headers["Authorization"] = f"Bearer {'x' * 40}"
            made = http.post("/v1/topics", json={"name": "orders"})
            assert made.status_code == 201, made.text
            assert made.json()["partitions"] == 12
            # No topic is made by producing, and keys have the configured prefix.
            assert http.post("/v1/topics/other/records", json={"records": [{"value": 1}]}).status_code == 404
        keys = redis.ask("KEYS", "*")
        assert isinstance(keys, list)
        assert [key for key in keys if not key.startswith(b"shop:")] == []


def test_probes_and_clients_use_tls_and_client_certificates(world, tmp_path):
    # Given a certificate in your secret, and client certificates of an authority in another
    authority = Authority(tmp_path)
    certificate, key = (path.read_text() for path in authority.issue("server"))
    client = tmp_path / "client.crt", tmp_path / "client.key"
    for path, made in zip(client, authority.issue("admin"), strict=True):
        made.rename(path)
    secrets = {
        "ledger-cert": {"tls.crt": certificate, "tls.key": key},
        "client-ca": {"root.pem": authority.ca.read_text()},
    }
    with redis_servers.redis_server(appendonly="yes", appendfsync="always", maxmemory_policy="noeviction") as redis:
        broker = world.broker("tls-secret", {}, secrets | {"ledger-redis-url": {"url": redis.url}})
        broker.line()
        # Then the kubelet, which shows none and trusts any, finds it ready
        anybody = ssl._create_unverified_context()
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert broker.probe(probe, world.ports, anybody) == 200
        # And the super user of the values may do what the notes say; no client without a certificate may.
        first_commands("tls-secret", world, where=tmp_path)
        with httpx.Client(base_url=f"https://{world.ports['rest']}", verify=anybody, trust_env=False) as http:
            assert http.get("/v1/topics").status_code == 401
        broker.terminate()
        code, errors = broker.end()
        assert code == 0, errors
