package dev.sluice.grpc;

import com.google.protobuf.Any;
import com.google.rpc.Code;
import com.google.rpc.RetryInfo;
import dev.sluice.client.Decision;
import dev.sluice.client.web.Denial;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;

/** What a denied call gets. */
final class Denials {
  private Denials() {}

  /** A status with its trailers. */
  record Refusal(Status status, Metadata trailers) {}

  /** RESOURCE_EXHAUSTED, or UNAVAILABLE if nobody could decide; with a RetryInfo if it is known when the call would pass. */
  static Refusal of(Decision decision) {
    boolean limited = Denial.statusOf(decision) == 429;
    com.google.rpc.Status.Builder status = com.google.rpc.Status.newBuilder()
        .setCode(limited ? Code.RESOURCE_EXHAUSTED_VALUE : Code.UNAVAILABLE_VALUE)
        .setMessage(limited ? "Rate limit exceeded" : "Rate limiter unavailable");
    Duration wait = decision.allowed() ? decision.delay() : decision.retryAfter().orElse(null);
    if (wait != null) {
      status.addDetails(Any.pack(RetryInfo.newBuilder()
          .setRetryDelay(com.google.protobuf.Duration.newBuilder().setSeconds(wait.getSeconds()).setNanos(wait.getNano())).build()));
    }
    StatusRuntimeException made = StatusProto.toStatusRuntimeException(status.build());
    Metadata trailers = made.getTrailers() == null ? new Metadata() : made.getTrailers();
    return new Refusal(made.getStatus(), trailers);
  }

  /** Adds the decision's headers, unless they are there. */
  static void addHeaders(Decision decision, Metadata metadata) {
    for (Map.Entry<String, String> header : decision.headers().entrySet()) {
      Metadata.Key<String> key = Metadata.Key.of(header.getKey().toLowerCase(Locale.ROOT), Metadata.ASCII_STRING_MARSHALLER);
      if (!metadata.containsKey(key)) {
        metadata.put(key, header.getValue());
      }
    }
  }
}
