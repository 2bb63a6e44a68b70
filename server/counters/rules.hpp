// A part of one tenant's rules, compiled by the code that agents decide by: which counters there are, what they are
// called, and which overrides are theirs.
//
// Thread safety: none; values of the caller's.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
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

class Rules {
 public:
  // Throws RulesFault where the bundle does not compile. `bundle` holds one tenant.
  Rules(Bundle bundle, std::int64_t now_us);

  const Bundle& bundle() const { return bundle_; }
  // By counter key; those that have ended are left out.
  const std::vector<policy::KeyOverrides>& overrides() const { return snapshot_->overrides; }
  CounterRef ref_of(const policy::KeyOverrides& overrides) const;

  // What judges under a policy's, or where that is "", a plan's name; nullptr where it is not among these rules.
  const policy::Rulebook* find(std::string_view policy_id, std::string_view plan_id) const;
  // The key of one group of a rulebook.
  std::string key_of(const policy::Rulebook& rulebook, std::size_t group, const Identity& identity) const;

 private:
  Bundle bundle_;
  std::shared_ptr<const policy::Snapshot> snapshot_;
  const policy::TenantView* tenant_ = nullptr;
};

// Collects documents of one tenant until they are compiled.
class RulesDraft {
 public:
  RulesDraft(std::string organization_id, std::string tenant_id)
      : organization_id_(std::move(organization_id)), tenant_id_(std::move(tenant_id)) {}

  // One of each id counts.
  void add_plan(const std::string& id, std::string document) { plans_.try_emplace(id, std::move(document)); }
  void add_policy(const std::string& id, std::string document) { policies_.try_emplace(id, std::move(document)); }
  // One whose owner was not added is left out.
  void add_override(const std::string& document);

  // Throws RulesFault.
  Rules compile(std::int64_t now_us) const;

 private:
  std::string organization_id_;
  std::string tenant_id_;
  std::map<std::string, std::string, std::less<>> plans_;
  std::map<std::string, std::string, std::less<>> policies_;
  std::vector<std::string> overrides_;
};

// A text of the document's top level, "" where there is none.
std::string member_of(const std::string& document, std::string_view name);

// The identity as it stands in an override's document.
std::string identity_text(const Override& item);
// As identity_text() wrote it; a dimension that is null is left out. Throws RulesFault.
Identity parse_identity(const std::string& text);

}  // namespace sluice::server::counters
