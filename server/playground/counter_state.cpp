#include "server/playground/counter_state.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/domain/enum_text.hpp"
#include "common/domain/quota_period.hpp"
#include "common/json/writer.hpp"
#include "common/limiter/script_calls.hpp"
#include "lua/scripts.hpp"

namespace sluice::server::playground {
namespace {

using limiter::Kind;

constexpr std::size_t kMostValues = 3;
constexpr std::size_t kHead = 14;  // bytes: layout, number of limits and values, time
constexpr std::size_t kOverrideBytes = 40;
constexpr std::size_t kLeaseBytes = 28;  // 16 random ones, weight, ttl

// A number of a packed state, little endian. REQUIRES: `text` has it.
template <class T>
T number_at(std::string_view text, std::size_t at) {
  T value;
  std::memcpy(&value, text.data() + at, sizeof value);
  return value;
}

struct Counter {
  std::uint32_t id = 0;
  std::array<double, kMostValues> values{};
};

// What one counter key holds.
struct GroupState {
  double at_us = 0;  // of the last charge
  std::vector<Counter> counters;
  std::vector<limiter::OverrideEntry> overrides;
};

// A state of zero limits has only overrides; "" has nothing. Returns nullopt if the text is no state.
std::optional<GroupState> unpack(std::string_view text) {
  GroupState state;
  if (text.empty()) return state;
  if (text.size() < kHead) return std::nullopt;
  const auto head = number_at<std::uint16_t>(text, 4);
  const std::size_t limits = head % 32U;
  const std::size_t values = head / 32U % 64U;
  const std::size_t ids_at = kHead + 8 * values;
  const std::size_t overrides_at = ids_at + 4 * limits;
  if (text.size() < overrides_at || (text.size() - overrides_at) % kOverrideBytes != 0) return std::nullopt;
  state.at_us = number_at<double>(text, 6);
  std::size_t next = 0;
  for (std::size_t i = 0; i < limits; ++i) {
    Counter counter{.id = number_at<std::uint32_t>(text, ids_at + 4 * i)};
    const std::size_t width = counter.id % 4U;
    if (next + width > values) return std::nullopt;
    for (std::size_t k = 0; k < width; ++k) counter.values.at(k) = number_at<double>(text, kHead + 8 * next++);
    state.counters.push_back(counter);
  }
  for (std::size_t at = overrides_at; at < text.size(); at += kOverrideBytes) {
    state.overrides.push_back({.name_id = number_at<std::uint32_t>(text, at),
                               .counter_id = number_at<std::uint32_t>(text, at + 4),
                               .expires_us = number_at<double>(text, at + 8),
                               .limit = number_at<double>(text, at + 16),
                               .p = number_at<double>(text, at + 24),
                               .q = number_at<double>(text, at + 32)});
  }
  return state;
}

// A limit with its numbers in force.
struct LimitNow {
  Kind kind = Kind::token_bucket;
  double limit = 0;
  double p = 0;
  double q = 0;
  std::uint32_t counter_id = 0;
  bool overridden = false;
};

// If two overrides name one limit, the later one applies, as in the script. Name id 0 marks parked counters.
LimitNow limit_now(const limiter::Rule& rule, const GroupState& state, double now_us) {
  LimitNow limit{.kind = rule.kind, .limit = rule.limit, .p = rule.p, .q = rule.q, .counter_id = rule.counter_id};
  for (const limiter::OverrideEntry& each : state.overrides) {
    if (each.name_id != rule.name_id || each.name_id == 0 || each.expires_us <= now_us) continue;
    limit = {.kind = rule.kind,
             .limit = each.limit >= 0 ? each.limit : rule.limit,
             .p = each.p >= 0 ? each.p : rule.p,
             .q = each.q >= 0 ? each.q : rule.q,
             .counter_id = each.counter_id != 0 ? each.counter_id : rule.counter_id,
             .overridden = true};
  }
  return limit;
}

// A counter without charges is all zero.
std::array<double, kMostValues> values_of(const GroupState& state, std::uint32_t counter_id) {
  const auto found = std::ranges::find(state.counters, counter_id, &Counter::id);
  return found == state.counters.end() ? std::array<double, kMostValues>{} : found->values;
}

std::int64_t whole(double number) { return static_cast<std::int64_t>(number); }

struct Moment {
  double now_us = 0;
  double at_us = 0;  // of the last charge, never later than now
};

void write_bucket(json::Writer& out, const LimitNow& limit, double used, const Moment& moment) {
  const double per_us = limit.q > 0 ? limit.p / limit.q : 0;
  out.field("used", std::max(0.0, used - (moment.now_us - moment.at_us) * per_us));
  out.field("units_per_second", per_us * 1e6);
}

void write_window(json::Writer& out, double count, double from_us, double window_us) {
  out.field("count", whole(count));
  out.field("from_us", whole(from_us));
  out.field("window_us", whole(window_us));
}

void write_sliding(json::Writer& out, const LimitNow& limit, double previous, double count, const Moment& moment) {
  const double from = moment.now_us - std::fmod(moment.now_us, limit.p);
  if (from > moment.at_us) {
    previous = from - limit.p > moment.at_us ? 0 : count;
    count = 0;
  }
  out.field("previous", whole(previous));
  write_window(out, count, from, limit.p);
}

void write_quota(json::Writer& out, const Limit& limit, double count, const Moment& moment) {
  const PeriodBounds period = period_at(limit.period, limit.anchor, whole(moment.now_us));
  out.field("count", moment.at_us < static_cast<double>(period.from_us) ? 0 : whole(count));
  out.field("from_us", period.from_us);
  out.field("until_us", period.to_us);
}

void write_counter(json::Writer& out, const LimitNow& now, const Limit& limit,
                   const std::array<double, kMostValues>& values, const Moment& moment) {
  switch (now.kind) {
    case Kind::token_bucket:
    case Kind::leaky_bucket:
    case Kind::bucket_with_debt:
      return write_bucket(out, now, values[0], moment);
    case Kind::fixed_window: {
      const double from = moment.now_us - std::fmod(moment.now_us, now.p);
      return write_window(out, from > moment.at_us ? 0 : values[0], from, now.p);
    }
    case Kind::first_window: {
      const bool open = values[1] > 0 && moment.now_us < values[0] + now.p;
      return write_window(out, open ? values[1] : 0, open ? std::min(values[0], moment.now_us) : moment.now_us, now.p);
    }
    case Kind::sliding_window:
      return write_sliding(out, now, values[0], values[1], moment);
    case Kind::quota:
      return write_quota(out, limit, values[0], moment);
    case Kind::log:
    case Kind::lease:
      return;  // their entries have keys of their own
  }
}

void write_pair(json::Writer& out, double time_us, double units) {
  out.begin_list();
  out.raw(std::to_string(whole(time_us)));
  out.raw(std::to_string(whole(units)));
  out.end_list();
}

bool write_log(json::Writer& out, const LimitNow& limit, std::span<const std::string> entries, double now_us) {
  out.key("entries");
  out.begin_list();
  for (const std::string& entry : entries) {
    if (entry.size() < 20) return false;
    const auto time = number_at<double>(entry, 0);
    if (time > now_us - limit.p && time <= now_us + limit.p) {
      write_pair(out, time, number_at<std::uint32_t>(entry, 16));
    }
  }
  out.end_list();
  out.field("more", entries.size() >= kMostEntries);
  out.field("window_us", whole(limit.p));
  return true;
}

bool write_leases(json::Writer& out, const LimitNow& limit, std::span<const std::string> entries, double now_us) {
  out.key("leases");
  out.begin_list();
  for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
    if (entries[i].size() != kLeaseBytes) return false;
    double expires = 0;
    const std::string& score = entries[i + 1];
    if (std::from_chars(score.data(), score.data() + score.size(), expires).ec != std::errc{}) return false;
    if (expires <= now_us + 2 * limit.p) write_pair(out, expires, number_at<std::uint32_t>(entries[i], 16));
  }
  out.end_list();
  out.field("more", entries.size() >= 2 * kMostEntries);
  out.field("ttl_us", whole(limit.p));
  return true;
}

// Takes texts from the front of the reply.
class ReplyTexts {
 public:
  explicit ReplyTexts(std::span<const std::string> texts) : rest_(texts) {}

  std::optional<std::span<const std::string>> take(std::size_t count) {
    if (rest_.size() < count) return std::nullopt;
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  std::optional<std::span<const std::string>> take_counted() {
    const auto count = take_number();
    return count && *count >= 0 ? take(static_cast<std::size_t>(*count)) : std::nullopt;
  }
  std::optional<std::int64_t> take_number() {
    const auto text = take(1);
    std::int64_t number = 0;
    if (!text) return std::nullopt;
    const std::string& digits = text->front();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(number) : std::nullopt;
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::span<const std::string> rest_;
};

std::optional<std::string> limit_json(const limiter::Rule& rule, const Limit& limit, const GroupState& state,
                                      double now_us, ReplyTexts& texts) {
  const LimitNow now = limit_now(rule, state, now_us);
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("name", limit.name);
  out.field("algorithm", to_string(limit.algorithm));
  out.field("unit", limit.unit);
  out.field("limit", whole(now.limit));
  out.field("overridden", now.overridden);
  if (rule.keeps_entries) {
    const auto entries = texts.take_counted();
    if (!entries) return std::nullopt;
    const bool written =
        now.kind == Kind::log ? write_log(out, now, *entries, now_us) : write_leases(out, now, *entries, now_us);
    if (!written) return std::nullopt;
  } else {
    write_counter(out, now, limit, values_of(state, now.counter_id),
                  {.now_us = now_us, .at_us = std::min(state.at_us, now_us)});
  }
  out.end_object();
  return out.take();
}

}  // namespace

std::vector<std::string> state_command(const limiter::Program& program, std::span<const std::string> keys) {
  std::vector<std::string> all(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(program.groups.size()));
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    for (std::string& key : limiter::collection_keys(program, g, keys[g])) all.push_back(std::move(key));
  }
  std::vector<std::string> words{"EVAL", std::string(lua::state), std::to_string(all.size())};
  std::ranges::move(all, std::back_inserter(words));
  words.push_back(std::to_string(program.groups.size()));
  words.push_back(std::to_string(kMostEntries));
  return words;
}

std::optional<std::string> state_json(const limiter::Program& program, std::span<const std::string> reply) {
  ReplyTexts texts(reply);
  const auto now_us = texts.take_number();
  const auto packed = texts.take(program.groups.size());
  if (!now_us || !packed) return std::nullopt;
  std::vector<GroupState> states;
  for (const std::string& text : *packed) {
    auto state = unpack(text);
    if (!state) return std::nullopt;
    states.push_back(std::move(*state));
  }
  std::vector<std::string> limits(program.limits.size());  // in the order of the plan
  for (std::size_t i = 0; i < program.rules.size(); ++i) {
    auto text = limit_json(program.rules[i], program.limits[i], states[program.rules[i].group],
                           static_cast<double>(*now_us), texts);
    if (!text) return std::nullopt;
    limits[program.plan_position[i]] = std::move(*text);
  }
  if (!texts.empty()) return std::nullopt;
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("now_us", *now_us);
  out.key("limits");
  out.begin_list();
  for (const std::string& limit : limits) out.raw(limit);
  out.end_list();
  out.end_object();
  return out.take();
}

}  // namespace sluice::server::playground
