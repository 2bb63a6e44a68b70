// The rules for the values of a check, and the texts of their faults, for all formats that a check can be written in.
// What costs nothing to ask for each value is inline; texts are made only for faults.
//
// Thread safety: pure functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "common/domain/check_request.hpp"
#include "common/domain/plan.hpp"

namespace sluice::check_rules {

inline constexpr std::size_t kMaxText = 256;  // bytes
inline constexpr std::size_t kMaxNamed = 64;  // entries in each of tags, attributes, costs and limit_override

inline constexpr std::string_view kTextRule = "a string is at most 256 bytes of UTF-8 long";
inline constexpr std::string_view kNamesRule = "holds more than 64 names";
inline constexpr std::string_view kTwoCosts =
    "both costs.requests and cost give the cost in requests: send one of them";
inline constexpr std::string_view kNoDimension = "is required unless another dimension or plan_id is given";

// Of an entry.
constexpr bool is_name(std::string_view name) { return !name.empty() && name.size() <= kMaxText; }
// REQUIRES: !is_name(name).
std::string_view fault_of_name(std::string_view name);

constexpr bool is_cost(std::int64_t cost) { return cost >= 0 && cost <= kMaxCost; }
std::string_view fault_of_cost(bool is_negative);

constexpr bool is_limit(std::int64_t limit) { return limit >= 1 && limit <= kMaxLimit; }
// `shown`: the limit as the caller wrote it.
std::string fault_of_limit(std::string_view shown);

// REQUIRES: find_address(text) finds none.
std::string fault_of_source_ip(std::string_view text);

// A duration that a check may wait, or its fault.
std::expected<std::chrono::microseconds, std::string> read_wait(std::string_view text);

}  // namespace sluice::check_rules
