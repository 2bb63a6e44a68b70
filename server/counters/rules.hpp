// Compiles some of one tenant's plans, policies and overrides with the same code as the agents. The result names the
// counter keys and the overrides of each key.
//
// Thread safety: Rules are immutable; a RulesBuilder belongs to one thread.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/domain/bundle.hpp"
#include "common/objects/kind.hpp"
#include "common/policy/snapshot.hpp"

namespace sluice::server::counters {

struct CounterRef {
  std::string organization_id;
  std::string tenant_id;
  std::string policy_id;  // "" for checks that name the plan
  std::string plan_id;    // "" if the policy has limits of its own
  std::string identity;   // {"subject":"user:42"}; a dimension that its requests lack is null or left out
  std::string counter_key;
  bool reset = false;  // the outbox row resets the counter instead of writing its overrides
};

using Identity = std::vector<std::pair<DimensionRef, std::string>>;

// Thrown if stored documents do not compile. The cause is a bug, or another program wrote to the tables.
class RulesFault : public std::exception {
 public:
  explicit RulesFault(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

// Documents by id.
struct RulesSources {
  std::string organization_id;
  std::string tenant_id;
  TrailingSlash trailing_slash = TrailingSlash::distinct;
  std::map<std::string, std::string, std::less<>> plans;
  std::map<std::string, std::string, std::less<>> policies;
  std::map<std::string, std::string, std::less<>> overrides;

  bool operator==(const RulesSources&) const = default;
};

class Rules {
 public:
  // REQUIRES: `bundle` was read from `sources`; `snapshot` was built from `bundle` at the time `now_us`.
  Rules(RulesSources sources, Bundle bundle, std::shared_ptr<const policy::Snapshot> snapshot, std::int64_t now_us);

  const Bundle& bundle() const { return bundle_; }
  // Whether `sources` has the same documents, and no override has expired since these rules were compiled.
  bool same_as(const RulesSources& sources, std::int64_t now_us) const;
  // Without expired overrides.
  const std::vector<policy::KeyOverrides>& overrides() const { return snapshot_->overrides; }
  CounterRef ref_of(const policy::KeyOverrides& overrides) const;

  // The rulebook of a policy, or of a plan if policy_id is "". Returns nullptr if these rules do not contain it.
  const policy::Rulebook* find(std::string_view policy_id, std::string_view plan_id) const;
  // `group`: an index into Program::groups.
  std::string key_of(const policy::Rulebook& rulebook, std::size_t group, const Identity& identity) const;

 private:
  RulesSources sources_;
  Bundle bundle_;
  std::shared_ptr<const policy::Snapshot> snapshot_;
  const policy::TenantView* tenant_ = nullptr;
  std::int64_t compiled_us_ = 0;
};

using RulesPtr = std::shared_ptr<const Rules>;

class RulesBuilder {
 public:
  RulesBuilder(std::string organization_id, std::string tenant_id, TrailingSlash trailing_slash);

  // Ignores a document with an id that was added before.
  void add_plan(const std::string& id, std::string document) { sources_.plans.try_emplace(id, std::move(document)); }
  void add_policy(const std::string& id, std::string document) {
    sources_.policies.try_emplace(id, std::move(document));
  }
  // Ignores an override whose policy or plan was not added before.
  void add_override(const std::string& id, const std::string& document);
  bool has_overrides() const { return !sources_.overrides.empty(); }

  // Returns an element of `known` if Rules::same_as() holds for it, else compiles the documents. Throws RulesFault.
  RulesPtr build(std::int64_t now_us, std::span<const RulesPtr> known = {}) const;

 private:
  RulesSources sources_;
};

// Of a tenant's document.
TrailingSlash trailing_slash_of(const std::string& tenant_document);

// A string member of a JSON object; "" if there is none.
std::string member_of(const std::string& document, std::string_view name);

// JSON, as in an override's document.
std::string identity_text(const Override& item);
// The inverse of identity_text(), without dimensions that are null. Throws RulesFault.
Identity parse_identity(const std::string& text);

}  // namespace sluice::server::counters
