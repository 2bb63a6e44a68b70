package dev.sluice.grpc;

import dev.sluice.client.Decision;
import dev.sluice.client.Sluice;
import dev.sluice.client.web.WebLimiter;
import dev.sluice.client.web.WebOptions;
import io.grpc.Attributes;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import java.net.InetSocketAddress;
import java.util.Optional;

/**
 * Checks the calls that a server gets. The resource is {@code POST:/PACKAGE.SERVICE/METHOD}, as a proxy sees it; service,
 * operation and the signal {@code grpc} are in the check too. A stream is one call; its lease lasts as long as it does.
 *
 * <p>The check runs on the thread that starts the call, which is one of the server's executor. Do not use it with
 * {@code directExecutor()}: it would block the network.
 */
public final class SluiceServerInterceptor implements ServerInterceptor {
  private static final Context.Key<Decision> DECISION = Context.key(WebLimiter.ATTRIBUTE);

  private final WebLimiter<Call> limiter;

  /**
   * A call that begins.
   *
   * @param method {@code PACKAGE.SERVICE/METHOD}
   * @param headers what the client sent
   * @param attributes of the connection
   */
  public record Call(String method, Metadata headers, Attributes attributes) {}

  /** Limits by the client's address. */
  public SluiceServerInterceptor(Sluice sluice) {
    this(sluice, new WebOptions<>());
  }

  public SluiceServerInterceptor(Sluice sluice, WebOptions<Call> options) {
    this.limiter = new WebLimiter<>(sluice, options);
  }

  /** The decision about the call that this thread serves. Empty if it was not checked. */
  public static Optional<Decision> decision() {
    return Optional.ofNullable(DECISION.get());
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    String method = call.getMethodDescriptor().getFullMethodName();
    WebLimiter.Facts facts = new WebLimiter.Facts("POST", Methods.path(method), address(call), null, header(headers, "traceparent"),
        header(headers, "tracestate"), Methods.fields(method));
    Optional<WebLimiter.Verdict> judged = limiter.judge(new Call(method, headers, call.getAttributes()), facts);
    if (judged.isEmpty()) {
      return next.startCall(call, headers);
    }
    WebLimiter.Verdict verdict = judged.get();
    if (!verdict.passes()) {
      Denials.Refusal refusal = Denials.of(verdict.decision());
      Denials.addHeaders(verdict.decision(), refusal.trailers());
      verdict.close();
      call.close(refusal.status(), refusal.trailers());
      return new ServerCall.Listener<>() {};
    }
    boolean started = false;
    try {
      Thread.sleep(verdict.delay().toMillis());
      Context context = Context.current().withValue(DECISION, verdict.decision());
      ServerCall.Listener<Q> listener = Contexts.interceptCall(context, new DecidedCall<>(call, verdict.decision()), headers, next);
      started = true;
      return new ClosingListener<>(listener, verdict);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      call.close(Status.CANCELLED.withDescription("interrupted while the call was delayed"), new Metadata());
      return new ServerCall.Listener<>() {};
    } finally {
      if (!started) {
        verdict.close();
      }
    }
  }

  private static String address(ServerCall<?, ?> call) {
    if (!(call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR) instanceof InetSocketAddress remote)) {
      return null; // a Unix socket, or in the same process
    }
    return remote.getAddress() == null ? remote.getHostString() : remote.getAddress().getHostAddress();
  }

  private static String header(Metadata headers, String name) {
    return headers.get(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER));
  }

  /** Sends the decision's headers with the first of the call's own. */
  private static final class DecidedCall<Q, A> extends SimpleForwardingServerCall<Q, A> {
    private final Decision decision;
    private boolean sent;

    DecidedCall(ServerCall<Q, A> call, Decision decision) {
      super(call);
      this.decision = decision;
    }

    @Override
    public void sendHeaders(Metadata headers) {
      sent = true;
      Denials.addHeaders(decision, headers);
      super.sendHeaders(headers);
    }

    @Override
    public void close(Status status, Metadata trailers) {
      if (!sent) { // the trailers are the only headers
        Denials.addHeaders(decision, trailers);
      }
      super.close(status, trailers);
    }
  }

  /** gRPC ends every call with one of the two: also after a handler that failed, and a client that went away. */
  private static final class ClosingListener<Q> extends SimpleForwardingServerCallListener<Q> {
    private final WebLimiter.Verdict verdict;

    ClosingListener(ServerCall.Listener<Q> listener, WebLimiter.Verdict verdict) {
      super(listener);
      this.verdict = verdict;
    }

    @Override
    public void onComplete() {
      try {
        super.onComplete();
      } finally {
        verdict.close();
      }
    }

    @Override
    public void onCancel() {
      try {
        super.onCancel();
      } finally {
        verdict.close();
      }
    }
  }
}
