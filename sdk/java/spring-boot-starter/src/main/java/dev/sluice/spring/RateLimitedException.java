package dev.sluice.spring;

import dev.sluice.client.Decision;
import dev.sluice.client.web.Denial;

/** A call of a {@link RateLimited} method is denied. In a web application it becomes 429 or 503 with problem+json. */
public class RateLimitedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient Decision decision;

  public RateLimitedException(String resource, Decision decision) {
    super(resource + ": " + (Denial.statusOf(decision) == 429 ? "rate limit exceeded" : "rate limiter unavailable"),
        decision.error().orElse(null));
    this.decision = decision;
  }

  /** Why, and until when. Null after the exception was serialized. */
  public Decision decision() {
    return decision;
  }
}
