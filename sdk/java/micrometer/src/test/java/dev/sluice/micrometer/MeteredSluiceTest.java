package dev.sluice.micrometer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.sluice.client.Check;
import dev.sluice.client.Lease;
import dev.sluice.client.OnError;
import dev.sluice.client.Sluice;
import dev.sluice.client.SluiceException;
import dev.sluice.testsupport.TestAgent;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class MeteredSluiceTest {
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

  private long calls(String operation, String outcome) {
    return registry.find("sluice.client.calls").tags("operation", operation, "outcome", outcome).timers().stream()
        .mapToLong(timer -> timer.count()).sum();
  }

  private double decisions(String result, boolean decided) {
    return registry.find("sluice.client.decisions").tags("result", result, "decided", Boolean.toString(decided)).counters().stream()
        .mapToDouble(counter -> counter.count()).sum();
  }

  @Test
  void countsAndTimesWhatAnAgentSays() {
    try (TestAgent agent = new TestAgent(); Sluice sluice = new MeteredSluice(agent.client(OnError.RAISE), registry)) {
      Check two = Check.of("a", "user:1").toBuilder().planId("two").build();
      assertEquals(List.of(true, true, false), List.of(sluice.check(two).allowed(), sluice.check(two).allowed(), sluice.check(two).allowed()));
      assertEquals(3, calls("check", "ok"));
      assertEquals(2, decisions("allowed", true));
      assertEquals(1, decisions("denied", true));
      Check shadow = Check.of("GET:/shadow", "user:1").toBuilder().field("endpoint", "/shadow").build();
      sluice.checkBatch(List.of(shadow, shadow, shadow, two));
      assertEquals(1, calls("batch", "ok"));
      assertEquals(1, decisions("shadow_denied", true));
      assertEquals(4, decisions("allowed", true));
      assertEquals(2, decisions("denied", true));
      sluice.await(two, Duration.ofMillis(1));
      assertEquals(1, calls("await", "ok"));

      Lease lease = sluice.lease(Check.of("a", "user:1").toBuilder().planId("one").build());
      assertEquals(1, registry.get("sluice.client.leases").gauge().value());
      sluice.renew(lease.decision().leaseId().orElseThrow());
      sluice.release(lease.decision().leaseId().orElseThrow());
      lease.close();
      lease.close();
      assertEquals(0, registry.get("sluice.client.leases").gauge().value());
      Lease held = sluice.hold(sluice.await(Check.of("a", "user:1").toBuilder().planId("one").build(), Duration.ZERO), false);
      assertEquals(1, registry.get("sluice.client.leases").gauge().value());
      held.close();
      assertEquals(0, registry.get("sluice.client.leases").gauge().value());
      assertEquals(List.of(1L, 1L, 1L), List.of(calls("lease", "ok"), calls("renew", "ok"), calls("release", "ok")));

      agent.kill();
      assertThrows(SluiceException.class, () -> sluice.check(two));
      assertEquals(1, calls("check", "unreachable"));
      Thread.currentThread().interrupt();
      assertThrows(RuntimeException.class, () -> sluice.check(two));
      Thread.interrupted();
      assertEquals(1, calls("check", "cancelled"));
      try (Sluice allowing = new MeteredSluice(agent.client(OnError.ALLOW), registry)) {
        allowing.check(two);
        assertEquals(1, decisions("allowed", false));
        assertEquals(2, calls("check", "unreachable"));
      }
    }
  }
}
