package sluice

import "context"

type traceKey struct{}

type traceHeaders struct{ parent, state string }

// ContextWithTrace makes calls with this context carry the headers traceparent and tracestate (W3C Trace Context).
func ContextWithTrace(ctx context.Context, traceparent, tracestate string) context.Context {
	return context.WithValue(ctx, traceKey{}, traceHeaders{traceparent, tracestate})
}

// traceOf gives the headers for a call. What cannot be a header's value is left out.
func (s *settings) traceOf(ctx context.Context) (parent, state string) {
	if given, ok := ctx.Value(traceKey{}).(traceHeaders); ok {
		parent, state = given.parent, given.state
	} else if s.trace != nil {
		parent, state = s.trace(ctx)
	}
	if incoming, ok := ctx.Value(incomingTraceKey{}).(traceHeaders); ok && parent == "" {
		parent, state = incoming.parent, incoming.state
	}
	if parent == "" || !visible(parent) {
		return "", ""
	}
	for _, letter := range []byte(state) {
		if letter < ' ' || letter > '~' {
			return parent, ""
		}
	}
	return parent, state
}

// ContextWithIncomingTrace is [ContextWithTrace] for the headers of a request that is being served: they are used only if neither the
// context nor [WithTraceContext] has others. For middleware.
func ContextWithIncomingTrace(ctx context.Context, traceparent, tracestate string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return context.WithValue(ctx, incomingTraceKey{}, traceHeaders{traceparent, tracestate})
}

type incomingTraceKey struct{}
