#include "common/domain/limit_fields.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>
#include <string>

#include "common/domain/enum_text.hpp"
#include "common/domain/foreign_limits.hpp"
#include "common/domain/identifiers.hpp"
#include "common/domain/limit_numbers.hpp"
#include "common/domain/limit_reader.hpp"

namespace sluice {
namespace {

std::string owners_of(std::string_view field) {
  std::string names;
  for (const AlgorithmTraits& traits : algorithm_rows()) {
    if (takes(traits, field)) names.append(names.empty() ? "" : ", ").append(traits.name);
  }
  return names;
}

}  // namespace

void LimitReader::read() {
  const std::size_t faults_before = fields_.faults().count();
  read_unit();
  const bool foreign = refuse_foreign_limits(fields_);
  const auto traits = read_algorithm(foreign);
  // Without the foreign numbers, others would seem to be missing.
  if (!traits || foreign) return read_limit_values(fields_);
  for (const json::Field& field : kLimitFields) check_belongs(field.name, *traits);
  limit_.algorithm = (*traits)->algorithm;
  (*traits)->read(*this);
  if (fields_.faults().count() != faults_before) return;
  if (auto fault = number_fault(limit_)) {
    fields_.fault(fault->field == "limit" ? limit_name_ : fault->field, std::move(fault->text));
  }
}

void LimitReader::read_unit() {
  const auto unit = fields_.text(limit_field::kUnit);
  if (!unit) return;
  if (!is_limit_name(*unit)) {
    return fields_.fault("unit", "a unit is 1 to 63 of a-z 0-9 _ . -, starting with a letter, digit or _");
  }
  limit_.unit = *unit;
}

std::optional<const AlgorithmTraits*> LimitReader::read_algorithm(bool foreign) {
  const std::string_view name = only_one_of(fields_, {"algorithm", "strategy"});
  if (!name.empty()) return fields_.choice(name, &algorithm_named, algorithm_list());
  const auto any = [this](auto names) {
    return std::ranges::any_of(names, [this](std::string_view each) { return !each.empty() && fields_.present(each); });
  };
  for (const AlgorithmTraits& traits : algorithm_rows()) {
    if (any(traits.implied_by)) return &traits;
  }
  const AlgorithmTraits& bucket = traits_of(Algorithm::token_bucket);
  if (any(std::span(bucket.fields) | std::views::filter([](std::string_view each) { return each != "limit"; }))) {
    return &bucket;
  }
  if (foreign) return std::nullopt;
  fields_.fault("algorithm", fmt::format("algorithm is missing: write one of {}; or leave it out and write limit with "
                                         "window, or rate, for a token_bucket",
                                         algorithm_list()));
  return std::nullopt;
}

// Also marks the field as known, through fields_.present().
void LimitReader::check_belongs(std::string_view field, const AlgorithmTraits* traits) {
  if (!fields_.present(field) || takes(*traits, field)) return;
  const bool is_burst =
      takes(*traits, "burst") && (field == "capacity" || field == "bucket_capacity" || field == "limit");
  const bool is_capacity = takes(*traits, "capacity") && field == "burst";
  fields_.fault(field, fmt::format("{} does not belong to {}, only to {}: {}", field, traits->name, owners_of(field),
                                   is_burst      ? "write it as burst"
                                   : is_capacity ? "write it as capacity"
                                                 : "remove it"));
}

void LimitReader::read_limit(std::string_view why) {
  fields_.require("limit", why);
  limit_.limit = fields_.integer(limit_field::kLimit).value_or(0);
}

void LimitReader::read_window() {
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
  limit_.window = fields_.duration(limit_field::kWindow).value_or(Micros(0));
}

void LimitReader::read_bucket() {
  const std::string_view rate = given_rate(fields_, limit_.algorithm);
  const std::string_view capacity = only_one_of(fields_, {"capacity", "bucket_capacity"});
  const bool has_limit = fields_.present("limit");
  const bool has_window = fields_.present("window");
  if (rate.empty() && capacity.empty() && (has_limit || has_window)) return read_bucket_of_window();
  for (const std::string_view other : {"limit", "window"}) {
    if (!fields_.present(other)) continue;
    fields_.fault(
        other, fmt::format("a {} takes {} only without a capacity and a rate: {}", to_string(limit_.algorithm), other,
                           other == "limit" ? "write it as capacity" : "remove it"));
  }
  const auto written = rate.empty() ? std::nullopt : read_rate(fields_, rate);
  if (written) limit_.rate = lowest_terms(written->units, written->per);
  const AlgorithmTraits& traits = traits_of(limit_.algorithm);
  if (rate.empty()) fields_.require(traits.rate, traits.missing_rate);
  if (!capacity.empty()) {
    limit_name_ = capacity;
    limit_.limit = fields_.integer(capacity, limit_field::kCapacity.min, limit_field::kCapacity.max).value_or(0);
  } else if (rate == "rate") {
    limit_name_ = rate;
    limit_.limit = written ? written->units : 0;
  } else if (!has_limit) {
    fields_.require("capacity", "how much may be spent at once");
  }
}

// The capacity is `limit`, and the rate is `limit` per `window`.
void LimitReader::read_bucket_of_window() {
  read_limit("limit and window go together");
  fields_.require("window", "limit and window go together; or write capacity with a rate");
  const Micros window = fields_.duration(limit_field::kWindow).value_or(kMinWindow);
  // A rate is never 0. A limit of 0 denies everything at any rate.
  limit_.rate = lowest_terms(std::max<std::int64_t>(limit_.limit, 1), window);
}

void LimitReader::read_gcra() {
  fields_.require("rate", "how many calls may come in which time, such as \"10/1s\"");
  const auto written = fields_.present("rate") ? read_rate(fields_, "rate") : std::nullopt;
  if (written) limit_.rate = lowest_terms(written->units, written->per);
  limit_name_ = fields_.present("burst") ? "burst" : "rate";
  limit_.limit = written ? written->units : 0;
  if (fields_.present("burst")) limit_.limit = fields_.integer(limit_field::kBurst).value_or(0);
}

void LimitReader::read_align() {
  limit_.align = fields_.choice(limit_field::kAlign, &align_from).value_or(Align::epoch);
}

void LimitReader::read_leases() {
  read_limit("how many may run at the same time");
  fields_.require("lease_ttl", "after how long an unreleased lease is dead, such as \"30s\"");
  limit_.lease_ttl = fields_.duration(limit_field::kLeaseTtl).value_or(Micros(0));
}

void LimitReader::read_quota() {
  read_limit("how much each period allows");
  fields_.require("period", "one of hour, day, week, month, year");
  limit_.period = fields_.choice(limit_field::kPeriod, &period_from).value_or(Period::day);
  limit_.anchor = fields_.timestamp(limit_field::kAnchor);
}

void read_bucket(LimitReader& reader) { reader.read_bucket(); }
void read_gcra(LimitReader& reader) { reader.read_gcra(); }
void read_window(LimitReader& reader) { reader.read_window(); }
void read_fixed_window(LimitReader& reader) {
  reader.read_align();
  reader.read_window();
}
void read_leases(LimitReader& reader) { reader.read_leases(); }
void read_quota(LimitReader& reader) { reader.read_quota(); }

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

void read_limit_values(json::Fields& fields) {
  for (const json::Field& field : kLimitFields) {
    if (field.type == json::Field::Type::integer) {
      fields.integer(field);
    } else if (field.type == json::Field::Type::duration) {
      fields.duration(field);
    } else if (field.type == json::Field::Type::timestamp) {
      fields.timestamp(field);
    } else if (field.name == limit_field::kAlign.name) {
      fields.choice(field, &align_from);
    } else if (field.name == limit_field::kPeriod.name) {
      fields.choice(field, &period_from);
    } else {
      read_rate(fields, field.name);
    }
  }
}

void accept_limit_aliases(json::Fields& fields) {
  for (const json::FieldAlias& alias : kLimitAliases) fields.accept_alias(alias.name, alias.field);
}

void read_limit_fields(json::Fields& fields, Limit& limit) { LimitReader(fields, limit).read(); }

}  // namespace sluice
