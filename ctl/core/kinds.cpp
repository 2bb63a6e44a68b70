#include "ctl/core/kinds.hpp"

#include <fmt/core.h>

#include "common/base/text.hpp"

namespace sluice::ctl {
namespace {

constexpr Column kOrganization[] = {{"ID", "id"}, {"NAME", "name"}, {"VERSION", "version"}, {"UPDATED", "updated_at"}};
constexpr Column kTenant[] = {{"ID", "id"},
                              {"ORGANIZATION", "organization_id"},
                              {"NAME", "name"},
                              {"MODE", "mode", "enforce"},
                              {"DEFAULT", "default", "allow"},
                              {"VERSION", "version"},
                              {"UPDATED", "updated_at"}};
constexpr Column kPlan[] = {{"TENANT", "tenant_id"}, {"ID", "id"},
                            {"NAME", "name"},        {"LIMITS", "limits"},
                            {"KEY BY", "key_by"},    {"MODE", "mode", "enforce"},
                            {"VERSION", "version"},  {"UPDATED", "updated_at"}};
constexpr Column kPolicy[] = {{"TENANT", "tenant_id"},
                              {"ID", "id"},
                              {"SCOPE", "scope"},
                              {"PLAN", "plan_id"},
                              {"LIMITS", "limits"},
                              {"PRIORITY", "priority", "0"},
                              {"MODE", "mode", "enforce"},
                              {"ENABLED", "enabled", "yes"},
                              {"ROLLOUT %", "rollout_percent", "100"},
                              {"VERSION", "version"}};
constexpr Column kOverride[] = {
    {"TENANT", "tenant_id"},  {"ID", "id"},   {"POLICY", "policy_id"},  {"PLAN", "plan_id"}, {"LIMIT", "limit_name"},
    {"IDENTITY", "identity"}, {"SET", "set"}, {"EXPIRES", "expires_at"}};
constexpr Column kKey[] = {{"TENANT", "tenant_id"},   {"ID", "id"},
                           {"NAME", "name"},          {"REVOKED", "revoked", "no"},
                           {"EXPIRES", "expires_at"}, {"LAST USED", "last_used_at"},
                           {"CREATED", "created_at"}};
constexpr Column kWebhook[] = {
    {"TENANT", "tenant_id"},  {"ID", "id"}, {"URL", "url"}, {"EVENTS", "events"}, {"DISABLED", "disabled", "no"},
    {"UPDATED", "updated_at"}};
constexpr Column kToken[] = {{"ID", "id"},
                             {"NAME", "name"},
                             {"ROLE", "role"},
                             {"ORGANIZATION", "organization_id"},
                             {"TENANTS", "tenant_ids"},
                             {"REVOKED", "revoked", "no"},
                             {"EXPIRES", "expires_at"}};
constexpr Column kAgentToken[] = {{"ID", "id"},
                                  {"NAME", "name"},
                                  {"ORGANIZATION", "organization_id"},
                                  {"TENANTS", "tenant_ids"},
                                  {"REVOKED", "revoked", "no"},
                                  {"EXPIRES", "expires_at"}};
constexpr Column kBinding[] = {{"ID", "id"},
                               {"NAMESPACE", "namespace"},
                               {"SERVICE ACCOUNT", "service_account"},
                               {"ORGANIZATION", "organization_id"},
                               {"TENANTS", "tenant_ids"}};

constexpr Kind kKinds[] = {
    {"organization", "organizations", "org", false, false, true, kOrganization},
    {"tenant", "tenants", "ten", false, false, true, kTenant},
    {"plan", "plans", "pl", true, true, true, kPlan},
    {"policy", "policies", "pol", true, true, true, kPolicy},
    {"override", "overrides", "ov", true, false, true, kOverride},
    {"key", "keys", "k", false, false, true, kKey},
    {"webhook", "webhooks", "wh", true, false, true, kWebhook},
    {"token", "tokens", "tok", false, false, false, kToken},
    {"agent-token", "agent-tokens", "at", false, false, false, kAgentToken},
    {"binding", "bindings", "bind", false, false, true, kBinding},
};

}  // namespace

std::span<const Kind> kinds() { return kKinds; }

Result<const Kind*> find_kind(std::string_view name) {
  std::vector<std::string_view> names;
  std::string all;
  for (const Kind& kind : kKinds) {
    if (name == kind.name || name == kind.plural || name == kind.shorter) return &kind;
    names.insert(names.end(), {kind.name, kind.plural});
    all.append(all.empty() ? "" : ", ").append(kind.plural);
  }
  const std::string_view meant = nearest(name, names);
  return failure("kind",
                 fmt::format("{} is no kind of object.{} The kinds are {}.", sluice::quoted(name),
                             meant.empty() ? "" : fmt::format(" Did you mean {}?", sluice::quoted(meant)), all));
}

Result<std::vector<ObjectName>> find_objects(const std::string& first, const std::vector<std::string>& others) {
  std::vector<ObjectName> objects;
  if (first.find('/') == std::string::npos) {
    const auto kind = find_kind(first);
    if (!kind) return std::unexpected(kind.error());
    for (const std::string& id : others) objects.push_back({*kind, "", id});
    return objects;
  }
  std::vector<std::string> names{first};
  names.insert(names.end(), others.begin(), others.end());
  for (const std::string& name : names) {
    const std::size_t begin = name.find('/');
    const std::size_t end = name.rfind('/');
    if (begin == std::string::npos || end + 1 == name.size()) {
      return failure("name", fmt::format("{} is no name of an object: write KIND/ID, such as policy/orders, for each",
                                         sluice::quoted(name)));
    }
    const auto kind = find_kind(name.substr(0, begin));
    if (!kind) return std::unexpected(kind.error());
    objects.push_back({*kind, begin == end ? "" : name.substr(begin + 1, end - begin - 1), name.substr(end + 1)});
  }
  return objects;
}

const Kind* kind_named(std::string_view name) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace sluice::ctl
