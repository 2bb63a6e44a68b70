#include "server/admin/effective_limits.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/timestamp.hpp"
#include "common/json/writer.hpp"
#include "common/objects/limit_json.hpp"
#include "common/policy/counter_key.hpp"
#include "server/counters/rules.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {
namespace {

using policy::Rulebook;
using policy::SelectedRulebook;

// Of one policy and its plan. Where more are stored, only those whose identity is spelled as in the check are found.
constexpr std::size_t kMostOverrides = 10'000;

std::string time_text(std::int64_t at_us) { return format_timestamp(WallTime(Micros(at_us))); }

// The dimensions of a limit's counter key, with the values of the check. nullopt: the check lacks the dimension.
using KeyValues = std::vector<std::pair<DimensionRef, std::optional<std::string>>>;

class Effective {
 public:
  Effective(Context& context, std::string organization_id, const policy::TenantView& tenant,
            const CheckRequest& request)
      : context_(context), organization_id_(std::move(organization_id)), tenant_(tenant), request_(request) {}

  void write(json::Writer& out, const SelectedRulebook& selected, Mode mode) {
    const Rulebook& rulebook = *selected.rulebook;
    std::vector<std::string> keys;
    policy::counter_keys(tenant_.key_head, rulebook, request_, keys, selected.pattern);
    const counters::RulesPtr rules = load_rules(selected);
    out.begin_object();
    const bool decides = selected.role == policy::Role::decides;
    out.field("role", decides ? "decides" : "shadow");
    write_owner(out, rulebook);
    out.field("mode", to_string(decides ? mode : Mode::shadow));
    out.field("action", to_string(rulebook.enforcement.action));
    out.field("failure_mode", to_string(rulebook.enforcement.failure_mode));
    out.key("limits");
    out.begin_list();
    const limiter::Program& program = *rulebook.program;
    for (std::size_t position = 0; position < program.limits.size(); ++position) {
      const auto found = std::ranges::find(program.plan_position, position);
      const auto i = static_cast<std::size_t>(found - program.plan_position.begin());
      write_limit_in_force(out, selected, *rules, i, keys[program.rules[i].group]);
    }
    out.end_list();
    out.end_object();
  }

 private:
  void write_owner(json::Writer& out, const Rulebook& rulebook) {
    if (!rulebook.is_policy) return out.field("plan_id", rulebook.owner_id);
    out.field("policy_id", rulebook.owner_id);
    out.field("policy_version", rulebook.version);
    out.optional_field("plan_id", rulebook.plan_id);
    const policy::CompiledPolicy& policy = *tenant_.policies.find(rulebook.owner_id);
    out.field("rollout_percent", policy.rollout * 100.0 / policy::kWholeRollout);
    if (policy.valid_from_us != std::numeric_limits<std::int64_t>::min()) {
      out.field("valid_from", time_text(policy.valid_from_us));
    }
    if (policy.valid_to_us != std::numeric_limits<std::int64_t>::max()) {
      out.field("valid_to", time_text(policy.valid_to_us));
    }
  }

  KeyValues values_of(const SelectedRulebook& selected, std::size_t group) const {
    std::vector<DimensionRef> names = selected.rulebook->enforcement.key_by;
    const std::vector<DimensionRef>& added = selected.rulebook->program->groups[group].added;
    names.insert(names.end(), added.begin(), added.end());
    std::ranges::sort(names);
    KeyValues values;
    for (const DimensionRef& name : names) {
      const Value* const value = request_.find(name);
      if (name.dimension == Dimension::resource && !selected.pattern.empty()) {
        values.emplace_back(name, std::string(selected.pattern));
      } else {
        values.emplace_back(name, value == nullptr ? std::nullopt : std::optional(std::string(value->text)));
      }
    }
    return values;
  }

  // The rulebook's policy and plan, with the overrides that may concern the check.
  counters::RulesPtr load_rules(const SelectedRulebook& selected) {
    const Rulebook& rulebook = *selected.rulebook;
    const std::string& tenant_id = tenant_.tenant.id;
    const std::string policy_id = rulebook.is_policy ? rulebook.owner_id : "";
    counters::RulesBuilder builder(organization_id_, tenant_id, tenant_.tenant.slash());
    if (!policy_id.empty()) builder.add_policy(policy_id, document(Kind::policy, policy_id));
    if (!rulebook.plan_id.empty()) builder.add_plan(rulebook.plan_id, document(Kind::plan, rulebook.plan_id));
    for (const auto& row : overrides_of(selected, policy_id)) builder.add_override(row[0].c_str(), row[1].c_str());
    return builder.build(context_.now_us);
  }

  std::string document(Kind kind, const std::string& id) {
    const auto found = store::find(context_.tx, kind, tenant_.tenant.id, id);
    if (!found) throw counters::RulesFault(fmt::format("the {} {} is gone", info(kind).name, id));
    return found->document;
  }

  // Resources and addresses have several spellings for one counter, so overrides of these are found by their owner.
  pqxx::result overrides_of(const SelectedRulebook& selected, const std::string& policy_id) {
    bool spelled = false;
    std::vector<std::string> identities;
    for (std::size_t g = 0; g < selected.rulebook->program->groups.size(); ++g) {
      Override item;
      bool whole = true;
      for (auto& [name, value] : values_of(selected, g)) {
        spelled = spelled || name.dimension == Dimension::resource || name.dimension == Dimension::source_ip;
        whole = whole && value;
        if (value) item.identity.emplace_back(name, std::move(*value));
      }
      if (whole) identities.push_back(counters::identity_text(item));
    }
    const auto load = [&](bool all) {
      return context_.tx.exec(
          fmt::format(
              "SELECT id, document FROM overrides WHERE tenant_id = $1 AND (policy_id = $2 OR plan_id = $3) AND "
              "(expires_at IS NULL OR expires_at > now()) AND ($4::boolean OR identity_hash = ANY (SELECT "
              "hashtextextended(text, 0) FROM unnest($5::text[]) AS given (text))) LIMIT {}",
              kMostOverrides + 1),
          tenant_.tenant.id, policy_id, selected.rulebook->plan_id, all, postgres::text_array(identities));
    };
    pqxx::result found = load(spelled);
    return spelled && found.size() > kMostOverrides ? load(false) : found;
  }

  void write_limit_in_force(json::Writer& out, const SelectedRulebook& selected, const counters::Rules& rules,
                            std::size_t i, const std::string& counter_key) {
    const limiter::Program& program = *selected.rulebook->program;
    Limit limit = program.limits[i];
    const Override* const found = override_of(rules, *selected.rulebook, i, counter_key);
    if (found != nullptr) {
      limit.limit = found->limit.value_or(limit.limit);
      limit.rate = found->rate.value_or(limit.rate);
      limit.window = found->window.value_or(limit.window);
      limit.lease_ttl = found->lease_ttl.value_or(limit.lease_ttl);
    }
    out.begin_object();
    out.key("limit");
    write_limit(out, limit);
    out.key("identity");
    out.begin_object();
    for (const auto& [name, value] : values_of(selected, program.rules[i].group)) {
      value ? out.field(to_string(name), *value) : out.null_field(to_string(name));
    }
    out.end_object();
    if (found == nullptr) {
      out.null_field("override");
    } else {
      out.key("override");
      out.begin_object();
      out.field("id", found->id);
      found->policy_id.empty() ? out.field("plan_id", found->plan_id) : out.field("policy_id", found->policy_id);
      found->expires_at ? out.field("expires_at", format_timestamp(*found->expires_at)) : out.null_field("expires_at");
      out.key("instead_of");
      write_limit(out, program.limits[i]);
      out.end_object();
    }
    out.end_object();
  }

  // The override whose numbers the counter store uses: of several for one limit the last one applies.
  static const Override* override_of(const counters::Rules& rules, const Rulebook& rulebook, std::size_t i,
                                     const std::string& counter_key) {
    const Limit& limit = rulebook.program->limits[i];
    const auto key = std::ranges::find(rules.overrides(), counter_key, &policy::KeyOverrides::counter_key);
    if (key == rules.overrides().end()) return nullptr;
    const limiter::OverrideEntry* applied = nullptr;
    for (const limiter::OverrideEntry& entry : key->entries) {
      if (entry.name_id == limiter::name_id(limit)) applied = &entry;
    }
    if (applied == nullptr) return nullptr;
    const Override* source = nullptr;
    for (const Override& item : rules.bundle().overrides) {
      const double expires_us = item.expires_at ? static_cast<double>(item.expires_at->time_since_epoch().count())
                                                : std::numeric_limits<double>::infinity();
      const double number = item.limit ? static_cast<double>(*item.limit) : -1;
      if (item.limit_name == limit.name && expires_us == applied->expires_us && number == applied->limit &&
          rules.key_of(rulebook, rulebook.program->rules[i].group, item.identity) == counter_key) {
        source = &item;
      }
    }
    return source;
  }

  Context& context_;
  const std::string organization_id_;
  const policy::TenantView& tenant_;
  const CheckRequest& request_;
};

}  // namespace

void append_effective(Context& context, const std::string& organization_id, const policy::TenantView& tenant,
                      const CheckRequest& request, const policy::Selection& selection, std::string& out) {
  Effective effective(context, organization_id, tenant, request);
  json::Writer list(json::Writer::Layout::compact);
  list.begin_list();
  for (const SelectedRulebook& each : selection.rulebooks) effective.write(list, each, selection.mode);
  list.end_list();
  out.append(",\"effective\":").append(list.take());
}

}  // namespace sluice::server::admin
