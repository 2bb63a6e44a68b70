package dev.sluice.client.internal;

import dev.sluice.client.Check;
import dev.sluice.client.Decision;
import dev.sluice.client.ErrorKind;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Consumer;

/** Asks until a check passes, or cannot pass in time. */
public final class Waiting {
  private static final Duration FIRST_PAUSE = Duration.ofMillis(100); // after an agent that cannot be reached
  private static final Duration LAST_PAUSE = Duration.ofSeconds(2);
  private static final long LEAST_SLEEP_MILLIS = 10;
  private static final long MOST_JITTER_MILLIS = 100;

  private Waiting() {}

  /**
   * The last decision. An allowed one whose delay fits was slept for.
   *
   * @param ask asks once; its second argument is the time that is left
   * @param release gives back the lease of a decision that the caller does not get, because its thread was interrupted
   */
  public static Decision until(Deadline end, Check check, BiFunction<Check, Duration, Decision> ask, Consumer<Decision> release) {
    Duration pause = FIRST_PAUSE;
    while (true) {
      Duration left = Duration.ofNanos(end.nanosLeft());
      Decision decision = ask.apply(check.toBuilder().field("wait", left.toMillis() + "ms").build(), left);
      boolean unreachable = decision.error().map(error -> error.kind() == ErrorKind.UNREACHABLE).orElse(false);
      if (unreachable && fits(pause, end)) {
        sleep(pause);
        pause = pause.multipliedBy(2).compareTo(LAST_PAUSE) < 0 ? pause.multipliedBy(2) : LAST_PAUSE;
        continue;
      }
      if (!decision.decided() || (!decision.allowed() && !retries(decision, end))) {
        return decision;
      }
      if (decision.allowed()) {
        return afterDelay(decision, end, release);
      }
      sleep(withJitter(decision.retryAfter().orElse(Duration.ZERO)));
    }
  }

  /**
   * How long a check may be held, by its field {@code wait}: zero for none. A text that is no duration counts as zero; the agent
   * refuses it.
   */
  public static Duration heldUpTo(Object wait) {
    if (wait instanceof Number seconds) {
      return Duration.ofMillis((long) (seconds.doubleValue() * 1000));
    }
    if (!(wait instanceof String text) || !text.matches("[0-9]{1,12}(us|µs|ms|s|m|h|d)?")) {
      return Duration.ZERO;
    }
    String unit = text.replaceAll("[0-9]", "");
    long number = Long.parseLong(text.substring(0, text.length() - unit.length()));
    return switch (unit) {
      case "us", "µs" -> Duration.ofNanos(number * 1000);
      case "ms" -> Duration.ofMillis(number);
      case "m" -> Duration.ofMinutes(number);
      case "h" -> Duration.ofHours(number);
      case "d" -> Duration.ofDays(number);
      default -> Duration.ofSeconds(number);
    };
  }

  private static boolean fits(Duration pause, Deadline end) {
    return pause.toNanos() <= end.nanosLeft();
  }

  private static boolean retries(Decision denial, Deadline end) {
    return denial.retryAfter().isPresent() && !end.passed() && fits(denial.retryAfter().get(), end);
  }

  private static Decision afterDelay(Decision decision, Deadline end, Consumer<Decision> release) {
    if (decision.delay().isZero() || !fits(decision.delay(), end)) {
      return decision;
    }
    try {
      sleep(decision.delay());
    } catch (CancellationException interrupted) {
      release.accept(decision);
      throw interrupted;
    }
    return decision.afterDelay();
  }

  private static Duration withJitter(Duration retry) {
    long most = Math.min(retry.toMillis() / 10, MOST_JITTER_MILLIS);
    long jitter = most <= 0 ? 0 : ThreadLocalRandom.current().nextLong(most + 1);
    return Duration.ofMillis(Math.max(LEAST_SLEEP_MILLIS, retry.toMillis() + jitter));
  }

  private static void sleep(Duration duration) {
    try {
      TimeUnit.NANOSECONDS.sleep(duration.toNanos());
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new CancellationException("the thread was interrupted");
    }
  }
}
