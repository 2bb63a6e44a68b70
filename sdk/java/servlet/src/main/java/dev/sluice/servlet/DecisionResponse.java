package dev.sluice.servlet;

import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** A response with the headers of a decision. A header that the handler sets itself replaces that of the decision. */
final class DecisionResponse extends HttpServletResponseWrapper {
  private static final String EXPOSE = "Access-Control-Expose-Headers";

  private Map<String, String> headers = Map.of();
  private String exposed = "";
  private final Set<String> ours = new TreeSet<>(); // names in lower case that the handler has not set

  DecisionResponse(HttpServletResponse response) {
    super(response);
  }

  /** Adds the headers of a decision, in place of an earlier one's. */
  void decide(Map<String, String> decided) {
    for (String name : ours) {
      super.setHeader(name, null);
    }
    ours.clear();
    headers = decided;
    exposed = String.join(", ", decided.keySet());
    apply();
  }

  private void apply() {
    headers.forEach((name, value) -> {
      super.setHeader(name, value);
      ours.add(name.toLowerCase(Locale.ROOT));
    });
    if (!exposed.isEmpty()) {
      super.addHeader(EXPOSE, exposed);
    }
  }

  @Override
  public void setHeader(String name, String value) {
    boolean exposes = EXPOSE.equalsIgnoreCase(name) && value != null && !exposed.isEmpty();
    ours.remove(name.toLowerCase(Locale.ROOT));
    super.setHeader(name, exposes ? value + ", " + exposed : value);
  }

  @Override
  public void addHeader(String name, String value) {
    if (ours.remove(name.toLowerCase(Locale.ROOT))) {
      super.setHeader(name, value);
    } else {
      super.addHeader(name, value);
    }
  }

  @Override
  public void setIntHeader(String name, int value) {
    setHeader(name, Integer.toString(value));
  }

  @Override
  public void addIntHeader(String name, int value) {
    addHeader(name, Integer.toString(value));
  }

  @Override
  public void reset() {
    super.reset();
    apply();
  }
}
