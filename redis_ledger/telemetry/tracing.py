"""OpenTelemetry traces, if enabled: a span per REST request, record with a W3C `traceparent`, and transaction end.

    REST request ─ traceparent header ─▶ span ─▶ its records carry the span's context as a header of the same name
    Kafka record ─ traceparent header ─▶ span "produce t", of that trace
    a consumer of either               ─▶ span "receive t", of that trace, over both ports

`tracer` is None while tracing is off: then nothing is imported, and callers only test for None.  The provider is not
installed globally, so that libraries do not add spans.
The environment configures the export (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER ...).
Source: W3C Trace Context; OpenTelemetry's conventions for messaging.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
REMEMBERED_MAX, LINKS_MAX = 1_000, 16
NOTHING = contextlib.nullcontext()
INSTALL = 'otel_enabled requires OpenTelemetry: pip install ".[otel]" in a checkout.'

tracer: Any = None
_provider: Any = None
_propagator: Any = None
_remembered: OrderedDict[object, list[Any]] = OrderedDict()  # transaction or producer → contexts of its writes


def enable(exporter: Any = None, *, broker: str = "") -> None:
    """exporter: receives spans at once, for tests; None: batches by OTLP over HTTP.  Raises ImportError."""
    global tracer, _provider, _propagator  # noqa: PLW0603 - a process is traced or it is not
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        if exporter is None:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            processor: Any = BatchSpanProcessor(OTLPSpanExporter())
        else:
            processor = SimpleSpanProcessor(exporter)
    except ImportError as missing:
        raise ImportError(INSTALL) from missing
    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override these.
    known = {"service.name": "redis-ledger", **({"service.instance.id": broker} if broker else {})}
    _provider = TracerProvider(resource=Resource(known).merge(_of_environment()))
    _provider.add_span_processor(processor)
    _propagator = TraceContextTextMapPropagator()
    tracer = _provider.get_tracer("redis_ledger")


def _of_environment() -> Any:
    from opentelemetry.sdk.resources import OTELResourceDetector

    return OTELResourceDetector().detect()


def disable() -> None:
    """Stops tracing, and tries to send the remaining spans."""
    global tracer, _provider
    tracer, provider, _provider = None, _provider, None
    _remembered.clear()
    if provider is not None:
        provider.shutdown()


# Everything below requires a tracer -----------------------------------------------------------------------------------


def context_of(traceparent: str | None, tracestate: str | None = None) -> Any:
    """The caller's context, as a parent; None if it is absent or invalid."""
    if traceparent is None:
        return None
    from opentelemetry.trace import get_current_span

    carrier = {TRACEPARENT: traceparent, **({TRACESTATE: tracestate} if tracestate else {})}
    context = _propagator.extract(carrier, context=_empty())
    return context if get_current_span(context).get_span_context().is_valid else None


def _empty() -> Any:
    from opentelemetry.context import Context

    return Context()


@contextlib.contextmanager
def serving(name: str, context: Any, attributes: Mapping[str, Any]) -> Iterator[Any]:
    """The span of a request.  An exception (a client that left) does not mark it failed; `failed` does."""
    from opentelemetry.trace import SpanKind

    with tracer.start_as_current_span(
        name, context=context if context is not None else _empty(), kind=SpanKind.SERVER, attributes=attributes,
        record_exception=False, set_status_on_exception=False,
    ) as span:  # fmt: skip
        yield span


@contextlib.contextmanager
def ending(name: str, key: object, attributes: Mapping[str, Any]) -> Iterator[Any]:
    """The span of a transaction's end, linked to the spans that wrote in the transaction (key).  Without a current span
    it belongs to the trace of the first of them."""
    from opentelemetry.trace import Link, get_current_span, set_span_in_context

    written = _remembered.pop(key, [])
    here = get_current_span().get_span_context()
    parent = set_span_in_context(_at(written[0]), _empty()) if written and not here.is_valid else None
    with tracer.start_as_current_span(
        name, context=parent, links=[Link(each) for each in written], attributes=attributes
    ) as span:
        yield span


def _at(context: Any) -> Any:
    from opentelemetry.trace import NonRecordingSpan

    return NonRecordingSpan(context)


def failed(span: Any, what: str) -> None:
    from opentelemetry.trace import StatusCode

    span.set_status(StatusCode.ERROR, what)


def header() -> tuple[str, bytes] | None:
    """The header that carries the current span's context."""
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return (TRACEPARENT, carrier[TRACEPARENT].encode()) if TRACEPARENT in carrier else None


def remember(key: object) -> None:
    """Remembers that the current span wrote in this transaction."""
    from opentelemetry.trace import get_current_span

    _remember(key, get_current_span().get_span_context())


def _remember(key: object, context: Any) -> None:
    known = _remembered.setdefault(key, [])
    if context.is_valid and len(known) < LINKS_MAX:
        known.append(context)
    _remembered.move_to_end(key)
    while len(_remembered) > REMEMBERED_MAX:
        _remembered.popitem(last=False)


def passed(what: str, topic: str, partition: int, traceparents: Iterable[bytes], key: object = None) -> None:
    """Creates a `produce` or `receive` span for each context that records carry, in the record's trace and linked to
    the current request.  key: the transaction of the records."""
    from opentelemetry.trace import Link, SpanKind, get_current_span

    here = get_current_span().get_span_context()
    links: Sequence[Any] = [Link(here)] if here.is_valid else []
    attributes = {
        "messaging.system": "kafka",
        "messaging.operation.name": what,
        "messaging.destination.name": topic,
        "messaging.destination.partition.id": str(partition),
    }
    kind = SpanKind.PRODUCER if what == "produce" else SpanKind.CONSUMER
    for text in dict.fromkeys(traceparents):
        context = context_of(text.decode("ascii", "replace"))
        if context is None:
            continue
        span = tracer.start_span(f"{what} {topic}", context=context, kind=kind, links=links, attributes=attributes)
        if key is not None:
            _remember(key, span.get_span_context())
        span.end()


def ids() -> dict[str, str]:
    """The ids of the current span, for the log."""
    from opentelemetry.trace import format_span_id, format_trace_id, get_current_span

    context = get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": format_trace_id(context.trace_id), "span_id": format_span_id(context.span_id)}
