"""A receiver of OTLP over HTTP, as a collector is one: decodes with OpenTelemetry's own messages (opentelemetry-proto of .run/grpcio)."""

import http.server
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, Optional

import support.grpc_client  # noqa: F401 - makes .run/grpcio importable
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from support.process import free_port, wait_until

SPANS_SECONDS = 20.0


class Span(NamedTuple):
    """What the tests ask of a span."""

    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    trace_state: str
    attributes: dict[str, Any]
    failed: bool
    seconds: float
    resource: dict[str, Any]
    links: list[tuple[str, str]]   # trace and span
    dropped_links: int


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


def decoded(body: bytes) -> list[Span]:
    """The spans of one ExportTraceServiceRequest."""
    request = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
    return [Span(span.name, span.kind, span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex(), span.trace_state,
                 _attributes(span.attributes), span.status.code == 2, (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                 _attributes(group.resource.attributes), [(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
                 span.dropped_links_count)
            for group in request.resource_spans for scope in group.scope_spans for span in scope.spans]


class Collector:
    """Listens from the start. `answer` is a status, or a function that sends what it likes; None: it never answers."""

    def __init__(self, answer: Optional[int | Callable[[http.server.BaseHTTPRequestHandler], None]] = 200) -> None:
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.answer = answer
        self.requests: list[tuple[str, dict[str, str]]] = []   # path, headers
        self._spans: list[Span] = []
        self._closed = threading.Event()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """One connection of an exporter."""

            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:  # noqa: N802 - the base class names it
                """Takes one request."""
                body = self.rfile.read(int(self.headers["Content-Length"]))
                owner.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                if owner.answer is None:
                    owner._closed.wait()
                    self.close_connection = True
                elif callable(owner.answer):
                    owner.answer(self)
                else:
                    if owner.answer == 200:
                        owner._spans.extend(decoded(body))
                    self.send_response(owner.answer)
                    self.send_header("Content-Length", "0")
                    self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Silent."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> "Collector":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends it; requests without an answer lose their connection."""
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()

    def spans(self, trace_id: str = "") -> list[Span]:
        """The spans so far, of one trace or of all."""
        return [span for span in list(self._spans) if trace_id in ("", span.trace_id)]

    def wait_for(self, count: int, trace_id: str = "") -> dict[str, Span]:
        """The spans of a trace by their names, when there are so many."""
        wait_until(f"{count} spans of the trace {trace_id}", lambda: len(self.spans(trace_id)) >= count, SPANS_SECONDS)
        found = self.spans(trace_id)
        assert len(found) == count, [span.name for span in found]
        return {span.name: span for span in found}
