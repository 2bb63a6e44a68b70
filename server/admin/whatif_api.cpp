#include "server/admin/whatif_api.hpp"

#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/crypto.hpp"
#include "common/base/text.hpp"
#include "common/domain/algorithm.hpp"
#include "common/domain/enum_text.hpp"
#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "common/json/merge_patch.hpp"
#include "common/sync/whatif.hpp"
#include "server/admin/answers.hpp"
#include "server/admin/object_parts.hpp"
#include "server/admin/objects_api.hpp"
#include "server/admin/whatif_sum.hpp"
#include "server/fleet/agent_table.hpp"
#include "server/http/refusal.hpp"
#include "server/sync/questions.hpp"

namespace sluice::server::admin {
namespace {

using namespace std::chrono_literals;
using sluice::sync::kMaxWhatIfMinutes;
using sluice::sync::kMinuteUs;

constexpr std::int64_t kDefaultMinutes = 5;
constexpr std::chrono::milliseconds kDefaultWait{5'000};
constexpr std::chrono::milliseconds kLongestWait{30'000};
constexpr std::chrono::seconds kKept{2};  // a question whose caller has gone, after its wait
constexpr std::int64_t kMaxOpen = 8;      // questions, of all tenants together

struct WhatIfParameters {
  std::string tenant_id;
  json::Value policy;       // the whole edited policy
  std::string_view member;  // where it came from: "policy" or "patch"
  std::int64_t from_us = 0;
  std::int64_t to_us = 0;
  std::chrono::milliseconds wait{0};
};

void read_range(json::Fields& fields, std::int64_t now_us, WhatIfParameters& out) {
  const auto minutes = fields.integer("minutes", 1, kMaxWhatIfMinutes);
  const auto from = fields.timestamp("from");
  const auto to = fields.timestamp("to");
  if (fields.present("minutes") && (fields.present("from") || fields.present("to"))) {
    fields.fault("minutes", "minutes counts back from now: leave it out, or leave out from and to");
  }
  out.to_us = to ? to->time_since_epoch().count() : now_us;
  out.from_us = from ? from->time_since_epoch().count() : out.to_us - minutes.value_or(kDefaultMinutes) * kMinuteUs;
  if (out.from_us < 0 || out.from_us >= out.to_us || out.to_us - out.from_us > kMaxWhatIfMinutes * kMinuteUs) {
    fields.fault(from ? "from" : "to", fmt::format("from must be before to, by at most {} minutes", kMaxWhatIfMinutes));
  }
}

// The stored policy with the patch applied.
json::Value patched(Context& context, json::Tree& tree, const std::string& tenant_id, const std::string& policy_id,
                    const json::Value& patch) {
  const auto stored = store::find(context.tx, Kind::policy, tenant_id, policy_id);
  if (!stored) refuse_unknown(context, Kind::policy, tenant_id, policy_id);
  // A copy of the text: the tree owns what it parses.
  const json::Value before = tree.parse(store::shown_document(Kind::policy, stored->document)).value();
  return json::merged(tree, before, patch);
}

void check_object(json::Fields& fields, std::string_view name) {
  const json::Value* const value = fields.take(name);
  if (value != nullptr && value->type() != json::Type::object)
    fields.fault(name, json::wrong_type_text(name, *value, "an object"));
}

WhatIfParameters read_parameters(Context& context, json::Tree& tree, const json::Value& body) {
  json::FaultList faults;
  const json::Place root;
  json::Fields fields(body, root, faults);
  WhatIfParameters out;
  fields.take("tenant_id");
  const std::string policy_id(fields.text("policy_id", kMaxNameBytes).value_or(""));
  const json::Value* const policy = fields.take("policy");
  const json::Value* const patch = fields.take("patch");
  check_object(fields, "policy");
  check_object(fields, "patch");
  if ((policy == nullptr) == (patch == nullptr)) {
    fields.fault("policy", "send one of policy (the whole edited policy) and patch (with policy_id)");
  }
  if (patch != nullptr && policy_id.empty()) fields.fault("policy_id", "policy_id is missing: name what is patched");
  if (policy != nullptr && !policy_id.empty()) fields.fault("policy_id", "policy_id goes with patch: leave it out");
  read_range(fields, context.now_us, out);
  const auto wait = fields.duration("wait", Micros(0), kLongestWait);
  out.wait = std::chrono::duration_cast<std::chrono::milliseconds>(wait.value_or(kDefaultWait));
  fields.reject_unknown();
  if (faults.count() > 0) http::refuse_faults(422, faults.take());
  out.tenant_id = body_tenant(context, body, Kind::policy);
  if (out.tenant_id.empty()) http::refuse_fault(422, "/tenant_id", "tenant_id is missing: name the policy's tenant");
  out.member = policy != nullptr ? "policy" : "patch";
  out.policy = policy != nullptr ? *policy : patched(context, tree, out.tenant_id, policy_id, *patch);
  return out;
}

void check_tenant(Context& context, json::Tree& tree, const std::string& tenant_id) {
  const auto tenant = store::find(context.tx, Kind::tenant, "", tenant_id);
  if (!tenant) refuse_unknown(context, Kind::tenant, "", tenant_id);
  if (tree.parse(tenant->document).value().is_true("record_requests")) return;
  http::refuse_fault(422, "/tenant_id",
                     fmt::format("the requests of tenant {0} are not recorded: PATCH /v1/admin/tenants/{0} with "
                                 "{{\"record_requests\":true}}, and ask again after some minutes",
                                 tenant_id));
}

bool takes_leases(const json::Value& limits) {
  if (limits.type() != json::Type::array) return false;
  for (const json::Value& limit : limits.items()) {
    if (limit.text_of("algorithm") == to_string(Algorithm::concurrency)) return true;
  }
  return false;
}

// When a request gives its lease back is not recorded.
void refuse_leases(Context& context, json::Tree& tree, const WhatIfParameters& asked, const json::Value& policy) {
  const std::string plan_id(policy.text_of("plan_id"));
  json::Value limits = policy.get("limits");
  if (!plan_id.empty()) {
    const auto plan = store::find(context.tx, Kind::plan, asked.tenant_id, plan_id);
    if (plan) limits = tree.parse(plan->document).value().get("limits");
  }
  if (!takes_leases(limits)) return;
  http::refuse_fault(422, fmt::format("/{}/{}", asked.member, plan_id.empty() ? "limits" : "plan_id"),
                     "what-if cannot judge the algorithm concurrency: when a request gives its lease back is not "
                     "recorded. Use mode shadow for such a policy");
}

// The policy as agents get it, and in force: the question is what it would do, whatever its mode is now.
sluice::sync::WhatIfQuestion question_of(Context& context, json::Tree& tree, const WhatIfParameters& asked) {
  static constexpr std::array<std::string_view, 2> kDropped{"mode", "enabled"};
  Draft draft;
  try {
    std::optional<Secret> secret;  // policies have none
    draft = checked_draft(context, tree, kPolicies, asked.policy, asked.tenant_id, secret);
  } catch (http::Refusal& refusal) {
    for (Fault& fault : refusal.faults) {
      if (!fault.pointer.starts_with('?')) fault.pointer.insert(0, fmt::format("/{}", asked.member));
    }
    throw;
  }
  const json::Value stored = tree.parse(draft.document).value();
  refuse_leases(context, tree, asked, stored);
  std::array<std::uint8_t, 12> random;
  random_bytes(random);
  sluice::sync::WhatIfQuestion question{.id = "whatif-" + to_hex(random),
                                        .tenant_id = asked.tenant_id,
                                        .policy_id = draft.key.id,
                                        .policy = {},
                                        .from_us = asked.from_us,
                                        .to_us = asked.to_us};
  json::append(question.policy, json::edited(tree, stored, kDropped));
  return question;
}

[[noreturn]] void refuse_busy(std::string detail) {
  throw http::Refusal(429, "too-many-questions", std::move(detail), {}, "Retry-After: 5\r\n");
}

void bound_questions(Context& context, const std::string& tenant_id) {
  context.tx.enter(postgres::Scope::everything(context.principal.token_id));
  // Two calls at the same moment must not both find the last place free.
  context.tx.exec_text("LOCK TABLE whatif_questions IN SHARE ROW EXCLUSIVE MODE");
  context.tx.exec_text("DELETE FROM whatif_questions WHERE expires_at <= now()");
  const pqxx::result open =
      context.tx.exec("SELECT count(*), count(*) FILTER (WHERE tenant_id = $1) FROM whatif_questions", tenant_id);
  context.tx.enter(context.principal.scope());
  if (open[0][1].as<std::int64_t>() > 0) {
    refuse_busy(
        fmt::format("Agents of tenant {} are answering a question of what-if: ask one after the other.", tenant_id));
  }
  if (open[0][0].as<std::int64_t>() >= kMaxOpen) {
    refuse_busy(fmt::format("Agents are answering {} questions of what-if: ask again in some seconds.", kMaxOpen));
  }
}

void write_question(Context& context, const std::string& organization_id, const sluice::sync::WhatIfQuestion& question,
                    std::chrono::milliseconds wait) {
  context.tx.exec(
      "INSERT INTO whatif_questions (organization_id, tenant_id, id, policy_id, policy, from_us, to_us, expires_at) "
      "VALUES ($1, $2, $3, $4, $5::json, $6, $7, now() + $8 * interval '1 millisecond')",
      organization_id, question.tenant_id, question.id, question.policy_id, question.policy, question.from_us,
      question.to_us, (wait + kKept).count());
  context.tx.exec_text(fmt::format("NOTIFY {}", sync::kQuestionChannel));
  context.wrote_rows = true;
}

// What the caller's scope hides belongs to the answer too: agents with a larger scope serve the tenant as well.
WhatIfSum read_answers(Context& context, const std::string& organization_id, const std::string& tenant_id,
                       const std::string& question_id, std::int64_t from_us) {
  context.tx.enter(postgres::Scope::everything(context.principal.token_id));
  const pqxx::result rows = context.tx.exec(
      fmt::format("SELECT w.answer::text FROM agents AS a LEFT JOIN whatif_answers AS w ON w.question_id = $1 AND "
                  "w.scope = a.scope AND w.agent_id = a.agent_id WHERE NOT a.gone AND a.heard_at > now() - "
                  "interval '{} s' AND (a.organization_id = '' OR (a.organization_id = $2 AND (a.tenant_ids = '{{}}' "
                  "OR $3 = ANY (a.tenant_ids))))",
                  std::chrono::seconds(fleet::kLiveFor).count()),
      question_id, organization_id, tenant_id);
  context.tx.enter(context.principal.scope());
  WhatIfSum sum(from_us);
  for (const auto& row : rows) {
    const auto answer = row[0].is_null() ? std::unexpected(Faults()) : sluice::sync::parse_answer(row[0].c_str());
    sum.add(answer ? &*answer : nullptr);
  }
  return sum;
}

Answer answer_so_far(Context& context, const std::string& question_id) {
  const pqxx::result rows = context.tx.exec(
      "SELECT organization_id, tenant_id, policy_id, from_us, to_us, "
      "extract(epoch FROM expires_at - asked_at) * 1000 FROM whatif_questions WHERE id = $1",
      question_id);
  if (rows.empty()) http::refuse_unknown("question", question_id);
  const pqxx::row row = rows[0];
  const auto from_us = row[3].as<std::int64_t>();
  const WhatIfSum sum = read_answers(context, row[0].c_str(), row[1].c_str(), question_id, from_us);
  Answer answer;
  answer.object = open_object();
  answer.object->field("tenant_id", row[1].c_str());
  answer.object->field("policy_id", row[2].c_str());
  answer.object->field("from", whatif_time(from_us));
  answer.object->field("to", whatif_time(row[4].as<std::int64_t>()));
  sum.write(*answer.object);
  if (sum.all_answered()) {
    context.tx.exec("DELETE FROM whatif_questions WHERE id = $1", question_id);
    context.wrote_rows = true;
    return answer;
  }
  answer.wait = std::chrono::milliseconds(static_cast<std::int64_t>(row[5].as<double>())) - kKept;
  answer.resume = question_id;
  return answer;
}

}  // namespace

Answer ask_whatif(Context& context) {
  if (!context.call.resumed.empty()) return answer_so_far(context, context.call.resumed);
  json::Tree tree;
  const json::Value body = read_body(context.call, tree);
  const WhatIfParameters asked = read_parameters(context, tree, body);
  check_tenant(context, tree, asked.tenant_id);
  const sluice::sync::WhatIfQuestion question = question_of(context, tree, asked);
  const auto tenant = store::find(context.tx, Kind::tenant, "", asked.tenant_id);
  bound_questions(context, asked.tenant_id);
  write_question(context, tenant->organization_id, question, asked.wait);
  return answer_so_far(context, question.id);
}

}  // namespace sluice::server::admin
