package sluice

import (
	"context"
	"net/http"
)

// Transport carries calls to an agent. The usual one speaks HTTP/1.1 on connections of its own; see [WithTransport].
type Transport interface {
	// Do sends a call once and returns the reply. It ends by itself when ctx is done. An error is an *Error or that of ctx;
	// any other counts as of the kind protocol.
	Do(ctx context.Context, request Request) (Reply, error)
	// Close closes idle connections at once and those in use after their call.
	Close() error
}

// Request is one call, a POST with a JSON body.
type Request struct {
	Path        string
	Body        []byte
	APIKey      string // may be empty
	TraceParent string // may be empty
	TraceState  string // may be empty
	Lease       bool   // whether the caller holds the lease that the check may take
	Idempotent  bool   // whether the call may be repeated although the agent may have received it
}

// Reply is what the agent answered.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}
