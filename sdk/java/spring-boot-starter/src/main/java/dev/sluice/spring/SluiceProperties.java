package dev.sluice.spring;

import dev.sluice.client.OnError;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties {@code sluice.*}. What is not set comes from the variables {@code SLUICE_*}, as in every SDK.
 *
 * @param enabled whether there is a client at all
 * @param url the agent: {@code http://HOST[:PORT]}, {@code https://HOST[:PORT]} or {@code unix:///path}
 * @param socket the agent's Unix socket
 * @param apiKey the tenant's API key
 * @param apiKeyFile a file with the API key
 * @param timeout the longest that one call may take, such as {@code 50ms}
 * @param onError without a decision: allow, deny, or raise, which becomes 503
 * @param maxConnections open connections
 * @param caFile authorities for https, as PEM, instead of the system's
 * @param clientCertificate the client's certificate for mTLS, as PEM
 * @param clientKey its key
 * @param web how requests are checked
 */
@ConfigurationProperties("sluice")
public record SluiceProperties(
    @DefaultValue("true") boolean enabled,
    String url,
    String socket,
    String apiKey,
    String apiKeyFile,
    String timeout,
    OnError onError,
    @DefaultValue("64") int maxConnections,
    Path caFile,
    Path clientCertificate,
    Path clientKey,
    @DefaultValue Web web) {

  /**
   * The properties {@code sluice.web.*}.
   *
   * @param enabled whether requests are checked
   * @param annotatedOnly checks only the methods and classes that have {@link RateLimited}
   * @param key the subject that is charged, as a SpEL expression over {@code #request}; null and default: the client's address
   * @param exempt routes without a check: {@code /health}, {@code /actuator/**}, {@code GET:/users/{id}}
   * @param exemptPreflight makes no check for CORS preflights
   * @param maxDelay the longest delay that is slept; a longer one is a denial
   */
  public record Web(
      @DefaultValue("true") boolean enabled,
      @DefaultValue("false") boolean annotatedOnly,
      String key,
      @DefaultValue List<String> exempt,
      @DefaultValue("false") boolean exemptPreflight,
      @DefaultValue("1s") Duration maxDelay) {}

  /** Without the API key. */
  @Override
  public String toString() {
    return "SluiceProperties[url=" + url + ", socket=" + socket + ", timeout=" + timeout + ", onError=" + onError + ", web=" + web + "]";
  }
}
