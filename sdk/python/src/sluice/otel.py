"""OpenTelemetry: exporters and processors that let spans and log records pass by decision.

    provider.add_span_processor(BatchSpanProcessor(RateLimitSpanExporter(OTLPSpanExporter(), client)))

The exporters ask for a whole batch at once, in the thread of the batch processor, so that the application never waits. The
processors ask for each span or record as it ends, for applications that export one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from sluice._errors import SluiceError
from sluice._sync import Client
from sluice._web import fit

__all__ = ["RateLimitLogExporter", "RateLimitLogProcessor", "RateLimitSpanExporter", "RateLimitSpanProcessor"]
Fields = Callable[[Any], Mapping[str, Any]]


def span_fields(span: ReadableSpan) -> dict[str, Any]:
    """The check of a span."""
    service = span.resource.attributes.get("service.name")
    return {"resource": fit(f"span:{span.name}"), "span_name": fit(span.name), "signal": "span",
            **({"service": fit(str(service))} if service else {})}


def log_fields(record: Any) -> dict[str, Any]:
    """The check of a log record."""
    inner = getattr(record, "log_record", record)
    scope = getattr(record, "instrumentation_scope", None)
    name = getattr(scope, "name", None) or "log"
    severity = getattr(inner, "severity_text", None)
    return {"resource": fit(f"log:{name}"), "subject": fit(name), "signal": "log", **({"severity": fit(severity.lower())} if severity else {})}


def _passing(client: Client, items: Sequence[Any], fields: Callable[[Any], Mapping[str, Any]]) -> list[Any]:
    """The items whose checks pass. With `on_error` raise all pass if no decision was made: telemetry must not break."""
    try:
        decisions = client.check_batch([fields(one) for one in items])
    except SluiceError:
        return list(items)
    return [item for item, decision in zip(items, decisions) if decision.allowed]


class RateLimitSpanExporter(SpanExporter):
    """Hands on the spans whose checks pass. `fields` adds or replaces members of the check, from the span. The agent's action
    `sample` lets a share of what is over the limit pass."""

    def __init__(self, exporter: SpanExporter, client: Client, *, fields: Fields | None = None) -> None:
        self._exporter = exporter
        self._client = client
        self._fields = fields

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        passing = _passing(self._client, spans, self._check)
        return self._exporter.export(passing) if passing else SpanExportResult.SUCCESS

    def _check(self, span: ReadableSpan) -> dict[str, Any]:
        return {**span_fields(span), **(self._fields(span) if self._fields is not None else {})}

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return self._exporter.force_flush(timeout_millis)


class RateLimitSpanProcessor(SpanProcessor):
    """Hands on each span whose check passes when it ends."""

    def __init__(self, processor: SpanProcessor, client: Client, *, fields: Fields | None = None) -> None:
        self._processor = processor
        self._client = client
        self._fields = fields

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self._processor.on_start(span, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        fields = {**span_fields(span), **(self._fields(span) if self._fields is not None else {})}
        if _passing(self._client, [span], lambda _: fields):
            self._processor.on_end(span)

    def shutdown(self) -> None:
        self._processor.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return self._processor.force_flush(timeout_millis)


class RateLimitLogExporter:
    """Hands on the log records whose checks pass; a LogRecordExporter (which the SDK of OpenTelemetry has renamed more than once)."""

    def __init__(self, exporter: Any, client: Client, *, fields: Fields | None = None) -> None:
        self._exporter = exporter
        self._client = client
        self._fields = fields

    def export(self, batch: Sequence[Any]) -> Any:
        """Asks for all records at once."""
        return self._exporter.export(_passing(self._client, batch, self._check))

    def _check(self, record: Any) -> dict[str, Any]:
        return {**log_fields(record), **(self._fields(record) if self._fields is not None else {})}

    def shutdown(self) -> None:
        """Ends the exporter behind it."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Of the exporter behind it, if it has one."""
        flush = getattr(self._exporter, "force_flush", None)
        return bool(flush(timeout_millis)) if flush is not None else True


class RateLimitLogProcessor:
    """Hands on each log record whose check passes; a LogRecordProcessor."""

    def __init__(self, processor: Any, client: Client, *, fields: Fields | None = None) -> None:
        self._processor = processor
        self._client = client
        self._fields = fields

    def on_emit(self, log_record: Any) -> None:
        """Asks for one record."""
        fields = {**log_fields(log_record), **(self._fields(log_record) if self._fields is not None else {})}
        if _passing(self._client, [log_record], lambda _: fields):
            self._processor.on_emit(log_record)

    def shutdown(self) -> None:
        """Ends the processor behind it."""
        self._processor.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Of the processor behind it."""
        return bool(self._processor.force_flush(timeout_millis))
