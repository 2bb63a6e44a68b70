package dev.sluice.testsupport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sluice.client.Check;
import dev.sluice.client.Decision;
import dev.sluice.client.OnError;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.internal.Json;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What every integration with a web framework must pass: a real application on a real server before a real agent. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class WebSuite {
  private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private TestAgent agent;
  private SluiceClient asks;
  private Application application;

  /** An application that serves. */
  public interface Application extends AutoCloseable {
    /** Its port on 127.0.0.1. */
    int port();

    @Override
    void close();
  }

  /**
   * Starts the application. Its subject is {@code user:} and the header X-User, if the request has it. Its routes:
   *
   * <pre>
   * GET  /users/{id}      answers the id
   * GET  /files/**        answers
   * POST /upload          costs 5
   * GET  /free            is exempt
   * GET  /planned         has the plan two and the resource planned
   * GET  /shadow, /delayed, /slow   answer
   * GET  /smaller         answers the decision's downgradeTo
   * GET  /own             sets X-RateLimit-Limit to own and Access-Control-Expose-Headers to X-Mine
   * GET  /job             calls Work.run; it fails if the query has fail=1
   * GET  /async           the same on another thread
   * GET  /stream          writes without an end
   * </pre>
   */
  protected abstract Application serve(TestAgent agent, OnError onError) throws Exception;

  @BeforeAll
  void start() throws Exception {
    agent = new TestAgent();
    asks = agent.client(OnError.RAISE);
    application = serve(agent, OnError.ALLOW);
  }

  @AfterAll
  void stop() throws Exception {
    if (application != null) {
      application.close();
    }
    asks.close();
    agent.close();
  }

  /** The response to a request. */
  protected final HttpResponse<String> send(int port, String method, String path, String user, String... headers) {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
        .method(method, HttpRequest.BodyPublishers.noBody());
    if (user != null) {
      request.header("X-User", user);
    }
    if (headers.length > 0) {
      request.headers(headers);
    }
    try {
      return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    } catch (IOException | InterruptedException failed) {
      throw new IllegalStateException(failed);
    }
  }

  /** The response to a GET. */
  protected final HttpResponse<String> get(String path, String user, String... headers) {
    return send(application.port(), "GET", path, user, headers);
  }

  /** The application under test. */
  protected final Application application() {
    return application;
  }

  /** A client of its agent. */
  protected final SluiceClient asks() {
    return asks;
  }

  /** The response, if it has this status. */
  protected static HttpResponse<String> wants(int status, HttpResponse<String> response) {
    assertEquals(status, response.statusCode(), () -> response.headers().map() + " " + response.body());
    return response;
  }

  /** The problem of a response. */
  protected static Map<?, ?> problem(int status, String title, HttpResponse<String> response) {
    wants(status, response);
    assertEquals("application/problem+json", header(response, "Content-Type"));
    Map<?, ?> problem = (Map<?, ?>) Json.parse(response.body());
    assertEquals("about:blank", problem.get("type"));
    assertEquals(title, problem.get("title"));
    assertEquals((long) status, problem.get("status"));
    assertNotNull(problem.get("detail"));
    return problem;
  }

  /** The value of a header; null for none, and several are joined. */
  protected static String header(HttpResponse<String> response, String name) {
    List<String> values = response.headers().allValues(name);
    return values.isEmpty() ? null : String.join(", ", values);
  }

  @Test
  void limitsByTheRoutesPattern() {
    for (String[] expected : new String[][] {{"7", "1"}, {"8", "0"}}) {
      HttpResponse<String> response = wants(200, get("/users/" + expected[0], "limits"));
      assertEquals(expected[0], response.body());
      assertEquals(expected[1], header(response, "X-RateLimit-Remaining"));
      assertNotNull(header(response, "RateLimit"));
      String exposed = header(response, "Access-Control-Expose-Headers").toLowerCase();
      assertTrue(exposed.contains("x-ratelimit-remaining") && exposed.contains("ratelimit-policy"), exposed);
    }
    HttpResponse<String> denied = get("/users/9", "limits");
    Object after = problem(429, "Too Many Requests", denied).get("retry_after");
    assertEquals(header(denied, "Retry-After"), String.valueOf(after));
    assertEquals("2", header(denied, "X-RateLimit-Limit"));
    assertTrue(header(denied, "Access-Control-Expose-Headers").toLowerCase().contains("retry-after"));
    wants(200, get("/users/9", "limits-other"));
  }

  @Test
  void aRouteForAllPathsBelow() {
    wants(200, get("/files/a", "files"));
    wants(200, get("/files/b/c", "files"));
    wants(429, get("/files/d", "files"));
  }

  @Test
  void noRoute() {
    wants(404, get("/nothing/1", "lost"));
    wants(404, get("/nothing/2", "lost"));
    wants(429, get("/nothing/3", "lost"));
  }

  @Test
  void aCostOfItsOwn() {
    assertEquals("5", header(wants(200, send(application.port(), "POST", "/upload", "uploads")), "X-RateLimit-Remaining"));
    wants(200, send(application.port(), "POST", "/upload", "uploads"));
    wants(429, send(application.port(), "POST", "/upload", "uploads"));
  }

  @Test
  void exempt() {
    for (int i = 0; i < 4; i++) {
      assertEquals(null, header(wants(200, get("/free", "free")), "X-RateLimit-Limit"));
    }
  }

  @Test
  void aPlanAndAResourceOfItsOwn() {
    wants(200, get("/planned", "planned"));
    assertEquals("2", header(wants(200, get("/planned", "planned")), "X-RateLimit-Limit"));
    wants(429, get("/planned", "planned"));
  }

  @Test
  void shadowPassesAndCounts() {
    for (int i = 0; i < 4; i++) {
      wants(200, get("/shadow", "shadow"));
    }
    Decision decision = asks.check(Check.of("GET:/shadow", "user:shadow").toBuilder().field("endpoint", "/shadow").build());
    assertTrue(decision.shadow());
    assertFalse(decision.wouldAllow());
  }

  @Test
  void aShortDelayIsSleptAndALongOneIsADenial() {
    wants(200, get("/delayed", "delay"));
    long begun = System.nanoTime();
    wants(200, get("/delayed", "delay"));
    assertTrue(System.nanoTime() - begun > 100_000_000, "not delayed");
    wants(200, get("/slow", "slow"));
    HttpResponse<String> late = get("/slow", "slow");
    Object after = problem(429, "Too Many Requests", late).get("retry_after");
    assertEquals(header(late, "Retry-After"), String.valueOf(after));
    assertTrue(header(late, "Access-Control-Expose-Headers").toLowerCase().contains("retry-after"));
    assertTrue((Long) after >= 5 && (Long) after <= 11, String.valueOf(after));
  }

  @Test
  void theHandlerSeesTheDecision() {
    wants(200, get("/smaller", "smaller"));
    assertEquals("small", wants(200, get("/smaller", "smaller")).body());
  }

  @Test
  void headersOfTheHandlerWin() {
    HttpResponse<String> response = wants(200, get("/own", "own"));
    assertEquals(List.of("own"), response.headers().allValues("X-RateLimit-Limit"));
    String exposed = header(response, "Access-Control-Expose-Headers").toLowerCase();
    assertTrue(exposed.contains("x-mine") && exposed.contains("ratelimit-policy"), exposed);
  }

  @Test
  void textForThoseWhoPreferIt() {
    get("/users/1", "text");
    get("/users/1", "text");
    HttpResponse<String> plain = wants(429, get("/users/1", "text", "Accept", "text/plain, application/json;q=0.5"));
    assertEquals("Rate limit exceeded", plain.body());
    assertTrue(header(plain, "Content-Type").startsWith("text/plain"));
    problem(429, "Too Many Requests", get("/users/1", "text", "Accept", "text/html,*/*;q=0.8"));
  }

  @Test
  void theClientsAddressIsTheSubjectAndNobodysHeaderIsBelieved() {
    wants(200, get("/users/1", null, "X-Forwarded-For", "203.0.113.1"));
    wants(200, get("/users/1", null, "X-Forwarded-For", "203.0.113.2"));
    wants(429, get("/users/1", null, "X-Forwarded-For", "203.0.113.3"));
    Check same = Check.of("GET:/users/{id}", "ip:127.0.0.1").toBuilder().field("endpoint", "/users/{id}").build();
    assertFalse(asks.check(same).allowed());
  }

  @Test
  void aKeyThatTheAgentWouldRefuseIsLimitedToo() {
    String tooLong = "x".repeat(300);
    wants(200, get("/users/1", tooLong));
    wants(200, get("/users/1", tooLong));
    wants(429, get("/users/1", tooLong));
  }

  @ParameterizedTest
  @ValueSource(strings = {"/job", "/async"})
  void aLeaseLastsAsLongAsTheRequest(String path) throws Exception {
    Check check = lease(path);
    CompletableFuture<HttpResponse<String>> first = CompletableFuture.supplyAsync(() -> get(path, "job"));
    Work.entered();
    wants(429, get(path, "job"));
    Thread.sleep(2500); // the lease lives for 2 s unless it is renewed
    assertFalse(TestAgent.free(asks, check), "the lease was not renewed");
    Work.end();
    wants(200, first.get());
    assertReturned(check);

    wants(500, get(path + "?fail=1", "job"));
    Work.entered();
    assertReturned(check);
  }

  @Test
  void aLeaseEndsWhenTheClientGoesAway() throws Exception {
    Check check = lease("/stream");
    try (Socket socket = new Socket("127.0.0.1", application.port())) {
      socket.getOutputStream().write("GET /stream HTTP/1.1\r\nHost: a\r\nX-User: job\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      InputStream input = socket.getInputStream();
      assertTrue(input.read() > 0);
      assertFalse(TestAgent.free(asks, check));
    }
    assertReturned(check);
  }

  /** A lease that nobody gives back is renewed as long as the application runs, so it never becomes free by itself. */
  private void assertReturned(Check check) {
    TestAgent.until("the lease is free", () -> TestAgent.free(asks, check));
  }

  private static Check lease(String path) {
    return Check.of("GET:" + path, "user:job").toBuilder().field("endpoint", path).build();
  }

  @ParameterizedTest
  @EnumSource(OnError.class)
  void theAgentIsKilled(OnError onError) throws Exception {
    try (TestAgent own = new TestAgent(); Application served = serve(own, onError)) {
      wants(200, send(served.port(), "GET", "/users/1", "killed"));
      own.kill();
      for (int i = 0; i < 4; i++) {
        HttpResponse<String> response = send(served.port(), "GET", "/users/1", "killed");
        if (onError == OnError.ALLOW) {
          assertEquals(null, header(wants(200, response), "X-RateLimit-Limit"));
        } else {
          problem(503, "Service Unavailable", response);
        }
      }
      own.restart();
      assertNotNull(header(wants(200, send(served.port(), "GET", "/users/1", "killed")), "X-RateLimit-Remaining"));
    }
  }
}
