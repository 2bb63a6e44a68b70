package sluice

import (
	"context"
	"strings"
)

type traceKey struct{}

type traceHeaders struct{ parent, state string }

// ContextWithTrace makes calls with this context carry the headers traceparent and tracestate (W3C Trace Context).
func ContextWithTrace(ctx context.Context, traceparent, tracestate string) context.Context {
	return context.WithValue(ctx, traceKey{}, traceHeaders{traceparent, tracestate})
}

// traceOf gives the headers for a call. Those of others that cannot be a header's value are left out.
func (s *settings) traceOf(ctx context.Context) (parent, state string, err error) {
	if given, ok := ctx.Value(traceKey{}).(traceHeaders); ok {
		if !visible(given.parent) || !printable(given.state) {
			return "", "", misuse("traceparent and tracestate must be visible ASCII; got %q and %q", given.parent, given.state)
		}
		return given.parent, given.state, nil
	}
	if s.trace != nil {
		parent, state = s.trace(ctx)
	}
	if incoming, ok := ctx.Value(incomingTraceKey{}).(traceHeaders); ok && parent == "" {
		parent, state = incoming.parent, incoming.state
	}
	if parent == "" || !visible(parent) {
		return "", "", nil
	}
	if !printable(state) {
		state = ""
	}
	return parent, state, nil
}

// printable says whether a text has only visible ASCII characters and spaces.
func printable(text string) bool { return visible(strings.ReplaceAll(text, " ", "")) }

// ContextWithIncomingTrace is [ContextWithTrace] for the headers of a request that is being served: they are used only if neither the
// context nor [WithTraceContext] has others. For middleware.
func ContextWithIncomingTrace(ctx context.Context, traceparent, tracestate string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return context.WithValue(ctx, incomingTraceKey{}, traceHeaders{traceparent, tracestate})
}

type incomingTraceKey struct{}
