package dev.sluice.testsupport;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.net.httpserver.HttpServer;
import dev.sluice.client.Check;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.SluiceOptions;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Scope;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which trace a call carries, with OpenTelemetry's API on the class path. */
class TraceTest {
  private static final String SPAN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  private static final String OTHER = "00-11111111111111111111111111111111-2222222222222222-00";

  private final AtomicReference<String> seen = new AtomicReference<>();
  private HttpServer agent;
  private SluiceClient client;

  @BeforeEach
  void start() throws IOException {
    agent = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    agent.createContext("/", exchange -> {
      seen.set(exchange.getRequestHeaders().getFirst("traceparent") + " " + exchange.getRequestHeaders().getFirst("tracestate"));
      exchange.getRequestBody().readAllBytes();
      byte[] body = "{\"allowed\":true}".getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    agent.start();
    client = SluiceClient.create(SluiceOptions.with(Map.of()).url("http://127.0.0.1:" + agent.getAddress().getPort()).timeout(Duration.ofSeconds(10)));
  }

  @AfterEach
  void stop() {
    client.close();
    agent.stop(0);
  }

  private String sent(Check check) {
    client.check(check);
    return seen.get();
  }

  @Test
  void theCurrentSpanIsSentUnlessTheCallerNamesAnother() {
    Check plain = Check.of("a", "b");
    Check named = plain.toBuilder().trace(OTHER, "x=y").build();
    Check incoming = plain.toBuilder().incomingTrace(OTHER, "x=y").build();
    assertEquals("null null", sent(plain));
    assertEquals(OTHER + " x=y", sent(named));
    assertEquals(OTHER + " x=y", sent(incoming));
    SpanContext span = SpanContext.create(SPAN.substring(3, 35), SPAN.substring(36, 52), TraceFlags.getSampled(), TraceState.getDefault());
    Scope scope = Span.wrap(span).makeCurrent();
    try {
      assertEquals(SPAN + " null", sent(plain));
      assertEquals(OTHER + " x=y", sent(named));
      assertEquals(SPAN + " null", sent(incoming)); // the span of the request is nearer than what its caller sent
    } finally {
      scope.close();
    }
  }
}
