// The bundle `sluice/v1`: the one file format of tenants, plans, policies, keys and overrides.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/domain/policy.hpp"
#include "common/json/tree.hpp"

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

// What is wrong with a `match_expr`: one sentence, or nothing. Its language is not this layer's business
// (policy::check_expression knows it).
using ExpressionCheck = std::optional<std::string> (*)(std::string_view expression);

// Reads a bundle (JSON), accepting every shorthand; all faults at once, each with its JSON pointer, line and column.
// Checks shape, ranges, uniqueness of ids and references between objects, and every match_expr where there is a
// `check`.
std::expected<Bundle, Faults> parse_bundle(std::string_view json, ExpressionCheck check = nullptr);

// The same for a document that is a tree already; the faults have no lines.
std::expected<Bundle, Faults> read_bundle(const json::Value& document, ExpressionCheck check = nullptr);

// Writes the canonical form: parse_bundle(write_bundle(b)) == b.
std::string write_bundle(const Bundle& bundle);

}  // namespace sluice
