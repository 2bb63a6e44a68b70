package dev.sluice.client.web;

import dev.sluice.client.Check;
import dev.sluice.client.Decision;
import dev.sluice.client.Lease;
import dev.sluice.client.Sluice;
import dev.sluice.client.SluiceException;
import dev.sluice.client.internal.Json;
import java.time.Duration;
import java.util.LinkedHashMap;
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
   * @param address the client's address, as the framework finds it
   * @param accept the header {@code Accept}; null for none
   */
  public record Facts(String method, String endpoint, String address, String accept) {}

  /** What to do with a request. */
  public static final class Verdict implements AutoCloseable {
    private final Lease lease;
    private final boolean passes;
    private final String body;
    private final String contentType;

    private Verdict(Lease lease, boolean passes, String contentType, String body) {
      this.lease = lease;
      this.passes = passes;
      this.contentType = contentType;
      this.body = body;
    }

    /** Whether the handler runs. */
    public boolean passes() {
      return passes;
    }

    public Decision decision() {
      return lease.decision();
    }

    /** The headers of the response. */
    public Map<String, String> headers() {
      return lease.decision().headers();
    }

    /** For {@code Access-Control-Expose-Headers}; empty if there are no headers. */
    public String exposedHeaders() {
      return String.join(", ", headers().keySet());
    }

    /** How long to wait before the handler runs. */
    public Duration delay() {
      return passes ? lease.decision().delay() : Duration.ZERO;
    }

    /** The status of a denial. */
    public int status() {
      return statusOf(lease.decision());
    }

    /** The content type of a denial's body. */
    public String contentType() {
      return contentType;
    }

    /** The body of a denial. */
    public String body() {
      return body;
    }

    /** The response has been sent, or never will be: gives the lease back. */
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
      lease = sluice.lease(check(request, facts));
    } catch (SluiceException error) { // the mode RAISE: 503
      lease = new NoLease(Decision.ofError(error, false));
    }
    Decision decision = lease.decision();
    if (decision.allowed() && decision.delay().compareTo(options.maxDelay()) <= 0) {
      return Optional.of(new Verdict(lease, true, "", ""));
    }
    boolean plain = prefersPlain(facts.accept());
    Verdict denial = new Verdict(lease, false, plain ? "text/plain; charset=utf-8" : "application/problem+json",
        plain ? plainBody(decision) : problem(decision));
    return Optional.of(denial);
  }

  private Check check(R request, Facts facts) {
    String key = options.key().apply(request);
    String resource = options.resource().apply(request);
    Check.Builder check = Check.builder()
        .resource(resource != null ? resource : facts.method() + ":" + facts.endpoint())
        .subject(key != null ? key : ClientAddress.subject(facts.address()))
        .field("endpoint", facts.endpoint())
        .field("method", facts.method())
        .cost(options.cost().applyAsLong(request));
    if (facts.address() != null && !facts.address().isEmpty()) {
      check.field("source_ip", facts.address());
    }
    if (options.planId() != null) {
      check.planId(options.planId());
    }
    return check.build();
  }

  /** 429, or 503 if it is not the caller's limit that denies. */
  public static int statusOf(Decision decision) {
    return !decision.decided() || decision.reason().equals("fail_closed") ? 503 : 429;
  }

  private static String plainBody(Decision decision) {
    return statusOf(decision) == 429 ? "Rate limit exceeded\n" : "Rate limiter unavailable\n";
  }

  private static String problem(Decision decision) {
    boolean limited = statusOf(decision) == 429;
    Map<String, Object> problem = new LinkedHashMap<>();
    problem.put("type", "about:blank");
    problem.put("title", limited ? "Too Many Requests" : "Service Unavailable");
    problem.put("status", (long) statusOf(decision));
    Duration wait = decision.allowed() ? decision.delay() : decision.retryAfter().orElse(null);
    if (wait == null || (wait.isZero() && !decision.decided())) {
      problem.put("detail", limited ? "Rate limit exceeded." : "The rate limiter cannot answer now.");
    } else {
      long seconds = (wait.toMillis() + 999) / 1000;
      problem.put("detail", (limited ? "Rate limit exceeded." : "The rate limiter cannot answer now.") + " Try again in " + seconds + " s.");
      problem.put("retry_after", seconds);
    }
    return Json.write(problem);
  }

  private static boolean prefersPlain(String accept) {
    return accept != null && accept.strip().startsWith("text/plain");
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
