package dev.sluice.spring;

import dev.sluice.client.web.WebOptions;
import jakarta.servlet.http.HttpServletRequest;

/** A bean of this type changes how requests become checks, in Java instead of by properties. */
@FunctionalInterface
public interface SluiceWebCustomizer {
  void customize(WebOptions<HttpServletRequest> options);
}
