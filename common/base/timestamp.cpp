#include "common/base/timestamp.hpp"

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/base/clock.hpp"

namespace sluice {
namespace {

constexpr std::string_view kShape =
    "a time is written as RFC 3339, such as \"2027-03-31T09:30:00Z\" or \"2027-03-31T09:30:00.25+02:00\"";

// After the first piece that does not fit, every further read fails. The caller checks complete() once at the end.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  unsigned number(std::size_t digits) {
    if (rest_.size() < digits) return fail();
    unsigned value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (!is_digit(rest_[i])) return fail();
      value = value * 10 + static_cast<unsigned>(rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return value;
  }

  void literal(char wanted) {
    if (!take(wanted)) fail();
  }

  bool take(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Reads 1 to 6 digits.
  Micros fraction() {
    std::int64_t value = 0;
    std::size_t digits = 0;
    for (; digits < rest_.size() && is_digit(rest_[digits]); ++digits) {
      if (digits == 6) return Micros(fail());
      value = value * 10 + (rest_[digits] - '0');
    }
    if (digits == 0) return Micros(fail());
    rest_.remove_prefix(digits);
    for (; digits < 6; ++digits) value *= 10;
    return Micros(value);
  }

  bool complete() const { return !failed_ && rest_.empty(); }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  unsigned fail() {
    failed_ = true;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool failed_ = false;
};

struct TimeOfDay {
  unsigned hours;
  unsigned minutes;
  unsigned seconds;
  Micros fraction;

  bool exists() const { return hours < 24 && minutes < 60 && seconds < 60; }
  Micros since_midnight() const {
    return std::chrono::hours(hours) + std::chrono::minutes(minutes) + std::chrono::seconds(seconds) + fraction;
  }
};

// Reads "Z" or ±HH:MM; nullopt if HH is above 23 or MM is above 59.
std::optional<std::chrono::minutes> read_offset(Scanner& scanner) {
  if (scanner.take('Z') || scanner.take('z')) return std::chrono::minutes(0);
  const bool west = scanner.take('-');
  if (!west) scanner.literal('+');
  const unsigned hours = scanner.number(2);
  scanner.literal(':');
  const unsigned minutes = scanner.number(2);
  if (hours > 23 || minutes > 59) return std::nullopt;
  const auto offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  return west ? -offset : offset;
}

}  // namespace

Result<WallTime> parse_timestamp(std::string_view text) {
  Scanner scanner(text);
  const unsigned year = scanner.number(4);
  scanner.literal('-');
  const unsigned month = scanner.number(2);
  scanner.literal('-');
  const unsigned day = scanner.number(2);
  if (!scanner.take('t')) scanner.literal('T');
  TimeOfDay clock{};
  clock.hours = scanner.number(2);
  scanner.literal(':');
  clock.minutes = scanner.number(2);
  scanner.literal(':');
  clock.seconds = scanner.number(2);
  if (scanner.take('.')) clock.fraction = scanner.fraction();
  const auto offset = read_offset(scanner);
  if (!scanner.complete()) return failure("timestamp", std::string(kShape) + ", with at most 6 fractional digits");

  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok() || !clock.exists() || !offset) {
    return failure("timestamp", "no such date or time of day exists; leap seconds are not accepted");
  }
  const WallTime time = std::chrono::sys_days(date) + clock.since_midnight() - *offset;
  constexpr WallTime kFirst{};
  constexpr WallTime kEnd = std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1);
  if (time < kFirst || time >= kEnd) return failure("timestamp", "a time lies in the years 1970 to 9999 of UTC");
  return time;
}

std::string format_timestamp(WallTime time) {
  const auto midnight = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(midnight);
  const std::chrono::hh_mm_ss clock(time - midnight);
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                                 clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  const std::int64_t fraction = clock.subseconds().count();
  if (fraction % 1000 != 0) {
    text += fmt::format(".{:06}", fraction);
  } else if (fraction != 0) {
    text += fmt::format(".{:03}", fraction / 1000);
  }
  return text += 'Z';
}

}  // namespace sluice
