package dev.sluice.client;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** The current span of OpenTelemetry, if its API is on the class path. The SDK does not depend on it. */
final class OpenTelemetryTrace {
  private static final OpenTelemetryTrace API = load();

  private final MethodHandle current;
  private final MethodHandle context;
  private final MethodHandle traceId;
  private final MethodHandle spanId;
  private final MethodHandle isValid;
  private final MethodHandle flags;
  private final MethodHandle flagsHex;

  private OpenTelemetryTrace() throws ReflectiveOperationException {
    MethodHandles.Lookup lookup = MethodHandles.publicLookup();
    Class<?> span = Class.forName("io.opentelemetry.api.trace.Span");
    Class<?> spanContext = Class.forName("io.opentelemetry.api.trace.SpanContext");
    Class<?> traceFlags = Class.forName("io.opentelemetry.api.trace.TraceFlags");
    current = lookup.findStatic(span, "current", MethodType.methodType(span));
    context = lookup.findVirtual(span, "getSpanContext", MethodType.methodType(spanContext));
    traceId = lookup.findVirtual(spanContext, "getTraceId", MethodType.methodType(String.class));
    spanId = lookup.findVirtual(spanContext, "getSpanId", MethodType.methodType(String.class));
    isValid = lookup.findVirtual(spanContext, "isValid", MethodType.methodType(boolean.class));
    flags = lookup.findVirtual(spanContext, "getTraceFlags", MethodType.methodType(traceFlags));
    flagsHex = lookup.findVirtual(traceFlags, "asHex", MethodType.methodType(String.class));
  }

  /** The traceparent of the current span; null for none. */
  static String current() {
    return API == null ? null : API.traceparent();
  }

  private String traceparent() {
    try {
      Object spanContext = context.invoke(current.invoke());
      if (!(boolean) isValid.invoke(spanContext)) {
        return null;
      }
      return "00-" + traceId.invoke(spanContext) + "-" + spanId.invoke(spanContext) + "-" + flagsHex.invoke(flags.invoke(spanContext));
    } catch (Throwable unusable) { // of another version of the API
      return null;
    }
  }

  private static OpenTelemetryTrace load() {
    try {
      return new OpenTelemetryTrace();
    } catch (ReflectiveOperationException | LinkageError absent) {
      return null;
    }
  }
}
