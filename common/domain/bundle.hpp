// The contents of a bundle (`sluice/v1`). common/objects reads and writes the documents.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/domain/policy.hpp"
#include "common/domain/resource.hpp"

namespace sluice {

struct Organization {
  std::string id;
  std::string name;
  bool operator==(const Organization&) const = default;
};

struct Tenant {
  std::string id;
  std::string name;
  std::string organization_id;
  Mode mode = Mode::enforce;
  bool default_deny = false;                      // if true, a check that no policy matches is denied
  bool allows_plan_id = true;                     // if false, a check that names a plan_id is answered 404
  std::optional<TrailingSlash> trailing_slash{};  // absent: distinct
  bool record_requests = false;                   // agents may keep its checks in memory for what-if

  TrailingSlash slash() const { return trailing_slash.value_or(TrailingSlash::distinct); }
  bool operator==(const Tenant&) const = default;
};

struct ApiKey {
  std::string tenant_id;
  std::string id;
  std::string name;
  std::string key_hash;  // "sha256:<salt hex>:<hex of SHA-256(salt ‖ secret)>"
  std::optional<WallTime> expires_at;
  bool may_override = false;  // whether its checks may bring limits (`limit_override`)
  bool operator==(const ApiKey&) const = default;
};

struct Bundle {
  Mode mode = Mode::enforce;  // of all tenants
  std::vector<Organization> organizations;
  std::vector<Tenant> tenants;
  std::vector<Plan> plans;
  std::vector<Policy> policies;
  std::vector<ApiKey> keys;
  std::vector<Override> overrides;
  bool operator==(const Bundle&) const = default;
};

}  // namespace sluice
