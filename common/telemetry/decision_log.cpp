#include "common/telemetry/decision_log.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <numeric>

#include "common/base/crypto.hpp"
#include "common/json/text.hpp"
#include "common/tracing/trace_context.hpp"

namespace sluice::telemetry {
namespace {

constexpr std::uint32_t kMaxSample = 1'000'000'000;
constexpr std::size_t kSubjectHashBytes = 8;

void append_time(std::string& line, std::int64_t now_us) {
  const std::int64_t now_ms = now_us / 1000;
  fmt::format_to(std::back_inserter(line), R"({{"time":"{:%Y-%m-%dT%H:%M:%S}.{:03}Z")",
                 fmt::gmtime(static_cast<std::time_t>(now_ms / 1000)), now_ms % 1000);
}

void append_text(std::string& line, std::string_view name, std::string_view text) {
  line.append(",\"").append(name).append("\":");
  if (text.empty())
    line.append("null");
  else
    json::append_string(line, text);
}

void append_number(std::string& line, std::string_view name, std::optional<std::int64_t> number) {
  line.append(",\"").append(name).append("\":");
  if (number)
    json::append_integer(line, *number);
  else
    line.append("null");
}

std::optional<DecisionLogMode> parse_share(std::string_view text) {
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + text.size() || !(share > 0 && share <= 1)) return std::nullopt;
  const auto parts = static_cast<std::uint32_t>(std::llround(share * kMaxSample));
  if (parts == 0) return std::nullopt;
  const std::uint32_t common = std::gcd(parts, kMaxSample);
  return DecisionLogMode{.kind = DecisionLogMode::Kind::sample, .every = kMaxSample / common, .parts = parts / common};
}

// trace_id and span_id under the names by which log tools join lines with traces. The span is that of the check; if the
// check is not traced here, that of the caller.
void append_trace(std::string& line, const DecisionRecord& record) {
  const std::string_view caller = tracing::valid_traceparent(record.traceparent);
  append_text(line, "traceparent", caller);
  if (record.span != nullptr) {
    append_text(line, "trace_id", to_hex(record.span->trace_id));
    append_text(line, "span_id", to_hex(record.span->span_id));
  } else if (!caller.empty()) {
    append_text(line, "trace_id", tracing::trace_id_of(caller));
    append_text(line, "span_id", tracing::span_id_of(caller));
  }
}

}  // namespace

std::optional<DecisionLogMode> parse_decision_log_mode(std::string_view text) {
  using Kind = DecisionLogMode::Kind;
  if (text == "off") return DecisionLogMode{.kind = Kind::off};
  if (text == "denied") return DecisionLogMode{.kind = Kind::denied};
  if (text == "all") return DecisionLogMode{.kind = Kind::all};
  constexpr std::string_view kShare = "sample=", kOneOf = "sample:";
  if (text.starts_with(kShare)) return parse_share(text.substr(kShare.size()));
  if (!text.starts_with(kOneOf)) return std::nullopt;
  text.remove_prefix(kOneOf.size());
  std::uint32_t every = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), every);
  if (error != std::errc{} || end != text.data() + text.size() || every < 1 || every > kMaxSample) return std::nullopt;
  return DecisionLogMode{.kind = Kind::sample, .every = every};
}

std::string subject_hash(std::string_view tenant, std::string_view subject) {
  Sha256 hash;
  const Sha256Digest digest = hash.update(tenant).update(std::string_view("\0", 1)).update(subject).finish();
  return to_hex(ByteView(digest).first(kSubjectHashBytes));
}

void DecisionLog::write(const DecisionRecord& record) {
  thread_local std::string line;
  line.clear();
  append_time(line, clock_.now_us());
  line.append(R"(,"event":"check")");
  append_text(line, "algorithm", record.algorithm ? to_string(*record.algorithm) : std::string_view());
  append_text(line, "tenant", record.tenant);
  append_text(line, "subject_hash", record.has_subject ? subject_hash(record.tenant, record.subject) : std::string());
  append_text(line, "policy_id", record.policy_id);
  append_text(line, "plan_id", record.plan_id);
  append_text(line, "outcome", record.allowed ? "allowed" : "denied");
  append_text(line, "reason", to_string(record.reason));
  append_number(line, "remaining", record.remaining);
  append_number(line, "duration_us", std::chrono::duration_cast<std::chrono::microseconds>(record.took).count());
  if (record.shadow_over_limit) {
    append_text(line, "shadow_policy_id", record.shadow_policy_id);
    append_text(line, "shadow_outcome", *record.shadow_over_limit ? "over_limit" : "within_limit");
  }
  if (!record.signal.empty()) append_text(line, "signal", record.signal);
  append_text(line, "request_id", record.request_id);
  append_trace(line, record);
  line.push_back('}');
  out_->append(line);
}

}  // namespace sluice::telemetry
