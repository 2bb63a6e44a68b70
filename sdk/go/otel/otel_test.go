package sluiceotel_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"sluice.dev/go"
	sluiceotel "sluice.dev/go/otel"
)

// recorder is a transport that keeps the last request.
type recorder struct{ last sluice.Request }

func (r *recorder) Do(_ context.Context, request sluice.Request) (sluice.Reply, error) {
	r.last = request
	return sluice.Reply{Status: 200, Body: []byte(`{"allowed":true}`)}, nil
}

func (r *recorder) Close() error { return nil }

func TestTheCurrentSpanIsSent(t *testing.T) {
	sent := &recorder{}
	client, err := sluice.New(sluiceotel.TraceContext(), sluice.WithTransport(sent))
	if err != nil {
		t.Fatal(err)
	}
	state, err := trace.ParseTraceState("vendor=x")
	if err != nil {
		t.Fatal(err)
	}
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 2}, SpanID: trace.SpanID{3}, TraceFlags: trace.FlagsSampled, TraceState: state})
	for _, is := range []struct {
		ctx           context.Context
		parent, state string
	}{
		{trace.ContextWithSpanContext(context.Background(), span), "00-01020000000000000000000000000000-0300000000000000-01", "vendor=x"},
		{context.Background(), "", ""},
		{sluice.ContextWithTrace(trace.ContextWithSpanContext(context.Background(), span), "00-a-b-00", ""), "00-a-b-00", ""},
		{sluice.ContextWithIncomingTrace(context.Background(), "00-c-d-00", ""), "00-c-d-00", ""},
	} {
		if _, err := client.Check(is.ctx, sluice.Check{Subject: "a"}); err != nil {
			t.Fatal(err)
		}
		if sent.last.TraceParent != is.parent || sent.last.TraceState != is.state {
			t.Errorf("%+v", sent.last)
		}
	}
}
