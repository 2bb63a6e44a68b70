// The bundle `sluice/v1`: the one file format of tenants, plans, policies, keys and overrides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/domain/policy.hpp"

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
  bool default_deny = false;  // "default":"deny": no policy matches → denied
  bool plan_calls = true;     // false: callers may not choose their plan (404)
  bool operator==(const Tenant&) const = default;
};

// An API key; the secret itself is never here.
struct ApiKey {
  std::string tenant_id;
  std::string id;
  std::string name;
  std::string key_hash;  // "sha256:<salt hex>:<hex of SHA-256(salt ‖ secret)>"
  std::optional<WallTime> expires_at;
  bool operator==(const ApiKey&) const = default;
};

struct Bundle {
  Mode mode = Mode::enforce;
  std::vector<Organization> organizations;
  std::vector<Tenant> tenants;
  std::vector<Plan> plans;
  std::vector<Policy> policies;
  std::vector<ApiKey> keys;
  std::vector<Override> overrides;
  bool operator==(const Bundle&) const = default;
};

}  // namespace sluice
