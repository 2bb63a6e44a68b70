// The first calls of README and guides with the clients that openapi-generator makes.
import java.util.List;
import java.util.Map;
import sluice.agent.api.ChecksApi;
import sluice.agent.model.Check;
import sluice.agent.model.Decision;
import sluice.server.api.OrganizationsApi;
import sluice.server.api.PlansApi;
import sluice.server.api.PoliciesApi;
import sluice.server.api.TenantsApi;
import sluice.server.auth.HttpBearerAuth;
import sluice.server.model.DurationBody;
import sluice.server.model.KeyBy;
import sluice.server.model.LimitBody;
import sluice.server.model.OrganizationBody;
import sluice.server.model.Plan;
import sluice.server.model.PlanBody;
import sluice.server.model.PolicyBody;
import sluice.server.model.Problem;
import sluice.server.model.ScopeValues;
import sluice.server.model.TenantBody;
import sluice.server.model.TokenBucketLimit;
import sluice.server.model.TokenBucketLimitBody;

public final class Program {
  public static void main(String[] arguments) throws Exception {
    String name = System.getenv("SLUICE_NAME");
    sluice.agent.ApiClient agent = new sluice.agent.ApiClient();
    agent.setBasePath(System.getenv("SLUICE_AGENT_URL"));
    agent.setApiKey(System.getenv("SLUICE_KEY"));
    sluice.server.ApiClient server = new sluice.server.ApiClient();
    server.setBasePath(System.getenv("SLUICE_SERVER_URL"));
    // By its name, because setBearerToken() of the client takes any of the two kinds of tokens.
    ((HttpBearerAuth) server.getAuthentication("adminToken")).setBearerToken(System.getenv("SLUICE_TOKEN"));

    ChecksApi checks = new ChecksApi(agent);
    Check check = new Check().resource("GET:/orders").subject(name).cost(1);
    var allowed = checks.checkWithHttpInfo(check, null, null);
    int deniedStatus = 0;
    Decision denied = null;
    try {
      checks.check(check, null, null);
    } catch (sluice.agent.ApiException exception) {
      deniedStatus = exception.getCode();
      denied = sluice.agent.JSON.getGson().fromJson(exception.getResponseBody(), Decision.class);
    }

    var organization = new OrganizationsApi(server).createOrganization(new OrganizationBody().id(name), null, null);
    var tenant = new TenantsApi(server).createTenant(
        new TenantBody().id(name).organizationId(organization.getId()), null, null);
    LimitBody bucket = new LimitBody(new TokenBucketLimitBody()
        .algorithm(TokenBucketLimitBody.AlgorithmEnum.TOKEN_BUCKET).capacity(100L).refill("20/s"));
    PlansApi plansApi = new PlansApi(server);
    plansApi.createPlan(new PlanBody().tenantId(tenant.getId()).id("pro").limits(List.of(bucket)), null, null, null);
    var policy = new PoliciesApi(server).putPolicy("pay",
        new PolicyBody().endpoint(new ScopeValues("/v1/pay")).strategy("token_bucket").keyBy(new KeyBy("api_key"))
            .limit(100L).window(new DurationBody("10s")).failOpen(false),
        tenant.getId(), null, null, null, null);
    var plans = plansApi.listPlans(tenant.getId(), null, null, null);
    TokenBucketLimit limit = plans.getItems().get(0).getLimits().get(0).getTokenBucketLimit();
    bucket.getTokenBucketLimitBody().capacity(-1L);
    Problem problem = null;
    try {
      plansApi.createPlan(new PlanBody().tenantId(tenant.getId()).limits(List.of(bucket)), null, null, null);
    } catch (sluice.server.ApiException exception) {
      problem = sluice.server.JSON.getGson().fromJson(exception.getResponseBody(), Problem.class);
    }

    System.out.println(new com.google.gson.Gson().toJson(Map.of(
        "allowed", List.of(allowed.getStatusCode(), allowed.getData().getReason().getValue()),
        "denied", List.of(deniedStatus, denied.getReason().getValue()),
        "plans", plans.getItems().stream().map(Plan::getId).toList(),
        "capacity", limit.getCapacity(),
        "policy", policy.getLimits().get(0).getTokenBucketLimit().getAlgorithm().getValue(),
        "problem", List.of(problem.getStatus(), problem.getErrors().get(0).getPointer()))));
  }
}
