#include "server/playground/counter_state.hpp"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::server::playground;

namespace {

constexpr double kNow = 1'800'000'030'000'000;  // half a minute after a turn of the minute
constexpr std::int64_t kMinute = 60'000'000;

template <class T>
std::string packed(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

Limit window_of(Algorithm algorithm, Align align = Align::epoch) {
  Limit limit;
  limit.name = "w";
  limit.algorithm = algorithm;
  limit.limit = 10;
  limit.window = Micros(kMinute);
  limit.align = align;
  return limit;
}

Limit bucket(std::int64_t per_second) {
  Limit limit;
  limit.name = "b";
  limit.algorithm = Algorithm::token_bucket;
  limit.limit = 10;
  limit.rate = {.units = per_second, .per_us = 1'000'000};
  return limit;
}

// A state of one counter key as the scripts write it.
std::string state_of(const limiter::Program& program, double at_us, const std::vector<double>& values,
                     const std::string& overrides = {}) {
  std::string text = packed<std::uint32_t>(program.groups[0].layout) +
                     packed(static_cast<std::uint16_t>(program.rules.size() + 32 * values.size())) + packed(at_us);
  for (const double value : values) text += packed(value);
  for (const limiter::Rule& rule : program.rules) text += packed(rule.counter_id);
  return text + overrides;
}

std::string override_of(std::uint32_t name_id, std::uint32_t counter_id, double expires_us, double limit, double p) {
  return packed(name_id) + packed(counter_id) + packed(expires_us) + packed(limit) + packed(p) + packed(-1.0);
}

std::string shown(const Limit& limit, double at_us, const std::vector<double>& values) {
  const limiter::Program program = limiter::compile({limit}, std::nullopt);
  const std::vector<std::string> reply{std::to_string(static_cast<std::int64_t>(kNow)),
                                       state_of(program, at_us, values)};
  return state_json(program, reply).value_or("no state");
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("A bucket has drained since its last charge, but not below empty") {
  CHECK(has(shown(bucket(2), kNow - 1'500'000, {7}), R"("used":4,"units_per_second":2)"));
  CHECK(has(shown(bucket(2), kNow - 60'000'000, {7}), R"("used":0,)"));
}

TEST_CASE("A fixed window that ended has no count any more") {
  const Limit fixed = window_of(Algorithm::fixed_window);
  CHECK(has(shown(fixed, kNow - 29'000'000, {7}), R"("count":7,"from_us":1800000000000000,"window_us":60000000)"));
  CHECK(has(shown(fixed, kNow - 31'000'000, {7}), R"("count":0,"from_us":1800000000000000)"));
}

TEST_CASE("A window that begins with its first charge ends a window later") {
  const Limit first = window_of(Algorithm::fixed_window, Align::first);
  CHECK(has(shown(first, kNow - 1, {kNow - 59'999'999, 7}), R"("count":7,"from_us":1799999970000001)"));
  CHECK(has(shown(first, kNow - 1, {kNow - 60'000'000, 7}), R"("count":0,"from_us":1800000030000000)"));
}

TEST_CASE("The counts of a sliding window move on with the windows") {
  const Limit sliding = window_of(Algorithm::sliding_window);
  CHECK(has(shown(sliding, kNow - 1'000'000, {3, 7}), R"("previous":3,"count":7,)"));
  CHECK(has(shown(sliding, kNow - 31'000'000, {3, 7}), R"("previous":7,"count":0,)"));
  CHECK(has(shown(sliding, kNow - 91'000'000, {3, 7}), R"("previous":0,"count":0,)"));
}

TEST_CASE("A charge of the future counts as made now, because the store's clock stepped back") {
  CHECK(has(shown(bucket(2), kNow + 5'000'000, {7}), R"("used":7,)"));
}

TEST_CASE("An override in force has its numbers and its own counter; one that expired has none") {
  const limiter::Program program = limiter::compile({window_of(Algorithm::fixed_window)}, std::nullopt);
  const limiter::Rule& rule = program.rules[0];
  const auto with = [&](const std::string& overrides) {
    const std::vector<std::string> reply{std::to_string(static_cast<std::int64_t>(kNow)),
                                         state_of(program, kNow - 1, {7}, overrides)};
    return state_json(program, reply).value_or("no state");
  };
  const std::string changed = with(override_of(rule.name_id, 0, std::numeric_limits<double>::infinity(), 500, -1));
  CHECK(has(changed, R"("limit":500,"overridden":true,"count":7,)"));
  CHECK(has(with(override_of(rule.name_id, 0, kNow, 500, -1)), R"("limit":10,"overridden":false,"count":7,)"));
  CHECK(has(with(override_of(rule.name_id, 5, kNow + 1, -1, 2 * kMinute)), R"("overridden":true,"count":0,)"));
}

TEST_CASE("Entries of a log count until they leave the window") {
  const limiter::Program program = limiter::compile({window_of(Algorithm::sliding_window_log)}, std::nullopt);
  const auto entry = [](double time, std::uint32_t cost) {
    return packed(time) + packed(9.0) + packed(cost) + packed(1U);
  };
  const std::vector<std::string> reply{std::to_string(static_cast<std::int64_t>(kNow)), "", "2",
                                       entry(kNow - kMinute, 4), entry(kNow - kMinute + 1, 5)};
  CHECK(has(state_json(program, reply).value_or(""), R"("entries":[[1799999970000001,5]],"more":false)"));
}

TEST_CASE("A reply that the script cannot have sent is refused") {
  const limiter::Program fixed = limiter::compile({window_of(Algorithm::fixed_window)}, std::nullopt);
  const limiter::Program log = limiter::compile({window_of(Algorithm::sliding_window_log)}, std::nullopt);
  const std::string good = state_of(fixed, kNow, {7});
  using Reply = std::vector<std::string>;
  CHECK(state_json(fixed, Reply{"1", good}));
  CHECK(state_json(fixed, Reply{"1", ""}));
  for (const Reply& reply : {Reply{}, Reply{"1"}, Reply{"now", good}, Reply{"1", good, "0"}, Reply{"1", "short"},
                             Reply{"1", good.substr(0, good.size() - 1)}, Reply{"1", good + "tail"}}) {
    CHECK_FALSE(state_json(fixed, reply));
  }
  for (const Reply& reply : {Reply{"1", ""}, Reply{"1", "", "1"}, Reply{"1", "", "-1"}, Reply{"1", "", "1", "entry"}}) {
    CHECK_FALSE(state_json(log, reply));
  }
}

TEST_CASE("The command names every counter key, then every collection") {
  const limiter::Program program =
      limiter::compile({window_of(Algorithm::sliding_window_log), bucket(1)}, std::nullopt);
  const std::vector<std::string> keys{"sl:{t|s}:p=x"};
  const std::vector<std::string> words = state_command(program, keys);
  REQUIRE(words.size() == 7);
  CHECK(words[0] == "EVAL");
  CHECK(words[2] == "2");
  CHECK(words[3] == keys[0]);
  CHECK(words[4].starts_with(keys[0] + ":"));
  CHECK(words[5] == "1");
}
