"""An application with OpenTelemetry's SDK, as anybody writes one. Runs in .run/otlp-exporter:

    python sdk_application.py ENDPOINT

Reads lines of JSON: {"log": TEXT, "level": NAME, "n": NUMBER} or {"span": NAME, "n": NUMBER, "failed": BOOL}. At their end it flushes, and
prints what the exporters said, as JSON.
"""

import json
import logging
import sys

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode

endpoint = sys.argv[1]
results: list[str] = []


def noting(exporter):
    """The exporter, with its results kept."""
    export = exporter.export

    def kept(batch):
        result = export(batch)
        results.append(result.name)
        return result

    exporter.export = kept
    return exporter


resource = Resource.create({"service.name": "checkout", "deployment.environment.name": "prod"})
logs = LoggerProvider(resource=resource)
logs.add_log_record_processor(BatchLogRecordProcessor(
    noting(OTLPLogExporter(f"{endpoint}/v1/logs", compression=Compression.Gzip)), max_export_batch_size=50))
traces = TracerProvider(resource=resource)
traces.add_span_processor(BatchSpanProcessor(noting(OTLPSpanExporter(f"{endpoint}/v1/traces")), max_export_batch_size=50))
logger = logging.getLogger("shop")
logger.addHandler(LoggingHandler(logger_provider=logs))
logger.setLevel(logging.DEBUG)
logger.propagate = False
tracer = traces.get_tracer("shop")

for line in sys.stdin:
    record = json.loads(line)
    if "log" in record:
        logger.log(getattr(logging, record["level"]), record["log"], extra={"n": record["n"], "http.route": "/cart/{id}"})
    else:
        with tracer.start_as_current_span(record["span"], attributes={"n": record["n"]}) as span:
            span.add_event("an event")
            if record.get("failed"):
                span.set_status(Status(StatusCode.ERROR))
logs.shutdown()
traces.shutdown()
print(json.dumps({"results": results}))
