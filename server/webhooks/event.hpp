// Events: their ids and bodies, and how stored usage becomes events. All of it is pure: the same usage makes the same
// ids, on whichever server and however often. So an event is made once, by the primary key of the outbox.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/webhooks/webhook.hpp"

namespace sluice::server::webhooks {

using Seconds = std::chrono::sys_seconds;

struct Event {
  std::string tenant_id;
  std::string webhook_id;
  std::string id;    // "evt_" and 32 hex digits
  std::string type;  // "test", or a name of EventKind
  std::string body;  // JSON; the same in every attempt

  bool operator==(const Event&) const = default;
};

// An event of this webhook that nobody asked for again: its id is random.
Event test_event(std::string_view tenant_id, std::string_view webhook_id, Seconds now);

// The decisions of one minute with one outcome, as the fleet stores them. `policy_id` is "" for checks without a
// policy.
struct MinuteCount {
  Seconds minute;
  std::string tenant_id;
  std::string policy_id;
  std::string outcome;
  std::int64_t count = 0;
};

// What is used of a quota has reached `percent` of it, as the fleet stores it. Texts are as in sync::QuotaReached.
struct QuotaCount {
  Seconds stored_at;
  std::string tenant_id;
  std::string policy_id;
  std::string plan_id;
  std::string limit;
  std::string counter;
  std::string subject;
  std::int64_t percent = 0;
  std::int64_t quota = 0;
  std::int64_t used = 0;
  Seconds from;  // of the period
  Seconds to;
};

// An event is made at most once for a policy in each of these windows, which begin at multiples since 1970.
inline constexpr std::chrono::minutes kFailureWindow{10};
inline constexpr std::chrono::minutes kDenialsWindow{60};
// By then the agents have reported a minute, and the servers have stored it.
inline constexpr std::chrono::minutes kSettled{2};
// How far back usage is looked at; servers that were away longer miss events.
inline constexpr std::chrono::minutes kLookBack{60};
// So long after it was made, an event is made again of the same usage: until all of its window is beyond the look-back.
inline constexpr std::chrono::minutes kMadeAgain = kLookBack + std::max(kFailureWindow, kDenialsWindow);

// About as many events are made of a tenant's usage in one look; its outbox holds no more.
inline constexpr std::size_t kMaxEvents = 2'000;

// Outcomes by which a failure mode decided, and those that denied. Those of shadow policies decide nothing.
inline constexpr std::array<std::string_view, 4> kByFailureMode{"failed_open", "failed_closed", "degraded_allowed",
                                                                "degraded_denied"};
inline constexpr std::array<std::string_view, 3> kDenied{"denied", "dropped", "degraded_denied"};
inline constexpr std::string_view kShadowPrefix = "shadow_";

// A webhook, and since when it exists: earlier minutes make no events.
struct Watched {
  Webhook webhook;
  Seconds since;
};

// `counts`: those of the webhooks' tenants from now - kLookBack - the longest `denied_minutes`. All counts of a
// policy's minute, or none if no failure mode decided in it and no webhook's `denied_percent` was exceeded.
std::vector<Event> detect(std::span<const Watched> watched, std::span<const MinuteCount> counts, Seconds now);

std::vector<Event> detect_quotas(std::span<const Watched> watched, std::span<const QuotaCount> quotas, Seconds now);

}  // namespace sluice::server::webhooks
