package dev.sluice.client.internal;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import dev.sluice.client.ErrorKind;

/** Logs errors: each kind once when it begins, then at most every 10 s with their number. Safe for use by many threads. */
public final class ErrorLog {
  private static final System.Logger LOG = System.getLogger("dev.sluice.client");
  private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private static final class Kind {
    long saidAt;
    long unsaid;
  }

  private final String address;
  private final Map<ErrorKind, Kind> kinds = new EnumMap<>(ErrorKind.class);

  public ErrorLog(Address address) {
    this.address = address.toString();
  }

  /** {@code consequence}: what the caller gets. */
  public void add(ErrorKind kind, String detail, String consequence) {
    long number;
    synchronized (this) {
      Kind known = kinds.get(kind);
      long now = System.nanoTime();
      if (known != null && now - known.saidAt < SILENCE_NANOS) {
        known.unsaid++;
        return;
      }
      number = known == null ? 1 : known.unsaid + 1;
      Kind said = new Kind();
      said.saidAt = now;
      kinds.put(kind, said);
    }
    LOG.log(System.Logger.Level.WARNING, "no decision of the agent at {0}: {1} ({2}){3}; {4}", address, kind, detail,
        number > 1 ? ", " + number + " times" : "", consequence);
  }
}
