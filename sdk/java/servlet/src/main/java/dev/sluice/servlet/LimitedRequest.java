package dev.sluice.servlet;

import dev.sluice.client.Decision;
import dev.sluice.client.web.Denial;
import dev.sluice.client.web.WebLimiter;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * One request from its check to the end of its response. {@link SluiceFilter} uses it, and so may frameworks on top of
 * servlets that find the route later than a filter does.
 */
public final class LimitedRequest {
  private static final String STATE = "dev.sluice.request";

  private final HttpServletRequest request;
  private final DecisionResponse response;
  private WebLimiter.Verdict verdict; // null until there is one

  private LimitedRequest(HttpServletRequest request, HttpServletResponse response) {
    this.request = request;
    this.response = new DecisionResponse(response);
  }

  /** Begins a request. Everything after it must use {@link #response()}, and {@link #finish()} must be called in the end. */
  public static LimitedRequest begin(HttpServletRequest request, HttpServletResponse response) {
    LimitedRequest begun = new LimitedRequest(request, response);
    request.setAttribute(STATE, begun);
    return begun;
  }

  /** What {@link #begin} made for this request, in whatever dispatch; empty if it was not called. */
  public static Optional<LimitedRequest> of(HttpServletRequest request) {
    return Optional.ofNullable((LimitedRequest) request.getAttribute(STATE));
  }

  /** The decision about a request. Empty if it was not checked. */
  public static Optional<Decision> decision(HttpServletRequest request) {
    return Optional.ofNullable((Decision) request.getAttribute(WebLimiter.ATTRIBUTE));
  }

  /** The response with the headers of the decision. */
  public HttpServletResponse response() {
    return response;
  }

  /**
   * Judges the request. If it does not pass, the denial is written. If it has a delay, the thread sleeps.
   *
   * @param current the request as it is now: filters may have wrapped it since {@link #begin}
   * @param endpoint the route's pattern, as {@link dev.sluice.client.web.RoutePattern#normalize} gives it
   * @return whether the handler runs
   */
  public boolean admit(HttpServletRequest current, WebLimiter<HttpServletRequest> limiter, String endpoint) throws IOException {
    WebLimiter.Facts facts = new WebLimiter.Facts(current.getMethod(), endpoint, current.getRemoteAddr(), current.getHeader("Accept"),
        current.getHeader("traceparent"), current.getHeader("tracestate"), Map.of());
    Optional<WebLimiter.Verdict> judged = limiter.judge(current, facts);
    if (judged.isEmpty()) {
      return true;
    }
    verdict = judged.get();
    request.setAttribute(WebLimiter.ATTRIBUTE, verdict.decision());
    if (!verdict.passes()) {
      deny(verdict.decision());
      return false;
    }
    response.decide(verdict.decision().headers());
    try {
      Thread.sleep(verdict.delay().toMillis());
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while the request was delayed");
    }
    return true;
  }

  /** Writes the response to a request that does not pass, with the headers of the decision. */
  public void deny(Decision decision) throws IOException {
    Map<String, String> headers = new LinkedHashMap<>(decision.headers());
    if (headers.keySet().stream().noneMatch("retry-after"::equalsIgnoreCase)) {
      Denial.retryAfter(decision).ifPresent(seconds -> headers.put("Retry-After", Long.toString(seconds)));
    }
    response.decide(headers);
    Denial denial = Denial.of(decision, request.getHeader("Accept"));
    byte[] body = denial.body().getBytes(StandardCharsets.UTF_8);
    response.setStatus(denial.status());
    response.setContentType(denial.contentType());
    response.setContentLength(body.length);
    response.getOutputStream().write(body);
  }

  /** The thread leaves the request: gives the lease back now, or when an asynchronous response is complete. */
  public void finish() {
    if (verdict == null) {
      return;
    }
    try {
      if (request.isAsyncStarted()) {
        request.getAsyncContext().addListener(new CloseAtEnd(verdict));
        return;
      }
    } catch (IllegalStateException completed) { // by another thread, meanwhile
    }
    verdict.close();
  }

  private record CloseAtEnd(WebLimiter.Verdict verdict) implements AsyncListener {
    @Override
    public void onComplete(AsyncEvent event) {
      verdict.close();
    }

    @Override
    public void onTimeout(AsyncEvent event) {} // the container or the application completes it now

    @Override
    public void onError(AsyncEvent event) {
      verdict.close();
    }

    @Override
    public void onStartAsync(AsyncEvent event) {
      event.getAsyncContext().addListener(this); // a new cycle forgets its listeners
    }
  }
}
