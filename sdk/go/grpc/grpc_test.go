package sluicegrpc_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"sluice.dev/go"
	sluicegrpc "sluice.dev/go/grpc"
	"sluice.dev/go/internal/testagent"
	"sluice.dev/go/web"
)

const check, watch = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"

func key(call *sluicegrpc.Call) string {
	sent, _ := metadata.FromIncomingContext(call.Context)
	if users := sent.Get("x-user"); len(users) == 1 {
		return "user:" + users[0]
	}
	return ""
}

// panicking panics for one service, after it was let in.
type panicking struct{ *health.Server }

func (p panicking) Watch(request *healthpb.HealthCheckRequest, stream healthpb.Health_WatchServer) error {
	if request.Service == "panic" {
		panic("the handler failed, as the test wanted")
	}
	return p.Server.Watch(request, stream)
}

func recovering(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer func() {
		if recover() != nil {
			err = status.Error(codes.Internal, "it panicked")
		}
	}()
	return next(server, stream)
}

func serve(t *testing.T, limits *sluice.Client, more ...grpc.DialOption) healthpb.HealthClient {
	t.Helper()
	options := sluicegrpc.Options{Options: web.Options[*sluicegrpc.Call]{Key: key, Routes: map[string]sluicegrpc.Route{}}}
	server := grpc.NewServer(grpc.UnaryInterceptor(sluicegrpc.UnaryServer(limits, options)),
		grpc.ChainStreamInterceptor(recovering, sluicegrpc.StreamServer(limits, options)))
	healthpb.RegisterHealthServer(server, panicking{health.NewServer()})
	return healthpb.NewHealthClient(dial(t, server, more...))
}

func user(name string) context.Context {
	return metadata.AppendToOutgoingContext(context.Background(), "x-user", name)
}

func retry(t *testing.T, err error) time.Duration {
	t.Helper()
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return info.RetryDelay.AsDuration()
		}
	}
	t.Fatalf("no RetryInfo: %v", err)
	return 0
}

func TestServedCallsAreLimited(t *testing.T) {
	api := serve(t, testagent.Start(t).Client(t))
	for _, remaining := range []string{"1", "0"} {
		var header metadata.MD
		if _, err := api.Check(user("a"), &healthpb.HealthCheckRequest{}, grpc.Header(&header)); err != nil {
			t.Fatal(err)
		}
		if got := header.Get("x-ratelimit-remaining"); len(got) != 1 || got[0] != remaining {
			t.Errorf("%v", header)
		}
	}
	var header metadata.MD
	_, err := api.Check(user("a"), &healthpb.HealthCheckRequest{}, grpc.Header(&header))
	if status.Code(err) != codes.ResourceExhausted || retry(t, err) <= 0 || len(header.Get("retry-after")) != 1 {
		t.Errorf("%v %v", err, header)
	}
	if _, err := api.Check(user("b"), &healthpb.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	for i := range 3 { // by the client's address
		if _, err := api.Check(context.Background(), &healthpb.HealthCheckRequest{}); (err == nil) != (i < 2) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestTheAgentIsKilledInEachErrorMode(t *testing.T) {
	for mode, code := range map[sluice.OnError]codes.Code{sluice.Allow: codes.OK, sluice.Deny: codes.Unavailable, sluice.Raise: codes.Unavailable} {
		agent := testagent.Start(t)
		api := serve(t, agent.Client(t, sluice.WithOnError(mode)))
		if _, err := api.Check(user("a"), &healthpb.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
		agent.Kill()
		if _, err := api.Check(user("a"), &healthpb.HealthCheckRequest{}); status.Code(err) != code {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

func TestTheLeaseOfAStreamEndsWithIt(t *testing.T) {
	limits := testagent.Start(t).Client(t)
	api := serve(t, limits)
	busy := sluice.Check{Resource: "POST:" + watch, Endpoint: watch, Subject: "user:a"}
	for name, leave := range map[string]func(cancel func()){"the client cancels": func(cancel func()) { cancel() }} {
		ctx, cancel := context.WithCancel(user("a"))
		stream, err := api.Watch(ctx, &healthpb.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		if testagent.Free(t, limits, busy) {
			t.Errorf("%s: the lease is not held", name)
		}
		second, err := api.Watch(user("a"), &healthpb.HealthCheckRequest{})
		if err == nil {
			_, err = second.Recv()
		}
		if status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%v", err)
		}
		leave(cancel)
		testagent.FreeForOthers(t, limits, busy)
	}
	stream, err := api.Watch(user("a"), &healthpb.HealthCheckRequest{Service: "panic"})
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Internal {
		t.Errorf("%v", err)
	}
	testagent.FreeForOthers(t, limits, busy)
}

const info = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"

func TestEachMessageOfAStreamMayBeLimited(t *testing.T) {
	limits := testagent.Start(t).Client(t)
	for _, each := range []bool{false, true} {
		options := sluicegrpc.Options{PerMessage: each, Options: web.Options[*sluicegrpc.Call]{
			Key:    func(*sluicegrpc.Call) string { return fmt.Sprint("each ", each) },
			Routes: map[string]sluicegrpc.Route{"POST " + info: {PlanID: "ten"}},
			Cost: func(call *sluicegrpc.Call) int64 {
				if call.Request == nil {
					return 1 // the stream
				}
				return 3
			},
		}}
		server := grpc.NewServer(grpc.StreamInterceptor(sluicegrpc.StreamServer(limits, options)))
		reflection.Register(server)
		stream, err := reflectionpb.NewServerReflectionClient(dial(t, server)).ServerReflectionInfo(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		passed := 0
		for ; passed < 5; passed++ {
			request := &reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}
			if err = stream.Send(request); err == nil {
				_, err = stream.Recv()
			}
			if err != nil {
				break
			}
		}
		// One for the stream and three for each message, of ten.
		if want := map[bool]int{false: 5, true: 3}[each]; passed != want {
			t.Errorf("each message %t: %d passed, then %v", each, passed, err)
		}
		if each && (status.Code(err) != codes.ResourceExhausted || retry(t, err) <= 0) {
			t.Errorf("%v", err)
		}
	}
}

func TestTheLeaseOfAClientEndsWhenSendingEndsItsStream(t *testing.T) {
	limits := testagent.Start(t).Client(t)
	options := sluicegrpc.ClientOptions{Check: func(context.Context, string, string) sluice.Check {
		return sluice.Check{PlanID: "one", Subject: "egress"}
	}}
	server := grpc.NewServer()
	reflection.Register(server)
	api := reflectionpb.NewServerReflectionClient(dial(t, server, grpc.WithStreamInterceptor(sluicegrpc.StreamClient(limits, options))))
	stream, err := api.ServerReflectionInfo(context.Background(), grpc.MaxCallSendMsgSize(10))
	if err != nil {
		t.Fatal(err)
	}
	check := sluice.Check{PlanID: "one", Subject: "egress"}
	if testagent.Free(t, limits, check) {
		t.Error("the lease is not held")
	}
	// A caller leaves with this error, and reads no more.
	if err := stream.Send(&reflectionpb.ServerReflectionRequest{Host: strings.Repeat("x", 100)}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v", err)
	}
	if !testagent.Free(t, limits, check) {
		t.Error("the lease is still held")
	}
}

// dial serves, and connects.
func dial(t *testing.T, server *grpc.Server, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	connection, err := grpc.NewClient(listener.Addr().String(), append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func TestCallsThatAClientMakesAreLimited(t *testing.T) {
	agent := testagent.Start(t)
	limits := agent.Client(t)
	options := sluicegrpc.ClientOptions{Check: func(_ context.Context, _, method string) sluice.Check {
		return sluice.Check{PlanID: map[string]string{check: "two", watch: "one"}[method], Subject: "egress"}
	}}
	off := testagent.Start(t, "--mode", "off").Client(t)
	api := serve(t, off, grpc.WithUnaryInterceptor(sluicegrpc.UnaryClient(limits, options)), grpc.WithStreamInterceptor(sluicegrpc.StreamClient(limits, options)))
	for i := range 3 {
		_, err := api.Check(context.Background(), &healthpb.HealthCheckRequest{})
		if (err == nil) != (i < 2) || (i == 2 && (status.Code(err) != codes.ResourceExhausted || retry(t, err) <= 0)) {
			t.Errorf("%d: %v", i, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := api.Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Watch(context.Background(), &healthpb.HealthCheckRequest{}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v", err)
	}
	cancel()
	testagent.FreeForOthers(t, limits, sluice.Check{PlanID: "one", Subject: "egress"})
	if _, err := api.Check(ctx, &healthpb.HealthCheckRequest{}); status.Code(err) != codes.Canceled {
		t.Errorf("%v", err)
	}
	patient := sluicegrpc.ClientOptions{Wait: 20 * time.Second, Check: func(context.Context, string, string) sluice.Check {
		return sluice.Check{PlanID: "soon", Subject: "egress"}
	}}
	api = serve(t, off, grpc.WithUnaryInterceptor(sluicegrpc.UnaryClient(limits, patient)))
	begun := time.Now()
	for range 3 {
		if _, err := api.Check(context.Background(), &healthpb.HealthCheckRequest{}); err != nil {
			t.Error(err)
		}
	}
	if time.Since(begun) < 300*time.Millisecond {
		t.Error("did not wait")
	}
}
