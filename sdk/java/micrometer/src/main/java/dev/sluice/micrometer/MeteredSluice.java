package dev.sluice.micrometer;

import dev.sluice.client.Check;
import dev.sluice.client.Decision;
import dev.sluice.client.Lease;
import dev.sluice.client.Sluice;
import dev.sluice.client.SluiceException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A client that counts and times what another one does.
 *
 * <ul>
 *   <li>{@code sluice.client.calls}: a timer of the calls, by {@code operation} ({@code check}, {@code batch}, {@code await},
 *       {@code lease}, {@code release}, {@code renew}) and {@code outcome}: {@code ok}, the kind of an error such as
 *       {@code timeout}, {@code cancelled}, or {@code misuse}.
 *   <li>{@code sluice.client.decisions}: a counter of the decisions, by {@code result}: {@code allowed}, {@code denied}, and
 *       {@code shadow_denied} for what a policy in shadow mode would deny; and by {@code decided}: {@code false} if no agent
 *       decided.
 *   <li>{@code sluice.client.leases}: the leases of blocks that are open.
 * </ul>
 *
 * <p>No tag has a subject or a resource: there is no end of them.
 */
public final class MeteredSluice implements Sluice {
  private final Sluice inner;
  private final MeterRegistry registry;
  private final AtomicLong leases = new AtomicLong();

  /**
   * Makes a client.
   *
   * @param inner is closed with this one
   */
  public MeteredSluice(Sluice inner, MeterRegistry registry) {
    this.inner = inner;
    this.registry = registry;
    Gauge.builder("sluice.client.leases", leases, AtomicLong::get).description("Leases of blocks that are open.").register(registry);
  }

  @Override
  public Decision check(Check check) {
    return timed("check", () -> inner.check(check), this::counted);
  }

  @Override
  public List<Decision> checkBatch(List<Check> checks) {
    return timed("batch", () -> inner.checkBatch(checks), decisions -> {
      String outcome = "ok";
      for (Decision decision : decisions) {
        String one = counted(decision);
        outcome = outcome.equals("ok") ? one : outcome;
      }
      return outcome;
    });
  }

  @Override
  public Decision await(Check check, Duration upTo) {
    return timed("await", () -> inner.await(check, upTo), this::counted);
  }

  @Override
  public Lease lease(Check check, boolean keepAlive) {
    return open(timed("lease", () -> inner.lease(check, keepAlive), taken -> counted(taken.decision())));
  }

  @Override
  public Lease hold(Decision decision, boolean keepAlive) {
    return open(inner.hold(decision, keepAlive));
  }

  private Lease open(Lease lease) {
    return lease.decision().allowed() && lease.decision().leaseId().isPresent() ? new CountedLease(lease) : lease;
  }

  @Override
  public boolean release(String leaseId) {
    return timed("release", () -> inner.release(leaseId), released -> "ok");
  }

  @Override
  public OptionalLong renew(String leaseId) {
    return timed("renew", () -> inner.renew(leaseId), renewed -> "ok");
  }

  @Override
  public void close() {
    inner.close();
  }

  @Override
  public String toString() {
    return inner.toString();
  }

  private <T> T timed(String operation, Supplier<T> call, Function<T, String> outcomeOf) {
    long begun = System.nanoTime();
    String outcome = "misuse";
    try {
      T result = call.get();
      outcome = outcomeOf.apply(result);
      return result;
    } catch (SluiceException error) {
      outcome = error.kind().toString();
      throw error;
    } catch (CancellationException cancelled) {
      outcome = "cancelled";
      throw cancelled;
    } finally {
      Timer.builder("sluice.client.calls").description("Calls of a Sluice agent.").tag("operation", operation).tag("outcome", outcome)
          .register(registry).record(Duration.ofNanos(System.nanoTime() - begun));
    }
  }

  /** Counts a decision, and gives the outcome of its call. */
  private String counted(Decision decision) {
    String result = !decision.allowed() ? "denied" : decision.wouldAllow() ? "allowed" : "shadow_denied";
    Counter.builder("sluice.client.decisions").description("Decisions of a Sluice agent, or of on_error.").tag("result", result)
        .tag("decided", Boolean.toString(decision.decided())).register(registry).increment();
    return decision.error().map(error -> error.kind().toString()).orElse("ok");
  }

  /** A lease that the gauge counts until it ends. */
  private final class CountedLease implements Lease {
    private final Lease lease;
    private final AtomicBoolean open = new AtomicBoolean(true);

    CountedLease(Lease lease) {
      this.lease = lease;
      leases.incrementAndGet();
    }

    @Override
    public Decision decision() {
      return lease.decision();
    }

    @Override
    public boolean lost() {
      return lease.lost();
    }

    @Override
    public void close() {
      if (open.compareAndSet(true, false)) {
        leases.decrementAndGet();
      }
      lease.close();
    }
  }
}
