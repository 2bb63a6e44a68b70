#include "agent/grpc/decision_message.hpp"

#include <cmath>
#include <cstdint>
#include <string_view>

#include <protozero/pbf_writer.hpp>

#include "common/domain/decision_time.hpp"
#include "common/domain/uncounted_units.hpp"

namespace sluice::agent::rpc {
namespace {

using protozero::pbf_writer;

void add(pbf_writer& out, std::uint32_t field, std::string_view text) {
  if (!text.empty()) out.add_string(field, text.data(), text.size());
}

// Zero is what a reader assumes of a number that is not there.
void add(pbf_writer& out, std::uint32_t field, std::int64_t value) {
  if (value != 0) out.add_int64(field, value);
}

void add(pbf_writer& out, std::uint32_t field, bool value) {
  if (value) out.add_bool(field, true);
}

void add_retry(pbf_writer& out, std::uint32_t field, std::int64_t wait_us) {
  if (wait_us != kNever) out.add_int64(field, round_up(wait_us, kMicrosPerMilli));
}

void add_shadow_result(pbf_writer& parent, const ShadowResult& shadow, std::int64_t now_us) {
  pbf_writer out(parent, 24);
  add(out, 1, shadow.allowed);
  add(out, 2, to_string(shadow.reason));
  if (!shadow.limit_name.empty()) {
    out.add_int64(3, shadow.report.limit);
    out.add_int64(4, shadow.report.remaining);
    // `now_us` is 0 if the deciding policy did not need the counter store.
    if (now_us != 0) out.add_int64(5, unix_seconds_up(now_us, shadow.report.reset_after_us));
  }
  add_retry(out, 6, wait_us(shadow.allowed, shadow.report));
  add(out, 7, round_up(shadow.report.delay_us, kMicrosPerMilli));
  if (!shadow.policy_id.empty()) {
    add(out, 8, shadow.policy_id);
    add(out, 9, shadow.policy_version);
  }
  add(out, 10, shadow.plan_id);
  add(out, 11, shadow.limit_name);
}

void add_limit(pbf_writer& parent, const ExplainedLimit& limit) {
  pbf_writer out(parent, 26);
  add(out, 1, limit.name);
  add(out, 2, to_string(limit.algorithm));
  add(out, 3, limit.unit);
  add(out, 4, limit.cost);
  add(out, 5, limit.report.admitted);
  add(out, 6, limit.report.limit);
  if (limit.brought) add(out, 7, std::string_view("limit_override"));
  add(out, 8, limit.report.remaining);
  add(out, 9, limit.report.reset_after_us);
  add(out, 10, limit.report.retry_after_us);
  add(out, 11, limit.report.delay_us);
}

void add_explained(pbf_writer& out, const Decision& decision) {
  add(out, 25, decision.now_us);
  for (const ExplainedLimit& limit : decision.limits) add_limit(out, limit);
  for (const ExplainedCandidate& candidate : decision.candidates.shown) {
    pbf_writer entry(out, 27);
    add(entry, 1, candidate.policy_id);
    add(entry, 2, candidate.policy_version);
    add(entry, 3, candidate.plan_id);
    add(entry, 4, to_string(candidate.outcome));
    add(entry, 5, std::string_view(candidate.why));
  }
  add(out, 28, static_cast<std::int64_t>(decision.candidates.omitted));
  for (const UncountedUnit& unit : uncounted_units(decision)) {
    pbf_writer entry(out, 29);
    add(entry, 1, unit.unit);
    add(entry, 2, std::string_view(unit.why));
  }
}

void add_metadata(pbf_writer& parent, const Metadata& metadata) {
  for (const auto& [name, text] : metadata) {
    pbf_writer entry(parent, 19);
    add(entry, 1, std::string_view(name));
    add(entry, 2, std::string_view(text));
  }
}

}  // namespace

void write_check_response(const Decision& decision, std::string& text) {
  pbf_writer out(text);
  add(out, 1, decision.allowed);
  add(out, 2, to_string(decision.action));
  add(out, 3, to_string(decision.reason));
  if (decision.has_limit) {
    out.add_int64(4, decision.report.limit);
    out.add_int64(5, decision.report.remaining);
    out.add_int64(6, unix_seconds_up(decision.now_us, decision.report.reset_after_us));
  }
  add_retry(out, 7, wait_us(decision));
  add(out, 8, round_up(decision.report.delay_us, kMicrosPerMilli));
  if (decision.waited_us >= 0) out.add_int64(9, round_up(decision.waited_us, kMicrosPerMilli));
  if (!decision.policy_id.empty()) {
    add(out, 10, decision.policy_id);
    add(out, 11, decision.policy_version);
  }
  add(out, 12, decision.plan_id);
  if (decision.has_limit) add(out, 13, decision.limit_name);
  add(out, 14, decision.shadow);
  if (decision.shadow) {
    out.add_bool(15, decision.would_allow);
    out.add_bool(16, decision.over_limit);
  }
  if (decision.action == Action::sample) {
    out.add_double(17, std::isfinite(decision.sample_rate) ? decision.sample_rate : 0.0);
  }
  if (decision.action == Action::downgrade) add(out, 18, decision.downgrade_to);
  if (decision.metadata != nullptr) add_metadata(out, *decision.metadata);
  if (!decision.lease_id.empty()) {
    add(out, 20, decision.lease_id);
    add(out, 21, decision.lease_expires_at_us / kMicrosPerSecond);
  }
  add(out, 22, decision.request_id);
  add(out, 23, decision.cause);
  if (decision.shadow_result) add_shadow_result(out, *decision.shadow_result, decision.now_us);
  if (decision.explain) add_explained(out, decision);
}

}  // namespace sluice::agent::rpc
