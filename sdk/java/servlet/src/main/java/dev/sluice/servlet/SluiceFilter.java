package dev.sluice.servlet;

import dev.sluice.client.Sluice;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.web.RoutePattern;
import dev.sluice.client.web.RouteTable;
import dev.sluice.client.web.WebLimiter;
import dev.sluice.client.web.WebOptions;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.FilterConfig;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletMapping;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.MappingMatch;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * Checks requests before their servlet runs. The endpoint is the first of the routes that matches, else the mapping of
 * the servlet: {@code /users/*} is {@code /users/{path}}. Map it for asynchronous requests with {@code async-supported}.
 *
 * <p>In a web.xml the filter makes its client from the environment ({@code SLUICE_URL} and so on). Its parameter
 * {@code routes} has patterns with spaces between them.
 */
public final class SluiceFilter implements Filter {
  private Sluice sluice;
  private Sluice own; // null if the caller closes it
  private final WebOptions<HttpServletRequest> options;
  private WebLimiter<HttpServletRequest> limiter;
  private RouteTable routes = RouteTable.of(List.of());

  /** For a web.xml: makes a client from the environment. */
  public SluiceFilter() {
    this.options = new WebOptions<>();
  }

  /**
   * Makes a filter.
   *
   * @param sluice stays open when the filter is destroyed
   */
  public SluiceFilter(Sluice sluice, WebOptions<HttpServletRequest> options) {
    this.sluice = sluice;
    this.options = options;
    this.limiter = new WebLimiter<>(sluice, options);
  }

  /** The patterns of routes below the servlets, such as {@code /users/{id}} and {@code /files/**}. */
  public SluiceFilter routes(List<String> patterns) {
    this.routes = RouteTable.of(patterns);
    return this;
  }

  @Override
  public void init(FilterConfig config) {
    String patterns = config.getInitParameter("routes");
    if (patterns != null) {
      routes(List.of(patterns.strip().split("\\s+")));
    }
    if (sluice == null) {
      own = SluiceClient.create();
      sluice = own;
      limiter = new WebLimiter<>(sluice, options);
    }
  }

  @Override
  public void destroy() {
    if (own != null) {
      own.close();
    }
  }

  @Override
  public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain) throws IOException, ServletException {
    if (!(request instanceof HttpServletRequest asked) || !(response instanceof HttpServletResponse answer)
        || LimitedRequest.of(asked).isPresent()) { // a request is checked once, whatever it is dispatched to
      chain.doFilter(request, response);
      return;
    }
    LimitedRequest limited = LimitedRequest.begin(asked, answer);
    try {
      if (limited.admit(asked, limiter, endpoint(asked))) {
        chain.doFilter(asked, limited.response());
      }
    } finally {
      limited.finish();
    }
  }

  private String endpoint(HttpServletRequest request) {
    String path = request.getServletPath() + Optional.ofNullable(request.getPathInfo()).orElse("");
    String found = routes.find(path);
    if (found != null) {
      return found;
    }
    HttpServletMapping mapping = request.getHttpServletMapping();
    MappingMatch match = mapping.getMappingMatch();
    if (match == null || match == MappingMatch.DEFAULT) {
      return RoutePattern.UNMATCHED;
    }
    if (match == MappingMatch.CONTEXT_ROOT) {
      return "/";
    }
    String pattern = mapping.getPattern();
    return RoutePattern.normalize(pattern.startsWith("/") ? pattern : "/" + pattern);
  }
}
