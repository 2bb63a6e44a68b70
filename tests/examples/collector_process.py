"""A receiver of OTLP over HTTP as a process of its own, so that it can be killed. Each record that it takes is one line of a file.

    python3 -m examples.collector_process PORT FILE
"""

import gzip
import http.server
import json
import sys
from pathlib import Path
from typing import Any

import support.grpc_client  # noqa: F401 - makes .run/grpcio importable
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


def records_of(path: str, body: bytes) -> list[dict[str, Any]]:
    """What an export request brings; an exception if it is none."""
    if path == "/v1/logs":
        logs = logs_service_pb2.ExportLogsServiceRequest.FromString(body)
        return [{"signal": "logs", "service": _attributes(group.resource.attributes).get("service.name"), "scope": scope.scope.name,
                 "severity": log.severity_text, "body": log.body.string_value, "attributes": _attributes(log.attributes)}
                for group in logs.resource_logs for scope in group.scope_logs for log in scope.log_records]
    if path == "/v1/traces":
        traces = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
        return [{"signal": "traces", "service": _attributes(group.resource.attributes).get("service.name"), "scope": scope.scope.name,
                 "name": span.name, "trace": span.trace_id.hex(), "events": len(span.events), "attributes": _attributes(span.attributes)}
                for group in traces.resource_spans for scope in group.scope_spans for span in scope.spans]
    return [{"signal": path.rsplit("/", 1)[1], "bytes": len(body)}]


def main() -> None:
    """Serves until it is killed."""
    port, file = int(sys.argv[1]), Path(sys.argv[2])
    output = file.open("a")

    class Handler(http.server.BaseHTTPRequestHandler):
        """One connection."""

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # noqa: N802 - the base class names it
            """Takes one request, and says so only when it is written down."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            packed = self.headers["Content-Encoding"] == "gzip"
            for record in records_of(self.path, gzip.decompress(body) if packed else body):
                output.write(json.dumps({**record, "packed": packed}) + "\n")
            output.flush()
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Silent."""

    http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
