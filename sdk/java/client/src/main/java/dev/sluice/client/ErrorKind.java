package dev.sluice.client;

import java.util.Locale;

/** Why there is no decision of the agent. */
public enum ErrorKind {
  /** No connection: refused, no such socket or host, a TLS handshake that failed. */
  UNREACHABLE,
  /** The call took longer than the client's timeout. */
  TIMEOUT,
  /** The reply is cut, is no HTTP, or is no decision. */
  PROTOCOL,
  /** The agent cannot decide now: overload, no policies yet, or another 5xx. */
  UNAVAILABLE,
  /** The call is wrong, such as an unknown field or API key. */
  REFUSED;

  /** The name that all SDKs use, such as {@code timeout}. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
