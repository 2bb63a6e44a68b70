#include "server/webhooks/event.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "common/base/clock.hpp"
#include "common/base/crypto.hpp"
#include "common/base/timestamp.hpp"
#include "common/json/writer.hpp"

namespace sluice::server::webhooks {
namespace {

using std::chrono::minutes;

constexpr std::size_t kIdBytes = 16;

bool is_one_of(std::string_view text, std::span<const std::string_view> names) {
  return std::ranges::find(names, text) != names.end();
}

bool is_decision(std::string_view outcome) { return !outcome.starts_with(kShadowPrefix); }

// `more`: what tells apart the events of one policy and window.
std::string id_of(const Webhook& webhook, EventKind kind, std::string_view policy_id, Seconds window,
                  std::initializer_list<std::string_view> more = {}) {
  Sha256 hash;
  const std::string begin = std::to_string(window.time_since_epoch().count());
  const auto add = [&hash](std::string_view part) { hash.update(part).update(std::string_view("\0", 1)); };
  for (const std::string_view part :
       {std::string_view("sluice event"), to_string(kind), std::string_view(webhook.tenant_id),
        std::string_view(webhook.id), policy_id, std::string_view(begin)}) {
    add(part);
  }
  for (const std::string_view part : more) add(part);
  const Sha256Digest digest = hash.finish();
  return "evt_" + to_hex(ByteView(digest).first(kIdBytes));
}

std::string time_text(Seconds time) { return format_timestamp(WallTime(time)); }

json::Writer begin_body(std::string_view id, std::string_view type, std::string_view tenant_id, Seconds now) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("id", id);
  out.field("type", type);
  out.field("time", time_text(now));
  out.field("tenant", tenant_id);
  out.key("data");
  out.begin_object();
  return out;
}

std::string end_body(json::Writer& out) {
  out.end_object();
  out.end_object();
  return out.take();
}

Seconds window_of(Seconds time, minutes length) {
  return Seconds(std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()) / length * length);
}

struct Minute {
  std::int64_t decided = 0;
  std::int64_t denied = 0;
  std::map<std::string, std::int64_t, std::less<>> failures;  // by outcome
};
using Minutes = std::map<Seconds, Minute>;
using ByPolicy = std::map<std::pair<std::string, std::string>, Minutes>;  // (tenant, policy)

ByPolicy sum_up(std::span<const MinuteCount> counts) {
  ByPolicy sums;
  for (const MinuteCount& count : counts) {
    if (!is_decision(count.outcome)) continue;
    Minute& minute = sums[{count.tenant_id, count.policy_id}][count.minute];
    minute.decided += count.count;
    if (is_one_of(count.outcome, kDenied)) minute.denied += count.count;
    if (is_one_of(count.outcome, kByFailureMode)) minute.failures[count.outcome] += count.count;
  }
  return sums;
}

struct Span {
  Seconds from;
  Seconds now;
};

void detect_failures(const Webhook& webhook, std::string_view policy_id, const Minutes& usage, const Span& span,
                     std::vector<Event>& events) {
  Seconds last_window{};
  for (const auto& [begin, minute] : usage) {
    const Seconds window = window_of(begin, kFailureWindow);
    if (minute.failures.empty() || begin < span.from || window == last_window) continue;
    last_window = window;
    const std::string_view type = to_string(EventKind::failure_mode);
    const std::string id = id_of(webhook, EventKind::failure_mode, policy_id, window);
    json::Writer out = begin_body(id, type, webhook.tenant_id, span.now);
    out.field("policy_id", policy_id);
    out.field("since", time_text(begin));
    out.key("decisions");
    out.begin_object();
    for (const auto& [outcome, count] : minute.failures) out.field(outcome, count);
    out.end_object();
    events.push_back({webhook.tenant_id, webhook.id, id, std::string(type), end_body(out)});
  }
}

// Whether more than the webhook's share was denied in each of its minutes that end with `last`. Adds them to `sum`.
bool is_streak(const Webhook& webhook, const Minutes& usage, Seconds last, Minute& sum) {
  for (std::int64_t i = 0; i < webhook.denied_minutes; ++i) {
    const auto found = usage.find(last - minutes(i));
    if (found == usage.end()) return false;
    const Minute& minute = found->second;
    if (static_cast<double>(minute.denied) * 100.0 <=
        static_cast<double>(minute.decided) * static_cast<double>(webhook.denied_percent)) {
      return false;
    }
    sum.decided += minute.decided;
    sum.denied += minute.denied;
  }
  return true;
}

void detect_denials(const Webhook& webhook, std::string_view policy_id, const Minutes& usage, const Span& span,
                    std::vector<Event>& events) {
  Seconds last_window{};
  for (const auto& [begin, minute] : usage) {
    const Seconds window = window_of(begin, kDenialsWindow);
    if (begin < span.from || begin + minutes(1) + kSettled > span.now || window == last_window) continue;
    Minute sum;
    if (!is_streak(webhook, usage, begin, sum)) continue;
    last_window = window;
    const std::string_view type = to_string(EventKind::denials);
    const std::string id = id_of(webhook, EventKind::denials, policy_id, window);
    json::Writer out = begin_body(id, type, webhook.tenant_id, span.now);
    out.field("policy_id", policy_id);
    out.field("since", time_text(begin - minutes(webhook.denied_minutes - 1)));
    out.field("until", time_text(begin + minutes(1)));
    out.field("denied", sum.denied);
    out.field("decided", sum.decided);
    out.field("denied_percent", webhook.denied_percent);
    out.field("denied_minutes", webhook.denied_minutes);
    events.push_back({webhook.tenant_id, webhook.id, id, std::string(type), end_body(out)});
  }
}

// A later release may report further shares.
std::optional<EventKind> kind_of(const QuotaCount& quota) {
  if (quota.percent == 80) return EventKind::quota_80;
  if (quota.percent == 100) return EventKind::quota_100;
  return std::nullopt;
}

Event quota_event(const Webhook& webhook, EventKind kind, const QuotaCount& quota, Seconds now) {
  const std::string number = std::to_string(quota.quota);
  const std::string id =
      id_of(webhook, kind, quota.policy_id, quota.from, {quota.plan_id, quota.limit, quota.counter, number});
  json::Writer out = begin_body(id, to_string(kind), webhook.tenant_id, now);
  out.field("policy_id", quota.policy_id);
  out.field("plan_id", quota.plan_id);
  out.field("limit", quota.limit);
  out.field("subject", quota.subject);
  out.field("counter", quota.counter);
  out.field("quota", quota.quota);
  out.field("used", quota.used);
  out.field("since", time_text(quota.from));
  out.field("until", time_text(quota.to));
  return {webhook.tenant_id, webhook.id, id, std::string(to_string(kind)), end_body(out)};
}

}  // namespace

Event test_event(std::string_view tenant_id, std::string_view webhook_id, Seconds now) {
  std::array<std::uint8_t, kIdBytes> random;
  random_bytes(random);
  const std::string id = "evt_" + to_hex(random);
  json::Writer out = begin_body(id, kTestEvent, tenant_id, now);
  out.field("webhook_id", webhook_id);
  return {std::string(tenant_id), std::string(webhook_id), id, std::string(kTestEvent), end_body(out)};
}

std::vector<Event> detect(std::span<const Watched> watched, std::span<const MinuteCount> counts, Seconds now) {
  std::vector<Event> events;
  const ByPolicy sums = sum_up(counts);
  for (const auto& [webhook, since] : watched) {
    const Seconds from = std::max(since, now - kLookBack);
    for (auto at = sums.lower_bound({webhook.tenant_id, ""}); at != sums.end(); ++at) {
      const auto& [tenant_id, policy_id] = at->first;
      if (tenant_id != webhook.tenant_id) break;
      if (events.size() >= kMaxEvents) return events;
      if (webhook.wants(EventKind::failure_mode, policy_id)) {
        detect_failures(webhook, policy_id, at->second, {from, now}, events);
      }
      // Denials without a policy are those of the tenant's default, which is meant to deny.
      if (!policy_id.empty() && webhook.wants(EventKind::denials, policy_id)) {
        detect_denials(webhook, policy_id, at->second, {from, now}, events);
      }
    }
  }
  return events;
}

std::vector<Event> detect_quotas(std::span<const Watched> watched, std::span<const QuotaCount> quotas, Seconds now) {
  std::vector<Event> events;
  for (const QuotaCount& quota : quotas) {
    const auto kind = kind_of(quota);
    if (!kind) continue;
    for (const auto& [webhook, since] : watched) {
      if (webhook.tenant_id != quota.tenant_id || quota.stored_at < since) continue;
      if (webhook.wants(*kind, quota.policy_id)) events.push_back(quota_event(webhook, *kind, quota, now));
    }
  }
  return events;
}

}  // namespace sluice::server::webhooks
