package dev.sluice.client.web;

import dev.sluice.client.Decision;
import dev.sluice.client.internal.Json;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The response to a request that does not pass.
 *
 * @param status 429, or 503 if it is not the caller's limit that denies
 * @param contentType {@code application/problem+json}, or {@code text/plain} for a client that prefers it
 * @param body in UTF-8
 */
public record Denial(int status, String contentType, String body) {
  /**
   * Makes the response.
   *
   * @param decision a denial, or a decision with a delay that is too long
   * @param accept the request's header {@code Accept}; null for none
   */
  public static Denial of(Decision decision, String accept) {
    int status = statusOf(decision);
    if (prefersPlain(accept)) {
      return new Denial(status, "text/plain; charset=utf-8", status == 429 ? "Rate limit exceeded" : "Rate limiter unavailable");
    }
    Map<String, Object> problem = new LinkedHashMap<>();
    problem.put("type", "about:blank");
    problem.put("title", status == 429 ? "Too Many Requests" : "Service Unavailable");
    problem.put("status", (long) status);
    String detail = status == 429 ? "Rate limit exceeded." : "The rate limiter cannot answer now.";
    Duration wait = decision.allowed() ? decision.delay() : decision.retryAfter().orElse(null);
    if (wait == null) {
      problem.put("detail", detail);
    } else {
      long seconds = (wait.toMillis() + 999) / 1000;
      problem.put("detail", detail + " Try again in " + seconds + " s.");
      problem.put("retry_after", seconds);
    }
    return new Denial(status, "application/problem+json", Json.write(problem));
  }

  /** 429, or 503 if it is not the caller's limit that denies. */
  public static int statusOf(Decision decision) {
    return !decision.decided() || decision.reason().equals("fail_closed") ? 503 : 429;
  }

  private static boolean prefersPlain(String accept) {
    return accept != null && accept.strip().startsWith("text/plain");
  }
}
