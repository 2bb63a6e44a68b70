#include "common/policy/warnings.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/core.h>

#include "common/base/timestamp.hpp"
#include "common/objects/field_tables.hpp"
#include "common/objects/policy_json.hpp"
#include "common/policy/scope_doubt.hpp"

namespace sluice::policy {

// The key says whether the policy is in shadow mode, because shadow policies compete only with each other.
std::string competition_key(const Policy& policy) {
  Policy competing;
  competing.tenant_id = policy.tenant_id;
  competing.scope = policy.scope;
  competing.match_expr = policy.match_expr;
  competing.rollout_percent = policy.rollout_percent;
  competing.valid_from = policy.valid_from;
  competing.valid_to = policy.valid_to;
  competing.priority = policy.priority;
  if (policy.enforcement.mode == Mode::shadow) competing.enforcement.mode = Mode::shadow;
  json::Writer text;
  write_policy(text, competing);
  return text.take();
}

namespace {

void find_conflicts(const Bundle& bundle, Faults& found) {
  std::unordered_map<std::string, std::size_t> first_with_key;
  for (std::size_t i = 0; i < bundle.policies.size(); ++i) {
    if (!bundle.policies[i].enabled) continue;
    auto [other, is_new] = first_with_key.try_emplace(competition_key(bundle.policies[i]), i);
    if (is_new) continue;
    found.push_back({fmt::format("/policies/{}", i),
                     fmt::format("conflicts with policy {} (/policies/{}): both apply to the same requests with the "
                                 "same priority, so only version and id decide; give one a priority, or remove it",
                                 bundle.policies[other->second].id, other->second)});
  }
}

bool adds_dimensions(const std::vector<Limit>& limits) {
  for (const Limit& limit : limits) {
    if (!limit.key_by.empty()) return true;
  }
  return false;
}

void warn_of_one_slot(std::string_view list, std::size_t index, Faults& found) {
  found.push_back({fmt::format("/{}/{}/key_by", list, index),
                   "key_by is empty and limits add dimensions of their own: all their counters share one slot, and so "
                   "one node, of a Redis Cluster"});
}

void find_single_slots(const Bundle& bundle, Faults& found) {
  std::unordered_map<std::string, const Plan*> plans;
  for (std::size_t i = 0; i < bundle.plans.size(); ++i) {
    const Plan& plan = bundle.plans[i];
    plans.emplace(plan.tenant_id + '/' + plan.id, &plan);
    if (plan.enforcement.key_by.empty() && adds_dimensions(plan.limits)) warn_of_one_slot("plans", i, found);
  }
  for (std::size_t i = 0; i < bundle.policies.size(); ++i) {
    const Policy& policy = bundle.policies[i];
    if (!policy.enforcement.key_by.empty()) continue;
    auto plan = plans.find(policy.tenant_id + '/' + policy.plan_id);
    if (adds_dimensions(plan == plans.end() ? policy.limits : plan->second->limits)) {
      warn_of_one_slot("policies", i, found);
    }
  }
}

bool is_policy_field(std::string_view name) {
  for (const std::string_view table : {"policy", "enforcement", "limit"}) {
    const auto found = std::ranges::find(field_tables(), table, &json::FieldTable::name);
    if (std::ranges::find(found->fields, name, &json::Field::name) != found->fields.end()) return true;
  }
  return false;
}

// Metadata only comes back with the decision, so a field of the policy has no effect there.
void find_fields_in_metadata(const Bundle& bundle, Faults& found) {
  for (std::size_t i = 0; i < bundle.policies.size(); ++i) {
    for (const auto& [name, value] : bundle.policies[i].metadata) {
      if (!is_policy_field(name)) continue;
      found.push_back({fmt::format("/policies/{}/metadata/{}", i, name),
                       fmt::format("{} in metadata has no effect, it only comes back with the decision: move it beside "
                                   "metadata, or give it another name",
                                   name)});
    }
  }
}

void find_doubtful_scopes(const Bundle& bundle, Faults& found) {
  for (std::size_t i = 0; i < bundle.policies.size(); ++i) {
    for (const ScopeTerm& term : bundle.policies[i].scope) {
      for (const std::string& value : term.values) {
        auto doubt = scope_doubt(term.dimension, value);
        if (!doubt) continue;
        found.push_back({fmt::format("/policies/{}/scope/{}", i, to_string(term.dimension)), *std::move(doubt)});
      }
    }
  }
}

void find_doubtful_identities(const Bundle& bundle, Faults& found) {
  for (std::size_t i = 0; i < bundle.overrides.size(); ++i) {
    for (const auto& [dimension, value] : bundle.overrides[i].identity) {
      auto doubt = identity_doubt(dimension, value);
      if (!doubt) continue;
      found.push_back({fmt::format("/overrides/{}/identity/{}", i, to_string(dimension)), *std::move(doubt)});
    }
  }
}

// Warns of each object of a list whose end has come. `effect` says what that means.
template <class Item>
void find_ended(std::string_view list, const std::vector<Item>& items, std::optional<WallTime> Item::* end,
                std::string_view field, std::string_view effect, std::int64_t now_us, Faults& found) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::optional<WallTime>& ended = items[i].*end;
    if (!ended || ended->time_since_epoch().count() > now_us) continue;
    found.push_back({fmt::format("/{}/{}/{}", list, i, field),
                     fmt::format("{} is in the past, so {}: write a later time, or remove {}", format_timestamp(*ended),
                                 effect, field)});
  }
}

// No faults, because what is stored grows old: an export must still be applied.
void find_all_ended(const Bundle& bundle, std::int64_t now_us, Faults& found) {
  find_ended("policies", bundle.policies, &Policy::valid_to, "valid_to", "the policy matches no request any more",
             now_us, found);
  find_ended("keys", bundle.keys, &ApiKey::expires_at, "expires_at", "every call with the API key is refused", now_us,
             found);
  find_ended("overrides", bundle.overrides, &Override::expires_at, "expires_at",
             "the override replaces no number any more", now_us, found);
}

}  // namespace

Faults warnings(const Bundle& bundle, std::int64_t now_us) {
  Faults found;
  find_conflicts(bundle, found);
  find_single_slots(bundle, found);
  find_fields_in_metadata(bundle, found);
  find_doubtful_scopes(bundle, found);
  find_doubtful_identities(bundle, found);
  find_all_ended(bundle, now_us, found);
  return found;
}

}  // namespace sluice::policy
