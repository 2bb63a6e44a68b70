#include <charconv>
#include <cmath>

#include "common/domain/decision.hpp"
#include "common/domain/decision_time.hpp"
#include "common/domain/uncounted_units.hpp"
#include "common/json/text.hpp"

namespace sluice {
namespace {

// In this file a `key` is a member's name with the characters before it and the colon after it: `,"limit":`.
void add(std::string& out, std::string_view key, std::int64_t value) {
  out.append(key);
  json::append_integer(out, value);
}

void add(std::string& out, std::string_view key, std::string_view value) {
  out.append(key);
  json::append_string(out, value);
}

void add_bool(std::string& out, std::string_view key, bool value) { out.append(key).append(value ? "true" : "false"); }

// REQUIRES: `value` needs no escaping.
void add_name(std::string& out, std::string_view key, std::string_view value) {
  out.append(key).append("\"").append(value).append("\"");
}

void add_present(std::string& out, std::string_view key, std::string_view value) {
  if (!value.empty()) add(out, key, value);
}

// Infinity and NaN, which JSON cannot write, become 0.
void add_share(std::string& out, std::string_view key, double value) {
  char text[32];
  const auto result = std::to_chars(text, text + sizeof text, std::isfinite(value) ? value : 0.0);
  out.append(key).append(text, result.ptr);
}

void add_retry(std::string& out, std::int64_t wait, std::int64_t delay_us) {
  if (wait == kNever) {
    out.append(",\"retry_after_ms\":null");
  } else {
    add(out, ",\"retry_after_ms\":", round_up(wait, kMicrosPerMilli));
  }
  add(out, ",\"delay_ms\":", round_up(delay_us, kMicrosPerMilli));
}

void add_origin(std::string& out, std::string_view policy_id, std::int64_t policy_version, std::string_view plan_id,
                std::string_view limit_name) {
  if (!policy_id.empty()) {
    add(out, ",\"policy_id\":", policy_id);
    add(out, ",\"policy_version\":", policy_version);
  }
  add_present(out, ",\"plan_id\":", plan_id);
  add_present(out, ",\"limit_name\":", limit_name);
}

void add_metadata(std::string& out, const Metadata* metadata) {
  if (metadata == nullptr || metadata->empty()) return;
  out.append(",\"metadata\":");
  char separator = '{';
  for (const auto& [name, text] : *metadata) {
    out.push_back(separator);
    json::append_string(out, name);
    add(out, ":", text);
    separator = ',';
  }
  out.push_back('}');
}

void add_shadow_result(std::string& out, const ShadowResult& shadow, std::int64_t now_us) {
  add_bool(out, ",\"shadow_result\":{\"allowed\":", shadow.allowed);
  add_name(out, ",\"reason\":", to_string(shadow.reason));
  if (!shadow.limit_name.empty()) {
    add(out, ",\"limit\":", shadow.report.limit);
    add(out, ",\"remaining\":", shadow.report.remaining);
    // `now_us` is 0 if the deciding policy did not need the counter store.
    if (now_us != 0) add(out, ",\"reset_at\":", unix_seconds_up(now_us, shadow.report.reset_after_us));
  }
  add_retry(out, wait_us(shadow.allowed, shadow.report), shadow.report.delay_us);
  add_origin(out, shadow.policy_id, shadow.policy_version, shadow.plan_id, shadow.limit_name);
  out.push_back('}');
}

void add_explained(std::string& out, const Decision& decision) {
  add(out, ",\"now_us\":", decision.now_us);
  out.append(",\"limits\":[");
  bool first = true;
  for (const ExplainedLimit& limit : decision.limits) {
    add(out, first ? "{\"name\":" : ",{\"name\":", limit.name);
    add_name(out, ",\"algorithm\":", to_string(limit.algorithm));
    add(out, ",\"unit\":", limit.unit);
    add(out, ",\"cost\":", limit.cost);
    add_bool(out, ",\"admitted\":", limit.report.admitted);
    add(out, ",\"limit\":", limit.report.limit);
    if (limit.brought) add(out, ",\"limit_from\":", std::string_view("limit_override"));
    add(out, ",\"remaining\":", limit.report.remaining);
    add(out, ",\"reset_after_us\":", limit.report.reset_after_us);
    add(out, ",\"retry_after_us\":", limit.report.retry_after_us);
    add(out, ",\"delay_us\":", limit.report.delay_us);
    out.push_back('}');
    first = false;
  }
  out.push_back(']');
  write_uncounted_units(uncounted_units(decision), out);
  out.push_back(',');
  write_candidates(decision.candidates, out);
}

}  // namespace

std::vector<UncountedUnit> uncounted_units(const Decision& decision) {
  if (decision.costs == nullptr || decision.costs->empty()) return {};
  std::vector<std::string_view> counted;
  counted.reserve(decision.limits.size());
  for (const ExplainedLimit& limit : decision.limits) counted.push_back(limit.unit);
  return uncounted_units(*decision.costs, counted);
}

void write_candidates(const CandidateList& candidates, std::string& out) {
  out.append("\"candidates\":[");
  bool first = true;
  for (const ExplainedCandidate& candidate : candidates.shown) {
    add(out, first ? "{\"policy_id\":" : ",{\"policy_id\":", candidate.policy_id);
    add(out, ",\"policy_version\":", candidate.policy_version);
    add_present(out, ",\"plan_id\":", candidate.plan_id);
    add_name(out, ",\"outcome\":", to_string(candidate.outcome));
    add(out, ",\"why\":", candidate.why);
    out.push_back('}');
    first = false;
  }
  out.push_back(']');
  if (candidates.omitted > 0) add(out, ",\"candidates_omitted\":", static_cast<std::int64_t>(candidates.omitted));
}

void write_decision(const Decision& decision, std::string& out) {
  add_bool(out, "{\"allowed\":", decision.allowed);
  add_name(out, ",\"action\":", to_string(decision.action));
  add_name(out, ",\"reason\":", to_string(decision.reason));
  if (decision.has_limit) {
    add(out, ",\"limit\":", decision.report.limit);
    add(out, ",\"remaining\":", decision.report.remaining);
    add(out, ",\"reset_at\":", unix_seconds_up(decision.now_us, decision.report.reset_after_us));
  }
  add_retry(out, wait_us(decision), decision.report.delay_us);
  if (decision.waited_us >= 0) add(out, ",\"waited_ms\":", round_up(decision.waited_us, kMicrosPerMilli));
  add_origin(out, decision.policy_id, decision.policy_version, decision.plan_id,
             decision.has_limit ? decision.limit_name : std::string_view{});
  add_bool(out, ",\"shadow\":", decision.shadow);
  if (decision.shadow) {
    add_bool(out, ",\"would_allow\":", decision.would_allow);
    add_bool(out, ",\"over_limit\":", decision.over_limit);
  }
  if (decision.action == Action::sample) add_share(out, ",\"sample_rate\":", decision.sample_rate);
  if (decision.action == Action::downgrade) add(out, ",\"downgrade_to\":", decision.downgrade_to);
  add_metadata(out, decision.metadata);
  if (!decision.lease_id.empty()) {
    add(out, ",\"lease_id\":", decision.lease_id);
    add(out, ",\"lease_expires_at\":", decision.lease_expires_at_us / kMicrosPerSecond);
  }
  add_present(out, ",\"request_id\":", decision.request_id);
  add_present(out, ",\"cause\":", decision.cause);
  if (decision.shadow_result) add_shadow_result(out, *decision.shadow_result, decision.now_us);
  if (decision.explain) add_explained(out, decision);
  out.push_back('}');
}

}  // namespace sluice
