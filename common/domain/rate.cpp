#include "common/domain/rate.hpp"

#include <charconv>
#include <numeric>
#include <optional>

#include "common/base/decimal.hpp"
#include "common/base/duration.hpp"

namespace sluice {
namespace {

constexpr std::int64_t kUsPerSecond = 1'000'000;

std::unexpected<Error> bad_rate(std::string text) { return failure("rate", std::move(text)); }

std::unexpected<Error> too_large() { return bad_rate("a rate has at most 2^50 units per at most 2^50 microseconds"); }

// Reads a duration ("3s"), or a unit alone ("s", "minute").
std::optional<Micros> read_per(std::string_view text) {
  if (const auto unit = duration_unit(text)) return unit;
  const auto duration = parse_written_duration(text);
  if (!duration) return std::nullopt;
  return *duration;
}

}  // namespace

Result<WrittenRate> parse_written_rate(std::string_view text) {
  static constexpr std::string_view kShape =
      "a rate is a whole number of units, '/', and a time, such as \"10/minute\", \"100/s\" or \"7/3s\"";
  WrittenRate rate;
  const char* const end = text.data() + text.size();
  const auto [after, code] = std::from_chars(text.data(), end, rate.units);
  if (code == std::errc::result_out_of_range) return too_large();
  if (code != std::errc{} || after == end || *after != '/') return bad_rate(std::string(kShape));
  const auto per = read_per(std::string_view(after + 1, end));
  if (!per) return bad_rate(std::string(kShape));
  rate.per = *per;
  if (rate.units < 1 || rate.per < Micros(1)) {
    return bad_rate("a rate is above zero; to deny everything, set the capacity or the limit to 0");
  }
  if (rate.units > kMaxLimit || rate.per.count() > kMaxLimit) return too_large();
  return rate;
}

Result<Rate> parse_rate(std::string_view text) {
  const auto written = parse_written_rate(text);
  if (!written) return std::unexpected(written.error());
  return lowest_terms(written->units, written->per);
}

Result<Rate> parse_rate_per_second(std::string_view decimal) {
  const auto value = parse_decimal(decimal);
  if (!value) return bad_rate(value.error().text + "; write the rate as a fraction instead, such as \"1/3s\"");
  if (value->numerator < 1) {
    return bad_rate("a rate is above zero; to deny everything, set the capacity or the limit to 0");
  }
  // The fraction is in lowest terms, so the numerator can share factors only with the 10^6 µs of a second.
  const std::int64_t common = std::gcd(value->numerator, kUsPerSecond);
  const std::int64_t units = value->numerator / common;
  const __int128 per = static_cast<__int128>(value->denominator) * (kUsPerSecond / common);
  if (units > kMaxLimit || per > kMaxLimit) return too_large();
  return Rate{units, static_cast<std::int64_t>(per)};
}

Rate lowest_terms(std::int64_t units, Micros per) {
  const std::int64_t common = std::gcd(units, per.count());
  return {units / common, per.count() / common};
}

std::string to_string(const Rate& rate) {
  const std::string per = format_duration(Micros(rate.per_us));
  const bool one = duration_unit(std::string_view(per).substr(1)) && per.front() == '1';
  return std::to_string(rate.units) + '/' + (one ? per.substr(1) : per);
}

}  // namespace sluice
