package sluicegrpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sluice.dev/go"
)

// ClientOptions of the client's interceptors; the zero value limits by the target and the method.
type ClientOptions struct {
	// Check gives the check for a call. Nil: the resource POST:METHOD for the subject TARGET.
	Check func(ctx context.Context, target, method string) sluice.Check
	// Wait is how long a call may wait until it fits. 0: it is denied at once.
	Wait time.Duration
}

// UnaryClient limits calls with one message. A denied call is not sent and gets [Status].
func UnaryClient(client *sluice.Client, options ClientOptions) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn, next grpc.UnaryInvoker, more ...grpc.CallOption) error {
		lease, err := admit(ctx, client, &options, connection.Target(), method)
		if err != nil {
			return err
		}
		defer lease.End(ctx)
		return next(ctx, method, request, reply, connection, more...)
	}
}

// StreamClient limits calls with streams. A lease lasts until the stream has ended or ctx is done.
func StreamClient(client *sluice.Client, options ClientOptions) grpc.StreamClientInterceptor {
	return func(ctx context.Context, description *grpc.StreamDesc, connection *grpc.ClientConn, method string, next grpc.Streamer, more ...grpc.CallOption) (grpc.ClientStream, error) {
		lease, err := admit(ctx, client, &options, connection.Target(), method)
		if err != nil {
			return nil, err
		}
		stream, err := next(ctx, description, connection, method, more...)
		if err != nil {
			lease.End(ctx)
			return nil, err
		}
		return &leasedStream{stream, !description.ServerStreams, sync.OnceFunc(func() { lease.End(ctx) })}, nil
	}
}

func admit(ctx context.Context, client *sluice.Client, options *ClientOptions, target, method string) (*sluice.Lease, error) {
	check := sluice.Check{Resource: "POST:" + method, Subject: target, Endpoint: method, Method: "POST"}
	fill(&check, method)
	if options.Check != nil {
		check = options.Check(ctx, target, method)
	}
	if sent, ok := metadata.FromOutgoingContext(ctx); ok && len(sent.Get("traceparent")) == 1 {
		ctx = sluice.ContextWithIncomingTrace(ctx, sent.Get("traceparent")[0], "")
	}
	decision, err := client.Wait(ctx, check, options.Wait)
	switch {
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	case err != nil:
		return nil, Status(decision).Err()
	}
	lease := client.Hold(ctx, decision, sluice.KeepAlive())
	if decision.Delay > 0 || !decision.Allowed { // a delay that is left is longer than Wait
		lease.End(ctx)
		if decision.Allowed {
			decision.RetryAfter = &decision.Delay
		}
		return nil, Status(decision).Err()
	}
	return lease, nil
}

// leasedStream ends its lease with the first error, io.EOF of RecvMsg included, or with the only message: by what grpc.ClientConn.NewStream
// says of the end of a stream.
type leasedStream struct {
	grpc.ClientStream
	one bool
	end func()
}

func (s *leasedStream) SendMsg(message any) error {
	err := s.ClientStream.SendMsg(message)
	if err != nil && !errors.Is(err, io.EOF) { // after io.EOF RecvMsg tells how the stream ended
		s.end()
	}
	return err
}

func (s *leasedStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if err != nil || s.one {
		s.end()
	}
	return err
}
