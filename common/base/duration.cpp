#include "common/base/duration.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

#include <fmt/core.h>

namespace sluice {
namespace {

constexpr std::int64_t kUsPerSecond = 1'000'000;

struct Unit {
  std::string_view symbol;
  std::int64_t us;
};

// Longest first, for format_duration().
constexpr std::array<Unit, 6> kUnits{
    {{"d", 86'400'000'000}, {"h", 3'600'000'000}, {"m", 60'000'000}, {"s", 1'000'000}, {"ms", 1'000}, {"us", 1}}};

// Keyboards produce U+00B5 (micro sign) or U+03BC (Greek letter mu).
constexpr std::array<Unit, 2> kMicroSigns{{{"\xC2\xB5s", 1}, {"\xCE\xBCs", 1}}};

constexpr std::array<Unit, 16> kWords{{{"day", 86'400'000'000},
                                       {"days", 86'400'000'000},
                                       {"hour", 3'600'000'000},
                                       {"hours", 3'600'000'000},
                                       {"minute", 60'000'000},
                                       {"minutes", 60'000'000},
                                       {"min", 60'000'000},
                                       {"mins", 60'000'000},
                                       {"second", 1'000'000},
                                       {"seconds", 1'000'000},
                                       {"sec", 1'000'000},
                                       {"secs", 1'000'000},
                                       {"millisecond", 1'000},
                                       {"milliseconds", 1'000},
                                       {"microsecond", 1},
                                       {"microseconds", 1}}};

// Returns 0 if there is no such unit.
std::int64_t find_unit(const auto& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.symbol == name) return unit.us;
  }
  return 0;
}

std::int64_t symbol_us(std::string_view symbol) {
  const std::int64_t us = find_unit(kUnits, symbol);
  return us != 0 ? us : find_unit(kMicroSigns, symbol);
}

// `unit_us` returns how long a unit is, 0 if there is no such unit. `shape`: the text of the fault.
Result<std::chrono::microseconds> parse(std::string_view text, std::string_view shape, auto unit_us) {
  std::uint64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [after, code] = std::from_chars(text.data(), end, count);
  if (code == std::errc::invalid_argument) return failure("duration", std::string(shape));
  const std::int64_t unit = unit_us(std::string_view(after, end));
  if (unit == 0) return failure("duration", std::string(shape));
  constexpr auto kMaxUs = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (code == std::errc::result_out_of_range || count > kMaxUs / static_cast<std::uint64_t>(unit)) {
    return failure("duration", "the duration is longer than 290,000 years: write a shorter one");
  }
  return std::chrono::microseconds(static_cast<std::int64_t>(count) * unit);
}

constexpr std::int64_t kHour = 3600;  // in seconds
constexpr std::int64_t kDay = 24 * kHour;

bool looks_like_milliseconds(std::int64_t number) {
  if (number < 1000 || number % 1000 != 0) return false;
  const bool whole_hours = number % kHour == 0 && number < 100 * kHour;
  const bool whole_days = number % kDay == 0 && number < 1000 * kDay;
  return !whole_hours && !whole_days;
}

// "16 h 40 min".
std::string spell_out(std::int64_t seconds) {
  std::string text;
  const auto add = [&](std::int64_t unit, std::string_view name) {
    if (seconds >= unit) text.append(text.empty() ? "" : " ").append(std::to_string(seconds / unit)).append(name);
    seconds %= unit;
  };
  add(kDay, " d");
  add(kHour, " h");
  add(60, " min");
  add(1, " s");
  return text;
}

}  // namespace

Result<std::chrono::microseconds> parse_duration(std::string_view text) {
  static constexpr std::string_view kShape =
      "a duration is a whole number and a unit (us, ms, s, m, h or d), such as \"250ms\", \"10s\" or \"1h\"";
  return parse(text, kShape, [](std::string_view unit) { return symbol_us(unit); });
}

Result<std::chrono::microseconds> parse_written_duration(std::string_view text) {
  static constexpr std::string_view kShape =
      "a duration is a whole number and a unit (us, ms, s, m, h or d), such as \"250ms\", \"10s\" or \"1 minute\", or "
      "a "
      "whole number of seconds";
  return parse(text, kShape, [](std::string_view unit) {
    if (unit.empty()) return kUsPerSecond;
    if (unit.front() == ' ') unit.remove_prefix(1);
    const auto found = duration_unit(unit);
    return found ? found->count() : 0;
  });
}

std::optional<std::string> note_on_milliseconds(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [after, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc{} || after != end || !looks_like_milliseconds(number)) return std::nullopt;
  const std::string likely = format_duration(std::chrono::seconds(number / 1000));
  return fmt::format("{0} is read as {0} seconds, {1}; for {2} write {3} or \"{2}\"", number, spell_out(number), likely,
                     number / 1000);
}

std::optional<std::chrono::microseconds> duration_unit(std::string_view word) {
  const std::int64_t symbol = symbol_us(word);
  const std::int64_t us = symbol != 0 ? symbol : find_unit(kWords, word);
  if (us == 0) return std::nullopt;
  return std::chrono::microseconds(us);
}

std::string format_duration(std::chrono::microseconds duration) {
  const std::int64_t us = duration.count();
  if (us == 0) return "0s";
  for (const Unit& unit : kUnits) {
    if (us % unit.us == 0) return std::to_string(us / unit.us).append(unit.symbol);
  }
  return {};  // not reached: the last unit divides everything
}

}  // namespace sluice
