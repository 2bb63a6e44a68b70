package dev.sluice.client.web;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds the pattern of a path, for servers that route by something coarser. The first pattern that matches wins.
 * Immutable.
 */
public final class RouteTable {
  private static final Pattern SEGMENT = Pattern.compile("\\{[^{}/]+}|\\*+");

  private final List<Route> routes = new ArrayList<>();

  private RouteTable() {}

  private record Route(Pattern path, String pattern) {}

  /**
   * Makes a table.
   *
   * @param patterns such as {@code /users/{id}}, where a name stands for one segment, and {@code /files/**}, where the
   *     end stands for all that follows
   */
  public static RouteTable of(List<String> patterns) {
    RouteTable table = new RouteTable();
    for (String pattern : patterns) {
      if (!pattern.startsWith("/")) {
        throw new IllegalArgumentException("a route must begin with /; got \"" + pattern + "\"");
      }
      String normal = RoutePattern.normalize(pattern);
      StringBuilder path = new StringBuilder();
      Matcher names = SEGMENT.matcher(pattern);
      int at = 0;
      while (names.find()) {
        boolean rest = names.group().startsWith("**");
        path.append(Pattern.quote(pattern.substring(at, names.start()))).append(rest ? ".*" : "[^/]+");
        at = names.end();
      }
      path.append(Pattern.quote(pattern.substring(at)));
      table.routes.add(new Route(Pattern.compile(path.toString(), Pattern.DOTALL), normal));
    }
    return table;
  }

  /** The pattern of a path, as {@link RoutePattern#normalize} writes it; null if none matches. */
  public String find(String path) {
    for (Route route : routes) {
      if (route.path().matcher(path).matches()) {
        return route.pattern();
      }
    }
    return null;
  }
}
