package dev.sluice.client;

import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;

/**
 * Asks whether requests may pass. {@link SluiceClient} asks an agent; {@link dev.sluice.client.testing.SluiceDouble} needs
 * none.
 *
 * <p>Safe for use by many threads. Unless the client is made with {@link OnError#RAISE}, no method throws because of what an
 * agent does. An interrupted thread leaves a call with a {@link java.util.concurrent.CancellationException}; its interrupt
 * status stays set.
 */
public interface Sluice extends AutoCloseable {
  /** Judges and charges one check. */
  Decision check(Check check);

  /**
   * Judges and charges one check.
   *
   * @param resource what is asked for, such as {@code GET:/orders}
   * @param subject the subject that is charged, such as {@code user:42}
   */
  default Decision check(String resource, String subject) {
    return check(Check.of(resource, subject));
  }

  /** Judges checks, each on its own; the decisions have their order. */
  List<Decision> checkBatch(List<Check> checks);

  /** Waits until a check passes, but not longer than {@code upTo}. */
  Decision await(Check check, Duration upTo);

  /** A check whose lease ends with the block: {@code try (Lease lease = sluice.lease(check))}. */
  default Lease lease(Check check) {
    return lease(check, false);
  }

  /**
   * A check whose lease ends with the block.
   *
   * @param keepAlive renews the lease each time a third of its life has passed
   */
  Lease lease(Check check, boolean keepAlive);

  /**
   * The lease of a decision that {@link #check} or {@link #await} gave, which ends with the block. Without one there is nothing to
   * give back.
   *
   * @param keepAlive renews the lease each time a third of its life has passed
   */
  Lease hold(Decision decision, boolean keepAlive);

  /** Gives a lease back. False if it had ended, or if the agent did not answer. */
  boolean release(String leaseId);

  /** Lets a lease live on: its new end in Unix seconds. Empty if it is gone. */
  OptionalLong renew(String leaseId);

  /** Closes idle connections at once, and those in use after their call. */
  @Override
  void close();
}
