package dev.sluice.client.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sluice.client.Decision;
import dev.sluice.client.ErrorKind;
import dev.sluice.client.SluiceException;
import dev.sluice.client.testing.SluiceDouble;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WebTest {
  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "/users/{id} | /users/{id}",
      "/users/:id/posts/:post | /users/{id}/posts/{post}",
      "/users/{id:\\d+} | /users/{id}",
      "/users/{id:[0-9]{3}} | /users/{id}",
      "/files/{*rest} | /files/{rest}",
      "/files/** | /files/{path}",
      "/files/* | /files/{path}",
      "/time/12:30 | /time/12:30",
      "'' | {unmatched}",
      "| {unmatched}",
  })
  void patternsHaveOneNotation(String pattern, String expected) {
    assertEquals(expected, RoutePattern.normalize(pattern));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "203.0.113.7 | ip:203.0.113.7",
      "2001:db8:1:2:3:4:5:6 | ip:2001:db8:1:2::/64",
      "2001:DB8:1::1 | ip:2001:db8:1::/64",
      "2001:db8:1:2:3::%eth0 | ip:2001:db8:1:2::/64",
      "::1 | ip:::/64",
      "::ffff:203.0.113.7 | ip:203.0.113.7",
      "host.example | ip:host.example",
      "| ip:unknown",
      "'' | ip:unknown",
  })
  void anIpv6NetworkIsOneClient(String address, String subject) {
    assertEquals(subject, ClientAddress.subject(address));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "203.0.113.7 | 203.0.113.7",
      "2001:DB8:0:0:1:0:0:1 | 2001:db8::1:0:0:1",
      "2001:db8:0:1:1:1:1:1 | 2001:db8:0:1:1:1:1:1",
      "0:0:0:0:0:0:0:1 | ::1",
      "10:0:0:0:0:0:0:0 | 10::",
      "2001:db8:10:0:0:0:0:20 | 2001:db8:10::20",
      "fe80::1%eth0 | fe80::1",
      "::ffff:203.0.113.7 | 203.0.113.7",
      "host.example |",
      "999.1.1.1 |",
      "1.2.3 |",
      "1.2.3.4. |",
      "a:b:c |",
      "/run/app.sock |",
      "|",
  })
  void aSourceIpIsAnAddress(String address, String expected) {
    assertEquals(expected, ClientAddress.whole(address));
  }

  @Test
  void whatIsNoAddressIsNeitherLookedUpNorSent() {
    SluiceDouble sluice = SluiceDouble.alwaysAllow();
    String header = "x".repeat(300); // as a forwarded header of a stranger may have it: an agent would refuse such a check
    new WebLimiter<>(sluice, new WebOptions<>()).judge("", new WebLimiter.Facts("GET", "/", header, null)).orElseThrow().close();
    assertEquals(Set.of("resource", "subject", "endpoint", "method", "cost"), sluice.checks().get(0).keySet());
    assertTrue(((String) sluice.checks().get(0).get("subject")).matches("sha256:[0-9a-f]{64}"));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "| false", "*/* | false", "text/plain | true", "'application/json, text/plain, */*' | false", "text/plain, */*;q=0.8 | true",
      "text/html, text/plain;q=0.5, application/json;q=0.9 | false", "text/* | true", "text/plain;q=0 | false", "text/plain;q=x | false", "image/png | false",
  })
  void aClientGetsTheFormThatItPrefers(String accept, boolean plain) {
    Decision limited = Decision.of(Map.of("allowed", false, "reason", "limit_exceeded"), 429, Map.of(), null);
    assertEquals(plain, Denial.of(limited, accept).contentType().startsWith("text/plain"));
  }

  @Test
  void aTableFindsPatterns() {
    RouteTable table = RouteTable.of(List.of("/users/me", "/users/{id}", "/users/{id}/posts", "/a.b", "/files/**"));
    assertEquals("/users/me", table.find("/users/me"));
    assertEquals("/users/{id}", table.find("/users/7"));
    assertEquals("/users/{id}/posts", table.find("/users/7/posts"));
    assertEquals("/files/{path}", table.find("/files/a/b"));
    assertEquals("/a.b", table.find("/a.b"));
    assertNull(table.find("/axb"));
    assertNull(table.find("/users/7/other"));
    assertNull(table.find("/users/"));
    assertThrows(IllegalArgumentException.class, () -> RouteTable.of(List.of("users")));
  }

  @Test
  void whatAnAgentWouldRefuseIsHashed() {
    assertEquals("x".repeat(256), WebLimiter.fit("x".repeat(256)));
    assertEquals("é".repeat(128), WebLimiter.fit("é".repeat(128)));
    assertTrue(WebLimiter.fit("x".repeat(257)).matches("sha256:[0-9a-f]{64}"));
    assertTrue(WebLimiter.fit("é".repeat(129)).matches("sha256:[0-9a-f]{64}"));
    assertTrue(WebLimiter.fit("a\ud800").matches("sha256:[0-9a-f]{64}"));
    assertFalse(WebLimiter.fit("a\ud800").equals(WebLimiter.fit("a\ud801")));
  }

  @Test
  void aRequestBecomesACheck() {
    SluiceDouble sluice = SluiceDouble.alwaysAllow();
    WebOptions<String> options = new WebOptions<String>().cost(String::length).exempt("free"::equals)
        .planId(request -> request.equals("gold") ? "gold" : null);
    WebLimiter<String> limiter = new WebLimiter<>(sluice, options);
    assertTrue(limiter.judge("free", new WebLimiter.Facts("GET", "/a", "203.0.113.7", null)).isEmpty());
    assertEquals(List.of(), sluice.checks());
    limiter.judge("gold", new WebLimiter.Facts("GET", "/users/{id}", "2001:db8::1", null)).orElseThrow().close();
    assertEquals(List.of(), sluice.openLeases());
    new WebLimiter<>(sluice, new WebOptions<String>().key(request -> "")).judge("", new WebLimiter.Facts("GET", "/", null, null)).orElseThrow().close();
    assertEquals(Map.of("resource", "GET:/", "subject", "ip:unknown", "endpoint", "/", "method", "GET", "cost", 1L), sluice.checks().get(1));
    assertEquals(Map.of("resource", "GET:/users/{id}", "subject", "ip:2001:db8::/64", "endpoint", "/users/{id}", "method", "GET",
        "cost", 4L, "source_ip", "2001:db8::1", "plan_id", "gold"), sluice.checks().get(0));
  }

  @Test
  void denials() {
    Decision limited = Decision.of(Map.of("allowed", false, "reason", "limit_exceeded", "retry_after_ms", 1200L), 429, Map.of(), null);
    Denial problem = Denial.of(limited, "text/html, */*");
    assertEquals(429, problem.status());
    assertEquals("{\"type\":\"about:blank\",\"title\":\"Too Many Requests\",\"status\":429,"
        + "\"detail\":\"Rate limit exceeded. Try again in 2 s.\",\"retry_after\":2}", problem.body());
    assertEquals("Rate limit exceeded", Denial.of(limited, "text/plain, */*;q=0.1").body());
    Decision undecided = Decision.ofError(new SluiceException(ErrorKind.TIMEOUT, "late"), false);
    assertEquals(503, Denial.of(undecided, null).status());
    assertFalse(Denial.of(undecided, null).body().contains("retry_after"));
    assertEquals("Rate limiter unavailable", Denial.of(undecided, "text/plain").body());
    Decision closed = Decision.of(Map.of("allowed", false, "reason", "fail_closed"), 503, Map.of(), null);
    assertEquals(503, Denial.statusOf(closed));
  }

  @Test
  void aDelayThatIsTooLongIsADenial() {
    SluiceDouble sluice = SluiceDouble.scripted(
        List.of(Map.of("allowed", true, "delay_ms", 1000L), Map.of("allowed", true, "delay_ms", 1001L)));
    WebLimiter<String> limiter = new WebLimiter<>(sluice, new WebOptions<>());
    WebLimiter.Facts facts = new WebLimiter.Facts("GET", "/", "203.0.113.7", null);
    assertTrue(limiter.judge("", facts).orElseThrow().passes());
    WebLimiter.Verdict late = limiter.judge("", facts).orElseThrow();
    assertFalse(late.passes());
    assertTrue(Denial.of(late.decision(), null).body().contains("\"retry_after\":2"));
  }
}
