"""Log records and spans of the tests, in memory. Prints one JSON object: what passed."""

import json
import logging

import sluice
from flask import Flask
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sluice.flask import Sluice
from sluice.logging import RateLimitFilter
from sluice.otel import RateLimitLogExporter, RateLimitLogProcessor, RateLimitSpanExporter, RateLimitSpanProcessor
from sluice.testing import always_deny

client = sluice.Client()


class Kept(logging.Handler):
    """Keeps what passed."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


class KeptLogs:
    """A log exporter."""

    def __init__(self) -> None:
        self.bodies: list[str] = []

    def export(self, batch: object) -> None:
        for one in batch:   # type: ignore[attr-defined]
            self.bodies.append(str(one.log_record.body))

    def shutdown(self) -> None:
        pass

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return True


def by_logging() -> dict[str, object]:
    handler = Kept()
    handler.addFilter(RateLimitFilter(client))
    root = logging.getLogger()
    root.handlers = [handler]
    chatty = logging.getLogger("chatty")
    for number in range(5):
        chatty.warning("number %d", number)
    chatty.critical("always")
    logging.getLogger("quiet").warning("one")
    logging.getLogger("sluice").warning("of the SDK itself")
    return {"passed": [(record.name, record.getMessage()) for record in handler.records],
            "suppressed": [getattr(record, "suppressed", None) for record in handler.records]}


def spans(provider: TracerProvider, exporter: InMemorySpanExporter) -> list[str]:
    tracer = provider.get_tracer("tests")
    for name in ["limited"] * 5 + ["other"]:
        with tracer.start_as_current_span(name):
            pass
    provider.shutdown()
    return [span.name for span in exporter.get_finished_spans()]


def by_span_exporter() -> list[str]:
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(BatchSpanProcessor(RateLimitSpanExporter(exporter, client, fields=lambda _: {"subject": "exporter"})))
    return spans(provider, exporter)


def by_span_processor() -> list[str]:
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(RateLimitSpanProcessor(SimpleSpanProcessor(exporter), client, fields=lambda _: {"subject": "processor"}))
    return spans(provider, exporter)


def logs(processor_of: object, subject: str) -> list[str]:
    provider, exporter = LoggerProvider(), KeptLogs()
    provider.add_log_record_processor(processor_of(exporter, lambda _: {"subject": subject}))   # type: ignore[operator]
    logger = provider.get_logger("chatty")
    for number in range(5):
        logger.emit(body=f"number {number}", severity_text="WARN")
    provider.shutdown()
    return exporter.bodies


result = {"logging": by_logging(), "span_exporter": by_span_exporter(), "span_processor": by_span_processor(),
          "log_exporter": logs(lambda exporter, fields: SimpleLogRecordProcessor(RateLimitLogExporter(exporter, client, fields=fields)), "a"),
          "log_processor": logs(lambda exporter, fields: RateLimitLogProcessor(SimpleLogRecordProcessor(exporter), client, fields=fields), "b")}
provider = TracerProvider()
with provider.get_tracer("tests").start_as_current_span("current") as current:
    client.check("traced", "trace")
    result["trace"] = f"{current.get_span_context().trace_id:032x}"
with provider.get_tracer("tests").start_as_current_span("request") as current:
    app = Flask("tests")
    Sluice(app, always_deny())
    assert app.test_client().get("/anything").status_code == 429
    result["attributes"] = dict(current.attributes)   # type: ignore[attr-defined]
print(json.dumps(result))
