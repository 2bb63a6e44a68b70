package dev.sluice.client.web;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Patterns of routes in one notation for all frameworks and languages: {@code /users/{id}}. */
public final class RoutePattern {
  /** The endpoint of a request that matches no route. Never its path: anybody can invent paths. */
  public static final String UNMATCHED = "{unmatched}";

  private static final Pattern CONSTRAINED = Pattern.compile("\\{\\*?([A-Za-z0-9_]+)(?::(?:[^{}]|\\{[^{}]*})*)?}");
  private static final Pattern COLON = Pattern.compile("(?<=/):([A-Za-z0-9_]+)");
  private static final Pattern STARS = Pattern.compile("\\*+");

  private RoutePattern() {}

  /** {@code /users/{id:\d+}}, {@code /users/:id} and {@code /files/**} as {@code /users/{id}} and {@code /files/{path}}. */
  public static String normalize(String pattern) {
    if (pattern == null || pattern.isEmpty()) {
      return UNMATCHED;
    }
    Matcher constrained = CONSTRAINED.matcher(pattern);
    String named = COLON.matcher(constrained.replaceAll("{$1}")).replaceAll("{$1}");
    return STARS.matcher(named).replaceAll("{path}");
  }
}
