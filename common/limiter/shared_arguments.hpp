// Which arguments a rulebook in a call of check_many has to bring, and which it shares with an earlier rulebook of the
// same call. The descriptors of a request often have equal limits: then only their keys differ. Each byte less is
// copied less, and Redis reads more calls at a time.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "common/limiter/script_calls.hpp"

namespace sluice::limiter {

std::size_t argument_count(const Program& program);  // of a call of check

// Whether the rulebook is one of several that are enforced together.
constexpr bool is_together(std::size_t enforced, std::size_t index) { return index < enforced && enforced > 1; }

struct OwnArguments {
  std::uint8_t count;        // the first ones: all; only the parameters; or none
  std::uint8_t shared_with;  // the number, from 1, of the rulebook that has the others; 0: none is shared
};

// Of parts[index] in a call of write_check_many().
OwnArguments own_arguments(std::span<const CheckPart> parts, std::size_t enforced, std::size_t index);

}  // namespace sluice::limiter
