package dev.sluice.client;

import java.util.List;
import java.util.Map;

/**
 * The agent gave no decision. It is thrown with {@link OnError#RAISE}; otherwise it is the {@link Decision#error()} of a
 * decision.
 */
public final class SluiceException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final ErrorKind kind;
  private final int status;
  private final String code;
  private final transient List<Map<String, Object>> errors;

  /**
   * Makes an error.
   *
   * @param kind why there is no decision
   * @param status the HTTP status of the reply; 0 without a reply
   * @param code the problem's code, such as {@code invalid}; empty if it has none
   * @param detail what is wrong, for people
   * @param errors the faulty fields of the call: {@code pointer} and {@code detail} of each
   */
  public SluiceException(
      ErrorKind kind, int status, String code, String detail, List<Map<String, Object>> errors) {
    super(detail);
    this.kind = kind;
    this.status = status;
    this.code = code;
    this.errors = List.copyOf(errors);
  }

  /** Makes an error without a reply. */
  public SluiceException(ErrorKind kind, String detail) {
    this(kind, 0, "", detail, List.of());
  }

  /** Why there is no decision. */
  public ErrorKind kind() {
    return kind;
  }

  /** The HTTP status of the reply; 0 without a reply. */
  public int status() {
    return status;
  }

  /** The problem's code, such as {@code invalid}; empty if it has none. */
  public String code() {
    return code;
  }

  /** What is wrong, for people. */
  public String detail() {
    return getMessage();
  }

  /** The faulty fields of the call: {@code pointer} and {@code detail} of each. */
  public List<Map<String, Object>> errors() {
    return errors == null ? List.of() : errors;
  }
}
