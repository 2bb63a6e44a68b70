package dev.sluice.client;

import dev.sluice.client.internal.Address;
import dev.sluice.client.internal.Background;
import dev.sluice.client.internal.Deadline;
import dev.sluice.client.internal.ErrorLog;
import dev.sluice.client.internal.Json;
import dev.sluice.client.internal.Pool;
import dev.sluice.client.internal.Replies;
import dev.sluice.client.internal.Reply;
import dev.sluice.client.internal.Tls;
import dev.sluice.client.internal.Waiting;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import javax.net.ssl.SSLContext;

/**
 * The client of an agent. Make one for a process and share it.
 *
 * <pre>{@code
 * try (Sluice sluice = SluiceClient.create()) {
 *   if (!sluice.check("GET:/orders", "user:42").allowed()) {
 *     …
 *   }
 * }
 * }</pre>
 */
public final class SluiceClient implements Sluice {
  /** The version of this SDK. */
  public static final String VERSION = "0.1.0";

  private static final int MAX_BATCH = 256;
  private static final long LEAST_RENEWAL_MILLIS = 50;

  private final Address address;
  private final ApiKey key;
  private final Duration timeout;
  private final OnError onError;
  private final Pool pool;
  private final ErrorLog log;
  private volatile boolean closed;

  private SluiceClient(SluiceOptions options) {
    this.address = Address.parse(options.addressSource(), options.address());
    this.key = options.key();
    this.timeout = options.callTimeout();
    this.onError = options.errorMode();
    SSLContext tls = address.tls() ? Tls.context(options.ca(), options.certificate(), options.certificateKey()) : null;
    this.pool = new Pool(address, tls, options.connections());
    this.log = new ErrorLog(address);
  }

  /** A client with the options of the environment. Opens no connection. */
  public static SluiceClient create() {
    return create(SluiceOptions.create());
  }

  /**
   * A client with these options. Opens no connection.
   *
   * @throws IllegalArgumentException if an option or variable is wrong
   */
  public static SluiceClient create(SluiceOptions options) {
    return new SluiceClient(options);
  }

  @Override
  public Decision check(Check check) {
    Objects.requireNonNull(check, "check");
    requireOpen();
    try {
      return ask(check);
    } catch (SluiceException error) {
      return decided(error);
    }
  }

  @Override
  public List<Decision> checkBatch(List<Check> checks) {
    requireOpen();
    List<Decision> decisions = new ArrayList<>(checks.size());
    SluiceException first = null;
    for (int from = 0; from < checks.size(); from += MAX_BATCH) {
      List<Check> part = checks.subList(from, Math.min(from + MAX_BATCH, checks.size()));
      try {
        Map<String, Object> body = Map.of("checks", part.stream().map(Check::fields).toList());
        Reply reply = post("/v1/check/batch", body, part.get(0), false, Deadline.in(timeout));
        for (Object result : Replies.batch(reply, part.size())) {
          if (result instanceof SluiceException error) {
            logged(error);
            decisions.add(Decision.ofError(error, onError == OnError.ALLOW));
          } else {
            decisions.add((Decision) result);
          }
        }
      } catch (SluiceException error) {
        logged(error);
        first = first == null ? error : first;
        part.forEach(unused -> decisions.add(Decision.ofError(error, onError == OnError.ALLOW)));
      }
    }
    if (first != null && onError == OnError.RAISE) {
      throw first;
    }
    return decisions;
  }

  @Override
  public Decision await(Check check, Duration upTo) {
    Objects.requireNonNull(check, "check");
    if (upTo.isNegative()) {
      throw new IllegalArgumentException("upTo must not be negative; got " + upTo);
    }
    requireOpen();
    Decision decision = Waiting.until(Deadline.in(upTo), check, (asked, left) -> {
      try {
        return ask(asked);
      } catch (SluiceException error) {
        return Decision.ofError(error, onError == OnError.ALLOW);
      }
    }, unheard -> hold(unheard, false).close());
    return decision.decided() ? decision : decided(decision.error().orElseThrow());
  }

  @Override
  public Lease lease(Check check, boolean keepAlive) {
    return hold(check(check), keepAlive);
  }

  @Override
  public Lease hold(Decision decision, boolean keepAlive) {
    return new HeldLease(decision, keepAlive);
  }

  @Override
  public boolean release(String leaseId) {
    Objects.requireNonNull(leaseId, "leaseId");
    requireOpen();
    return onLease("/v1/release", leaseId, body -> Boolean.TRUE.equals(body.get("released")), false, false);
  }

  @Override
  public OptionalLong renew(String leaseId) {
    Objects.requireNonNull(leaseId, "leaseId");
    requireOpen();
    return onLease("/v1/renew", leaseId,
        body -> body.get("lease_expires_at") instanceof Long at ? OptionalLong.of(at) : OptionalLong.empty(),
        OptionalLong.empty(), false);
  }

  @Override
  public void close() {
    closed = true;
    pool.close();
  }

  /** The agent's address and the options; never the API key. */
  @Override
  public String toString() {
    return "SluiceClient{" + address + ", timeout=" + timeout.toMillis() + "ms, onError=" + onError + "}";
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the client is closed");
    }
  }

  private Decision ask(Check check) {
    Duration longest = timeout.plus(Waiting.heldUpTo(check.fields().get("wait")));
    return Replies.decision(post("/v1/check", check.fields(), check, false, Deadline.in(longest)));
  }

  private <T> T onLease(String path, String leaseId, Function<Map<String, Object>, T> read, T otherwise, boolean quiet) {
    try {
      return read.apply(Replies.lease(post(path, Map.of("lease_id", leaseId), null, true, Deadline.in(timeout))));
    } catch (SluiceException error) {
      if (!quiet) {
        logged(error);
        if (onError == OnError.RAISE) {
          throw error;
        }
      }
      return otherwise;
    }
  }

  /** Sends a call, with the new key after a 401 if the key's file has another one by now. */
  private Reply post(String path, Map<String, Object> body, Check trace, boolean repeatable, Deadline deadline) {
    String used = key.get();
    String text;
    try {
      text = Json.write(body);
    } catch (IllegalArgumentException wrong) {
      throw new IllegalArgumentException("a field of the check cannot be sent: " + wrong.getMessage());
    }
    Reply reply = send(path, text, trace, used, repeatable, deadline);
    if (reply.status() == 401) {
      var changed = key.changed(used);
      if (changed.isPresent()) {
        return send(path, text, trace, changed.get(), repeatable, deadline);
      }
    }
    return reply;
  }

  private Reply send(String path, String body, Check trace, String apiKey, boolean repeatable, Deadline deadline) {
    StringBuilder head = new StringBuilder(256).append("POST ").append(path).append(" HTTP/1.1\r\nhost: ")
        .append(address.hostHeader()).append("\r\nuser-agent: sluice-java/").append(VERSION)
        .append("\r\ncontent-type: application/json\r\naccept: application/json\r\n");
    appendHeader(head, "x-api-key", apiKey);
    if (trace != null) {
      String span = trace.traceparent() == null || trace.traceIsIncoming() ? OpenTelemetryTrace.current() : null;
      appendHeader(head, "traceparent", span != null ? span : trace.traceparent());
      appendHeader(head, "tracestate", span != null ? null : trace.tracestate());
    }
    try {
      return pool.call(head.toString(), body, repeatable, deadline);
    } catch (Deadline.InterruptedCallException interrupted) {
      throw new CancellationException("the thread was interrupted");
    } catch (Deadline.PassedException late) {
      throw new SluiceException(ErrorKind.TIMEOUT, late.getMessage());
    } catch (Pool.UnreachableException unreachable) {
      throw new SluiceException(ErrorKind.UNREACHABLE, address + ": " + unreachable.getMessage());
    } catch (IOException broken) {
      String detail = broken.getMessage();
      throw new SluiceException(ErrorKind.PROTOCOL, detail == null ? "the connection broke" : detail);
    }
  }

  private static void appendHeader(StringBuilder head, String name, String value) {
    if (value != null) {
      head.append(name).append(": ").append(value).append("\r\n");
    }
  }

  /** What the caller gets for an error. */
  private Decision decided(SluiceException error) {
    logged(error);
    if (onError == OnError.RAISE) {
      throw error;
    }
    return Decision.ofError(error, onError == OnError.ALLOW);
  }

  private void logged(SluiceException error) {
    String consequence = switch (onError) {
      case ALLOW -> "checks are allowed";
      case DENY -> "checks are denied";
      case RAISE -> "the caller gets an exception";
    };
    log.add(error.kind(), error.detail(), consequence);
  }

  /** A lease of a block, which a timer may keep alive. */
  private final class HeldLease implements Lease {
    private final Decision decision;
    private final String id; // null if there is nothing to give back
    private ScheduledFuture<?> renewal;
    private boolean ended;
    private volatile boolean lost;

    HeldLease(Decision decision, boolean keepAlive) {
      this.decision = decision;
      this.id = decision.allowed() ? decision.leaseId().orElse(null) : null;
      if (id != null && keepAlive && decision.leaseExpiresAt().isPresent()) {
        schedule(decision.leaseExpiresAt().getAsLong());
      }
    }

    @Override
    public Decision decision() {
      return decision;
    }

    @Override
    public boolean lost() {
      return lost;
    }

    @Override
    public void close() {
      synchronized (this) {
        if (ended) {
          return;
        }
        ended = true;
        if (renewal != null) {
          renewal.cancel(false);
        }
      }
      if (id == null) {
        return;
      }
      // An interrupted thread gives its lease back too.
      boolean interrupted = Thread.interrupted();
      try {
        onLease("/v1/release", id, body -> true, false, true);
      } catch (CancellationException again) {
        interrupted = true;
      } finally {
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
    }

    private synchronized void schedule(long expiresAt) {
      if (ended) {
        return;
      }
      long life = expiresAt * 1000 - System.currentTimeMillis();
      long pause = Math.max(LEAST_RENEWAL_MILLIS, life / 3);
      renewal = Background.timer().schedule(() -> Background.workers().execute(() -> renewOnce(expiresAt)), pause, TimeUnit.MILLISECONDS);
    }

    private void renewOnce(long expiresAt) {
      OptionalLong unknown = OptionalLong.of(Long.MIN_VALUE); // the renewal failed: perhaps the lease lives on
      OptionalLong renewed;
      try {
        renewed = onLease("/v1/renew", id,
            body -> body.get("lease_expires_at") instanceof Long at ? OptionalLong.of(at) : OptionalLong.empty(), unknown, true);
      } catch (RuntimeException failed) {
        renewed = unknown;
      }
      if (renewed.isEmpty()) {
        lost = true;
        return;
      }
      schedule(renewed.getAsLong() == Long.MIN_VALUE ? expiresAt : renewed.getAsLong());
    }
  }
}
