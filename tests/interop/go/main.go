// A stock grpc-go client without generated code: it learns the messages from the agent by reflection, makes the calls of
// tests/interop/README.md, and prints what it got as JSON.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log"
	"os"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

const decisions = "sluice.v1.Decisions"

// must ends the program with the error, if there is one.
func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// agent is a channel and what reflection says about the service.
type agent struct {
	channel *grpc.ClientConn
	service protoreflect.ServiceDescriptor
	listed  []string
}

func connect(ctx context.Context) *agent {
	secure := insecure.NewCredentials()
	if file := os.Getenv("SLUICE_CA"); file != "" {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(must(os.ReadFile(file)))
		secure = credentials.NewTLS(&tls.Config{RootCAs: roots, ServerName: "localhost"})
	}
	channel := must(grpc.NewClient(os.Getenv("SLUICE_TARGET"), grpc.WithTransportCredentials(secure)))
	stream := must(grpc_reflection_v1.NewServerReflectionClient(channel).ServerReflectionInfo(ctx))
	ask := func(request *grpc_reflection_v1.ServerReflectionRequest) *grpc_reflection_v1.ServerReflectionResponse {
		must(0, stream.Send(request))
		return must(stream.Recv())
	}
	made := &agent{channel: channel}
	list := ask(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}})
	for _, service := range list.GetListServicesResponse().GetService() {
		made.listed = append(made.listed, service.Name)
	}
	found := ask(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: decisions}})
	files := &descriptorpb.FileDescriptorSet{}
	for _, bytes := range found.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := &descriptorpb.FileDescriptorProto{}
		must(0, proto.Unmarshal(bytes, file))
		files.File = append(files.File, file)
	}
	registry := must(protodesc.NewFiles(files))
	made.service = must(registry.FindDescriptorByName(decisions)).(protoreflect.ServiceDescriptor)
	must(0, stream.CloseSend())
	return made
}

// method returns the path of a method, and its two messages. `request`: the fields as JSON.
func (a *agent) method(name, request string) (string, *dynamicpb.Message, *dynamicpb.Message) {
	method := a.service.Methods().ByName(protoreflect.Name(name))
	in := dynamicpb.NewMessage(method.Input())
	must(0, protojson.Unmarshal([]byte(request), in))
	return "/" + decisions + "/" + name, in, dynamicpb.NewMessage(method.Output())
}

// call makes one unary call; its answer as JSON has all fields.
func (a *agent) call(ctx context.Context, name, request string) (map[string]any, error) {
	path, in, out := a.method(name, request)
	if err := a.channel.Invoke(ctx, path, in, out); err != nil {
		return nil, err
	}
	return fields(out), nil
}

func fields(message proto.Message) map[string]any {
	var found map[string]any
	text := must(protojson.MarshalOptions{EmitUnpopulated: true, UseProtoNames: true}.Marshal(message))
	must(0, json.Unmarshal(text, &found))
	return found
}

func (a *agent) must(ctx context.Context, name, request string) map[string]any {
	return must(a.call(ctx, name, request))
}

// stream asks three checks on one call; returns the ids of the answers in order, and how many were allowed.
func (a *agent) stream(ctx context.Context, subject string) []any {
	path, _, _ := a.method("CheckStream", "{}")
	stream := must(a.channel.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, path))
	for _, id := range []string{"1", "2", "3"} {
		_, in, _ := a.method("CheckStream", `{"id":`+id+`,"check":{"plan_id":"two","subject":"`+subject+`"}}`)
		must(0, stream.SendMsg(in))
	}
	must(0, stream.CloseSend())
	var ids []string
	allowed := 0
	for {
		_, _, out := a.method("CheckStream", "{}")
		err := stream.RecvMsg(out)
		if err == io.EOF {
			break
		}
		must(0, err)
		answer := fields(out)
		ids = append(ids, answer["id"].(string))
		if answer["result"].(map[string]any)["decision"].(map[string]any)["allowed"].(bool) {
			allowed++
		}
	}
	slices.Sort(ids)
	return []any{ids, allowed}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	subject := os.Getenv("SLUICE_SUBJECT")
	a := connect(ctx)
	stranger := metadata.AppendToOutgoingContext(ctx, "x-api-key", "nobody")
	ctx = metadata.AppendToOutgoingContext(ctx, "x-api-key", os.Getenv("SLUICE_KEY"))
	check := `{"plan_id":"two","subject":"` + subject + `"}`

	got := map[string]any{}
	first := a.must(ctx, "Check", check)
	got["check"] = []any{first["allowed"], first["remaining"]}
	var allowed []any
	for _, result := range a.must(ctx, "CheckBatch", `{"checks":[`+check+`,`+check+`]}`)["results"].([]any) {
		allowed = append(allowed, result.(map[string]any)["decision"].(map[string]any)["allowed"])
	}
	got["batch"] = allowed
	_, denied := a.call(ctx, "Check", check[:len(check)-1]+`,"deny_with_status":true}`)
	got["denied"] = status.Code(denied) == codes.ResourceExhausted
	got["stream"] = a.stream(ctx, subject+"-stream")
	lease := `{"lease_id":"` + a.must(ctx, "Check", `{"plan_id":"leases","subject":"`+subject+`"}`)["lease_id"].(string) + `"}`
	got["lease"] = []any{a.must(ctx, "Renew", lease)["renewed"], a.must(ctx, "Release", lease)["released"],
		a.must(ctx, "Release", lease)["released"]}
	health := must(grpc_health_v1.NewHealthClient(a.channel).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: decisions}))
	got["health"] = health.Status.String()
	got["listed"] = slices.Contains(a.listed, decisions)
	_, refused := a.call(stranger, "Check", check)
	got["stranger"] = status.Code(refused) == codes.Unauthenticated
	must(0, json.NewEncoder(os.Stdout).Encode(got))
}
