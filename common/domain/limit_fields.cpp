#include "common/domain/limit_fields.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>

#include "common/domain/enum_text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/domain/limit_numbers.hpp"

namespace sluice {
namespace {

constexpr std::uint8_t bit(Algorithm algorithm) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(algorithm));
}
constexpr std::uint8_t kToken = bit(Algorithm::token_bucket);
constexpr std::uint8_t kLeaky = bit(Algorithm::leaky_bucket);
constexpr std::uint8_t kBuckets = kToken | kLeaky;
constexpr std::uint8_t kWindows =
    bit(Algorithm::fixed_window) | bit(Algorithm::sliding_window) | bit(Algorithm::sliding_window_log);
constexpr std::uint8_t kAll = kBuckets | kWindows | bit(Algorithm::concurrency) | bit(Algorithm::quota);

constexpr std::array<LimitField, 15> kLimitFields{{
    {"capacity", kBuckets},
    {"bucket_capacity", kBuckets},
    {"refill", kToken},
    {"refill_per_sec", kToken},
    {"refill_rate_per_sec", kToken},
    {"leak", kLeaky},
    {"leak_per_sec", kLeaky},
    {"leak_rate_per_sec", kLeaky},
    {"rate", kBuckets | kWindows},
    {"limit", kAll},                  // of a bucket only together with window
    {"window", kBuckets | kWindows},  // of a bucket only together with limit
    {"align", bit(Algorithm::fixed_window)},
    {"lease_ttl", bit(Algorithm::concurrency)},
    {"period", bit(Algorithm::quota)},
    {"anchor", bit(Algorithm::quota)},
}};

std::string owners_of(const LimitField& field) {
  std::string names;
  for (int i = 0; i <= static_cast<int>(Algorithm::quota); ++i) {
    if (!goes_with(field, static_cast<Algorithm>(i))) continue;
    if (!names.empty()) names += ", ";
    names += to_string(static_cast<Algorithm>(i));
  }
  return names;
}

// Reads one limit. The names of the fields that gave the numbers are kept for faults in how the numbers fit together.
class LimitReader {
 public:
  LimitReader(json::Fields& fields, Limit& limit) : fields_(fields), limit_(limit) {}

  void read() {
    const std::size_t faults_before = fields_.faults().count();
    read_unit();
    const auto algorithm = read_algorithm();
    for (const LimitField& field : kLimitFields) check_belongs(field, algorithm);
    if (!algorithm) return;
    limit_.algorithm = *algorithm;
    read_numbers();
    if (fields_.faults().count() != faults_before) return;  // the numbers are not all there
    if (auto fault = number_fault(limit_)) {
      fields_.fault(fault->field == "limit" ? limit_name_ : fault->field, std::move(fault->text));
    }
  }

 private:
  void read_unit() {
    const auto unit = fields_.text("unit", kMaxIdBytes);
    if (!unit) return;
    if (!is_limit_name(*unit)) {
      return fields_.fault("unit", "a unit is 1 to 63 of a-z 0-9 _ . -, starting with a letter, digit or _");
    }
    limit_.unit = *unit;
  }

  std::optional<Algorithm> read_algorithm() {
    const std::string_view name = only_one_of(fields_, {"algorithm", "strategy"});
    if (!name.empty()) return fields_.choice(name, &algorithm_from, kAlgorithmNames);
    if (any({"lease_ttl"})) return Algorithm::concurrency;
    if (any({"period", "anchor"})) return Algorithm::quota;
    if (any({"leak", "leak_per_sec", "leak_rate_per_sec"})) return Algorithm::leaky_bucket;
    if (any({"capacity", "bucket_capacity", "refill", "refill_per_sec", "refill_rate_per_sec", "rate", "window"})) {
      return Algorithm::token_bucket;
    }
    fields_.fault("algorithm", fmt::format("algorithm is missing: one of {}; without it, limit with window, or rate, "
                                           "make a token_bucket",
                                           kAlgorithmNames));
    return std::nullopt;
  }

  bool any(std::initializer_list<std::string_view> names) {
    return std::ranges::any_of(names, [this](std::string_view name) { return fields_.present(name); });
  }

  // Marks the field as known in any case.
  void check_belongs(const LimitField& field, const std::optional<Algorithm>& algorithm) {
    if (!fields_.present(field.name) || !algorithm || goes_with(field, *algorithm)) return;
    fields_.fault(field.name, fmt::format("{} does not belong to {}, only to {}: remove it", field.name,
                                          to_string(*algorithm), owners_of(field)));
  }

  void read_numbers() {
    switch (limit_.algorithm) {
      case Algorithm::token_bucket:
      case Algorithm::leaky_bucket:
        return read_bucket();
      case Algorithm::fixed_window:
        limit_.align = fields_.choice("align", &align_from, kAlignNames).value_or(Align::epoch);
        return read_window();
      case Algorithm::sliding_window:
      case Algorithm::sliding_window_log:
        return read_window();
      case Algorithm::concurrency:
        read_limit("how many may run at the same time");
        fields_.require("lease_ttl", "after how long an unreleased lease is dead, such as \"30s\"");
        limit_.lease_ttl = fields_.duration("lease_ttl", kMinLeaseTtl, kMaxLeaseTtl).value_or(Micros(0));
        return;
      case Algorithm::quota:
        read_limit("how much each period allows");
        fields_.require("period", "one of hour, day, week, month, year");
        limit_.period = fields_.choice("period", &period_from, kPeriodNames).value_or(Period::day);
        limit_.anchor = fields_.timestamp("anchor");
        return;
    }
  }

  void read_limit(std::string_view why) {
    fields_.require("limit", why);
    limit_.limit = fields_.integer("limit", 0, kMaxLimit).value_or(0);
  }

  void read_window() {
    if (fields_.present("rate")) {
      limit_name_ = "rate";
      for (const std::string_view other : {"limit", "window"}) {
        if (fields_.present(other)) fields_.fault(other, fmt::format("{} is already said by rate: keep one", other));
      }
      const auto rate = read_rate(fields_, "rate");
      if (!rate) return;
      limit_.limit = rate->units;
      limit_.window = rate->per;
      if (rate->per < kMinWindow || rate->per > kMaxWindow) {
        fields_.fault("rate", "the time of a window's rate must be from 1ms to 366d");
      }
      return;
    }
    read_limit("how much each window allows");
    fields_.require("window", "how long the window is, such as \"10s\"");
    limit_.window = fields_.duration("window", kMinWindow, kMaxWindow).value_or(Micros(0));
  }

  void read_bucket() {
    const std::string_view rate = given_rate(fields_, limit_.algorithm);
    const std::string_view capacity = only_one_of(fields_, {"capacity", "bucket_capacity"});
    const bool has_limit = fields_.present("limit");
    const bool has_window = fields_.present("window");
    if (rate.empty() && capacity.empty() && (has_limit || has_window)) return read_bucket_of_window();
    for (const std::string_view other : {"limit", "window"}) {
      if (!fields_.present(other)) continue;
      fields_.fault(other,
                    fmt::format("{} belongs to a {} only as limit with window, without capacity and rate: {}", other,
                                to_string(limit_.algorithm), other == "limit" ? "write it as capacity" : "remove it"));
    }
    const auto written = rate.empty() ? std::nullopt : read_rate(fields_, rate);
    if (written) limit_.rate = lowest_terms(written->units, written->per);
    if (rate.empty()) missing_rate();
    if (!capacity.empty()) {
      limit_name_ = capacity;
      limit_.limit = fields_.integer(capacity, 0, kMaxLimit).value_or(0);
    } else if (rate == "rate") {
      limit_name_ = rate;
      limit_.limit = written ? written->units : 0;
    } else if (!has_limit) {
      fields_.require("capacity", "how much may be spent at once");
    }
  }

  void missing_rate() {
    const bool token = limit_.algorithm == Algorithm::token_bucket;
    fields_.require(token ? "refill" : "leak",
                    token ? "how fast the bucket fills again, such as \"20/s\", or refill_per_sec with a number"
                          : "how fast the bucket runs empty, such as \"20/s\", or leak_per_sec with a number");
  }

  // `limit` per `window`: all of it at once, then at that pace.
  void read_bucket_of_window() {
    read_limit("limit and window go together");
    fields_.require("window", "limit and window go together; or write capacity with a rate");
    const Micros window = fields_.duration("window", kMinWindow, kMaxWindow).value_or(kMinWindow);
    // A limit of 0 denies everything whatever its rate, but a rate is never 0.
    limit_.rate = lowest_terms(std::max<std::int64_t>(limit_.limit, 1), window);
  }

  json::Fields& fields_;
  Limit& limit_;
  std::string_view limit_name_ = "limit";
};

}  // namespace

std::span<const LimitField> limit_fields() { return kLimitFields; }

std::string_view only_one_of(json::Fields& fields, std::initializer_list<std::string_view> names) {
  std::string_view given;
  for (const std::string_view name : names) {
    if (!fields.present(name)) continue;
    if (given.empty()) {
      given = name;
    } else {
      fields.fault(name, fmt::format("{} and {} say the same: keep one", given, name));
    }
  }
  return given;
}

std::string_view given_rate(json::Fields& fields, Algorithm algorithm) {
  if (algorithm == Algorithm::token_bucket) {
    return only_one_of(fields, {"refill", "refill_per_sec", "refill_rate_per_sec", "rate"});
  }
  return only_one_of(fields, {"leak", "leak_per_sec", "leak_rate_per_sec", "rate"});
}

std::optional<WrittenRate> read_rate(json::Fields& fields, std::string_view name) {
  const json::Value* const value = fields.take(name);
  if (value == nullptr) return std::nullopt;
  const bool per_second = name.ends_with("_per_sec");
  if (value->type() != (per_second ? json::Type::number : json::Type::string)) {
    fields.fault(name, json::wrong_type_text(name, *value,
                                             per_second ? "a number of units per second"
                                                        : "a rate in quotes, such as \"10/minute\" or \"7/3s\""));
    return std::nullopt;
  }
  if (!per_second) {
    auto rate = parse_written_rate(value->text());
    if (rate) return *rate;
    fields.fault(name, std::move(rate.error().text));
    return std::nullopt;
  }
  auto rate = parse_rate_per_second(value->text());
  if (rate) return WrittenRate{rate->units, Micros(rate->per_us)};
  fields.fault(name, std::move(rate.error().text));
  return std::nullopt;
}

void read_limit_fields(json::Fields& fields, Limit& limit) { LimitReader(fields, limit).read(); }

}  // namespace sluice
