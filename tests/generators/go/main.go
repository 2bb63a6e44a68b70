// The first calls of README and guides with the clients that oapi-codegen makes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	"sluice.test/generators/agent"
	"sluice.test/generators/server"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// made is what a call answered; it ends the program where it answered something else.
func made[T any](value *T, body []byte) T {
	if value == nil {
		log.Fatalf("the call failed: %s", body)
	}
	return *value
}

func ptr[T any](value T) *T { return &value }

func header(name, value string) func(context.Context, *http.Request) error {
	return func(_ context.Context, request *http.Request) error {
		request.Header.Set(name, value)
		return nil
	}
}

func main() {
	ctx, name := context.Background(), os.Getenv("SLUICE_NAME")
	asked := must(agent.NewClientWithResponses(os.Getenv("SLUICE_AGENT_URL"),
		agent.WithRequestEditorFn(header("x-api-key", os.Getenv("SLUICE_KEY")))))
	admin := must(server.NewClientWithResponses(os.Getenv("SLUICE_SERVER_URL"),
		server.WithRequestEditorFn(header("authorization", "Bearer "+os.Getenv("SLUICE_TOKEN")))))

	check := agent.Check{Resource: ptr("GET:/orders"), Subject: ptr(name), Cost: ptr(1)}
	allowed := must(asked.CheckWithResponse(ctx, nil, check))
	denied := must(asked.CheckWithResponse(ctx, nil, check))

	organization := must(admin.CreateOrganizationWithResponse(ctx, nil, server.OrganizationBody{Id: ptr(name)}))
	tenant := must(admin.CreateTenantWithResponse(ctx, nil,
		server.TenantBody{Id: ptr(name), OrganizationId: made(organization.JSON201, organization.Body).Id}))
	tenantID := made(tenant.JSON201, tenant.Body).Id
	var bucket server.LimitBody
	must(0, bucket.FromTokenBucketLimitBody(server.TokenBucketLimitBody{Capacity: ptr(int64(100)), Refill: ptr("20/s")}))
	plan := must(admin.CreatePlanWithResponse(ctx, nil,
		server.PlanBody{TenantId: &tenantID, Id: ptr("pro"), Limits: &server.LimitListBody{bucket}}))
	made(plan.JSON201, plan.Body)
	var endpoint server.ScopeValues
	must(0, endpoint.FromScopeValue("/v1/pay"))
	var keyBy server.KeyBy
	must(0, keyBy.FromDimension("api_key"))
	var window server.DurationBody
	must(0, window.FromDurationBody0("10s"))
	written := must(admin.PutPolicyWithResponse(ctx, "pay", &server.PutPolicyParams{TenantId: &tenantID},
		server.PolicyBody{Endpoint: &endpoint, Strategy: ptr("token_bucket"), KeyBy: &keyBy, Limit: ptr(int64(100)),
			Window: &window, FailOpen: ptr(false)}))
	policy := made(written.JSON201, written.Body)
	listed := must(admin.ListPlansWithResponse(ctx, &server.ListPlansParams{TenantId: &tenantID}))
	plans := made(listed.JSON200, listed.Body)
	limit := must(plans.Items[0].Limits[0].ValueByDiscriminator()).(server.TokenBucketLimit)
	must(0, bucket.FromTokenBucketLimitBody(server.TokenBucketLimitBody{Capacity: ptr(int64(-1)), Refill: ptr("20/s")}))
	refused := must(admin.CreatePlanWithResponse(ctx, nil,
		server.PlanBody{TenantId: &tenantID, Limits: &server.LimitListBody{bucket}}))
	problem := made(refused.ApplicationproblemJSON422, refused.Body)

	var ids []string
	for _, each := range plans.Items {
		ids = append(ids, each.Id)
	}
	fmt.Println(string(must(json.Marshal(map[string]any{
		"allowed":  []any{allowed.StatusCode(), made(allowed.JSON200, allowed.Body).Reason},
		"denied":   []any{denied.StatusCode(), made(denied.JSON429, denied.Body).Reason},
		"plans":    ids,
		"capacity": limit.Capacity,
		"policy":   must((*policy.Limits)[0].Discriminator()),
		"problem":  []any{problem.Status, (*problem.Errors)[0].Pointer},
	}))))
}
