package dev.sluice.conformance;

import dev.sluice.client.Check;
import dev.sluice.client.Decision;
import dev.sluice.client.ErrorKind;
import dev.sluice.client.Lease;
import dev.sluice.client.OnError;
import dev.sluice.client.Sluice;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.SluiceException;
import dev.sluice.client.SluiceOptions;
import dev.sluice.client.internal.Json;
import dev.sluice.client.testing.SluiceDouble;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** The adapter of the conformance suite (sdk/CONTRACT.md). Each operation has a thread. */
public final class Adapter {
  private final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Map<String, Sluice> clients = new ConcurrentHashMap<>();
  private final Map<String, Lease> leases = new ConcurrentHashMap<>();
  private final Map<Object, Operation> running = new ConcurrentHashMap<>();

  private Adapter() {}

  public static void main(String[] arguments) throws IOException {
    new Adapter().run();
  }

  private void run() throws IOException {
    say(Map.of("ready", true, "sdk", "java", "version", SluiceClient.VERSION));
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    String line;
    while ((line = in.readLine()) != null) {
      Map<String, Object> question = object(Json.parse(line));
      Long id = (Long) question.get("id");
      Operation operation = new Operation();
      running.put(id, operation);
      threads.execute(() -> {
        operation.begin();
        try {
          answer(id, question);
        } finally {
          operation.end();
          running.remove(id);
        }
      });
    }
    System.exit(0);
  }

  /** An operation that may be cancelled, also before its thread has begun it: unlike that of a Future, it is answered then too. */
  private static final class Operation {
    private Thread thread;
    private boolean cancelled;

    synchronized void begin() {
      thread = Thread.currentThread();
      if (cancelled) {
        thread.interrupt();
      }
    }

    synchronized void cancel() {
      cancelled = true;
      if (thread != null) {
        thread.interrupt();
      }
    }

    /** What comes later must not meet the next operation of the thread. */
    synchronized void end() {
      thread = null;
      Thread.interrupted();
    }
  }

  private void answer(Long id, Map<String, Object> question) {
    long started = System.nanoTime();
    Map<String, Object> answer = new LinkedHashMap<>();
    try {
      answer.putAll(operate(question));
    } catch (CancellationException cancelled) {
      answer.put("cancelled", true);
    } catch (SluiceException error) {
      answer.put("raised", shown(error));
    } catch (IllegalArgumentException | IllegalStateException | NullPointerException | ClassCastException misuse) {
      answer.put("raised", Map.of("kind", "misuse", "status", 0L, "code", "", "message", String.valueOf(misuse.getMessage())));
    } catch (RuntimeException other) {
      answer.put("raised", Map.of("kind", other.getClass().getName(), "status", 0L, "code", "", "message", String.valueOf(other)));
    }
    answer.put("id", id);
    answer.put("elapsed_ms", (System.nanoTime() - started) / 1e6);
    say(answer);
  }

  private Map<String, Object> operate(Map<String, Object> question) {
    String operation = (String) question.get("op");
    return switch (operation) {
      case "new" -> {
        clients.put((String) question.get("client"), SluiceClient.create(options(object(question.get("options")))));
        yield Map.of("ok", true);
      }
      case "double" -> {
        clients.put((String) question.get("client"), makeDouble(question));
        yield Map.of("ok", true);
      }
      case "check" -> Map.of("decision", shown(client(question).check(check(question, question.get("check")))));
      case "check_batch" -> {
        List<Check> checks = list(question.get("checks")).stream().map(one -> check(question, one)).toList();
        yield Map.of("decisions", client(question).checkBatch(checks).stream().map(Adapter::shown).toList());
      }
      case "wait" -> Map.of("decision", shown(client(question).await(check(question, question.get("check")), milliseconds(question.get("up_to_ms")))));
      case "lease" -> {
        Lease lease = client(question).lease(check(question, question.get("check")), Boolean.TRUE.equals(question.get("keep_alive")));
        leases.put((String) question.get("lease"), lease);
        yield Map.of("decision", shown(lease.decision()));
      }
      case "end_lease" -> endLease(question);
      case "release" -> Map.of("released", client(question).release((String) question.get("lease_id")));
      case "renew" -> {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("lease_expires_at", orNull(client(question).renew((String) question.get("lease_id"))));
        yield answer;
      }
      case "cancel" -> {
        Operation of = running.get(question.get("of"));
        if (of != null) {
          of.cancel();
        }
        yield Map.of("ok", true);
      }
      case "recorded" -> {
        SluiceDouble recorder = (SluiceDouble) client(question);
        yield Map.of("checks", recorder.checks(), "open_leases", recorder.openLeases());
      }
      case "describe" -> Map.of("text", client(question).toString());
      case "close" -> {
        client(question).close();
        yield Map.of("ok", true);
      }
      default -> throw new IllegalArgumentException("unknown operation " + operation);
    };
  }

  private static final class Broken extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  private Map<String, Object> endLease(Map<String, Object> question) {
    Lease lease = leases.remove((String) question.get("lease"));
    try (lease) {
      switch ((String) question.get("how")) {
        case "fail" -> throw new Broken();
        case "cancel" -> Thread.currentThread().interrupt();
        default -> { }
      }
    } catch (Broken expected) {
      // It left the block.
    }
    Thread.interrupted();
    return Map.of("ok", true, "lost", lease.lost());
  }

  private Sluice client(Map<String, Object> question) {
    return clients.get((String) question.get("client"));
  }

  private static Check check(Map<String, Object> question, Object fields) {
    Check.Builder builder = Check.builder();
    object(fields).forEach(builder::field);
    if (question.get("traceparent") != null) {
      builder.trace((String) question.get("traceparent"), (String) question.get("tracestate"));
    }
    return builder.build();
  }

  private static SluiceOptions options(Map<String, Object> given) {
    SluiceOptions options = SluiceOptions.create();
    Map<String, Object> left = new LinkedHashMap<>(given);
    left.forEach((name, value) -> {
      switch (name) {
        case "url" -> options.url((String) value);
        case "socket" -> options.socket((String) value);
        case "api_key" -> options.apiKey((String) value);
        case "api_key_file" -> options.apiKeyFile(Path.of((String) value));
        case "timeout_ms" -> options.timeout(milliseconds(value));
        case "on_error" -> options.onError(mode((String) value));
        case "max_connections" -> options.maxConnections(((Long) value).intValue());
        case "ca_file" -> options.caFile(Path.of((String) value));
        case "client_certificate" -> options.clientCertificate(Path.of((String) value), path(given.get("client_key")));
        case "client_key" -> {
          if (given.get("client_certificate") == null) {
            options.clientCertificate(null, Path.of((String) value));
          }
        }
        default -> throw new IllegalArgumentException("unknown option " + name);
      }
    });
    return options;
  }

  private static Path path(Object text) {
    return text == null ? null : Path.of((String) text);
  }

  private static OnError mode(String text) {
    try {
      return OnError.valueOf(text.toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException wrong) {
      throw new IllegalArgumentException("the option on_error must be allow, deny or raise; got \"" + text + "\"");
    }
  }

  private static Duration milliseconds(Object value) {
    return Duration.ofNanos((long) (((Number) value).doubleValue() * 1e6));
  }

  private static SluiceDouble makeDouble(Map<String, Object> question) {
    return switch ((String) question.get("kind")) {
      case "always_allow" -> SluiceDouble.alwaysAllow();
      case "always_deny" -> SluiceDouble.alwaysDeny();
      default -> {
        List<Object> entries = new ArrayList<>();
        for (Object entry : list(question.get("script"))) {
          Object error = object(entry).get("error");
          entries.add(error == null ? entry : ErrorKind.valueOf(((String) error).toUpperCase(Locale.ROOT)));
        }
        yield SluiceDouble.scripted(entries);
      }
    };
  }

  private static Map<String, Object> shown(Decision decision) {
    Map<String, Object> shown = new LinkedHashMap<>();
    shown.put("allowed", decision.allowed());
    shown.put("success", decision.success());
    shown.put("reason", decision.reason());
    shown.put("action", decision.action());
    shown.put("limit", orNull(decision.limit()));
    shown.put("remaining", orNull(decision.remaining()));
    shown.put("reset", orNull(decision.reset()));
    shown.put("retry_after_ms", decision.retryAfter().map(Duration::toMillis).orElse(null));
    shown.put("delay_ms", decision.delay().toMillis());
    shown.put("waited_ms", decision.waited().toMillis());
    shown.put("policy", decision.policy().orElse(null));
    shown.put("policy_version", orNull(decision.policyVersion()));
    shown.put("plan", decision.plan().orElse(null));
    shown.put("limit_name", decision.limitName().orElse(null));
    shown.put("shadow", decision.shadow());
    shown.put("would_allow", decision.wouldAllow());
    shown.put("over_limit", decision.overLimit());
    shown.put("sample_rate", decision.sampleRate().isPresent() ? decision.sampleRate().getAsDouble() : null);
    shown.put("downgrade_to", decision.downgradeTo().orElse(null));
    shown.put("metadata", decision.metadata().isEmpty() ? null : decision.metadata());
    shown.put("lease_id", decision.leaseId().orElse(null));
    shown.put("lease_expires_at", orNull(decision.leaseExpiresAt()));
    Map<String, Object> headers = new LinkedHashMap<>();
    decision.toHeaders().forEach((name, value) -> headers.put(name.toLowerCase(Locale.ROOT), value));
    shown.put("headers", headers);
    shown.put("status", (long) decision.status());
    shown.put("request_id", decision.requestId().orElse(null));
    shown.put("decided", decision.decided());
    shown.put("error", decision.error().map(Adapter::shown).orElse(null));
    shown.put("raw", decision.raw());
    return shown;
  }

  private static Map<String, Object> shown(SluiceException error) {
    return Map.of("kind", error.kind().toString(), "status", (long) error.status(), "code", error.code(), "detail", error.detail(),
        "errors", error.errors(), "message", error.detail());
  }

  private static Long orNull(OptionalLong value) {
    return value.isPresent() ? value.getAsLong() : null;
  }

  private void say(Map<String, Object> answer) {
    String line = Json.write(answer);
    synchronized (out) {
      out.println(line);
      out.flush();
    }
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> object(Object value) {
    return (Map<String, Object>) value;
  }

  @SuppressWarnings("unchecked")
  private static List<Object> list(Object value) {
    return (List<Object>) value;
  }
}
