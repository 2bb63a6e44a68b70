package dev.sluice.client.internal;

import java.nio.charset.StandardCharsets;
import java.util.Map;

/** A reply. {@code headers}: names in lower case. {@code reusable}: the connection may be used again. */
public record Reply(int status, Map<String, String> headers, byte[] body, boolean reusable) {
  public String text() {
    return new String(body, StandardCharsets.UTF_8);
  }
}
