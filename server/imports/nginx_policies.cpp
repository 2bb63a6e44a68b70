#include "server/imports/nginx_policies.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "common/policy/match_expr.hpp"
#include "server/imports/limit_set.hpp"

namespace sluice::server::imports {
namespace {

std::vector<KeyedLimit> keyed(const std::vector<NginxUse>& uses) {
  std::vector<KeyedLimit> made;
  for (const NginxUse& use : uses) {
    const NginxZone& zone = *use.zone;
    std::vector<DimensionRef> keys = zone.key.always;
    keys.insert(keys.end(), zone.key.optional.begin(), zone.key.optional.end());
    std::string name = limit_name(zone.name, "zone");
    if (zone.of_connections) {
      made.push_back({concurrency_limit(std::move(name), use.most), std::move(keys)});
    } else {
      const Algorithm algorithm = use.delays ? Algorithm::leaky_bucket : Algorithm::token_bucket;
      made.push_back({bucket_limit(std::move(name), algorithm, use.most, zone.requests, zone.per), std::move(keys)});
    }
  }
  return made;
}

}  // namespace

void NginxPolicies::add(IdParts id, const std::vector<std::string>& hosts, const NginxPath& path,
                        const NginxLimits& limits, Place at) {
  std::vector<DimensionRef> optional;
  std::vector<NginxUse> always;
  std::vector<NginxUse> all = limits.requests;
  all.insert(all.end(), limits.connections.begin(), limits.connections.end());
  for (const NginxUse& use : all) {
    optional.insert(optional.end(), use.zone->key.optional.begin(), use.zone->key.optional.end());
    if (use.zone->key.optional.empty()) always.push_back(use);
  }
  const bool splits = !optional.empty() && !always.empty();
  if (splits) {
    draft_.note(at, "limit_req",
                fmt::format("some of these limits are only for requests with {}; requests with and without it have "
                            "policies of their own, which count apart",
                            to_string(optional.front())));
  }
  add_policy(id, "", hosts, path, all, optional, limits, at);
  if (splits) add_policy(id, "without", hosts, path, always, {}, limits, at);
}

void NginxPolicies::add_policy(IdParts id, std::string_view suffix, const std::vector<std::string>& hosts,
                               const NginxPath& path, const std::vector<NginxUse>& uses,
                               const std::vector<DimensionRef>& needed, const NginxLimits& limits, Place at) {
  Policy policy;
  if (!set_scope(policy, hosts, path, at)) return;
  for (const DimensionRef& each : needed) {
    const bool is_new = std::ranges::find(policy.scope, each, &ScopeTerm::dimension) == policy.scope.end();
    if (is_new) require_value(policy, each, "*");
  }
  std::string words;
  for (const std::string_view part : id) words.append(part).append(part.empty() ? "" : "-");
  policy.id = draft_.make_id({words, suffix});
  policy.enforcement.ipv6_prefix = 128;  // $binary_remote_addr is the whole address
  if (uses.empty()) {
    policy.enforcement.mode = Mode::off;
    set_limits(policy, {{bucket_limit("unlimited", Algorithm::token_bucket, 1, 1, std::chrono::seconds(1)), {}}});
    return draft_.add(std::move(policy), at);
  }
  set_limits(policy, keyed(uses));
  set_dry_run(policy, uses, limits, at);
  for (const NginxUse& use : uses) ++use.zone->policies;
  draft_.add(std::move(policy), at);
}

bool NginxPolicies::set_scope(Policy& policy, const std::vector<std::string>& hosts, const NginxPath& path, Place at) {
  for (const std::string& host : hosts) require_value(policy, dimension(Dimension::service), host);
  if (path.text.empty()) return true;
  policy.priority = path.priority;
  if (!path.is_regex()) {
    if (path.modifier == "=" && path.text.ends_with('*')) {
      draft_.note(at, path.text, "a value that ends in * means any ending, so this location was left out",
                  "write its policy by hand, with a match_expr");
      return false;
    }
    require_value(policy, dimension(Dimension::endpoint), path.modifier == "=" ? path.text : path.text + "*");
    return true;
  }
  const std::string regex = path.modifier == "~*" ? "(?i)" + path.text : path.text;
  require_value(policy, dimension(Dimension::endpoint), "*");
  require_expression(policy, fmt::format("endpoint =~ {}", expression_value(regex)));
  if (!policy::check_expression(policy.match_expr)) return true;
  draft_.note(at, path.text, "this regular expression is not one of RE2, so this location was left out",
              "write its policy by hand");
  return false;
}

void NginxPolicies::set_dry_run(Policy& policy, const std::vector<NginxUse>& uses, const NginxLimits& limits,
                                Place at) {
  const auto dry = [&limits](const NginxUse& use) {
    return use.zone->of_connections ? limits.connections_dry_run : limits.requests_dry_run;
  };
  if (std::ranges::none_of(uses, dry)) return;
  if (std::ranges::all_of(uses, dry)) {
    policy.enforcement.action = Action::shadow_only;
    return;
  }
  draft_.note(at, "dry_run", "a policy has one action for all its limits, so this one enforces all of them",
              "write a second policy in mode shadow");
}

}  // namespace sluice::server::imports
