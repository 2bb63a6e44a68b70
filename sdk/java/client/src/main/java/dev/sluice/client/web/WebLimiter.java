package dev.sluice.client.web;

import dev.sluice.client.Check;
import dev.sluice.client.Decision;
import dev.sluice.client.Lease;
import dev.sluice.client.Sluice;
import dev.sluice.client.SluiceException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;

/**
 * Judges the requests of a web framework. Safe for use by many threads.
 *
 * @param <R> the framework's request
 */
public final class WebLimiter<R> {
  /** The name under which integrations keep the {@link Decision} in the request's state. */
  public static final String ATTRIBUTE = "dev.sluice.decision";

  private static final int LONGEST_VALUE = 256; // bytes

  private final Sluice sluice;
  private final WebOptions<R> options;

  public WebLimiter(Sluice sluice, WebOptions<R> options) {
    this.sluice = sluice;
    this.options = options;
  }

  /**
   * What a framework knows of a request.
   *
   * @param method the HTTP method
   * @param endpoint the route's pattern, as {@link RoutePattern#normalize} gives it
   * @param address the client's address, as the framework finds it; null for none
   * @param accept the header {@code Accept}; null for none
   * @param traceparent the request's trace; null for none, and for a text that no header may have
   * @param tracestate the state of that trace; null for none
   * @param more further fields of the check, by the agent's names
   */
  public record Facts(
      String method, String endpoint, String address, String accept, String traceparent, String tracestate, Map<String, String> more) {
    /** Facts without a trace. */
    public Facts(String method, String endpoint, String address, String accept) {
      this(method, endpoint, address, accept, null, null, Map.of());
    }
  }

  /** What to do with a request. */
  public static final class Verdict implements AutoCloseable {
    private final Lease lease;
    private final boolean passes;

    private Verdict(Lease lease, boolean passes) {
      this.lease = lease;
      this.passes = passes;
    }

    /** Whether the handler runs. */
    public boolean passes() {
      return passes;
    }

    /** What the agent said, or what {@code onError} made of its silence. */
    public Decision decision() {
      return lease.decision();
    }

    /** How long to wait before the handler runs. */
    public Duration delay() {
      return passes ? lease.decision().delay() : Duration.ZERO;
    }

    /** The response has been sent, or never will be: gives the lease back. A second call does nothing. */
    @Override
    public void close() {
      lease.close();
    }
  }

  /** Judges a request and charges it. Empty if it is exempt. */
  public Optional<Verdict> judge(R request, Facts facts) {
    if (options.exempt().test(request)) {
      return Optional.empty();
    }
    Lease lease;
    try {
      lease = sluice.lease(check(request, facts), true);
    } catch (SluiceException error) { // the mode RAISE: 503
      lease = new NoLease(Decision.ofError(error, false));
    }
    Decision decision = lease.decision();
    boolean passes = decision.allowed() && decision.delay().compareTo(options.maxDelay()) <= 0;
    return Optional.of(new Verdict(lease, passes));
  }

  private Check check(R request, Facts facts) {
    String key = options.key().apply(request);
    String resource = options.resource().apply(request);
    Check.Builder check = Check.builder()
        .resource(fit(resource != null ? resource : facts.method() + ":" + facts.endpoint()))
        .subject(fit(key != null && !key.isEmpty() ? key : ClientAddress.subject(facts.address())))
        .field("endpoint", fit(facts.endpoint()))
        .field("method", fit(facts.method()))
        .cost(options.cost().applyAsLong(request));
    String address = ClientAddress.whole(facts.address());
    if (address != null) {
      check.field("source_ip", address);
    }
    facts.more().forEach((name, value) -> check.field(name, fit(value)));
    String planId = options.planId().apply(request);
    if (planId != null) {
      check.planId(planId);
    }
    if (isTrace(facts.traceparent())) {
      check.incomingTrace(facts.traceparent(), isTrace(facts.tracestate()) ? facts.tracestate() : null);
    }
    return check.build();
  }

  private static boolean isTrace(String text) {
    return text != null && !text.isEmpty() && text.chars().allMatch(c -> c >= 0x20 && c <= 0x7e);
  }

  /** An agent refuses more than 256 bytes, and lone surrogates. A caller must not pass without a limit by sending them. */
  public static String fit(String value) {
    byte[] bytes = value.getBytes(StandardCharsets.UTF_8); // a lone surrogate becomes a question mark
    boolean valid = new String(bytes, StandardCharsets.UTF_8).equals(value);
    if (valid && bytes.length <= LONGEST_VALUE) {
      return value;
    }
    if (!valid) {
      ByteBuffer units = ByteBuffer.allocate(2 * value.length());
      value.chars().forEach(unit -> units.putChar((char) unit));
      bytes = units.array();
    }
    try {
      return "sha256:" + HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException impossible) { // every Java has it
      throw new IllegalStateException(impossible);
    }
  }

  private record NoLease(Decision decision) implements Lease {
    @Override
    public boolean lost() {
      return false;
    }

    @Override
    public void close() {}
  }
}
