// A part of one tenant's rules, compiled by the code that agents decide by: which counters there are, what they are
// called, and which overrides are theirs.
//
// Thread safety: none; values of the caller's.
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

// One counter's key, and whose it is.
struct CounterRef {
  std::string organization_id;
  std::string tenant_id;
  std::string policy_id;  // "": of calls that name the plan
  std::string plan_id;    // "": the policy has limits of its own
  std::string identity;   // {"subject":"user:42"}; a dimension that requests do not have is null, or left out
  std::string state_key;
  bool reset = false;  // what was spent is to be forgotten; else its overrides are to be written
};

using Identity = std::vector<std::pair<DimensionRef, std::string>>;

// What is stored does not belong together or does not compile: a bug, or somebody else's hand in the tables.
class RulesFault : public std::exception {
 public:
  explicit RulesFault(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

// The documents that rules are compiled from: equal sources make equal rules. By id.
struct RulesSources {
  std::string organization_id;
  std::string tenant_id;
  std::map<std::string, std::string, std::less<>> plans;
  std::map<std::string, std::string, std::less<>> policies;
  std::map<std::string, std::string, std::less<>> overrides;

  bool operator==(const RulesSources&) const = default;
};

class Rules {
 public:
  // REQUIRES: `bundle` was read from `sources`, `snapshot` built from `bundle` as of `now_us`.
  Rules(RulesSources sources, Bundle bundle, std::shared_ptr<const policy::Snapshot> snapshot, std::int64_t now_us);

  const Bundle& bundle() const { return bundle_; }
  // Whether compiling `sources` as of `now_us` would make the same: no override has ended since these were compiled.
  bool same_as(const RulesSources& sources, std::int64_t now_us) const;
  // By counter key; those that have ended are left out.
  const std::vector<policy::KeyOverrides>& overrides() const { return snapshot_->overrides; }
  CounterRef ref_of(const policy::KeyOverrides& overrides) const;

  // What judges under a policy's, or where that is "", a plan's name; nullptr where it is not among these rules.
  const policy::Rulebook* find(std::string_view policy_id, std::string_view plan_id) const;
  // The key of one group of a rulebook.
  std::string key_of(const policy::Rulebook& rulebook, std::size_t group, const Identity& identity) const;

 private:
  RulesSources sources_;
  Bundle bundle_;
  std::shared_ptr<const policy::Snapshot> snapshot_;
  const policy::TenantView* tenant_ = nullptr;
  std::int64_t compiled_us_ = 0;
};

using RulesPtr = std::shared_ptr<const Rules>;

// Collects documents of one tenant until they are compiled.
class RulesBuilder {
 public:
  RulesBuilder(std::string organization_id, std::string tenant_id);

  // One of each id counts.
  void add_plan(const std::string& id, std::string document) { sources_.plans.try_emplace(id, std::move(document)); }
  void add_policy(const std::string& id, std::string document) {
    sources_.policies.try_emplace(id, std::move(document));
  }
  // One whose owner was not added is left out.
  void add_override(const std::string& id, const std::string& document);
  bool has_overrides() const { return !sources_.overrides.empty(); }

  // One of `known` where that was made from the same, else compiled anew. Throws RulesFault where it does not compile.
  RulesPtr build(std::int64_t now_us, std::span<const RulesPtr> known = {}) const;

 private:
  RulesSources sources_;
};

// A text of the document's top level, "" where there is none.
std::string member_of(const std::string& document, std::string_view name);

// The identity as it stands in an override's document.
std::string identity_text(const Override& item);
// As identity_text() wrote it; a dimension that is null is left out. Throws RulesFault.
Identity parse_identity(const std::string& text);

}  // namespace sluice::server::counters
