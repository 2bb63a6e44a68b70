package dev.sluice.spring;

import dev.sluice.client.Decision;
import dev.sluice.servlet.LimitedRequest;
import dev.sluice.testsupport.Work;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody;

/** The application of the tests. */
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
class Shop {
  @Bean
  MeterRegistry meters() {
    return new SimpleMeterRegistry();
  }

  @Bean
  Orders orders() {
    return new Orders();
  }

  @Bean
  Priced priced() {
    return new Priced();
  }

  /** A bean whose methods are limited. */
  static class Orders {
    @RateLimited(key = "'user:' + #user")
    public String place(String user, List<String> items) {
      return user + items.size();
    }

    @RateLimited(resource = "Orders.place", key = "'user:' + #user", cost = "#items.size()")
    public String placeMany(String user, List<String> items) {
      return user + items.size();
    }

    @RateLimited(key = "'user:' + #p0")
    public String work(String user, boolean fail) {
      Work.run(fail);
      return "done";
    }

    @RateLimited(resource = "Orders.work", key = "'user:' + #user")
    public CompletableFuture<String> later(String user, CompletableFuture<String> result) {
      return result;
    }

    @RateLimited(resource = "Orders.place")
    public String byDefault() {
      return "ok";
    }
  }

  /** A bean of which all methods but one are limited. */
  @RateLimited(planId = "two", key = "'user:' + #user", resource = "priced")
  static class Priced {
    public String read(String user) {
      return user;
    }

    @RateLimited(exempt = true)
    public String free(String user) {
      return user;
    }
  }

  /** The routes of the suite. A controller within a configuration is a bean. */
  @RestController
  static class Routes {
    private final Orders orders;

    Routes(Orders orders) {
      this.orders = orders;
    }

    @GetMapping("/users/{id:\\w+}")
    String user(@PathVariable String id) {
      return id;
    }

    @GetMapping({"/files/**", "/shadow", "/delayed", "/slow", "/open/{name}"})
    String any() {
      return "ok";
    }

    @PostMapping("/upload")
    @RateLimited(cost = "2 + 3")
    String upload() {
      return "ok";
    }

    @GetMapping("/free")
    @RateLimited(exempt = true)
    String free() {
      return "ok";
    }

    @GetMapping("/planned")
    @RateLimited(resource = "planned", planId = "two")
    String planned() {
      return "ok";
    }

    @GetMapping("/keyed/{id}")
    @RateLimited(resource = "keyed", planId = "two", key = "'item:' + #id + #kind + (#request.getHeader('X-More') ?: '')")
    String keyed(@PathVariable String id, @RequestParam String kind) {
      return id + kind;
    }

    @GetMapping("/smaller")
    String smaller(HttpServletRequest request) {
      return LimitedRequest.decision(request).flatMap(Decision::downgradeTo).orElse("");
    }

    @GetMapping("/own")
    ResponseEntity<String> own() {
      return ResponseEntity.ok().header("X-RateLimit-Limit", "own").header("Access-Control-Expose-Headers", "X-Mine").body("ok");
    }

    @GetMapping("/job")
    String job(@RequestParam(required = false) String fail) {
      Work.run(fail != null);
      return "done";
    }

    @GetMapping("/async")
    Callable<String> async(@RequestParam(required = false) String fail) {
      return () -> job(fail);
    }

    @GetMapping("/stream")
    StreamingResponseBody stream() {
      return Routes::flood;
    }

    @PostMapping("/orders/{user}")
    String order(@PathVariable String user) {
      return orders.place(user, List.of("a"));
    }

    @PostMapping("/default")
    String byDefault() {
      return orders.byDefault();
    }

    private static void flood(OutputStream out) throws IOException {
      byte[] chunk = new byte[1 << 16];
      while (true) {
        out.write(chunk);
        out.flush();
      }
    }
  }
}
