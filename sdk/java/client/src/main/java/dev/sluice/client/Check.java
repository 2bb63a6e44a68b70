package dev.sluice.client;

import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * What a request may be limited by: what it asks for, who asks, and what it costs. The agent judges the
 * values; this class only collects them. Immutable.
 */
public final class Check {
  private final Map<String, Object> fields;
  private final String traceparent;
  private final String tracestate;
  private final boolean traceIsIncoming;

  private Check(Builder builder) {
    this.fields = Collections.unmodifiableMap(new LinkedHashMap<>(builder.fields));
    this.traceparent = builder.traceparent;
    this.tracestate = builder.tracestate;
    this.traceIsIncoming = builder.traceIsIncoming;
  }

  /**
   * A check of a resource for a subject.
   *
   * @param resource what is asked for, such as {@code GET:/orders}
   * @param subject the subject that is charged, such as {@code user:42}
   */
  public static Check of(String resource, String subject) {
    return builder().resource(resource).subject(subject).build();
  }

  /** Begins an empty check. */
  public static Builder builder() {
    return new Builder();
  }

  /** The members of the call's body, by the agent's names. */
  public Map<String, Object> fields() {
    return fields;
  }

  /** The trace that the call belongs to; null for none. */
  public String traceparent() {
    return traceparent;
  }

  /** The state of that trace; null for none. */
  public String tracestate() {
    return tracestate;
  }

  /** Whether a current span of OpenTelemetry is sent instead of that trace. */
  boolean traceIsIncoming() {
    return traceIsIncoming;
  }

  /** A builder with the fields of this check. */
  public Builder toBuilder() {
    Builder builder = new Builder();
    builder.fields.putAll(fields);
    builder.traceparent = traceparent;
    builder.tracestate = tracestate;
    builder.traceIsIncoming = traceIsIncoming;
    return builder;
  }

  @Override
  public String toString() {
    return "Check" + fields;
  }

  /** Collects the fields of a check. */
  public static final class Builder {
    private final Map<String, Object> fields = new LinkedHashMap<>();
    private String traceparent;
    private String tracestate;
    private boolean traceIsIncoming;

    private Builder() {}

    /** What is asked for, such as {@code GET:/orders}. */
    public Builder resource(String resource) {
      return field("resource", resource);
    }

    /** The subject that is charged, such as {@code user:42}. */
    public Builder subject(String subject) {
      return field("subject", subject);
    }

    /** Units of {@code requests}; 1 if it is not set. 0 reads and charges nothing. */
    public Builder cost(long cost) {
      return field("cost", cost);
    }

    /** Several units at once, such as {@code requests} and {@code tokens}. */
    public Builder costs(Map<String, Long> costs) {
      return field("costs", Map.copyOf(costs));
    }

    /** Judges by this plan instead of by matching policies. */
    public Builder planId(String planId) {
      return field("plan_id", planId);
    }

    /** Dimensions with names of your own, {@code tag.NAME} in policies. */
    public Builder tags(Map<String, String> tags) {
      return field("tags", Map.copyOf(tags));
    }

    /** Dimensions with names of your own, {@code attr.NAME} in policies. */
    public Builder attributes(Map<String, String> attributes) {
      return field("attributes", Map.copyOf(attributes));
    }

    /** How long the agent may hold the check until it fits. */
    public Builder wait(Duration longest) {
      return field("wait", longest.toMillis() + "ms");
    }

    /** Any other field of a check, by the agent's name, such as {@code endpoint} or {@code region}. */
    public Builder field(String name, Object value) {
      fields.put(Objects.requireNonNull(name, "name"), Objects.requireNonNull(value, name));
      return this;
    }

    /**
     * The trace that the call belongs to, as W3C Trace Context writes it.
     *
     * @param state may be null
     * @throws IllegalArgumentException if a text has characters that a header may not have
     */
    public Builder trace(String parent, String state) {
      this.traceparent = visible("traceparent", parent);
      this.tracestate = visible("tracestate", state);
      this.traceIsIncoming = false;
      return this;
    }

    /**
     * The trace of a request that is being served, for middleware: it is sent unless OpenTelemetry has a current span, which is
     * the nearer parent.
     *
     * @param state may be null
     * @throws IllegalArgumentException if a text has characters that a header may not have
     */
    public Builder incomingTrace(String parent, String state) {
      trace(parent, state);
      this.traceIsIncoming = true;
      return this;
    }

    /** The check. */
    public Check build() {
      return new Check(this);
    }

    private static String visible(String name, String text) {
      if (text != null && text.chars().anyMatch(c -> c < 0x20 || c > 0x7e)) {
        throw new IllegalArgumentException(name + " must be visible ASCII");
      }
      return text;
    }
  }
}
