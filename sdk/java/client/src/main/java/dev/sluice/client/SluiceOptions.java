package dev.sluice.client;

import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.function.UnaryOperator;

/** The options of a {@link SluiceClient}. What is not set comes from the environment, else it has its default. */
public final class SluiceOptions {
  private final Map<String, String> environment;
  private String url;
  private String socket;
  private String apiKey;
  private Path apiKeyFile;
  private Duration timeout;
  private OnError onError;
  private int maxConnections = 64;
  private Path caFile;
  private Path clientCertificate;
  private Path clientKey;

  private SluiceOptions(Map<String, String> environment) {
    this.environment = environment;
  }

  /** Options with the environment of this process. */
  public static SluiceOptions create() {
    return new SluiceOptions(System.getenv());
  }

  /** Options with another environment. */
  public static SluiceOptions with(Map<String, String> environment) {
    return new SluiceOptions(Map.copyOf(environment));
  }

  /** The agent: {@code http://HOST[:PORT]}, {@code https://HOST[:PORT]} or {@code unix:///path}. */
  public SluiceOptions url(String value) {
    this.url = value;
    return this;
  }

  /** The agent's Unix socket. */
  public SluiceOptions socket(String value) {
    this.socket = value;
    return this;
  }

  /** The tenant's API key. */
  public SluiceOptions apiKey(String value) {
    this.apiKey = value;
    return this;
  }

  /** A file with the API key, such as a mounted Secret. */
  public SluiceOptions apiKeyFile(Path value) {
    this.apiKeyFile = value;
    return this;
  }

  /** The longest that one call may take, connecting included; 50 ms if it is not set. */
  public SluiceOptions timeout(Duration value) {
    this.timeout = value;
    return this;
  }

  /** What a check gives if the agent gave no decision; {@link OnError#ALLOW} if it is not set. */
  public SluiceOptions onError(OnError value) {
    this.onError = value;
    return this;
  }

  /** Open connections of the client; 64 if it is not set. */
  public SluiceOptions maxConnections(int value) {
    this.maxConnections = value;
    return this;
  }

  /** Authorities for https, as PEM, instead of the system's. */
  public SluiceOptions caFile(Path value) {
    this.caFile = value;
    return this;
  }

  /** The client's certificate and key for mTLS, as PEM. */
  public SluiceOptions clientCertificate(Path certificate, Path key) {
    this.clientCertificate = certificate;
    this.clientKey = key;
    return this;
  }

  String address() {
    if (url != null && socket != null) {
      throw new IllegalArgumentException("the options url and socket exclude each other: set one of them");
    }
    if (socket != null) {
      return "unix://" + required("the option socket", socket);
    }
    if (url != null) {
      return required("the option url", url);
    }
    if (variable("SLUICE_SOCKET") != null) {
      return "unix://" + variable("SLUICE_SOCKET");
    }
    return variable("SLUICE_URL") != null ? variable("SLUICE_URL") : "http://127.0.0.1:8088";
  }

  /** The name of what {@link #address()} came from, for errors. */
  String addressSource() {
    if (socket != null) {
      return "the option socket";
    }
    if (url != null) {
      return "the option url";
    }
    return variable("SLUICE_SOCKET") != null ? "SLUICE_SOCKET" : "SLUICE_URL";
  }

  ApiKey key() {
    if (apiKey != null && apiKeyFile != null) {
      throw new IllegalArgumentException("the options apiKey and apiKeyFile exclude each other: set one of them");
    }
    if (apiKey != null) {
      return ApiKey.of(checkedKey("the option apiKey", apiKey));
    }
    if (apiKeyFile != null) {
      return ApiKey.inFile(apiKeyFile);
    }
    if (variable("SLUICE_API_KEY") != null) {
      return ApiKey.of(checkedKey("SLUICE_API_KEY", variable("SLUICE_API_KEY")));
    }
    return variable("SLUICE_API_KEY_FILE") != null ? ApiKey.inFile(Path.of(variable("SLUICE_API_KEY_FILE"))) : ApiKey.none();
  }

  Duration callTimeout() {
    if (timeout != null) {
      if (timeout.isZero() || timeout.isNegative()) {
        throw new IllegalArgumentException("the option timeout must be above 0; got " + timeout);
      }
      return timeout;
    }
    String text = variable("SLUICE_TIMEOUT");
    return text == null ? Duration.ofMillis(50) : parseDuration(text);
  }

  OnError errorMode() {
    if (onError != null) {
      return onError;
    }
    String text = variable("SLUICE_ON_ERROR");
    if (text == null) {
      return OnError.ALLOW;
    }
    return switch (text) {
      case "allow" -> OnError.ALLOW;
      case "deny" -> OnError.DENY;
      case "raise" -> OnError.RAISE;
      default -> throw new IllegalArgumentException("SLUICE_ON_ERROR must be allow, deny or raise; got \"" + text + "\"");
    };
  }

  int connections() {
    if (maxConnections < 1) {
      throw new IllegalArgumentException("the option maxConnections must be at least 1; got " + maxConnections);
    }
    return maxConnections;
  }

  Path ca() {
    return caFile;
  }

  Path certificate() {
    if ((clientCertificate == null) != (clientKey == null)) {
      throw new IllegalArgumentException("the options clientCertificate and clientKey belong together: set both");
    }
    return clientCertificate;
  }

  Path certificateKey() {
    return clientKey;
  }

  private String variable(String name) {
    String value = environment.get(name);
    return value == null || value.isEmpty() ? null : value;
  }

  private static String required(String what, String value) {
    if (value.isEmpty()) {
      throw new IllegalArgumentException(what + " must not be empty");
    }
    return value;
  }

  private static String checkedKey(String source, String key) {
    if (key.isEmpty() || key.chars().anyMatch(c -> c <= 0x20 || c > 0x7e)) {
      throw new IllegalArgumentException(source + " must be an API key: visible ASCII without spaces");
    }
    return key;
  }

  private static Duration parseDuration(String text) {
    UnaryOperator<String> number = unit -> text.substring(0, text.length() - unit.length());
    try {
      BigDecimal milliseconds;
      String lower = text.toLowerCase(Locale.ROOT);
      if (!lower.equals(text)) {
        throw new NumberFormatException();
      }
      if (text.endsWith("ms")) {
        milliseconds = decimal(number.apply("ms"));
      } else if (text.endsWith("s")) {
        milliseconds = decimal(number.apply("s")).movePointRight(3);
      } else if (text.endsWith("m")) {
        milliseconds = decimal(number.apply("m")).multiply(BigDecimal.valueOf(60_000));
      } else {
        throw new NumberFormatException();
      }
      long nanoseconds = milliseconds.movePointRight(6).longValue();
      if (nanoseconds <= 0 || milliseconds.compareTo(BigDecimal.valueOf(86_400_000)) > 0) {
        throw new NumberFormatException();
      }
      return Duration.ofNanos(nanoseconds);
    } catch (NumberFormatException wrong) {
      throw new IllegalArgumentException(
          "SLUICE_TIMEOUT must be a duration such as 50ms, 1.5s or 1m; got \"" + text + "\"");
    }
  }

  private static BigDecimal decimal(String text) {
    if (!text.matches("[0-9]+(\\.[0-9]+)?")) {
      throw new NumberFormatException();
    }
    return new BigDecimal(text);
  }
}
