// Splits the body of `POST /v1/check/batch`, {"checks":[…]}, into its checks.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "common/domain/check_request.hpp"

namespace sluice {

// Where agents take checks. The faults of a body that is sent to the wrong one name the other.
inline constexpr std::string_view kCheckPath = "/v1/check";
inline constexpr std::string_view kBatchPath = "/v1/check/batch";

inline constexpr std::size_t kMaxCheckBytes = std::size_t{16} << 10;  // one check, alone or in a batch
inline constexpr std::size_t kMaxBatchBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxBatchChecks = 256;

// Fills `checks` with the spans of `body` that contain one check each. The caller compares the length of each span with
// kMaxCheckBytes and passes the span to parse_check(), which finds the faults inside a check. `body` does not change.
//
// Returns the faults for which the whole request is refused, those with status 400 before those with 422. After a
// fault, do not use `checks`. A valid body needs no allocation if `checks` already has the capacity.
std::vector<RequestFault> split_checks(std::span<char> body, std::vector<std::span<char>>& checks);

}  // namespace sluice
