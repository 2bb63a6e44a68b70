#include "server/admin/routes.hpp"

#include <array>
#include <string>
#include <vector>

#include "common/json/tree.hpp"
#include "server/admin/analytics_api.hpp"
#include "server/admin/audit_api.hpp"
#include "server/admin/bindings_api.hpp"
#include "server/admin/bundle_api.hpp"
#include "server/admin/counters_api.hpp"
#include "server/admin/fleet_api.hpp"
#include "server/admin/fleet_events_api.hpp"
#include "server/admin/group_mappings_api.hpp"
#include "server/admin/import_api.hpp"
#include "server/admin/keys_api.hpp"
#include "server/admin/modes_api.hpp"
#include "server/admin/objects_api.hpp"
#include "server/admin/overrides_api.hpp"
#include "server/admin/paging.hpp"
#include "server/admin/playground_api.hpp"
#include "server/admin/quotas_api.hpp"
#include "server/admin/sessions_api.hpp"
#include "server/admin/tokens_api.hpp"
#include "server/admin/versions_api.hpp"
#include "server/admin/webhooks_api.hpp"
#include "server/admin/whatif_api.hpp"

namespace sluice::server::admin {
namespace {

template <const Resource& resource>
Answer create(Context& context) {
  return create_object(context, resource);
}
template <Kind kind>
Answer get(Context& context) {
  return get_object(context, kind);
}
template <const Resource& resource>
Answer put(Context& context) {
  return put_object(context, resource);
}
template <const Resource& resource>
Answer patch(Context& context) {
  return patch_object(context, resource);
}
template <Kind kind>
Answer remove(Context& context) {
  return delete_object(context, kind);
}
template <auth::TokenType type>
Answer create_a_token(Context& context) {
  return create_token(context, type);
}
template <auth::TokenType type>
Answer patch_a_token(Context& context) {
  return patch_token(context, type);
}
template <auth::TokenType type>
Answer remove_a_token(Context& context) {
  return delete_token(context, type);
}

template <Kind kind>
Answer list_versions_of(Context& context) {
  return list_versions(context, kind);
}
template <Kind kind>
Answer get_version_of(Context& context) {
  return get_version(context, kind);
}
template <const Resource& resource>
Answer roll_back_object(Context& context) {
  return roll_back(context, resource);
}

template <Kind owner>
Answer get_quotas_of(Context& context) {
  return get_quotas(context, owner);
}
template <Kind owner>
Answer put_quotas_of(Context& context) {
  return put_quotas(context, owner);
}
template <Kind owner>
Answer delete_quotas_of(Context& context) {
  return delete_quotas(context, owner);
}

struct QueryFilter {
  std::string_view parameter;
  std::string_view sql;
  std::span<const std::string_view> values = {};  // an empty list allows any text
};
constexpr std::array<std::string_view, 2> kBooleans{"true", "false"};
constexpr QueryFilter kByOrganization{"organization_id", "organization_id = $"};
constexpr QueryFilter kByTenant{"tenant_id", "tenant_id = $"};
constexpr QueryFilter kByName{"name", "document ->> 'name' = $"};
constexpr QueryFilter kByNamespace{"namespace", "namespace = $"};
constexpr QueryFilter kByGroup{"group", "group_name = $"};
constexpr QueryFilter kByPlan{"plan_id", "plan_id = $"};
constexpr QueryFilter kByMode{"mode", "coalesce(document ->> 'mode', 'enforce') = $", kModeChoices};
constexpr QueryFilter kByEnabled{"enabled", "coalesce(document ->> 'enabled', 'true') = $", kBooleans};

template <Kind kind, const QueryFilter&... allowed>
Answer list(Context& context) {
  std::vector<store::Filter> filters;
  for (const QueryFilter& filter : std::initializer_list<QueryFilter>{allowed...}) {
    const std::string_view value = context.call.parameter(filter.parameter);
    if (value.empty()) continue;
    if (!filter.values.empty()) check_choice(filter.parameter, value, filter.values);
    filters.push_back({filter.sql, std::string(value)});
  }
  return list_objects(context, kind, filters);
}

constexpr std::size_t kPlaygroundBody = 16 << 10;  // bytes
constexpr std::string_view kPage = "limit,cursor";
constexpr std::string_view kTenant = "tenant_id";
constexpr std::string_view kTenantPage = "limit,cursor,tenant_id";
constexpr bool kOneSnapshot = true;
constexpr bool kTakesYaml = true;
constexpr bool kTakesText = true;
constexpr bool kAsksAgents = true;

constexpr std::array kRoutes{
    Route{"GET", "/v1/admin/organizations", auth::Permission::read, auth::Level::tenant, &list<Kind::organization>,
          kPage},
    Route{"POST", "/v1/admin/organizations", auth::Permission::manage_organizations, auth::Level::platform,
          &create<kOrganizations>},
    Route{"GET", "/v1/admin/organizations/{id}", auth::Permission::read, auth::Level::tenant, &get<Kind::organization>},
    Route{"PUT", "/v1/admin/organizations/{id}", auth::Permission::manage_organizations, auth::Level::platform,
          &put<kOrganizations>},
    Route{"PATCH", "/v1/admin/organizations/{id}", auth::Permission::configure, auth::Level::organization,
          &patch<kOrganizations>},
    Route{"DELETE", "/v1/admin/organizations/{id}", auth::Permission::manage_organizations, auth::Level::platform,
          &remove<Kind::organization>},

    Route{"GET", "/v1/admin/tenants", auth::Permission::read, auth::Level::tenant, &list<Kind::tenant, kByOrganization>,
          "limit,cursor,organization_id"},
    Route{"POST", "/v1/admin/tenants", auth::Permission::configure, auth::Level::organization, &create<kTenants>},
    Route{"GET", "/v1/admin/tenants/{id}", auth::Permission::read, auth::Level::tenant, &get<Kind::tenant>},
    Route{"PUT", "/v1/admin/tenants/{id}", auth::Permission::configure, auth::Level::organization, &put<kTenants>},
    Route{"PATCH", "/v1/admin/tenants/{id}", auth::Permission::configure, auth::Level::tenant, &patch<kTenants>},
    Route{"DELETE", "/v1/admin/tenants/{id}", auth::Permission::configure, auth::Level::organization,
          &remove<Kind::tenant>},

    Route{"GET", "/v1/admin/plans", auth::Permission::read, auth::Level::tenant, &list<Kind::plan, kByTenant>,
          "limit,cursor,tenant_id"},
    Route{"POST", "/v1/admin/plans", auth::Permission::configure, auth::Level::tenant, &create<kPlans>, kTenant},
    Route{"GET", "/v1/admin/plans/{id}", auth::Permission::read, auth::Level::tenant, &get<Kind::plan>, kTenant},
    Route{"PUT", "/v1/admin/plans/{id}", auth::Permission::configure, auth::Level::tenant, &put<kPlans>, kTenant},
    Route{"PATCH", "/v1/admin/plans/{id}", auth::Permission::configure, auth::Level::tenant, &patch<kPlans>, kTenant},
    Route{"DELETE", "/v1/admin/plans/{id}", auth::Permission::configure, auth::Level::tenant, &remove<Kind::plan>,
          kTenant},

    Route{"GET", "/v1/admin/plans/{id}/versions", auth::Permission::read, auth::Level::tenant,
          &list_versions_of<Kind::plan>, kTenantPage},
    Route{"GET", "/v1/admin/plans/{id}/versions/{version}", auth::Permission::read, auth::Level::tenant,
          &get_version_of<Kind::plan>, kTenant},
    Route{"POST", "/v1/admin/plans/{id}/rollback", auth::Permission::configure, auth::Level::tenant,
          &roll_back_object<kPlans>, kTenant},

    Route{"GET", "/v1/admin/policies", auth::Permission::read, auth::Level::tenant,
          &list<Kind::policy, kByTenant, kByPlan, kByMode, kByEnabled>, "limit,cursor,tenant_id,plan_id,mode,enabled"},
    Route{"POST", "/v1/admin/policies", auth::Permission::configure, auth::Level::tenant, &create<kPolicies>, kTenant},
    Route{"GET", "/v1/admin/policies/{id}", auth::Permission::read, auth::Level::tenant, &get<Kind::policy>, kTenant},
    Route{"PUT", "/v1/admin/policies/{id}", auth::Permission::configure, auth::Level::tenant, &put<kPolicies>, kTenant},
    Route{"PATCH", "/v1/admin/policies/{id}", auth::Permission::configure, auth::Level::tenant, &patch<kPolicies>,
          kTenant},
    Route{"DELETE", "/v1/admin/policies/{id}", auth::Permission::configure, auth::Level::tenant, &remove<Kind::policy>,
          kTenant},

    Route{"GET", "/v1/admin/policies/{id}/versions", auth::Permission::read, auth::Level::tenant,
          &list_versions_of<Kind::policy>, kTenantPage},
    Route{"GET", "/v1/admin/policies/{id}/versions/{version}", auth::Permission::read, auth::Level::tenant,
          &get_version_of<Kind::policy>, kTenant},
    Route{"POST", "/v1/admin/policies/{id}/rollback", auth::Permission::configure, auth::Level::tenant,
          &roll_back_object<kPolicies>, kTenant},
    Route{"POST", "/v1/admin/policies/{id}/rollout", auth::Permission::operate, auth::Level::tenant, &roll_out,
          kTenant},

    Route{"GET", "/v1/admin/overrides", auth::Permission::read, auth::Level::tenant, &list_overrides,
          "limit,cursor,tenant_id,policy_id,plan_id"},
    Route{"POST", "/v1/admin/overrides", auth::Permission::operate, auth::Level::tenant, &create_override, kTenant},
    Route{"POST", "/v1/admin/overrides/clear", auth::Permission::operate, auth::Level::tenant, &clear_overrides},
    Route{"GET", "/v1/admin/overrides/{id}", auth::Permission::read, auth::Level::tenant, &get_override, kTenant},
    Route{"PUT", "/v1/admin/overrides/{id}", auth::Permission::operate, auth::Level::tenant, &put_override, kTenant},
    Route{"PATCH", "/v1/admin/overrides/{id}", auth::Permission::operate, auth::Level::tenant, &patch_override,
          kTenant},
    Route{"DELETE", "/v1/admin/overrides/{id}", auth::Permission::operate, auth::Level::tenant, &delete_override,
          kTenant},

    Route{"POST", "/v1/admin/counters/read", auth::Permission::read, auth::Level::tenant, &read_counters},
    Route{"POST", "/v1/admin/counters/reset", auth::Permission::operate, auth::Level::tenant, &reset_counters},

    Route{"GET", "/v1/admin/keys", auth::Permission::read, auth::Level::tenant, &list<Kind::key, kByTenant, kByName>,
          "limit,cursor,tenant_id,name"},
    Route{"POST", "/v1/admin/keys", auth::Permission::configure, auth::Level::tenant, &create<kKeys>},
    Route{"GET", "/v1/admin/keys/{id}", auth::Permission::read, auth::Level::tenant, &get<Kind::key>},
    Route{"PUT", "/v1/admin/keys/{id}", auth::Permission::configure, auth::Level::tenant, &put<kKeys>},
    Route{"PATCH", "/v1/admin/keys/{id}", auth::Permission::configure, auth::Level::tenant, &patch<kKeys>},
    Route{"DELETE", "/v1/admin/keys/{id}", auth::Permission::configure, auth::Level::tenant, &remove<Kind::key>},

    Route{"GET", "/v1/admin/webhooks", auth::Permission::read, auth::Level::tenant, &list_webhooks, kTenantPage},
    Route{"POST", "/v1/admin/webhooks", auth::Permission::configure, auth::Level::tenant, &create_webhook, kTenant},
    Route{"GET", "/v1/admin/webhooks/{id}", auth::Permission::read, auth::Level::tenant, &get_webhook, kTenant},
    Route{"PUT", "/v1/admin/webhooks/{id}", auth::Permission::configure, auth::Level::tenant, &put_webhook, kTenant},
    Route{"PATCH", "/v1/admin/webhooks/{id}", auth::Permission::configure, auth::Level::tenant, &patch_webhook,
          kTenant},
    Route{"DELETE", "/v1/admin/webhooks/{id}", auth::Permission::configure, auth::Level::tenant, &delete_webhook,
          kTenant},
    Route{"POST", "/v1/admin/webhooks/{id}/rotate", auth::Permission::configure, auth::Level::tenant,
          &rotate_webhook_secret, kTenant},
    Route{"POST", "/v1/admin/webhooks/{id}/test", auth::Permission::operate, auth::Level::tenant, &test_webhook,
          kTenant},
    Route{"GET", "/v1/admin/webhooks/{id}/deliveries", auth::Permission::read, auth::Level::tenant, &list_deliveries,
          "limit,cursor,tenant_id,status"},
    Route{"POST", "/v1/admin/webhooks/{id}/deliveries/{delivery}/redeliver", auth::Permission::operate,
          auth::Level::tenant, &redeliver, kTenant},

    Route{"GET", "/v1/admin/whoami", auth::Permission::read, auth::Level::tenant, &who_am_i},
    Route{"GET", "/v1/admin/session", auth::Permission::read, auth::Level::tenant, &get_session},
    Route{"POST", "/v1/admin/session", auth::Permission::read, auth::Level::tenant, &sign_in},
    Route{"DELETE", "/v1/admin/session", auth::Permission::read, auth::Level::tenant, &sign_out},
    Route{"GET", "/v1/admin/tokens", auth::Permission::read_tokens, auth::Level::tenant,
          &list<Kind::token, kByOrganization>, "limit,cursor,organization_id"},
    Route{"POST", "/v1/admin/tokens", auth::Permission::grant, auth::Level::tenant,
          &create_a_token<auth::TokenType::admin>},
    Route{"GET", "/v1/admin/tokens/{id}", auth::Permission::read_tokens, auth::Level::tenant, &get<Kind::token>},
    Route{"PATCH", "/v1/admin/tokens/{id}", auth::Permission::grant, auth::Level::tenant,
          &patch_a_token<auth::TokenType::admin>},
    Route{"DELETE", "/v1/admin/tokens/{id}", auth::Permission::grant, auth::Level::tenant,
          &remove_a_token<auth::TokenType::admin>},

    Route{"GET", "/v1/admin/agent-tokens", auth::Permission::read_tokens, auth::Level::tenant,
          &list<Kind::agent_token, kByOrganization>, "limit,cursor,organization_id"},
    Route{"POST", "/v1/admin/agent-tokens", auth::Permission::grant, auth::Level::tenant,
          &create_a_token<auth::TokenType::agent>},
    Route{"GET", "/v1/admin/agent-tokens/{id}", auth::Permission::read_tokens, auth::Level::tenant,
          &get<Kind::agent_token>},
    Route{"PATCH", "/v1/admin/agent-tokens/{id}", auth::Permission::grant, auth::Level::tenant,
          &patch_a_token<auth::TokenType::agent>},
    Route{"DELETE", "/v1/admin/agent-tokens/{id}", auth::Permission::grant, auth::Level::tenant,
          &remove_a_token<auth::TokenType::agent>},

    // An organization may read which service accounts get its policies. Only the platform may change that.
    Route{"GET", "/v1/admin/bindings", auth::Permission::read_tokens, auth::Level::tenant,
          &list<Kind::binding, kByOrganization, kByNamespace>, "limit,cursor,organization_id,namespace"},
    Route{"POST", "/v1/admin/bindings", auth::Permission::grant, auth::Level::platform, &create<kBindings>},
    Route{"GET", "/v1/admin/bindings/{id}", auth::Permission::read_tokens, auth::Level::tenant, &get<Kind::binding>},
    Route{"PUT", "/v1/admin/bindings/{id}", auth::Permission::grant, auth::Level::platform, &put<kBindings>},
    Route{"PATCH", "/v1/admin/bindings/{id}", auth::Permission::grant, auth::Level::platform, &patch<kBindings>},
    Route{"DELETE", "/v1/admin/bindings/{id}", auth::Permission::grant, auth::Level::platform, &remove<Kind::binding>},

    // As bindings: an organization may read who gets into it. Only the platform may change that.
    Route{"GET", "/v1/admin/group-mappings", auth::Permission::read_tokens, auth::Level::tenant,
          &list<Kind::group_mapping, kByOrganization, kByGroup>, "limit,cursor,organization_id,group"},
    Route{"POST", "/v1/admin/group-mappings", auth::Permission::grant, auth::Level::platform, &create<kGroupMappings>},
    Route{"GET", "/v1/admin/group-mappings/{id}", auth::Permission::read_tokens, auth::Level::tenant,
          &get<Kind::group_mapping>},
    Route{"PUT", "/v1/admin/group-mappings/{id}", auth::Permission::grant, auth::Level::platform, &put<kGroupMappings>},
    Route{"PATCH", "/v1/admin/group-mappings/{id}", auth::Permission::grant, auth::Level::platform,
          &patch<kGroupMappings>},
    Route{"DELETE", "/v1/admin/group-mappings/{id}", auth::Permission::grant, auth::Level::platform,
          &remove<Kind::group_mapping>},

    Route{"GET", "/v1/admin/modes", auth::Permission::read, auth::Level::tenant, &list_modes,
          "limit,cursor,organization_id,mode"},
    Route{"GET", "/v1/admin/modes/global", auth::Permission::read, auth::Level::tenant, &get_global_mode},
    Route{"PUT", "/v1/admin/modes/global", auth::Permission::operate, auth::Level::platform, &put_global_mode},
    Route{"GET", "/v1/admin/modes/tenants/{id}", auth::Permission::read, auth::Level::tenant, &get_tenant_mode},
    Route{"PUT", "/v1/admin/modes/tenants/{id}", auth::Permission::operate, auth::Level::tenant, &put_tenant_mode},

    Route{"GET", "/v1/admin/quotas/organizations/{id}", auth::Permission::read, auth::Level::organization,
          &get_quotas_of<Kind::organization>},
    Route{"PUT", "/v1/admin/quotas/organizations/{id}", auth::Permission::manage_organizations, auth::Level::platform,
          &put_quotas_of<Kind::organization>},
    Route{"DELETE", "/v1/admin/quotas/organizations/{id}", auth::Permission::manage_organizations,
          auth::Level::platform, &delete_quotas_of<Kind::organization>},
    Route{"GET", "/v1/admin/quotas/tenants/{id}", auth::Permission::read, auth::Level::tenant,
          &get_quotas_of<Kind::tenant>},
    Route{"PUT", "/v1/admin/quotas/tenants/{id}", auth::Permission::manage_organizations, auth::Level::platform,
          &put_quotas_of<Kind::tenant>},
    Route{"DELETE", "/v1/admin/quotas/tenants/{id}", auth::Permission::manage_organizations, auth::Level::platform,
          &delete_quotas_of<Kind::tenant>},

    Route{"GET", "/v1/admin/audit", auth::Permission::read_audit, auth::Level::tenant, &list_audit,
          "limit,cursor,organization_id,tenant_id,kind,object_id,actor_id,since,until"},
    Route{"GET", "/v1/admin/audit/verify", auth::Permission::read_audit, auth::Level::organization, &verify_audit,
          "after,organization_id", 1 << 20, kOneSnapshot},
    Route{"GET", "/v1/admin/revision", auth::Permission::read, auth::Level::tenant, &get_revision},
    Route{"GET", "/v1/admin/revisions/{revision}", auth::Permission::read, auth::Level::tenant, &get_enforcement,
          "wait"},
    Route{"GET", "/v1/admin/agents", auth::Permission::read, auth::Level::tenant, &list_agents,
          "limit,cursor,organization_id,tenant_id,status"},
    Route{"GET", "/v1/admin/fleet/events", auth::Permission::read, auth::Level::tenant, &follow_fleet,
          "organization_id,tenant_id,revision,only"},
    Route{.method = "GET",
          .path = "/v1/admin/analytics",
          .permission = auth::Permission::read,
          .level = auth::Level::tenant,
          .handler = &list_analytics,
          .parameters = "limit,cursor,tenant_id,policy_id,outcome,since,until,by",
          .one_snapshot = true},
    Route{"GET", "/v1/admin/analytics/subjects", auth::Permission::read, auth::Level::tenant, &list_throttled_subjects,
          "limit,tenant_id,policy_id,since,until"},
    Route{"GET", "/v1/admin/analytics/denials", auth::Permission::read, auth::Level::tenant, &list_denials,
          "limit,tenant_id,policy_id,subject,since,until"},
    Route{.method = "GET",
          .path = "/v1/admin/analytics/utilization",
          .permission = auth::Permission::read,
          .level = auth::Level::tenant,
          .handler = &list_utilization,
          .parameters = "limit,cursor,tenant_id,policy_id,since,until,by",
          .one_snapshot = true},
    Route{"GET", "/v1/admin/analytics/unmatched", auth::Permission::read, auth::Level::tenant,
          &list_unmatched_resources, "limit,tenant_id,since,until"},

    Route{"GET", "/v1/admin/export", auth::Permission::read, auth::Level::tenant, &export_bundle,
          "organization_id,tenant_id,include,format", 1 << 20, kOneSnapshot},
    Route{"POST", "/v1/admin/apply", auth::Permission::configure, auth::Level::tenant, &apply_bundle,
          "dry_run,prune,organization_id", json::kMaxBytes, !kOneSnapshot, kTakesYaml},
    Route{"POST", "/v1/admin/import", auth::Permission::configure, auth::Level::tenant, &import_text,
          "from,tenant_id,dry_run", json::kMaxBytes, !kOneSnapshot, !kTakesYaml, kTakesText},
    Route{"POST", "/v1/admin/validate", auth::Permission::read, auth::Level::tenant, &validate_body, kTenant,
          json::kMaxBytes, !kOneSnapshot, kTakesYaml},
    Route{"POST", "/v1/admin/explain", auth::Permission::read, auth::Level::tenant, &explain_request, kTenant, 1 << 20,
          kOneSnapshot},
    Route{.method = "POST",
          .path = "/v1/admin/whatif",
          .permission = auth::Permission::read,
          .level = auth::Level::tenant,
          .handler = &ask_whatif,
          .parameters = kTenant,
          .asks_agents = true},

    // A check of the playground charges counters, as resetting them changes them.
    Route{.method = "GET",
          .path = "/v1/admin/playground",
          .permission = auth::Permission::read,
          .level = auth::Level::tenant,
          .handler = &describe_playground},
    Route{.method = "POST",
          .path = "/v1/admin/playground/check",
          .permission = auth::Permission::operate,
          .level = auth::Level::tenant,
          .handler = &check_in_playground,
          .max_body = kPlaygroundBody,
          .answered_by_agent = true},
    Route{.method = "POST",
          .path = "/v1/admin/playground/state",
          .permission = auth::Permission::read,
          .level = auth::Level::tenant,
          .handler = &read_playground_state,
          .max_body = kPlaygroundBody,
          .one_snapshot = true},
    Route{.method = "GET",
          .path = "/v1/playground",
          .permission = auth::Permission::read,
          .level = auth::Level::tenant,
          .handler = &show_public_playground,
          .open = true},
    Route{.method = "POST",
          .path = "/v1/playground/check",
          .permission = auth::Permission::read,
          .level = auth::Level::tenant,
          .handler = &check_in_playground,
          .max_body = kPlaygroundBody,
          .open = true,
          .answered_by_agent = true},
    Route{.method = "POST",
          .path = "/v1/playground/state",
          .permission = auth::Permission::read,
          .level = auth::Level::tenant,
          .handler = &read_playground_state,
          .max_body = kPlaygroundBody,
          .one_snapshot = true,
          .open = true},
};

}  // namespace

std::span<const Route> routes() { return kRoutes; }

std::string_view route_name(const Route& route) {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Route& each : kRoutes) names.push_back(std::string(each.method).append(" ").append(each.path));
    return names;
  }();
  return kNames[static_cast<std::size_t>(&route - kRoutes.data())];
}

}  // namespace sluice::server::admin
