package dev.sluice.client.internal;

import java.io.IOException;
import java.time.Duration;

/** When a call must be over. */
public final class Deadline {
  private final long at; // System.nanoTime()

  private Deadline(long at) {
    this.at = at;
  }

  public static Deadline in(Duration duration) {
    return new Deadline(System.nanoTime() + duration.toNanos());
  }

  /** 0 if it has passed. */
  public long nanosLeft() {
    return Math.max(0, at - System.nanoTime());
  }

  public boolean passed() {
    return nanosLeft() == 0;
  }

  /** The time is over. */
  public static final class PassedException extends IOException {
    private static final long serialVersionUID = 1L;

    PassedException(String text) {
      super(text);
    }
  }

  /** The caller's thread was interrupted; its interrupt status is set. */
  public static final class InterruptedCallException extends IOException {
    private static final long serialVersionUID = 1L;

    InterruptedCallException() {
      super("interrupted");
    }
  }
}
