package dev.sluice.client;

/** What a check gives if the agent gave no decision. */
public enum OnError {
  /** A decision with {@code allowed} true. */
  ALLOW,
  /** A decision with {@code allowed} false. */
  DENY,
  /** A {@link SluiceException}. */
  RAISE
}
