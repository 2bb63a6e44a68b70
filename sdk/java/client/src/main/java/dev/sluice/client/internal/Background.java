package dev.sluice.client.internal;

import java.net.InetAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;

/** Threads that all clients of a process share. They are made when they are first needed, and do not keep a process alive. */
public final class Background {
  private Background() {}

  private static final class Timer {
    static final ScheduledExecutorService INSTANCE = Executors.newSingleThreadScheduledExecutor(named("sluice-timer"));
  }

  private static final class Workers {
    static final ExecutorService INSTANCE = Executors.newCachedThreadPool(named("sluice-worker"));
  }

  /** For short work only: everything waits for it. */
  public static ScheduledExecutorService timer() {
    return Timer.INSTANCE;
  }

  /** For work that may block. */
  public static ExecutorService workers() {
    return Workers.INSTANCE;
  }

  static Future<InetAddress[]> lookup(String host) {
    return Workers.INSTANCE.submit(() -> InetAddress.getAllByName(host));
  }

  private static ThreadFactory named(String name) {
    return work -> {
      Thread thread = new Thread(work, name);
      thread.setDaemon(true);
      return thread;
    };
  }
}
