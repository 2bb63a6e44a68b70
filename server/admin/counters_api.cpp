#include "server/admin/counters_api.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/json/fields.hpp"
#include "common/json/text.hpp"
#include "common/objects/references.hpp"
#include "server/admin/answers.hpp"
#include "server/admin/objects_api.hpp"
#include "server/admin/overrides_api.hpp"
#include "server/counters/publisher.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::size_t kMaxTextBytes = 256;

// Names the counters of one identity under a policy or a plan.
struct CounterTarget {
  std::string organization_id;
  std::string tenant_id;
  std::string policy_id;
  std::string plan_id;
  std::vector<std::pair<DimensionRef, std::optional<std::string>>>
      identity_values;  // sorted; nullopt: requests of this identity lack the dimension

  bool names(const DimensionRef& dimension) const {
    return std::ranges::find(identity_values, dimension, [](const auto& pair) { return pair.first; }) !=
           identity_values.end();
  }
  counters::Identity identity() const {
    counters::Identity known;
    for (const auto& [dimension, value] : identity_values) {
      if (value) known.emplace_back(dimension, *value);
    }
    return known;
  }
  std::string identity_json() const {
    std::string text = "{";
    for (const auto& [dimension, value] : identity_values) {
      text.append(text.size() > 1 ? "," : "").append(json::string_literal(to_string(dimension))).append(":");
      text += value ? json::string_literal(*value) : "null";
    }
    return text += '}';
  }
  json::Writer begin_object() const {
    json::Writer out = open_object();
    out.field("tenant_id", tenant_id);
    out.field(policy_id.empty() ? "plan_id" : "policy_id", policy_id.empty() ? plan_id : policy_id);
    out.key("identity");
    out.raw(identity_json());
    return out;
  }
};

void read_identity(json::Fields& fields, CounterTarget& target) {
  fields.require("identity", "the value of each dimension of the counter key, such as {\"subject\":\"user:42\"}");
  const json::Value* const value = fields.take("identity");
  if (value == nullptr) return;
  const json::Place at = fields.at().member("identity");
  json::Fields identity(*value, at, fields.faults());
  for (json::Member& member : identity.members()) {
    if (member.taken) continue;  // given twice; json::Fields has added a fault
    const auto dimension = parse_dimension(member.name);
    const bool absent = member.value.type() == json::Type::null;
    const auto text = identity.text(member.name, kMaxTextBytes);
    member.taken = true;
    if (!dimension) {
      identity.fault(member.name, fmt::format("{} is not a dimension", quoted(member.name)));
    } else if (absent) {
      target.identity_values.emplace_back(*dimension, std::nullopt);
    } else if (text) {
      target.identity_values.emplace_back(*dimension, std::string(*text));
    }
  }
  std::ranges::sort(target.identity_values);
}

CounterTarget read_target(Context& context) {
  json::Tree tree;
  const json::Value body = read_body(context.call, tree);
  json::FaultList faults;
  const json::Place root;
  json::Fields fields(body, root, faults);
  CounterTarget target;
  target.tenant_id = read_optional_id(fields, "tenant_id");
  target.policy_id = read_optional_id(fields, "policy_id");
  target.plan_id = read_optional_id(fields, "plan_id");
  if (target.tenant_id.empty()) target.tenant_id = tenant_of(context, Kind::override_);
  if (target.tenant_id.empty()) fields.require("tenant_id", "the tenant of the policy or plan");
  if (!fields.present("plan_id")) {
    fields.require("policy_id", "name the policy; for the counters of checks that name a plan, give plan_id instead");
  }
  if (!target.policy_id.empty() && !target.plan_id.empty()) {
    fields.fault("plan_id", "policy_id and plan_id are both given: counters belong to one of them");
  }
  read_identity(fields, target);
  fields.reject_unknown();
  if (faults.count() != 0) http::refuse_faults(422, faults.take());
  return target;
}

store::StoredObject require_stored(Context& context, Kind kind, const std::string& tenant, const std::string& id) {
  auto found = store::find(context.tx, kind, tenant, id);
  if (!found) refuse_unknown(context, kind, tenant, id);
  return std::move(*found);
}

counters::RulesPtr load_rules(Context& context, CounterTarget& target) {
  const store::StoredObject tenant = require_stored(context, Kind::tenant, target.tenant_id, target.tenant_id);
  target.organization_id = tenant.organization_id;
  counters::RulesBuilder rules(target.organization_id, target.tenant_id, counters::trailing_slash_of(tenant.document));
  std::string plan_id = target.plan_id;
  if (!target.policy_id.empty()) {
    const store::StoredObject policy = require_stored(context, Kind::policy, target.tenant_id, target.policy_id);
    plan_id = counters::member_of(policy.document, "plan_id");
    rules.add_policy(target.policy_id, policy.document);
  }
  if (!plan_id.empty()) {
    rules.add_plan(plan_id, require_stored(context, Kind::plan, target.tenant_id, plan_id).document);
  }
  return rules.build(context.now_us);
}

struct CounterQuery {
  CounterTarget target;
  counters::RulesPtr rules;
  const policy::Rulebook* rulebook;
  // Whether the identity has all dimensions of the counter key, for each group of limits that share a key.
  std::vector<bool> included;

  std::string key_of(std::size_t group) const { return rules->key_of(*rulebook, group, target.identity()); }
};

std::string names_of(const std::vector<DimensionRef>& dimensions) {
  std::string text;
  for (const DimensionRef& dimension : dimensions) text.append(text.empty() ? "" : ", ").append(to_string(dimension));
  return text.empty() ? "none" : text;
}

// The identity must name every dimension of key_by. Limits that add other dimensions to the counter key are left out
// unless the identity names these dimensions.
void check_identity(CounterQuery& query) {
  const std::vector<DimensionRef>& key_by = query.rulebook->enforcement.key_by;
  std::vector<DimensionRef> known = key_by;
  for (const limiter::Group& group : query.rulebook->program->groups) {
    known.insert(known.end(), group.added.begin(), group.added.end());
    query.included.push_back(
        std::ranges::all_of(group.added, [&](const DimensionRef& added) { return query.target.names(added); }));
  }
  Faults faults;
  for (const DimensionRef& dimension : key_by) {
    if (query.target.names(dimension)) continue;
    faults.push_back(
        {fmt::format("/identity/{}", to_string(dimension)),
         fmt::format("is missing: the counter key has the dimensions {}; write null for requests without it",
                     names_of(key_by))});
  }
  for (const auto& [dimension, value] : query.target.identity_values) {
    if (std::ranges::find(known, dimension) != known.end()) continue;
    faults.push_back({fmt::format("/identity/{}", to_string(dimension)),
                      fmt::format("is not a dimension of the counter key; its dimensions are {}", names_of(known))});
  }
  if (!faults.empty()) http::refuse_faults(422, std::move(faults));
}

CounterQuery read_query(Context& context) {
  CounterTarget target = read_target(context);
  counters::RulesPtr rules = load_rules(context, target);
  const policy::Rulebook* const rulebook = rules->find(target.policy_id, target.plan_id);
  CounterQuery query{std::move(target), std::move(rules), rulebook, {}};
  check_identity(query);
  return query;
}

std::string limit_json(const Limit& limit, const LimitReport& report) {
  return fmt::format(
      R"({{"name":{},"algorithm":"{}","unit":{},"limit":{},"remaining":{},"used":{},"reset_after_us":{}}})",
      json::string_literal(limit.name), to_string(limit.algorithm), json::string_literal(limit.unit), report.limit,
      report.remaining, report.limit - report.remaining, report.reset_after_us);
}

}  // namespace

Answer read_counters(Context& context) {
  counters::RedisLink& link = require_publisher(context).link();
  const CounterQuery query = read_query(context);
  const limiter::Program& program = *query.rulebook->program;
  limiter::Call call;
  call.program = &program;
  call.explain = true;
  for (std::size_t g = 0; g < program.groups.size(); ++g) call.keys.push_back(query.key_of(g));
  const auto outcome = link.judge(call);
  if (!outcome) {
    throw http::Refusal(503, "counters-unavailable",
                        fmt::format("Redis could not be read ({}); try again.", to_string(outcome.error().fault)), {},
                        "Retry-After: 1\r\n");
  }
  std::vector<std::string> limits(program.limits.size());  // in the order of the plan
  for (std::size_t i = 0; i < program.limits.size(); ++i) {
    if (!query.included[program.rules[i].group]) continue;
    limits[program.plan_position[i]] = limit_json(program.limits[i], outcome->limits[i]);
  }
  std::erase(limits, "");
  Answer answer;
  answer.object = query.target.begin_object();
  answer.object->field("now_us", outcome->now_us);
  answer.object->key("limits");
  answer.object->begin_list();
  for (const std::string& limit : limits) answer.object->raw(limit);
  answer.object->end_list();
  return answer;
}

Answer reset_counters(Context& context) {
  require_publisher(context);
  const CounterQuery query = read_query(context);
  const CounterTarget& target = query.target;
  for (std::size_t g = 0; g < query.included.size(); ++g) {
    if (!query.included[g]) continue;
    context.resets.push_back({.organization_id = target.organization_id,
                              .tenant_id = target.tenant_id,
                              .policy_id = target.policy_id,
                              .plan_id = query.rulebook->plan_id,
                              .identity = target.identity_json(),
                              .counter_key = query.key_of(g),
                              .reset = true});
  }
  json::Writer document = target.begin_object();
  document.end_object();
  context.log.add({.action = "reset",
                   .key = {Kind::counter, target.tenant_id, store::random_id(Kind::counter)},
                   .organization_id = target.organization_id,
                   .version = 1,
                   .before = std::nullopt,
                   .after = document.take()});
  Answer answer;
  answer.object = target.begin_object();
  answer.published = true;
  return answer;
}

}  // namespace sluice::server::admin
