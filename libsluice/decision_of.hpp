// Writes a decision of the core, or why there is none, into the decision of a program.
#pragma once

#include "common/domain/decision.hpp"
#include "engine/decide/refusal.hpp"
#include "sluice/engine.hpp"

namespace sluice::lib {

// Sets all members but `status`, which is that of success. `request`: says whether headers are wanted. Texts of `to`
// keep their memory. Throws std::bad_alloc.
void convert(const Decision& from, const v1::Request& request, v1::Decision& to);

// Sets all members but `status` to what they are without a decision.
void clear(v1::Decision& decision) noexcept;

// Throws std::bad_alloc, but not for a refusal for want of memory.
v1::Status status_of(const decide::Refusal& refusal);
v1::Status out_of_memory() noexcept;
// Code of the program, which the engine has called, has thrown an exception.
v1::Status hook_failed() noexcept;
// The engine closes.
v1::Status stopped() noexcept;

}  // namespace sluice::lib
