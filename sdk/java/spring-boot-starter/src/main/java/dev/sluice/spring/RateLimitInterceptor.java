package dev.sluice.spring;

import dev.sluice.client.Sluice;
import dev.sluice.client.web.RoutePattern;
import dev.sluice.client.web.WebLimiter;
import dev.sluice.client.web.WebOptions;
import dev.sluice.servlet.LimitedRequest;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.springframework.expression.EvaluationContext;
import org.springframework.http.server.PathContainer;
import org.springframework.web.cors.CorsUtils;
import org.springframework.web.method.HandlerMethod;
import org.springframework.web.servlet.HandlerInterceptor;
import org.springframework.web.servlet.HandlerMapping;
import org.springframework.web.servlet.resource.ResourceHttpRequestHandler;
import org.springframework.web.util.ServletRequestPathUtils;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;

/** Checks requests when Spring has found their route. */
final class RateLimitInterceptor implements HandlerInterceptor {
  private static final String RULE = "dev.sluice.rule";

  private final WebLimiter<HttpServletRequest> limiter;
  private final SluiceProperties.Web properties;
  private final Expressions expressions;
  private final List<Exempt> exempt;

  /** A route without a check; `method` is null for every method. */
  private record Exempt(String method, PathPattern path) {
    static Exempt of(String text) {
      int colon = text.indexOf(':');
      boolean hasMethod = colon > 0 && text.startsWith("/", colon + 1);
      String path = hasMethod ? text.substring(colon + 1) : text;
      if (!path.startsWith("/")) {
        throw new IllegalArgumentException("sluice.web.exempt must have routes such as /health or GET:/users/{id}; got \"" + text + "\"");
      }
      return new Exempt(hasMethod ? text.substring(0, colon) : null, PathPatternParser.defaultInstance.parse(path));
    }

    boolean matches(HttpServletRequest request, PathContainer asked) {
      return (method == null || method.equals(request.getMethod())) && path.matches(asked);
    }
  }

  RateLimitInterceptor(Sluice sluice, SluiceProperties.Web properties, Expressions expressions, List<SluiceWebCustomizer> customizers) {
    this.properties = properties;
    this.expressions = expressions;
    this.exempt = properties.exempt().stream().map(Exempt::of).toList();
    WebOptions<HttpServletRequest> options = new WebOptions<HttpServletRequest>()
        .key(this::key).cost(this::cost).resource(request -> of(request, RateLimited::resource)).planId(request -> of(request, RateLimited::planId))
        .maxDelay(properties.maxDelay());
    customizers.forEach(customizer -> customizer.customize(options));
    this.limiter = new WebLimiter<>(sluice, options);
  }

  @Override
  public boolean preHandle(HttpServletRequest request, HttpServletResponse response, Object handler) throws IOException {
    Optional<LimitedRequest> limited = LimitedRequest.of(request);
    if (request.getDispatcherType() != DispatcherType.REQUEST || limited.isEmpty()) {
      return true; // a request is checked once, whatever it is dispatched to
    }
    RateLimited rule = handler instanceof HandlerMethod method ? RateLimitedMethods.rule(method.getMethod(), method.getBeanType()) : null;
    if (isExempt(request, rule)) {
      return true;
    }
    request.setAttribute(RULE, rule);
    return limited.get().admit(request, limiter, endpoint(request, handler));
  }

  /** Checks a request for which Spring has found no handler. */
  boolean admitUnmatched(HttpServletRequest request, HttpServletResponse response) throws IOException {
    return preHandle(request, response, "no handler");
  }

  private boolean isExempt(HttpServletRequest request, RateLimited rule) {
    if (rule == null ? properties.annotatedOnly() : rule.exempt()) {
      return true;
    }
    if (properties.exemptPreflight() && CorsUtils.isPreFlightRequest(request)) {
      return true;
    }
    if (exempt.isEmpty()) {
      return false;
    }
    PathContainer path = ServletRequestPathUtils.parseAndCache(request).pathWithinApplication();
    return exempt.stream().anyMatch(one -> one.matches(request, path));
  }

  private static String endpoint(HttpServletRequest request, Object handler) {
    Object pattern = request.getAttribute(HandlerMapping.BEST_MATCHING_PATTERN_ATTRIBUTE);
    // What no controller wants goes to the handler of static files, which is mapped to all paths.
    boolean unmatched = pattern == null || (handler instanceof ResourceHttpRequestHandler && pattern.toString().equals("/**"));
    return unmatched ? RoutePattern.UNMATCHED : RoutePattern.normalize(pattern.toString());
  }

  private String key(HttpServletRequest request) {
    String own = of(request, RateLimited::key);
    String expression = own != null ? own : properties.key();
    return expression == null || expression.isEmpty() ? null : expressions.text(expression, context(request));
  }

  private long cost(HttpServletRequest request) {
    String expression = of(request, RateLimited::cost);
    return expression == null ? 1 : expressions.number(expression, context(request));
  }

  private EvaluationContext context(HttpServletRequest request) {
    Object variables = request.getAttribute(HandlerMapping.URI_TEMPLATE_VARIABLES_ATTRIBUTE);
    return expressions.ofRequest(request, variables instanceof Map<?, ?> map ? map : Map.of());
  }

  /** A member of the request's annotation; null if there is none, or it is empty. */
  private static String of(HttpServletRequest request, Function<RateLimited, String> member) {
    RateLimited rule = (RateLimited) request.getAttribute(RULE);
    String value = rule == null ? "" : member.apply(rule);
    return value.isEmpty() ? null : value;
  }
}
