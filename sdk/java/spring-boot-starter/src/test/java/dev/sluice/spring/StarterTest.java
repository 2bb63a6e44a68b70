package dev.sluice.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sluice.client.Check;
import dev.sluice.client.ErrorKind;
import dev.sluice.client.OnError;
import dev.sluice.client.Sluice;
import dev.sluice.client.SluiceException;
import dev.sluice.testsupport.TestAgent;
import dev.sluice.testsupport.WebSuite;
import dev.sluice.testsupport.Work;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.web.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;

/** A Spring Boot application in its Tomcat. */
class StarterTest extends WebSuite {
  private record Running(ConfigurableApplicationContext context, Path base) implements Application {
    @Override
    public int port() {
      return ((ServletWebServerApplicationContext) context).getWebServer().getPort();
    }

    @Override
    public void close() {
      context.close();
      TestAgent.delete(base);
    }
  }

  @Override
  protected Application serve(TestAgent agent, OnError onError) {
    return start(agent, onError, "--sluice.web.key=#request.getHeader('X-User') == null ? null : 'user:' + #request.getHeader('X-User')");
  }

  private static Running start(TestAgent agent, OnError onError, String... more) {
    Path base = temporary();
    List<String> arguments = new ArrayList<>(List.of("--server.port=0", "--server.tomcat.basedir=" + base, "--server.address=127.0.0.1", "--spring.main.banner-mode=off",
        "--sluice.url=" + agent.url(), "--sluice.api-key=" + agent.key(), "--sluice.timeout=10s", "--sluice.on-error=" + onError));
    arguments.addAll(Arrays.asList(more));
    try {
      return new Running(new SpringApplication(Shop.class).run(arguments.toArray(String[]::new)), base);
    } catch (RuntimeException failed) {
      TestAgent.delete(base);
      throw failed;
    }
  }

  private static Path temporary() {
    try {
      return Files.createTempDirectory("tomcat-");
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  private Shop.Orders orders() {
    return ((Running) application()).context().getBean(Shop.Orders.class);
  }

  @Test
  void theKeyOfARouteMayUsePathVariablesParametersAndTheRequest() {
    wants(200, get("/keyed/1?kind=a", "x"));
    wants(200, get("/keyed/1?kind=a", "y"));
    wants(429, get("/keyed/1?kind=a", "z"));
    wants(200, get("/keyed/2?kind=a", "x"));
    wants(200, get("/keyed/1?kind=b", "x"));
    wants(200, get("/keyed/1?kind=a", "x", "X-More", "m"));
    assertFalse(asks().check(Check.of("keyed", "item:1a").toBuilder().planId("two").build()).allowed());
  }

  @Test
  void aMethodThatNoRouteHasIsLimitedLikeNoRoute() {
    wants(405, send(application().port(), "POST", "/users/1", "posts"));
    wants(405, send(application().port(), "POST", "/users/3", "posts"));
    problem(429, "Too Many Requests", send(application().port(), "POST", "/users/2", "posts"));
  }

  @Test
  void aMethodOfABeanThrowsAndItsResponseIsADenial() {
    assertEquals("ann1", orders().place("ann", List.of("a")));
    wants(200, send(application().port(), "POST", "/orders/bob", null));
    orders().place("ann", List.of("a"));
    RateLimitedException denied = assertThrows(RateLimitedException.class, () -> orders().place("ann", List.of("a")));
    assertEquals("limit_exceeded", denied.decision().reason());
    assertTrue(denied.getMessage().contains("Orders.place"), denied.getMessage());
    HttpResponse<String> response = send(application().port(), "POST", "/orders/ann", null);
    Object after = problem(429, "Too Many Requests", response).get("retry_after");
    assertEquals(header(response, "Retry-After"), String.valueOf(after));
    assertEquals("2", header(response, "X-RateLimit-Limit"));
  }

  @Test
  void theCostOfAMethodMayUseItsArguments() {
    assertThrows(RateLimitedException.class, () -> orders().placeMany("carl", List.of("a", "b", "c")));
    orders().placeMany("carl", List.of("a", "b"));
    assertThrows(RateLimitedException.class, () -> orders().placeMany("carl", List.of("a")));
  }

  @Test
  void withoutAKeyAMethodIsLimitedByTheRequestElseByTheApplication() {
    orders().byDefault();
    orders().byDefault();
    assertThrows(RateLimitedException.class, orders()::byDefault);
    assertFalse(asks().check("Orders.place", "app:application").allowed());
    wants(200, send(application().port(), "POST", "/default", null));
    assertEquals(0, asks().check("Orders.place", "ip:127.0.0.1").remaining().orElse(-1));
  }

  @Test
  void theAnnotationOfAClassHoldsForItsMethods() {
    Shop.Priced priced = ((Running) application()).context().getBean(Shop.Priced.class);
    priced.read("dora");
    priced.read("dora");
    assertThrows(RateLimitedException.class, () -> priced.read("dora"));
    assertEquals("dora", priced.free("dora"));
  }

  @Test
  void theLeaseOfAMethodEndsWithItOrWithItsFuture() throws Exception {
    Check check = Check.of("Orders.work", "user:emil");
    CompletableFuture<String> first = CompletableFuture.supplyAsync(() -> orders().work("emil", false));
    Work.entered();
    assertThrows(RateLimitedException.class, () -> orders().work("emil", false));
    Work.end();
    assertEquals("done", first.get());
    assertTrue(TestAgent.free(asks(), check));
    assertThrows(IllegalStateException.class, () -> orders().work("emil", true));
    Work.entered();
    assertTrue(TestAgent.free(asks(), check));

    CompletableFuture<String> result = new CompletableFuture<>();
    CompletableFuture<String> given = orders().later("emil", result);
    assertFalse(TestAgent.free(asks(), check));
    result.completeExceptionally(new IllegalStateException("failed"));
    assertTrue(given.isCompletedExceptionally());
    assertTrue(TestAgent.free(asks(), check));
  }

  @Test
  void aMethodFollowsOnErrorWhenTheAgentIsKilled() {
    for (OnError mode : OnError.values()) {
      try (TestAgent agent = new TestAgent(); Running running = start(agent, mode, "--sluice.web.enabled=false")) {
        Shop.Orders orders = running.context().getBean(Shop.Orders.class);
        agent.kill();
        if (mode == OnError.ALLOW) {
          assertEquals("ann1", orders.place("ann", List.of("a")));
          continue;
        }
        RateLimitedException denied = assertThrows(RateLimitedException.class, () -> orders.place("ann", List.of("a")));
        assertEquals(ErrorKind.UNREACHABLE, ((SluiceException) denied.getCause()).kind());
        problem(503, "Service Unavailable", send(running.port(), "POST", "/orders/ann", null));
      }
    }
  }

  @Test
  void propertiesSayWhatIsExempt() {
    String[] properties = {"--sluice.web.exempt=/open/**,GET:/users/{id}", "--sluice.web.exempt-preflight=true"};
    try (TestAgent agent = new TestAgent(); Running running = start(agent, OnError.ALLOW, properties)) {
      assertNull(header(wants(200, send(running.port(), "GET", "/users/1", null)), "X-RateLimit-Limit"));
      assertNull(header(wants(200, send(running.port(), "GET", "/open/a", null)), "X-RateLimit-Limit"));
      assertEquals("2", header(wants(405, send(running.port(), "POST", "/users/1", null)), "X-RateLimit-Limit"));
      assertNull(header(send(running.port(), "OPTIONS", "/upload", null, "Origin", "http://a.example", "Access-Control-Request-Method", "POST"),
          "X-RateLimit-Limit"));
      assertEquals("2", header(send(running.port(), "OPTIONS", "/upload", null), "X-RateLimit-Limit"));
    }
    try (TestAgent agent = new TestAgent(); Running running = start(agent, OnError.ALLOW, "--sluice.web.annotated-only=true")) {
      assertNull(header(wants(200, send(running.port(), "GET", "/users/1", null)), "X-RateLimit-Limit"));
      assertEquals("2", header(wants(200, send(running.port(), "GET", "/planned", null)), "X-RateLimit-Limit"));
    }
    try (TestAgent agent = new TestAgent()) {
      assertThrows(BeanCreationException.class, () -> start(agent, OnError.ALLOW, "--sluice.web.exempt=health"));
    }
  }

  @Test
  void aClientBehindAProxyThatSpringTrustsIsTheSubject() {
    try (TestAgent agent = new TestAgent(); Running running = start(agent, OnError.ALLOW, "--server.forward-headers-strategy=framework")) {
      for (int i = 1; i < 4; i++) {
        wants(200, send(running.port(), "GET", "/users/1", null, "X-Forwarded-For", "203.0.113." + i));
      }
      try (var client = agent.client(OnError.RAISE)) {
        Check check = Check.of("GET:/users/{id}", "ip:203.0.113.1").toBuilder().field("endpoint", "/users/{id}").cost(0).build();
        assertEquals(1, client.check(check).remaining().orElse(-1));
      }
    }
  }

  @Test
  void checksAreCountedIfTheApplicationHasARegistry() {
    MeterRegistry registry = ((Running) application()).context().getBean(MeterRegistry.class);
    wants(200, get("/users/1", "metered"));
    assertTrue(registry.get("sluice.client.calls").tags("operation", "lease", "outcome", "ok").timer().count() > 0);
  }

  @Test
  void anApplicationWithoutSluiceStarts() {
    try (TestAgent agent = new TestAgent(); Running running = start(agent, OnError.ALLOW, "--sluice.enabled=false")) {
      assertEquals(0, running.context().getBeanNamesForType(Sluice.class).length);
      wants(200, send(running.port(), "GET", "/users/1", null));
    }
  }
}
