package dev.sluice.client.web;

import dev.sluice.client.Decision;
import dev.sluice.client.internal.Json;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;

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
    OptionalLong wait = retryAfter(decision);
    if (wait.isEmpty()) {
      problem.put("detail", detail);
    } else {
      long seconds = wait.getAsLong();
      problem.put("detail", detail + " Try again in " + seconds + " s.");
      problem.put("retry_after", seconds);
    }
    return new Denial(status, "application/problem+json", Json.write(problem));
  }

  /** Whole seconds, rounded up, until the same request would pass. Empty if it never can, or if that is not known. */
  public static OptionalLong retryAfter(Decision decision) {
    Duration wait = decision.allowed() ? decision.delay() : decision.retryAfter().orElse(null);
    return wait == null ? OptionalLong.empty() : OptionalLong.of((wait.toMillis() + 999) / 1000);
  }

  /** 429, or 503 if it is not the caller's limit that denies. */
  public static int statusOf(Decision decision) {
    return !decision.decided() || decision.reason().equals("fail_closed") ? 503 : 429;
  }

  private static boolean prefersPlain(String accept) {
    return accept != null && accept.contains("text/")
        && quality(accept, "text/plain", "text/*") > quality(accept, "application/problem+json", "application/json", "application/*");
  }

  /** How much a client wants one of these types, from 0 to 1: by the first of them that it names, else by what it says of all types. */
  private static double quality(String accept, String... types) {
    for (int i = 0; i <= types.length; i++) {
      String wanted = i < types.length ? types[i] : "*/*";
      for (String range : accept.toLowerCase(Locale.ROOT).split(",")) {
        String[] parts = range.split(";");
        if (!parts[0].strip().equals(wanted)) {
          continue;
        }
        for (int part = 1; part < parts.length; part++) {
          if (parts[part].strip().startsWith("q=")) {
            return number(parts[part].strip().substring(2));
          }
        }
        return 1;
      }
    }
    return 0;
  }

  private static double number(String text) {
    try {
      return Double.parseDouble(text);
    } catch (NumberFormatException none) {
      return 0;
    }
  }
}
