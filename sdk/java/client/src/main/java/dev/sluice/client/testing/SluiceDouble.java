package dev.sluice.client.testing;

import dev.sluice.client.Check;
import dev.sluice.client.Decision;
import dev.sluice.client.ErrorKind;
import dev.sluice.client.Lease;
import dev.sluice.client.Sluice;
import dev.sluice.client.SluiceException;
import dev.sluice.client.internal.Deadline;
import dev.sluice.client.internal.Waiting;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/** Stands for a client in tests: needs no agent, answers as it is told, and records what it is asked. */
public final class SluiceDouble implements Sluice {
  private static final long LEASE_SECONDS = 60;
  // What a decision calls otherwise than a reply.
  private static final Map<Object, String> REPLY_NAMES = Map.of("policy", "policy_id", "plan", "plan_id", "reset", "reset_at");

  private final boolean otherwise;
  private final Deque<Object> script = new ArrayDeque<>(); // Map or ErrorKind
  private final List<Map<String, Object>> checks = new ArrayList<>();
  private final Set<String> openLeases = new LinkedHashSet<>();
  private long leases;

  private SluiceDouble(boolean otherwise, List<?> entries) {
    this.otherwise = otherwise;
    for (Object entry : entries) {
      if (!(entry instanceof Map<?, ?>) && !(entry instanceof ErrorKind)) {
        throw new IllegalArgumentException("an entry of a script must be a Map or an ErrorKind; got " + entry);
      }
      script.add(entry);
    }
  }

  /** Allows every check. */
  public static SluiceDouble alwaysAllow() {
    return new SluiceDouble(true, List.of());
  }

  /** Denies every check. */
  public static SluiceDouble alwaysDeny() {
    return new SluiceDouble(false, List.of());
  }

  /**
   * Answers in this order, and allows when the script is over.
   *
   * @param entries each the members of a decision ({@code Map.of("allowed", false, "retry_after_ms", 1000L)}), or an
   *     {@link ErrorKind}, for a decision without an agent that is allowed
   */
  public static SluiceDouble scripted(List<?> entries) {
    return new SluiceDouble(true, entries);
  }

  /** The fields of all checks so far. */
  public synchronized List<Map<String, Object>> checks() {
    return List.copyOf(checks);
  }

  /** The ids of leases that were taken and not given back. */
  public synchronized List<String> openLeases() {
    return List.copyOf(openLeases);
  }

  @Override
  public Decision check(Check check) {
    return next(check);
  }

  @Override
  public List<Decision> checkBatch(List<Check> all) {
    return all.stream().map(this::next).toList();
  }

  @Override
  public Decision await(Check check, Duration upTo) {
    return Waiting.until(Deadline.in(upTo), check, (asked, left) -> next(asked), unheard -> {});
  }

  @Override
  public synchronized Lease hold(Decision decision, boolean keepAlive) {
    String id = decision.allowed() ? decision.leaseId().orElse(null) : null;
    if (id != null) {
      openLeases.add(id);
    }
    return new DoubleLease(decision, id);
  }

  @Override
  public Lease lease(Check check, boolean keepAlive) {
    Decision decision = next(check);
    if (!decision.allowed()) {
      return new DoubleLease(decision, null);
    }
    synchronized (this) {
      String id = decision.leaseId().orElse("lease-" + ++leases);
      openLeases.add(id);
      Map<String, Object> body = new LinkedHashMap<>(decision.raw());
      body.put("lease_id", id);
      body.putIfAbsent("lease_expires_at", System.currentTimeMillis() / 1000 + LEASE_SECONDS);
      return new DoubleLease(Decision.of(body, decision.status(), decision.headers(), null), id);
    }
  }

  @Override
  public synchronized boolean release(String leaseId) {
    return openLeases.remove(leaseId);
  }

  @Override
  public synchronized OptionalLong renew(String leaseId) {
    return openLeases.contains(leaseId)
        ? OptionalLong.of(System.currentTimeMillis() / 1000 + LEASE_SECONDS)
        : OptionalLong.empty();
  }

  @Override
  public void close() {}

  private synchronized Decision next(Check check) {
    checks.add(check.fields());
    Object entry = script.poll();
    if (entry instanceof ErrorKind kind) {
      return Decision.ofError(new SluiceException(kind, "scripted"), true);
    }
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("allowed", otherwise);
    if (entry instanceof Map<?, ?> members) {
      members.forEach((name, value) -> body.put(
          REPLY_NAMES.getOrDefault(name, String.valueOf(name)), value instanceof Integer small ? (Object) small.longValue() : value));
    }
    boolean allowed = Boolean.TRUE.equals(body.get("allowed"));
    body.putIfAbsent("action", allowed ? "allow" : "deny");
    body.putIfAbsent("reason", allowed ? "within_limit" : "limit_exceeded");
    body.putIfAbsent("retry_after_ms", 0L);
    body.putIfAbsent("delay_ms", 0L);
    body.putIfAbsent("shadow", false);
    return Decision.of(body, allowed ? 200 : 429, Map.of(), null);
  }

  private final class DoubleLease implements Lease {
    private final Decision decision;
    private final String id;

    DoubleLease(Decision decision, String id) {
      this.decision = decision;
      this.id = id;
    }

    @Override
    public Decision decision() {
      return decision;
    }

    @Override
    public boolean lost() {
      return false;
    }

    @Override
    public void close() {
      if (id != null) {
        release(id);
      }
    }
  }
}
