package dev.sluice.spring;

import dev.sluice.client.web.ClientAddress;
import jakarta.servlet.http.HttpServletRequest;
import org.springframework.web.context.request.RequestContextHolder;
import org.springframework.web.context.request.ServletRequestAttributes;

/** The request that this thread works for. Only where Spring Web and servlets are present. */
final class CurrentRequest {
  private CurrentRequest() {}

  /** The request; null for none. */
  static HttpServletRequest get() {
    return RequestContextHolder.getRequestAttributes() instanceof ServletRequestAttributes attributes ? attributes.getRequest() : null;
  }

  /** The client's address as a subject; null without a request. */
  static String subject() {
    HttpServletRequest request = get();
    return request == null ? null : ClientAddress.subject(request.getRemoteAddr());
  }
}
