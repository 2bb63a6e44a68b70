package dev.sluice.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sluice.client.testing.SluiceDouble;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.web.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.support.GenericApplicationContext;

/** How an application tests itself without an agent: a double takes the place of the client. */
class ShopApplicationTest {
  @Test
  void theShopIsLimited() throws Exception {
    SluiceDouble sluice = SluiceDouble.scripted(
        List.of(Map.of("allowed", true), Map.of("allowed", true), Map.of("allowed", false, "retry_after_ms", 2000L)));
    try (var context = new SpringApplicationBuilder(ShopApplication.class)
        .initializers(made -> ((GenericApplicationContext) made).registerBean("sluice", dev.sluice.client.Sluice.class, () -> sluice))
        .run("--server.port=0", "--spring.main.banner-mode=off")) {
      int port = ((ServletWebServerApplicationContext) context).getWebServer().getPort();
      HttpClient http = HttpClient.newHttpClient();
      HttpRequest order = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/customers/7/orders"))
          .header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString("[\"tea\", \"cup\"]")).build();
      HttpResponse<String> placed = http.send(order, HttpResponse.BodyHandlers.ofString());
      assertEquals("2 items for 7", placed.body());
      assertEquals(Map.of("resource", "mail", "subject", "customer:7", "cost", 2L), sluice.checks().get(1));
      assertEquals(List.of("POST:/customers/{id}/orders", "customer:7", 5L),
          List.of(sluice.checks().get(0).get("resource"), sluice.checks().get(0).get("subject"), sluice.checks().get(0).get("cost")));
      assertEquals(429, http.send(order, HttpResponse.BodyHandlers.ofString()).statusCode());
      HttpRequest health = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/health")).build();
      assertEquals("ok", http.send(health, HttpResponse.BodyHandlers.ofString()).body());
      assertEquals(3, sluice.checks().size());
      assertTrue(sluice.openLeases().isEmpty());
    }
  }
}
