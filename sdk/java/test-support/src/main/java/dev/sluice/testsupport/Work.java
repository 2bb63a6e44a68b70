package dev.sluice.testsupport;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Work of a handler that the suite starts and ends. One for all of a test's process: tests run one after the other. */
public final class Work {
  private static final BlockingQueue<Boolean> ENTERED = new LinkedBlockingQueue<>();
  private static final BlockingQueue<Boolean> LEAVE = new LinkedBlockingQueue<>();

  private Work() {}

  /** What a handler calls: works until {@link #end}. */
  public static void run(boolean fail) {
    ENTERED.add(true);
    if (fail) {
      throw new IllegalStateException("the handler failed, as the suite wanted");
    }
    take(LEAVE, "the suite did not end the work");
  }

  /** Waits until a handler works. */
  public static void entered() {
    take(ENTERED, "the handler did not begin");
  }

  /** Lets one handler end. */
  public static void end() {
    LEAVE.add(true);
  }

  private static void take(BlockingQueue<Boolean> queue, String otherwise) {
    try {
      if (queue.poll(30, TimeUnit.SECONDS) == null) {
        throw new AssertionError(otherwise);
      }
    } catch (InterruptedException interrupted) {
      throw new IllegalStateException(interrupted);
    }
  }
}
