package sluicehttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/web"
)

// TransportOptions of [RoundTripper]; the zero value limits by the host that a request goes to.
type TransportOptions struct {
	// Check gives the check for a request. Nil: the resource METHOD:HOST for the subject HOST.
	Check func(*http.Request) sluice.Check
	// Wait is how long a request may wait until it fits. 0: it is denied at once.
	Wait time.Duration
	// Respond makes a denied request get a response with 429 or 503, as a server would answer, instead of a [*DeniedError].
	Respond bool
}

// DeniedError says that a request was not sent.
type DeniedError struct{ sluice.Decision }

// Error says why.
func (e *DeniedError) Error() string {
	text := "sluice: the request was not sent: " + e.Reason
	if e.RetryAfter != nil {
		text += fmt.Sprintf("; try again in %s", *e.RetryAfter)
	}
	return text
}

// RoundTripper limits what a client sends. base sends it; nil is [http.DefaultTransport]. A lease ends when the response's body is closed or
// read to its end.
func RoundTripper(client *sluice.Client, base http.RoundTripper, options TransportOptions) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{client, base, options}
}

type transport struct {
	client  *sluice.Client
	base    http.RoundTripper
	options TransportOptions
}

func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	decision, err := t.decide(request)
	if err == nil && decision.Allowed && decision.Delay > 0 {
		if decision.Delay > t.options.Wait {
			t.release(request, decision)
			decision.Allowed, decision.RetryAfter = false, &decision.Delay
		} else {
			err = sleep(request.Context(), decision.Delay)
		}
	}
	if err != nil {
		t.release(request, decision)
		closeBody(request)
		return nil, err
	}
	if !decision.Allowed {
		closeBody(request)
		if t.options.Respond {
			return respond(request, decision), nil
		}
		return nil, &DeniedError{decision}
	}
	lease := t.client.Hold(request.Context(), decision, sluice.KeepAlive())
	response, err := t.base.RoundTrip(request)
	if err != nil || decision.LeaseID == "" {
		lease.End(request.Context())
		return response, err
	}
	body := &leasedBody{ReadCloser: response.Body, end: sync.OnceFunc(func() { lease.End(request.Context()) })}
	response.Body = body
	if both, ok := body.ReadCloser.(io.ReadWriteCloser); ok { // of a switched protocol
		response.Body = &leasedStream{body, both}
	}
	return response, nil
}

func (t *transport) decide(request *http.Request) (sluice.Decision, error) {
	check := sluice.Check{Resource: request.Method + ":" + request.URL.Host, Endpoint: request.URL.Host, Method: request.Method, Subject: request.URL.Host}
	if t.options.Check != nil {
		check = t.options.Check(request)
	}
	ctx := sluice.ContextWithIncomingTrace(request.Context(), request.Header.Get("Traceparent"), request.Header.Get("Tracestate"))
	if t.options.Wait > 0 {
		return t.client.Wait(ctx, check, t.options.Wait)
	}
	return t.client.Check(ctx, check)
}

func (t *transport) release(request *http.Request, decision sluice.Decision) {
	if decision.LeaseID != "" {
		_, _ = t.client.Release(context.WithoutCancel(request.Context()), decision.LeaseID)
	}
}

// closeBody is what a RoundTripper owes a request that it does not send.
func closeBody(request *http.Request) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
}

func respond(request *http.Request, decision sluice.Decision) *http.Response {
	status, header, body := web.Denial(decision, request.Header.Get("Accept"))
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: request,
	}
}

// leasedBody is the body of a response whose lease ends with it.
type leasedBody struct {
	io.ReadCloser
	end func()
}

func (b *leasedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *leasedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

type leasedStream struct {
	*leasedBody
	io.Writer
}

func sleep(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
