package sluice

import "context"

type traceKey struct{}

type traceHeaders struct{ parent, state string }

// ContextWithTrace makes calls with this context carry the headers traceparent and tracestate (W3C Trace Context).
func ContextWithTrace(ctx context.Context, traceparent, tracestate string) context.Context {
	return context.WithValue(ctx, traceKey{}, traceHeaders{traceparent, tracestate})
}

// trace gives the headers for a call. What cannot be a header's value is left out.
func (s *settings) traceOf(ctx context.Context) (parent, state string) {
	if given, ok := ctx.Value(traceKey{}).(traceHeaders); ok {
		parent, state = given.parent, given.state
	} else if s.trace != nil {
		parent, state = s.trace(ctx)
	}
	if !visible(parent) {
		return "", ""
	}
	for _, letter := range []byte(state) {
		if letter < ' ' || letter > '~' {
			return parent, ""
		}
	}
	return parent, state
}
