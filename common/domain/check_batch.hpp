// The body of `POST /v1/check/batch`, {"checks":[…]}, cut into its checks.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/domain/check_request.hpp"

namespace sluice {

inline constexpr std::size_t kMaxCheckBytes = std::size_t{16} << 10;  // of one check, alone or in a batch
inline constexpr std::size_t kMaxBatchBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxBatchChecks = 256;

// The spans of `body` that hold a check each, in their order, into `checks` (its memory is reused). `body` is not
// changed: each span is then parse_check's, in place, which says what is wrong with that check alone: a value that is
// no check, text that is not UTF-8, half a surrogate pair, nesting, numbers out of all bounds. How long a check may be
// is for the caller to judge.
// Faults, the gravest first as those of parse_check, refuse the whole: what is not JSON; another value than an object;
// `checks` absent, twice, no list; any other member (400); no check at all, or more than 256 (422). With faults,
// `checks` is not to be used. No allocation on the good path once `checks` has grown.
std::vector<RequestFault> split_checks(std::span<char> body, std::vector<std::span<char>>& checks);

}  // namespace sluice
