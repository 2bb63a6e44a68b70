// Writes calls of the scripts in lua/ as RESP commands, and reads their replies. No I/O.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/domain/quota_period.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/redis/command.hpp"
#include "common/redis/reply.hpp"

namespace sluice::limiter {

enum class Script : std::uint8_t { check, check_many, release, renew, overrides, reset };
inline constexpr std::size_t kScripts = 6;

std::string_view script_text(Script script);
std::span<const std::string_view> script_texts();  // in the order of Script; for redis::Options::scripts
std::string_view script_sha(Script script);        // SHA-1 in hex

using redis::CallBy;

// `periods`: as quota_periods() (memory_judge.hpp) writes them.
void write_check(redis::CommandWriter& out, const Call& call, std::span<const PeriodBounds> periods,
                 CallBy by = CallBy::hash);

// One of the rulebooks in a call of check_many.
inline constexpr std::size_t kMaxParts = 255;  // their numbers are bytes
struct CheckPart {
  const Call* call = nullptr;
  std::span<const PeriodBounds> periods;
};
// The first `enforced` parts are charged together or not at all; each further part is a shadow. The reply has one
// element for each part: an error, or a reply for read_check(). Its numbers are packed.
// REQUIRES: at most kMaxParts; in a Cluster all keys share one hash tag, and no two counter keys of enforced parts are
// equal.
void write_check_many(redis::CommandWriter& out, std::span<const CheckPart> parts, std::size_t enforced,
                      CallBy by = CallBy::hash);
void write_leases(redis::CommandWriter& out, Script script, std::span<const LeaseRef> leases, CallBy by = CallBy::hash);
void write_overrides(redis::CommandWriter& out, std::string_view counter_key, std::span<const OverrideEntry> entries,
                     CallBy by = CallBy::hash);
// `collections`: from collection_keys().
void write_reset(redis::CommandWriter& out, std::string_view counter_key, std::span<const std::string> collections,
                 CallBy by = CallBy::hash);

// The keys of logs and leases.
std::vector<std::string> collection_keys(const Program& program, std::size_t group, std::string_view counter_key);

// Redis' time `now_us` is outside a quota's period.
struct WrongPeriod {
  std::int64_t now_us = 0;
};
struct CheckReply {
  std::optional<Outcome> outcome;
  WrongPeriod wrong_period;  // valid without an outcome
};
// `together`: the call was one of several enforced parts of a check_many; Outcome::allowed is for this part alone.
// Error `protocol`: the script cannot have sent this reply.
StoreResult<CheckReply> read_check(const redis::Reply& reply, const Call& call, bool together = false);
StoreResult<LeaseOutcome> read_leases(const redis::Reply& reply, Script script);

// Sets `executed_unknown` if the script may have run.
StoreError classify_error(const redis::Reply& reply);

}  // namespace sluice::limiter
