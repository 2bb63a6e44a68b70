package dev.sluice.spring;

import dev.sluice.servlet.LimitedRequest;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.core.Ordered;
import org.springframework.web.servlet.HandlerExceptionResolver;
import org.springframework.web.servlet.ModelAndView;

/**
 * Makes the response of a {@link RateLimitedException} that leaves a handler. It also checks requests that fail because
 * they have no handler, such as those with another method than the route has: interceptors do not see them.
 */
final class RateLimitedExceptionResolver implements HandlerExceptionResolver, Ordered {
  private final ObjectProvider<RateLimitInterceptor> interceptor;

  RateLimitedExceptionResolver(ObjectProvider<RateLimitInterceptor> interceptor) {
    this.interceptor = interceptor;
  }

  @Override
  public int getOrder() {
    return -10; // before those of Spring MVC, which would make it 500; an application's own may come earlier
  }

  @Override
  public ModelAndView resolveException(HttpServletRequest request, HttpServletResponse response, Object handler, Exception failure) {
    RateLimitInterceptor checks = handler == null ? interceptor.getIfAvailable() : null;
    try {
      if (checks != null && !checks.admitUnmatched(request, response)) {
        return new ModelAndView();
      }
    } catch (IOException gone) {
      throw new UncheckedIOException(gone);
    }
    Throwable cause = failure;
    while (cause != null && !(cause instanceof RateLimitedException)) {
      cause = cause.getCause();
    }
    if (!(cause instanceof RateLimitedException denied) || denied.decision() == null || response.isCommitted()) {
      return null;
    }
    try {
      LimitedRequest.of(request).orElseGet(() -> LimitedRequest.begin(request, response)).deny(denied.decision());
    } catch (IOException gone) {
      throw new UncheckedIOException(gone);
    }
    return new ModelAndView();
  }
}
