// Package sluiceotel gives the current span of OpenTelemetry to a client, so that agents continue its trace:
//
//	client, err := sluice.New(sluiceotel.TraceContext())
package sluiceotel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"sluice.dev/go"
)

// TraceContext is the option that sends the current span's trace context with each call.
func TraceContext() sluice.Option {
	return sluice.WithTraceContext(func(ctx context.Context) (traceparent, tracestate string) {
		span := trace.SpanContextFromContext(ctx)
		if !span.IsValid() {
			return "", ""
		}
		return fmt.Sprintf("00-%s-%s-%s", span.TraceID(), span.SpanID(), span.TraceFlags()), span.TraceState().String()
	})
}
