package dev.sluice.client.internal;

import dev.sluice.client.Decision;
import dev.sluice.client.ErrorKind;
import dev.sluice.client.SluiceException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What replies mean. Pure functions; each throws {@link SluiceException} if there is no decision. */
public final class Replies {
  private Replies() {}

  /** The decision of a check. */
  public static Decision decision(Reply reply) {
    Map<String, Object> body = decisionBody(reply.status(), reply);
    return Decision.of(body, reply.status(), rateLimitHeaders(reply), reply.headers().get("x-request-id"));
  }

  /** The results of a batch: decisions, or {@link SluiceException} for those that are none. */
  public static List<Object> batch(Reply reply, int expected) {
    Map<String, Object> body = object(reply);
    if (reply.status() != 200) {
      throw problem(reply.status(), body);
    }
    if (body == null || !(body.get("results") instanceof List<?> results) || results.size() != expected) {
      throw new SluiceException(ErrorKind.PROTOCOL, "the reply to the batch has not " + expected + " results");
    }
    List<Object> decisions = new ArrayList<>(expected);
    for (Object result : results) {
      decisions.add(batchResult(result));
    }
    return decisions;
  }

  /** The body of a reply to release or renew. */
  public static Map<String, Object> lease(Reply reply) {
    Map<String, Object> body = object(reply);
    if (reply.status() != 200) {
      throw problem(reply.status(), body);
    }
    if (body == null) {
      throw new SluiceException(ErrorKind.PROTOCOL, "the reply is no JSON object");
    }
    return body;
  }

  private static Object batchResult(Object result) {
    if (!(result instanceof Map<?, ?> map)) {
      return new SluiceException(ErrorKind.PROTOCOL, "a result of the batch is no object");
    }
    Map<String, Object> body = strings(map);
    if (body.get("allowed") instanceof Boolean allowed) {
      if (!allowed && undecided(body)) {
        return unavailable(503, body);
      }
      return Decision.of(body, allowed ? 200 : 429, Map.of(), null);
    }
    return body.get("status") instanceof Long status
        ? problem(status.intValue(), body)
        : new SluiceException(ErrorKind.PROTOCOL, "a result of the batch is no decision");
  }

  private static Map<String, Object> decisionBody(int status, Reply reply) {
    Map<String, Object> body = object(reply);
    boolean mayDecide = status / 100 == 2 || status == 429 || status / 100 == 5;
    if (mayDecide && body != null && body.get("allowed") instanceof Boolean) {
      if (status == 503 && undecided(body)) {
        throw unavailable(status, body);
      }
      return body;
    }
    throw problem(status, body);
  }

  private static boolean undecided(Map<String, Object> body) {
    return "overload".equals(body.get("reason")) || "no_snapshot".equals(body.get("reason"));
  }

  private static SluiceException unavailable(int status, Map<String, Object> body) {
    return new SluiceException(ErrorKind.UNAVAILABLE, status, String.valueOf(body.get("reason")),
        "the agent cannot decide now: " + body.get("reason"), List.of());
  }

  private static SluiceException problem(int status, Map<String, Object> body) {
    if (status / 100 == 2 || status == 429) {
      return new SluiceException(ErrorKind.PROTOCOL, status, "", "the reply is no decision", List.of());
    }
    Map<String, Object> problem = body == null ? Map.of() : body;
    String detail = problem.get("detail") instanceof String text ? text
        : problem.get("title") instanceof String title ? title : "HTTP " + status;
    List<Map<String, Object>> errors = new ArrayList<>();
    if (problem.get("errors") instanceof List<?> faults) {
      for (Object fault : faults) {
        if (fault instanceof Map<?, ?> map) {
          errors.add(strings(map));
        }
      }
    }
    String code = problem.get("code") instanceof String text ? text : "";
    return new SluiceException(status / 100 == 5 ? ErrorKind.UNAVAILABLE : ErrorKind.REFUSED, status, code, detail, errors);
  }

  /** The body, or null if it is no JSON object. */
  private static Map<String, Object> object(Reply reply) {
    try {
      return Json.parse(reply.text()) instanceof Map<?, ?> map ? strings(map) : null;
    } catch (IllegalArgumentException noJson) {
      return null;
    }
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> strings(Map<?, ?> map) {
    return (Map<String, Object>) map;
  }

  private static final List<String> PLAIN_NAMES = List.of("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
      "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Partition", "RateLimit",
      "Retry-After");

  private static Map<String, String> rateLimitHeaders(Reply reply) {
    Map<String, String> headers = new LinkedHashMap<>();
    for (Map.Entry<String, String> header : reply.headers().entrySet()) {
      String name = header.getKey();
      if (name.equals("ratelimit") || name.startsWith("ratelimit-") || name.startsWith("x-ratelimit-")
          || name.equals("retry-after")) {
        headers.put(written(name), header.getValue());
      }
    }
    return headers;
  }

  private static String written(String name) {
    for (String plain : PLAIN_NAMES) {
      if (plain.toLowerCase(Locale.ROOT).equals(name)) {
        return plain;
      }
    }
    return name;
  }
}
