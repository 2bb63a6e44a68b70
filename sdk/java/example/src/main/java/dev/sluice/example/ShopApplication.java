package dev.sluice.example;

import dev.sluice.spring.RateLimited;
import java.util.List;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.stereotype.Service;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

/** A shop. Every route is limited by the client's address, or as its annotation says. */
@SpringBootApplication
public class ShopApplication {
  public static void main(String[] arguments) {
    SpringApplication.run(ShopApplication.class, arguments);
  }

  @RestController
  static class Routes {
    private final Mail mail;

    Routes(Mail mail) {
      this.mail = mail;
    }

    @GetMapping("/orders/{number}")
    String order(@PathVariable long number) {
      return "order " + number;
    }

    @PostMapping("/customers/{id}/orders")
    @RateLimited(key = "'customer:' + #id", cost = "5")
    String place(@PathVariable String id, @RequestBody List<String> items) {
      mail.confirm(id, items);
      return items.size() + " items for " + id;
    }

    @GetMapping("/health")
    @RateLimited(exempt = true)
    String health() {
      return "ok";
    }
  }

  /** A denial here becomes the response 429, although no controller handles it. */
  @Service
  static class Mail {
    @RateLimited(resource = "mail", key = "'customer:' + #customer", cost = "#items.size()")
    public void confirm(String customer, List<String> items) {
      // A real shop would send a mail here.
    }
  }
}
