"""One trace of a record through both ports, with spans in memory and in a test collector."""

from __future__ import annotations

import asyncio
import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from redis_ledger.app.http.application import create_app
from redis_ledger.telemetry import tracing
from tests.support.broker import one
from tests.support.kafka_batches import NOW_MS, fetch, fetched, values
from tests.support.kafka_client import BrokerClient, listening
from tests.support.kafka_transactional import NEW, Transactional
from tests.support.processes import ROOT, Serve
from tests.support.rest import client_of

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    tracing.enable(exporter)
    yield exporter
    tracing.disable()


def of_trace(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    """The spans of TRACE, by name."""
    return {span.name: span for span in exporter.get_finished_spans() if trace_of(span) == TRACE}


def trace_of(span: Any) -> str:
    return format(span.context.trace_id, "032x")


def parent_of(span: Any) -> str:
    return "" if span.parent is None else format(span.parent.span_id, "016x")


def id_of(span: Any) -> str:
    return format(span.context.span_id, "016x")


async def test_a_record_is_one_trace_from_rest_through_its_commit_to_a_kafka_reader_and_a_subscription(
    redis_url, prefix, exporter
):
    async with one(redis_url, prefix) as broker, listening(broker) as address, BrokerClient(broker, address) as kafka:
        await broker.topics.create("orders", partitions=1)
        await broker.subscriptions.create("orders", "s")
        async with client_of(broker) as rest:
            # Given a transaction in which a traced request produces
            txn = (await rest.post("/v1/transactions", json={})).json()["id"]
            traced = {"traceparent": TRACEPARENT}
            body = {"transaction": txn, "records": [{"text": "a"}, {"text": "b"}]}
            assert (await rest.post("/v1/topics/orders/records", json=body, headers=traced)).status_code == 200
            # When a client without the trace commits, and two read
            assert (await rest.post(f"/v1/transactions/{txn}:commit", json={})).status_code == 200
            assert values(fetched(await kafka.ask(fetch("orders"), 11))) == ["a", "b"]
            got = await rest.post("/v1/topics/orders/subscriptions/s:receive", json={})
    # Then what was produced belongs to the caller's trace, and so does who receives it, by either door
    spans = of_trace(exporter)
    produced_by = spans["POST /v1/topics/{topic}/records"]
    assert parent_of(produced_by) == PARENT
    assert produced_by.attributes is not None
    assert produced_by.attributes["redis_ledger.txn"] == txn
    receivers = [s for s in exporter.get_finished_spans() if s.name == "receive orders"]
    assert [(trace_of(s), parent_of(s)) for s in receivers] == [(TRACE, id_of(produced_by))] * 2
    assert [m["headers"]["traceparent"].split("-")[2] for m in got.json()["messages"]] == [id_of(produced_by)] * 2
    # And the commit, which has a trace of its own, says what it ended
    (end,) = [s for s in exporter.get_finished_spans() if s.name == "commit transaction"]
    assert [id_of(link) for link in end.links] == [id_of(produced_by)]
    assert end.attributes is not None
    assert end.attributes["redis_ledger.txn"] == txn
    (committing,) = [s for s in exporter.get_finished_spans() if s.name == "POST /v1/transactions/{id}:commit"]
    assert parent_of(end) == id_of(committing)


async def test_a_kafka_records_header_is_its_parent_and_the_end_of_its_transaction_is_in_the_same_trace(
    redis_url, prefix, exporter
):
    async with one(redis_url, prefix) as broker, listening(broker) as address, BrokerClient(broker, address) as kafka:
        await broker.topics.create("orders", partitions=1)
        producer = await Transactional(kafka, "tx", NEW).init()
        headers = (("traceparent", TRACEPARENT.encode()),)
        assert (await producer.send_rows("orders", [(None, b"a", headers, NOW_MS)])).error_code == 0
        assert await producer.end(commit=True) == 0
        async with client_of(broker) as rest:
            shown = await rest.get("/v1/topics/orders/partitions/0/records?offset=0")
    assert [record["text"] for record in shown.json()["records"]] == ["a"]
    spans = of_trace(exporter)
    assert parent_of(spans["produce orders"]) == PARENT
    assert parent_of(spans["commit transaction"]) == id_of(spans["produce orders"])
    assert parent_of(spans["receive orders"]) == PARENT
    # The reader's own request is another trace, and named
    (link,) = spans["receive orders"].links
    assert trace_of(link) != TRACE


@pytest.mark.parametrize("given", ["", "00-zz-1-01", f"00-{'0' * 32}-{PARENT}-01", "x" * 5_000])
async def test_a_traceparent_that_is_none_begins_a_trace_of_its_own(redis_url, prefix, exporter, given):
    async with one(redis_url, prefix) as broker, client_of(broker) as rest:
        answer = await rest.get("/v1/topics", headers={"traceparent": given})
    assert answer.status_code == 200
    (span,) = exporter.get_finished_spans()
    assert (span.name, span.parent) == ("GET /v1/topics", None)


async def test_records_of_requests_without_a_trace_stay_as_they_are(redis_url, prefix, exporter):
    async with one(redis_url, prefix) as broker, client_of(broker) as rest:
        await rest.post("/v1/topics/orders/records", json={"records": [{"text": "a"}]})
        shown = await rest.get("/v1/topics/orders/partitions/0/records?offset=0")
    assert "headers" not in shown.json()["records"][0]


async def test_a_trace_that_is_not_sampled_is_carried_on_and_none_of_its_spans_is_sent(redis_url, prefix, exporter):
    unsampled = {"traceparent": f"00-{TRACE}-{PARENT}-00"}
    async with one(redis_url, prefix) as broker, client_of(broker) as rest:
        await broker.topics.create("orders", partitions=1)
        await broker.subscriptions.create("orders", "s")
        await rest.post("/v1/topics/orders/records", json={"records": [{"text": "a"}]}, headers=unsampled)
        got = await rest.post("/v1/topics/orders/subscriptions/s:receive", json={})
    _, trace, _, flags = got.json()["messages"][0]["headers"]["traceparent"].split("-")
    assert (trace, flags) == (TRACE, "00")
    assert of_trace(exporter) == {}
    assert [span.name for span in exporter.get_finished_spans()] == [
        "POST /v1/topics/{topic}/subscriptions/{name}:receive"
    ]


async def test_the_sampler_is_the_one_that_the_environment_names(redis_url, prefix, monkeypatch):
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    exporter = InMemorySpanExporter()
    tracing.enable(exporter)
    try:
        async with one(redis_url, prefix) as broker, client_of(broker) as rest:
            await rest.get("/v1/topics")
            await rest.get("/v1/topics", headers={"traceparent": TRACEPARENT})
    finally:
        tracing.disable()
    assert [trace_of(span) for span in exporter.get_finished_spans()] == [TRACE]


async def test_cancelled_long_poll_is_not_an_error(redis_url, prefix, exporter):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("orders", partitions=1)
        scope: dict[str, Any] = {
            "type": "http", "method": "GET", "path": "/v1/topics/orders/partitions/0/records", "headers": [],
            "query_string": b"offset=0&wait_ms=20000", "client": None, "server": None,
        }  # fmt: skip
        said = iter(({"type": "http.request", "body": b""}, {"type": "http.disconnect"}))

        async def receive() -> Any:
            return next(said)

        async def send(message: Any) -> None:
            raise AssertionError(message)

        await create_app(broker)(scope, receive, send)
    (span,) = exporter.get_finished_spans()
    assert span.name == "GET /v1/topics/{topic}/partitions/{partition}/records"
    assert (span.status.status_code, span.events) == (StatusCode.UNSET, ())


class Collector(http.server.BaseHTTPRequestHandler):
    """An OTLP collector that keeps what it receives; class-wide, for the test to look at."""

    got: list[ExportTraceServiceRequest]
    came: threading.Event

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/traces":
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                data = gzip.decompress(data)
            self.got.append(ExportTraceServiceRequest.FromString(data))
            self.came.set()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


async def test_a_configured_broker_exports_spans_to_the_endpoint_of_the_environment(redis_url, prefix, tmp_path):
    Collector.got, Collector.came = [], threading.Event()
    collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    environ = {
        "REDIS_LEDGER_REDIS_URL": redis_url,
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
        "OTEL_SERVICE_NAME": "ledger-under-test",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
    }
    try:
        settings = ("--set", "otel_enabled=true", "--set", f"prefix={prefix}", "--durability", "lossy")
        served = Serve(*settings, environ=environ)
        url = served.urls[0]
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"{url}/v1/topics", headers={"traceparent": TRACEPARENT})).status_code == 200
        assert await asyncio.to_thread(Collector.came.wait, 20)
        assert served.terminate() == 0
    finally:
        collector.shutdown()
        collector.server_close()
    (resource,) = Collector.got[0].resource_spans
    facts = {each.key: each.value.string_value for each in resource.resource.attributes}
    assert facts["service.name"] == "ledger-under-test"
    names = {span.name: span for scope in resource.scope_spans for span in scope.spans}
    assert names["GET /v1/topics"].trace_id.hex() == TRACE


def test_without_it_a_broker_imports_nothing_that_makes_or_sends_spans():
    # FastAPI imports the API, which does nothing by itself, where that is installed.
    code = (
        "import sys, redis_ledger.app.cli.serve, redis_ledger.app.process.broker_process\n"
        "import redis_ledger.kafka.router as r; r.routes()\n"
        "print(sorted(name for name in sys.modules if name[:17] in ('opentelemetry.sdk', 'opentelemetry.exp')))"
    )
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_missing_extra_is_reported(monkeypatch):
    for name in ("opentelemetry.sdk.resources", "opentelemetry.sdk.trace"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install .*\[otel\]"):
        tracing.enable()
    assert tracing.tracer is None
