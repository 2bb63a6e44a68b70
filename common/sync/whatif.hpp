// What-if: the question that a server asks its agents, and their answers. An agent that keeps the requests of the last
// minutes judges them by an edited policy, and answers with counts.
//
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"

namespace sluice::sync {

inline constexpr std::int64_t kMinuteUs = 60'000'000;
inline constexpr std::int64_t kMaxWhatIfMinutes = 60;
inline constexpr std::size_t kMaxWhatIfSubjects = 100;             // in one answer
inline constexpr std::size_t kMaxWhatIfAnswerBytes = 256U << 10U;  // bytes

struct WhatIfQuestion {
  std::string id;
  std::string tenant_id;
  std::string policy_id;
  std::string policy;  // its document: canonical JSON, as in a snapshot
  // Requests from `from_us` on, before `to_us`, on the clock of the counter store.
  std::int64_t from_us = 0;
  std::int64_t to_us = 0;

  bool operator==(const WhatIfQuestion&) const = default;
};

// What the edited policy does with one recorded request.
enum class WhatIfOutcome : std::uint8_t {
  admitted,  // also if its action lets requests over a limit pass
  denied,
  held,         // over a limit, but it would wait: what comes after the wait is not judged
  refused,      // the request lacks a dimension of the policy's key_by
  not_matched,  // another policy decides, or none
};
inline constexpr std::size_t kWhatIfOutcomes = 5;
std::string_view to_string(WhatIfOutcome outcome);

struct WhatIfCounts {
  std::array<std::int64_t, kWhatIfOutcomes> outcomes{};
  // Of the requests that the edited policy judges: those that were denied in truth, and those that were not, but that
  // it would deny.
  std::int64_t denied_before = 0;
  std::int64_t newly_denied = 0;

  std::int64_t& operator[](WhatIfOutcome outcome) { return outcomes[static_cast<std::size_t>(outcome)]; }
  std::int64_t operator[](WhatIfOutcome outcome) const { return outcomes[static_cast<std::size_t>(outcome)]; }
  // The requests that the edited policy judges.
  std::int64_t judged() const;
  WhatIfCounts& operator+=(const WhatIfCounts& other);
  bool operator==(const WhatIfCounts&) const = default;
};

struct WhatIfMinute {
  std::int64_t begin_us = 0;  // a whole minute
  WhatIfCounts counts;

  bool operator==(const WhatIfMinute&) const = default;
};

struct WhatIfSubject {
  std::string subject;  // as the policy's report_subjects says
  std::int64_t admitted = 0;
  std::int64_t denied = 0;

  bool operator==(const WhatIfSubject&) const = default;
};

enum class WhatIfStatus : std::uint8_t {
  judged,
  no_recording,  // the agent was started without --record-decisions
  not_recorded,  // the policies in force do not ask for it (Tenant::record_requests)
  failed,        // WhatIfAnswer::text says why
  too_old,       // written by servers: the agent's release does not know what-if
};
std::string_view to_string(WhatIfStatus status);

struct WhatIfAnswer {
  std::string question_id;
  WhatIfStatus status = WhatIfStatus::judged;
  std::string text = {};  // only if failed
  // The agent has all requests since then. Those before may have fallen out, or were not recorded yet.
  std::int64_t complete_since_us = 0;
  std::int64_t fallen = 0;                 // requests of the asked time that the agent recorded, and no longer has
  bool short_of_memory = false;            // some identities were counted together, so more may be denied than in truth
  std::vector<WhatIfMinute> minutes = {};  // ascending; without minutes in which nothing was asked
  std::vector<WhatIfSubject> subjects = {};  // the most often denied first, then the most frequent

  bool operator==(const WhatIfAnswer&) const = default;
};

void write_question(json::Writer& out, const WhatIfQuestion& question);
std::optional<WhatIfQuestion> read_question(json::Fields& fields);

std::string write_answer(const WhatIfAnswer& answer);
std::expected<WhatIfAnswer, Faults> parse_answer(std::string_view text);

// The members of `counts`, for the open object.
void write_counts(json::Writer& out, const WhatIfCounts& counts);

}  // namespace sluice::sync
