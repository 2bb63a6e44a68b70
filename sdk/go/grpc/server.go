package sluicegrpc

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"sluice.dev/go"
	"sluice.dev/go/web"
)

// Call is one call that a server got.
type Call struct {
	Context context.Context
	Method  string // /PACKAGE.SERVICE/METHOD
	Request any    // the message; nil when a stream begins
}

// Route is what differs for one method.
type Route = web.Route[*Call]

// Options of the server's interceptors; the zero value limits by the client's address. The endpoint of a call is its whole method, and its
// resource POST:/PACKAGE.SERVICE/METHOD, as a proxy sees it. Keys of Routes are whole methods.
type Options struct {
	web.Options[*Call]

	// PerMessage checks each message of a client's stream, besides the stream itself, with the same resource and Call.Request set. Not for
	// concurrency limits: the stream holds a lease of them already.
	PerMessage bool
}

// UnaryServer limits calls with one message.
func UnaryServer(client *sluice.Client, options Options) grpc.UnaryServerInterceptor {
	guard := web.New(client, options.Options)
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		pass, err := enter(guard, &Call{ctx, info.FullMethod, request})
		if err != nil {
			return nil, err
		}
		defer pass.End()
		_ = grpc.SetHeader(ctx, headers(pass.Decision)) // fails only if the header has been sent
		if pass.Denied {
			return nil, Status(pass.Decision).Err()
		}
		return next(web.WithPass(ctx, pass), request)
	}
}

// StreamServer limits calls with streams. A lease lasts as long as the stream.
func StreamServer(client *sluice.Client, options Options) grpc.StreamServerInterceptor {
	guard := web.New(client, options.Options)
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		pass, err := enter(guard, &Call{stream.Context(), info.FullMethod, nil})
		if err != nil {
			return err
		}
		defer pass.End()
		_ = stream.SetHeader(headers(pass.Decision)) // fails only if the header has been sent
		if pass.Denied {
			return Status(pass.Decision).Err()
		}
		inner := &limitedStream{ServerStream: stream, ctx: web.WithPass(stream.Context(), pass)}
		if options.PerMessage && info.IsClientStream {
			inner.each = func(message any) error {
				pass, err := enter(guard, &Call{inner.ctx, info.FullMethod, message})
				if err != nil {
					return err
				}
				defer pass.End()
				if pass.Denied {
					return Status(pass.Decision).Err()
				}
				return nil
			}
		}
		return next(server, inner)
	}
}

func enter(guard *web.Guard[*Call], call *Call) (*web.Pass, error) {
	facts := web.Facts{Method: "POST", Endpoint: call.Method, Fill: func(check *sluice.Check) { fill(check, call.Method) }}
	if from, ok := peer.FromContext(call.Context); ok {
		facts.Address = from.Addr.String()
	}
	if sent, ok := metadata.FromIncomingContext(call.Context); ok {
		facts.TraceParent, facts.TraceState = strings.Join(sent.Get("traceparent"), ""), strings.Join(sent.Get("tracestate"), ",")
	}
	pass, err := guard.Enter(call.Context, call, facts)
	if err != nil {
		return nil, status.FromContextError(err).Err()
	}
	return pass, nil
}

// Decision gives the decision about a call that is being served. False: it was not checked.
func Decision(ctx context.Context) (sluice.Decision, bool) { return web.Decision(ctx) }

type limitedStream struct {
	grpc.ServerStream
	ctx  context.Context
	each func(message any) error
}

func (s *limitedStream) Context() context.Context { return s.ctx }

func (s *limitedStream) RecvMsg(message any) error {
	if err := s.ServerStream.RecvMsg(message); err != nil || s.each == nil {
		return err
	}
	return s.each(message)
}
