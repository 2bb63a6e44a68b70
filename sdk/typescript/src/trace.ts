/** The W3C trace context that a call carries. */
export interface TraceContext {
  traceparent?: string | undefined;
  tracestate?: string | undefined;
}

interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly traceState?: { serialize(): string };
}

interface OpenTelemetry {
  readonly context?: { active(): { getValue(key: symbol): { spanContext?(): SpanContext } | undefined } };
}

// Where @opentelemetry/api 1.x keeps what is registered, and its key of the current span. Both are for all copies of it in a program.
const registry = Symbol.for('opentelemetry.js.api.1');
const spanKey = Symbol.for('OpenTelemetry Context Key SPAN');
const parentPattern = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]*)?$/;
const statePattern = /^[\x20-\x7e]{1,512}$/;

/** Headers of a call: the caller's trace context, else that of OpenTelemetry's current span. What is no trace context is left out. */
export function traceHeaders(given: TraceContext): string {
  const { traceparent, tracestate } = given.traceparent === undefined ? currentSpan() : given;
  if (traceparent === undefined || !parentPattern.test(traceparent)) return '';
  const state = tracestate !== undefined && statePattern.test(tracestate) ? `tracestate: ${tracestate}\r\n` : '';
  return `traceparent: ${traceparent}\r\n${state}`;
}

function currentSpan(): TraceContext {
  const api = (globalThis as unknown as Record<symbol, OpenTelemetry | undefined>)[registry];
  const span = api?.context?.active().getValue(spanKey)?.spanContext?.();
  if (!span || /^0*$/.test(span.traceId)) return {};
  const flags = (span.traceFlags & 0xff).toString(16).padStart(2, '0');
  return { traceparent: `00-${span.traceId}-${span.spanId}-${flags}`, tracestate: span.traceState?.serialize() || undefined };
}

/** Whether a current span of OpenTelemetry would be sent along. */
export function hasCurrentSpan(): boolean {
  return currentSpan().traceparent !== undefined;
}
