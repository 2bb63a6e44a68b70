package dev.sluice.grpc;

import dev.sluice.client.Check;
import dev.sluice.client.Decision;
import dev.sluice.client.Lease;
import dev.sluice.client.Sluice;
import dev.sluice.client.SluiceException;
import dev.sluice.client.web.WebLimiter;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.function.BiFunction;

/**
 * Checks the calls that a client makes: the resource {@code POST:/PACKAGE.SERVICE/METHOD} for the authority that it calls.
 * A denied call is not sent; it fails with RESOURCE_EXHAUSTED and a RetryInfo. A lease lasts until the call has ended.
 *
 * <p>The check, the wait and the sleep of a decision with a delay block the thread that starts the call. An event loop must start
 * its calls on another thread.
 */
public final class SluiceClientInterceptor implements ClientInterceptor {
  private final Sluice sluice;
  private BiFunction<String, String, Check> check = SluiceClientInterceptor::usual;
  private Duration maxDelay = Duration.ofSeconds(1);
  private Duration waitUpTo = Duration.ZERO;

  public SluiceClientInterceptor(Sluice sluice) {
    this.sluice = sluice;
  }

  /** The check of a call, made of the authority ({@code HOST:PORT}) and the method ({@code PACKAGE.SERVICE/METHOD}). */
  public SluiceClientInterceptor check(BiFunction<String, String, Check> function) {
    this.check = Objects.requireNonNull(function);
    return this;
  }

  /** The longest delay of an allowed call that is slept; a longer one is a denial. 1 s by default. */
  public SluiceClientInterceptor maxDelay(Duration longest) {
    this.maxDelay = Objects.requireNonNull(longest);
    return this;
  }

  /** How long a call may wait until it fits, on the thread that starts it. Zero, and the default: it is denied at once. */
  public SluiceClientInterceptor waitUpTo(Duration longest) {
    if (longest.isNegative()) {
      throw new IllegalArgumentException("waitUpTo must not be negative; got " + longest);
    }
    this.waitUpTo = longest;
    return this;
  }

  private static Check usual(String authority, String method) {
    Check.Builder usual = Check.builder().resource(WebLimiter.fit("POST:" + Methods.path(method))).subject(WebLimiter.fit(authority))
        .field("endpoint", WebLimiter.fit(Methods.path(method))).field("method", "POST");
    Methods.fields(method).forEach((name, value) -> usual.field(name, WebLimiter.fit(value)));
    return usual.build();
  }

  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
    String authority = options.getAuthority() != null ? options.getAuthority() : next.authority();
    return new LimitedCall<>(next.newCall(method, options), check.apply(authority, method.getFullMethodName()));
  }

  private final class LimitedCall<Q, A> extends SimpleForwardingClientCall<Q, A> {
    private final Check asked;
    private boolean refused;

    LimitedCall(ClientCall<Q, A> call, Check asked) {
      super(call);
      this.asked = asked;
    }

    @Override
    public void start(Listener<A> listener, Metadata headers) {
      Lease lease;
      try {
        lease = waitUpTo.isZero() ? sluice.lease(asked, true) : sluice.hold(sluice.await(asked, waitUpTo), true);
      } catch (SluiceException error) { // the mode raise
        refuse(listener, Denials.of(Decision.ofError(error, false)));
        return;
      } catch (CancellationException interrupted) {
        refuse(listener, new Denials.Refusal(Status.CANCELLED.withDescription("interrupted"), new Metadata()));
        return;
      }
      Decision decision = lease.decision();
      if (!decision.allowed() || decision.delay().compareTo(maxDelay) > 0) {
        lease.close();
        refuse(listener, Denials.of(decision));
        return;
      }
      boolean started = false;
      try {
        Thread.sleep(decision.delay().toMillis());
        super.start(new ClosingListener<>(listener, lease), headers);
        started = true;
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        refuse(listener, new Denials.Refusal(Status.CANCELLED.withDescription("interrupted"), new Metadata()));
      } finally {
        if (!started) {
          lease.close();
        }
      }
    }

    private void refuse(Listener<A> listener, Denials.Refusal refusal) {
      refused = true;
      listener.onClose(refusal.status(), refusal.trailers());
    }

    // A refused call was never started, and the inner one may not be used. Its caller goes on until it learns of the refusal.

    @Override
    public void request(int messages) {
      if (!refused) {
        super.request(messages);
      }
    }

    @Override
    public void sendMessage(Q message) {
      if (!refused) {
        super.sendMessage(message);
      }
    }

    @Override
    public void halfClose() {
      if (!refused) {
        super.halfClose();
      }
    }

    @Override
    public void cancel(String message, Throwable cause) {
      if (!refused) {
        super.cancel(message, cause);
      }
    }

    @Override
    public boolean isReady() {
      return !refused && super.isReady();
    }

    @Override
    public void setMessageCompression(boolean enabled) {
      if (!refused) {
        super.setMessageCompression(enabled);
      }
    }
  }

  private static final class ClosingListener<A> extends SimpleForwardingClientCallListener<A> {
    private final Lease lease;

    ClosingListener(ClientCall.Listener<A> listener, Lease lease) {
      super(listener);
      this.lease = lease;
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      try {
        super.onClose(status, trailers);
      } finally {
        lease.close();
      }
    }
  }
}
