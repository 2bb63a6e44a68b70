package dev.sluice.client;

import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * Whether a request may go on, and why. Immutable. Members of the reply that have another type than expected count as
 * absent.
 */
public final class Decision {
  private final Map<String, Object> body;
  private final int status;
  private final Map<String, String> headers;
  private final String requestId;
  private final SluiceException error;

  private Decision(
      Map<String, Object> body, int status, Map<String, String> headers, String requestId, SluiceException error) {
    this.body = Collections.unmodifiableMap(new LinkedHashMap<>(body));
    this.status = status;
    this.headers = Collections.unmodifiableMap(new LinkedHashMap<>(headers));
    this.requestId = requestId;
    this.error = error;
  }

  /**
   * A decision of an agent.
   *
   * @param body the reply's body, with a boolean {@code allowed}
   * @param status the HTTP status of the reply
   * @param headers its rate limit headers
   * @param requestId of the reply's header; null for none
   */
  public static Decision of(Map<String, Object> body, int status, Map<String, String> headers, String requestId) {
    return new Decision(body, status, headers, requestId, null);
  }

  /** What {@code onError} makes of an error. */
  public static Decision ofError(SluiceException error, boolean allowed) {
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("allowed", allowed);
    body.put("action", allowed ? "allow" : "deny");
    body.put("reason", "error");
    return new Decision(body, error.status(), Map.of(), null, error);
  }

  /** The same decision after its delay has passed. */
  public Decision afterDelay() {
    Map<String, Object> without = new LinkedHashMap<>(body);
    without.put("delay_ms", 0L);
    return new Decision(without, status, headers, requestId, error);
  }

  /** Whether the request may go on. */
  public boolean allowed() {
    return Boolean.TRUE.equals(body.get("allowed"));
  }

  /** The same as {@link #allowed()}. */
  public boolean success() {
    return allowed();
  }

  /** The agent's reason, such as {@code within_limit}; {@code error} if it gave no decision. */
  public String reason() {
    return text("reason").orElse("");
  }

  /** The agent's action, such as {@code allow}, {@code deny} or {@code delay}. */
  public String action() {
    return text("action").orElse("");
  }

  /** The limit that decides. */
  public OptionalLong limit() {
    return number("limit");
  }

  /** What is left of it. */
  public OptionalLong remaining() {
    return number("remaining");
  }

  /** When the whole limit is back, in Unix seconds. */
  public OptionalLong reset() {
    return number("reset_at");
  }

  /** How long until the same check would pass; zero if allowed. Empty if it never can, or if the client cannot know. */
  public Optional<Duration> retryAfter() {
    OptionalLong milliseconds = number("retry_after_ms");
    if (milliseconds.isPresent()) {
      return Optional.of(Duration.ofMillis(milliseconds.getAsLong()));
    }
    return allowed() ? Optional.of(Duration.ZERO) : Optional.empty();
  }

  /** How long to wait before going on; zero if it need not. */
  public Duration delay() {
    return Duration.ofMillis(number("delay_ms").orElse(0));
  }

  /** How long the agent held the check. */
  public Duration waited() {
    return Duration.ofMillis(number("waited_ms").orElse(0));
  }

  /** The id of the policy that decided. */
  public Optional<String> policy() {
    return text("policy_id");
  }

  /** Its version. */
  public OptionalLong policyVersion() {
    return number("policy_version");
  }

  /** The id of the plan. */
  public Optional<String> plan() {
    return text("plan_id");
  }

  /** The name of the limit that decides. */
  public Optional<String> limitName() {
    return text("limit_name");
  }

  /** The policy is in shadow mode: judged, not enforced. */
  public boolean shadow() {
    return Boolean.TRUE.equals(body.get("shadow"));
  }

  /** Whether the request would pass if the policy were enforced. */
  public boolean wouldAllow() {
    return body.get("would_allow") instanceof Boolean would ? would : allowed();
  }

  /** Whether the request is over a limit, even if it may pass. */
  public boolean overLimit() {
    if (body.get("over_limit") instanceof Boolean over) {
      return over;
    }
    return reason().equals("limit_exceeded") || reason().equals("sampled");
  }

  /** The share of requests over the limit that pass, with the action {@code sample}. */
  public OptionalDouble sampleRate() {
    return body.get("sample_rate") instanceof Number rate ? OptionalDouble.of(rate.doubleValue()) : OptionalDouble.empty();
  }

  /** What to use instead, with the action {@code downgrade}. */
  public Optional<String> downgradeTo() {
    return text("downgrade_to");
  }

  /** The policy's metadata; empty if it has none. */
  @SuppressWarnings("unchecked")
  public Map<String, Object> metadata() {
    return body.get("metadata") instanceof Map<?, ?> metadata ? (Map<String, Object>) metadata : Map.of();
  }

  /** The lease that the check took. */
  public Optional<String> leaseId() {
    return text("lease_id");
  }

  /** When it ends by itself, in Unix seconds. */
  public OptionalLong leaseExpiresAt() {
    return number("lease_expires_at");
  }

  /** The rate limit headers of the reply, to be sent on to the caller. */
  public Map<String, String> headers() {
    return headers;
  }

  /** The same as {@link #headers()}. */
  public Map<String, String> toHeaders() {
    return headers;
  }

  /** The HTTP status of the reply; 0 without a reply. */
  public int status() {
    return status;
  }

  /** The request's id, to find it in logs. */
  public Optional<String> requestId() {
    Optional<String> own = text("request_id");
    return own.isPresent() ? own : Optional.ofNullable(requestId);
  }

  /** Whether an agent decided. */
  public boolean decided() {
    return error == null;
  }

  /** Why there is no decision of an agent. */
  public Optional<SluiceException> error() {
    return Optional.ofNullable(error);
  }

  /** The body of the reply, with members that this class does not know. Empty without a decision. */
  public Map<String, Object> raw() {
    return error == null ? body : Map.of();
  }

  @Override
  public String toString() {
    return "Decision" + body;
  }

  private Optional<String> text(String name) {
    return body.get(name) instanceof String text ? Optional.of(text) : Optional.empty();
  }

  private OptionalLong number(String name) {
    return body.get(name) instanceof Long number ? OptionalLong.of(number) : OptionalLong.empty();
  }
}
