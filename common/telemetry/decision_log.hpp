// The decision log (`--decision-log`): one JSON object a line for each check chosen, without raw subjects or keys.
//
// Thread safety: all functions, from any thread. A reader that is stuck costs lines (LineWriter), never a decision.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/clock.hpp"
#include "common/domain/decision.hpp"
#include "common/telemetry/line_writer.hpp"

namespace sluice::telemetry {

struct DecisionLogMode {
  enum class Kind : std::uint8_t { off, denied, sample, all };
  Kind kind = Kind::off;
  std::uint32_t every = 1;  // sample: one of this many, ≥ 1

  bool operator==(const DecisionLogMode&) const = default;
};

// "off", "denied", "sample:N" with N from 1 to 1,000,000,000, "all". Nothing for anything else.
std::optional<DecisionLogMode> parse_decision_log_mode(std::string_view text);

// An empty text is written as null.
struct DecisionRecord {
  std::string_view tenant{};
  std::string_view subject{};  // raw; only its hash is written
  bool has_subject = false;
  std::string_view policy_id{};
  std::string_view plan_id{};
  std::optional<Algorithm> algorithm{};  // of the binding limit
  bool allowed = true;
  Reason reason = Reason::within_limit;
  std::string_view request_id{};
  std::string_view traceparent{};  // the header as sent; written where it is one
};

class DecisionLog {
 public:
  // `out` and `clock` outlive the log.
  DecisionLog(DecisionLogMode mode, LineWriter& out, const Clock& clock) : mode_(mode), out_(out), clock_(clock) {}

  // Is this decision to be logged? Ask once for each decision (it counts the sample), before making a record.
  bool wants(bool allowed) {
    if (mode_.kind == DecisionLogMode::Kind::off) [[likely]]
      return false;
    if (mode_.kind == DecisionLogMode::Kind::denied) return !allowed;
    return mode_.kind == DecisionLogMode::Kind::all || seen_.fetch_add(1, std::memory_order_relaxed) % mode_.every == 0;
  }

  void write(const DecisionRecord& record);

 private:
  const DecisionLogMode mode_;
  LineWriter& out_;
  const Clock& clock_;
  std::atomic<std::uint64_t> seen_{0};
};

// First 16 hex digits of SHA-256(tenant ‖ 0x00 ‖ subject): the same on every agent, so that lines of one subject can be
// found; who can guess the subject can recognise it.
std::string subject_hash(std::string_view tenant, std::string_view subject);

// The version-00 part of a W3C traceparent (55 characters) where `header` begins with one, else "".
std::string_view valid_traceparent(std::string_view header);

}  // namespace sluice::telemetry
