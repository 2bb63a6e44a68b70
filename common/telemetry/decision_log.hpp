// The decision log (`--decision-log`): one line with a JSON object for each logged check, without raw subjects or
// keys. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/clock.hpp"
#include "common/domain/decision.hpp"
#include "common/telemetry/line_writer.hpp"
#include "common/tracing/trace_context.hpp"

namespace sluice::telemetry {

struct DecisionLogMode {
  enum class Kind : std::uint8_t { off, denied, sample, all };
  Kind kind = Kind::off;
  // Kind::sample logs `parts` of each `every` decisions, evenly spread; 1 ≤ parts ≤ every.
  std::uint32_t every = 1;
  std::uint32_t parts = 1;

  bool operator==(const DecisionLogMode&) const = default;
};

// Reads "off", "denied", "all", "sample=SHARE" with a share from 0.000000001 to 1, or "sample:N" with N from 1 to
// 1,000,000,000, which is one of N.
inline constexpr std::string_view kDecisionLogRule =
    "must be off, denied, all, or sample=SHARE with a share of decisions above 0 and up to 1, such as sample=0.01";
std::optional<DecisionLogMode> parse_decision_log_mode(std::string_view text);

// An empty text is written as null.
struct DecisionRecord {
  std::string_view tenant{};
  std::string_view subject{};  // as in the request; only its hash is written
  bool has_subject = false;
  std::string_view policy_id{};
  std::string_view plan_id{};
  std::optional<Algorithm> algorithm{};     // of the binding limit
  std::string_view shadow_policy_id{};      // "" without a shadow, and for a plan in shadow mode
  std::optional<bool> shadow_over_limit{};  // what the shadow found
  bool allowed = true;
  Reason reason = Reason::within_limit;
  std::optional<std::int64_t> remaining{};  // of the binding limit
  std::chrono::nanoseconds took{};          // from the parsed check to the decision
  std::string_view signal{};  // what the request is about, such as "log" or "span"; if empty, the line lacks the field
  std::string_view request_id{};
  std::string_view traceparent{};              // the header as received
  const tracing::SpanContext* span = nullptr;  // of the check, if it is traced
};

class DecisionLog {
 public:
  // `out` and `clock` outlive the log.
  DecisionLog(DecisionLogMode mode, LineWriter& out, const Clock& clock) : mode_(mode), out_(&out), clock_(clock) {}
  // Logs nothing.
  explicit DecisionLog(const Clock& clock) : clock_(clock) {}

  // Whether to log this decision. Call it exactly once for each decision, because sampling counts the calls.
  bool wants(bool allowed) {
    if (mode_.kind == DecisionLogMode::Kind::off) [[likely]]
      return false;
    if (mode_.kind == DecisionLogMode::Kind::denied) return !allowed;
    return mode_.kind == DecisionLogMode::Kind::all || sampled();
  }

  void write(const DecisionRecord& record);

 private:
  bool sampled() {
    const std::uint64_t place = seen_.fetch_add(1, std::memory_order_relaxed) % mode_.every;
    return place * mode_.parts % mode_.every < mode_.parts;
  }

  const DecisionLogMode mode_;
  LineWriter* const out_ = nullptr;  // nullptr: the mode is `off`
  const Clock& clock_;
  std::atomic<std::uint64_t> seen_{0};
};

// The first 16 hex digits of SHA-256(tenant ‖ 0x00 ‖ subject). A reader who guesses the subject can compute the hash.
std::string subject_hash(std::string_view tenant, std::string_view subject);

}  // namespace sluice::telemetry
