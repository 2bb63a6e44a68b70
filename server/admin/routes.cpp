#include "server/admin/routes.hpp"

#include <array>

#include "common/http/query.hpp"
#include "server/admin/counters_api.hpp"
#include "server/admin/objects_api.hpp"
#include "server/admin/overrides_api.hpp"

namespace sluice::server {
namespace {

// The six routes of a resource differ in nothing but the resource and its filters.

template <const Resource& resource>
Answer create(Context& context) {
  return create_object(context, resource);
}
template <const Resource& resource>
Answer get(Context& context) {
  return get_object(context, resource);
}
template <const Resource& resource>
Answer put(Context& context) {
  return put_object(context, resource);
}
template <const Resource& resource>
Answer patch(Context& context) {
  return patch_object(context, resource);
}
template <const Resource& resource>
Answer remove(Context& context) {
  return delete_object(context, resource);
}

// A query parameter and the condition it stands for.
struct QueryFilter {
  std::string_view parameter;
  std::string_view sql;
};
constexpr QueryFilter kByOrganization{"organization_id", "organization_id = $"};
constexpr QueryFilter kByTenant{"tenant_id", "tenant_id = $"};
constexpr QueryFilter kByPlan{"plan_id", "plan_id = $"};
constexpr QueryFilter kByMode{"mode", "coalesce(document ->> 'mode', 'enforce') = $"};
constexpr QueryFilter kByEnabled{"enabled", "coalesce(document ->> 'enabled', 'true') = $"};

template <const Resource& resource, const QueryFilter&... allowed>
Answer list(Context& context) {
  std::vector<Filter> filters;
  for (const QueryFilter& filter : std::initializer_list<QueryFilter>{allowed...}) {
    const std::string_view value = context.call.parameter(filter.parameter);
    if (!value.empty()) filters.push_back({filter.sql, std::string(value)});
  }
  return list_objects(context, resource, filters);
}

constexpr std::string_view kPage = "limit,cursor";
constexpr std::string_view kTenant = "tenant_id";

constexpr std::array kRoutes{
    Route{"GET", "/v1/admin/organizations", Permission::read, Level::tenant, &list<kOrganizations>, kPage},
    Route{"POST", "/v1/admin/organizations", Permission::found, Level::platform, &create<kOrganizations>},
    Route{"GET", "/v1/admin/organizations/{id}", Permission::read, Level::tenant, &get<kOrganizations>},
    Route{"PUT", "/v1/admin/organizations/{id}", Permission::found, Level::platform, &put<kOrganizations>},
    Route{"PATCH", "/v1/admin/organizations/{id}", Permission::configure, Level::organization, &patch<kOrganizations>},
    Route{"DELETE", "/v1/admin/organizations/{id}", Permission::found, Level::platform, &remove<kOrganizations>},

    Route{"GET", "/v1/admin/tenants", Permission::read, Level::tenant, &list<kTenants, kByOrganization>,
          "limit,cursor,organization_id"},
    Route{"POST", "/v1/admin/tenants", Permission::configure, Level::organization, &create<kTenants>},
    Route{"GET", "/v1/admin/tenants/{id}", Permission::read, Level::tenant, &get<kTenants>},
    Route{"PUT", "/v1/admin/tenants/{id}", Permission::configure, Level::organization, &put<kTenants>},
    Route{"PATCH", "/v1/admin/tenants/{id}", Permission::configure, Level::tenant, &patch<kTenants>},
    Route{"DELETE", "/v1/admin/tenants/{id}", Permission::configure, Level::organization, &remove<kTenants>},

    Route{"GET", "/v1/admin/plans", Permission::read, Level::tenant, &list<kPlans, kByTenant>, "limit,cursor,tenant_id"},
    Route{"POST", "/v1/admin/plans", Permission::configure, Level::tenant, &create<kPlans>, kTenant},
    Route{"GET", "/v1/admin/plans/{id}", Permission::read, Level::tenant, &get<kPlans>, kTenant},
    Route{"PUT", "/v1/admin/plans/{id}", Permission::configure, Level::tenant, &put<kPlans>, kTenant},
    Route{"PATCH", "/v1/admin/plans/{id}", Permission::configure, Level::tenant, &patch<kPlans>, kTenant},
    Route{"DELETE", "/v1/admin/plans/{id}", Permission::configure, Level::tenant, &remove<kPlans>, kTenant},

    Route{"GET", "/v1/admin/policies", Permission::read, Level::tenant,
          &list<kPolicies, kByTenant, kByPlan, kByMode, kByEnabled>, "limit,cursor,tenant_id,plan_id,mode,enabled"},
    Route{"POST", "/v1/admin/policies", Permission::configure, Level::tenant, &create<kPolicies>, kTenant},
    Route{"GET", "/v1/admin/policies/{id}", Permission::read, Level::tenant, &get<kPolicies>, kTenant},
    Route{"PUT", "/v1/admin/policies/{id}", Permission::configure, Level::tenant, &put<kPolicies>, kTenant},
    Route{"PATCH", "/v1/admin/policies/{id}", Permission::configure, Level::tenant, &patch<kPolicies>, kTenant},
    Route{"DELETE", "/v1/admin/policies/{id}", Permission::configure, Level::tenant, &remove<kPolicies>, kTenant},

    Route{"GET", "/v1/admin/overrides", Permission::read, Level::tenant, &list_overrides,
          "limit,cursor,tenant_id,policy_id,plan_id"},
    Route{"POST", "/v1/admin/overrides", Permission::operate, Level::tenant, &create_override, kTenant},
    Route{"POST", "/v1/admin/overrides/clear", Permission::operate, Level::tenant, &clear_overrides},
    Route{"GET", "/v1/admin/overrides/{id}", Permission::read, Level::tenant, &get_override, kTenant},
    Route{"PUT", "/v1/admin/overrides/{id}", Permission::operate, Level::tenant, &put_override, kTenant},
    Route{"PATCH", "/v1/admin/overrides/{id}", Permission::operate, Level::tenant, &patch_override, kTenant},
    Route{"DELETE", "/v1/admin/overrides/{id}", Permission::operate, Level::tenant, &delete_override, kTenant},

    Route{"POST", "/v1/admin/counters/read", Permission::read, Level::tenant, &read_counters},
    Route{"POST", "/v1/admin/counters/reset", Permission::operate, Level::tenant, &reset_counters},
};

std::vector<std::string_view> segments(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

bool is_variable(std::string_view segment) { return segment.starts_with('{'); }

// Whether a path fits a template; fills in what its variables stand for.
bool fits(const Route& route, const std::vector<std::string_view>& path, std::vector<std::string>& values) {
  const std::vector<std::string_view> wanted = segments(route.path);
  if (wanted.size() != path.size()) return false;
  values.clear();
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!is_variable(wanted[i])) {
      if (wanted[i] != path[i]) return false;
      continue;
    }
    auto value = http::decode_segment(path[i]);
    if (!value || value->empty()) return false;
    values.push_back(std::move(*value));
  }
  return true;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

Found find_route(std::string_view method, std::string_view path) {
  Found found;
  if (!path.starts_with('/')) return found;
  const std::vector<std::string_view> parts = segments(path);
  std::vector<std::string> values;
  for (const Route& route : kRoutes) {
    if (!fits(route, parts, values)) continue;
    found.allow.append(found.allow.empty() ? "" : ", ").append(route.method);
    if (route.method != method) continue;
    found.route = &route;
    found.path_values = values;
  }
  return found;
}

}  // namespace sluice::server
