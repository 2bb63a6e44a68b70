#include "common/domain/foreign_limits.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>

#include "common/base/letter_case.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMaxShown = 20;  // bytes of a number that is repeated in an answer

// How many requests in which time, as they would be written here. A part that is not given is an example.
struct Amount {
  std::string number = "10";
  std::string unit = "minute";
};

bool is_number(const json::Value& value) {
  return value.type() == json::Type::number && value.text().size() <= kMaxShown;
}

std::string rate_text(const Amount& amount) {
  const bool calendar = amount.unit == "month" || amount.unit == "year";
  return calendar ? fmt::format(R"("algorithm":"quota","limit":{},"period":"{}")", amount.number, amount.unit)
                  : fmt::format(R"("algorithm":"fixed_window","rate":"{}/{}")", amount.number, amount.unit);
}

bool is_unit(std::string_view name) {
  constexpr std::array<std::string_view, 6> kUnits{"second", "minute", "hour", "day", "month", "year"};
  return std::ranges::find(kUnits, name) != kUnits.end();
}

// envoyproxy/ratelimit writes `unit` and `requests_per_unit`.
Amount amount_of(std::span<const json::Member> members) {
  Amount amount;
  for (const json::Member& member : members) {
    if (member.name == "requests_per_unit" && is_number(member.value)) amount.number = member.value.text();
    if (member.name != "unit" || member.value.type() != json::Type::string) continue;
    std::string unit = lower_case(member.value.text());
    if (is_unit(unit)) amount.unit = std::move(unit);
  }
  return amount;
}

// {"minute": 5}
std::string unit_fix(const json::Member& member, std::span<const json::Member> /*all*/) {
  Amount amount{.unit = std::string(member.name)};
  if (is_number(member.value)) amount.number = member.value.text();
  return fmt::format("write {}; each such number is one limit of the list limits", rate_text(amount));
}

std::string per_unit_fix(const json::Member& /*member*/, std::span<const json::Member> all) {
  return fmt::format("write {} for it and its unit", rate_text(amount_of(all)));
}

std::string rate_limit_fix(const json::Member& member, std::span<const json::Member> /*all*/) {
  if (member.value.type() != json::Type::object) return R"(write it as rate, such as "rate":"10/minute")";
  return fmt::format("write {}; an agent takes files of envoyproxy/ratelimit with --ratelimit-config",
                     rate_text(amount_of(member.value.members())));
}

// In some limiters a number here is seconds, in others milliseconds.
std::string duration_fix(const json::Member& /*member*/, std::span<const json::Member> /*all*/) {
  return R"(write it as window with its unit, such as "window":"1m")";
}

struct ForeignName {
  std::string_view name;
  std::string (*fix)(const json::Member& member, std::span<const json::Member> all);
};

constexpr std::array kForeignNames{
    ForeignName{"duration", &duration_fix}, ForeignName{"requests_per_unit", &per_unit_fix},
    ForeignName{"second", &unit_fix},       ForeignName{"rate_limit", &rate_limit_fix},
    ForeignName{"minute", &unit_fix},       ForeignName{"hour", &unit_fix},
    ForeignName{"day", &unit_fix},          ForeignName{"month", &unit_fix},
    ForeignName{"year", &unit_fix},
};

const ForeignName* find_foreign(const json::Member& member) {
  if (member.taken) return nullptr;
  const auto* const found = std::ranges::find(kForeignNames, member.name, &ForeignName::name);
  return found == kForeignNames.end() ? nullptr : found;
}

}  // namespace

bool has_foreign_limit(const json::Fields& fields) {
  return std::ranges::any_of(fields.members(), [](const json::Member& member) { return find_foreign(member); });
}

bool refuse_foreign_limits(json::Fields& fields) {
  bool found = false;
  for (json::Member& member : fields.members()) {
    const ForeignName* const foreign = find_foreign(member);
    if (foreign == nullptr) continue;
    found = true;
    member.taken = true;
    fields.fault(member.name,
                 fmt::format("{} is another limiter's name: {}", member.name, foreign->fix(member, fields.members())));
  }
  return found;
}

}  // namespace sluice
