package dev.sluice.client.web;

import java.time.Duration;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;

/**
 * How requests become checks.
 *
 * @param <R> the framework's request
 */
public final class WebOptions<R> {
  private Function<R, String> key = request -> null;
  private Function<R, String> resource = request -> null;
  private ToLongFunction<R> cost = request -> 1;
  private Predicate<R> exempt = request -> false;
  private Function<R, String> planId = request -> null;
  private Duration maxDelay = Duration.ofSeconds(1);

  /**
   * The subject that is charged, such as {@code user:42}. Null or empty, and the default: the client's address. What an agent would
   * refuse, such as more than 256 bytes, is replaced by its SHA-256.
   */
  public WebOptions<R> key(Function<R, String> function) {
    this.key = Objects.requireNonNull(function);
    return this;
  }

  /** What is asked for. Null, and the default: {@code METHOD:ENDPOINT}. */
  public WebOptions<R> resource(Function<R, String> function) {
    this.resource = Objects.requireNonNull(function);
    return this;
  }

  /** What a request costs; 1 by default. */
  public WebOptions<R> cost(ToLongFunction<R> function) {
    this.cost = Objects.requireNonNull(function);
    return this;
  }

  /** Requests for which no check is made. */
  public WebOptions<R> exempt(Predicate<R> predicate) {
    this.exempt = Objects.requireNonNull(predicate);
    return this;
  }

  /** Judges by this plan instead of by matching policies. */
  public WebOptions<R> planId(String id) {
    return planId(request -> id);
  }

  /** The plan of a request. Null, and the default: that of the policies that match. */
  public WebOptions<R> planId(Function<R, String> function) {
    this.planId = Objects.requireNonNull(function);
    return this;
  }

  /** The longest delay of an allowed request that is slept; a longer one is a denial. 1 s by default. */
  public WebOptions<R> maxDelay(Duration longest) {
    this.maxDelay = Objects.requireNonNull(longest);
    return this;
  }

  Function<R, String> key() {
    return key;
  }

  Function<R, String> resource() {
    return resource;
  }

  ToLongFunction<R> cost() {
    return cost;
  }

  Predicate<R> exempt() {
    return exempt;
  }

  Function<R, String> planId() {
    return planId;
  }

  Duration maxDelay() {
    return maxDelay;
  }
}
