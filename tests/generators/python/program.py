"""The first calls of README and guides with the clients that openapi-python-client makes."""

import json
import os

from agent import AuthenticatedClient as AgentClient
from agent.api.checks import check
from agent.models import Check, Decision
from server import AuthenticatedClient as ServerClient
from server.api.organizations import create_organization
from server.api.plans import create_plan, list_plans
from server.api.policies import put_policy
from server.api.tenants import create_tenant
from server.models import (Organization, OrganizationBody, Plan, PlanBody, Plans, Policy, PolicyBody, Problem, Tenant,
                           TenantBody, TokenBucketLimit, TokenBucketLimitBody)

name = os.environ["SLUICE_NAME"]
agent = AgentClient(os.environ["SLUICE_AGENT_URL"], token=os.environ["SLUICE_KEY"], prefix="", auth_header_name="x-api-key")
server = ServerClient(os.environ["SLUICE_SERVER_URL"], token=os.environ["SLUICE_TOKEN"])

question = Check(resource="GET:/orders", subject=name, cost=1)
allowed = check.sync_detailed(client=agent, body=question)
denied = check.sync_detailed(client=agent, body=question)
assert isinstance(allowed.parsed, Decision) and isinstance(denied.parsed, Decision)

organization = create_organization.sync(client=server, body=OrganizationBody(id=name))
assert isinstance(organization, Organization)
tenant = create_tenant.sync(client=server, body=TenantBody(id=name, organization_id=organization.id))
assert isinstance(tenant, Tenant)
bucket = TokenBucketLimitBody(algorithm="token_bucket", capacity=100, refill="20/s")
plan = create_plan.sync(client=server, body=PlanBody(tenant_id=tenant.id, id="pro", limits=[bucket]))
assert isinstance(plan, Plan)
policy = put_policy.sync("pay", client=server, tenant_id=tenant.id, body=PolicyBody(
    endpoint="/v1/pay", strategy="token_bucket", key_by="api_key", limit=100, window="10s", fail_open=False))
assert isinstance(policy, Policy) and policy.limits
plans = list_plans.sync(client=server, tenant_id=tenant.id)
assert isinstance(plans, Plans)
limit = plans.items[0].limits[0]
bucket.capacity = -1
refused = create_plan.sync(client=server, body=PlanBody(tenant_id=tenant.id, limits=[bucket]))
assert isinstance(refused, Problem) and refused.errors, refused

print(json.dumps({
    "allowed": [allowed.status_code, allowed.parsed.reason],
    "denied": [denied.status_code, denied.parsed.reason],
    "plans": [each.id for each in plans.items],
    "capacity": limit.capacity if isinstance(limit, TokenBucketLimit) else None,
    "policy": policy.limits[0].algorithm,
    "problem": [refused.status, refused.errors[0].pointer],
}))
