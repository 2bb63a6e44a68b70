// Package sluicegrpc limits what a gRPC server serves, and what a gRPC client calls.
//
//	grpc.NewServer(grpc.UnaryInterceptor(sluicegrpc.UnaryServer(client, sluicegrpc.Options{})),
//		grpc.StreamInterceptor(sluicegrpc.StreamServer(client, sluicegrpc.Options{})))
package sluicegrpc

import (
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"sluice.dev/go"
)

// Status is what a denied call gets: RESOURCE_EXHAUSTED, or UNAVAILABLE if nobody could decide. It has a RetryInfo if it is known when the
// call would pass.
func Status(decision sluice.Decision) *status.Status {
	made := status.New(codes.ResourceExhausted, "Rate limit exceeded")
	if !decision.Decided || decision.Reason == "fail_closed" {
		made = status.New(codes.Unavailable, "Rate limiter unavailable")
	}
	if decision.RetryAfter == nil {
		return made
	}
	if detailed, err := made.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(*decision.RetryAfter)}); err == nil {
		return detailed
	}
	return made
}

// headers are the decision's, as metadata.
func headers(decision sluice.Decision) metadata.MD {
	made := metadata.MD{}
	for name, values := range decision.Headers {
		made[strings.ToLower(name)] = values
	}
	return made
}

// fill adds what gRPC's own names say. method is /PACKAGE.SERVICE/METHOD.
func fill(check *sluice.Check, method string) {
	check.Signal = "grpc"
	check.Service, check.Operation, _ = strings.Cut(strings.TrimPrefix(method, "/"), "/")
}
