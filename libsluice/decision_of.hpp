// Writes a decision of the core, or why there is none, into the decision of a program.
#pragma once

#include <exception>

#include "common/domain/decision.hpp"
#include "common/limiter/counter_store.hpp"
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
// The engine closes.
v1::Status stopped() noexcept;
// Redis could not be asked for a lease. Throws std::bad_alloc.
v1::Status status_of(limiter::StoreFault fault);
v1::Status clock_failed() noexcept;  // Options::clock_us has thrown an exception
// The operating system has no thread, descriptor or the like for the engine.
v1::Status system_refuses(const std::exception& error) noexcept;

}  // namespace sluice::lib
