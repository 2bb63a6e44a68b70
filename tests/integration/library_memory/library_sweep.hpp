// Runs a call of the library again and again: first its first allocation fails, then its second, and so on until none
// fails.
#pragma once

#include <cstddef>
#include <string>

#include <doctest/doctest.h>

#include "sluice/engine.hpp"
#include "tests/unit/agent/memory/failing_memory.hpp"
#include "tests/unit/libsluice/engine_rig.hpp"

namespace sluice::test {

// `prepare()` makes what the call works on, `call(it)` is the call, and `judge(it, failed)` looks at it afterwards,
// with all memory there. `failed`: an allocation of the call failed. Returns how many allocations the call has. `more`:
// how many allocations fail after the first that does.
template <class Prepare, class Call, class Judge>
std::size_t sweep(Prepare prepare, Call call, Judge judge, std::size_t more = 0) {
  for (std::size_t n = 0;; ++n) {
    REQUIRE(n < 20'000);
    CAPTURE(n);
    auto it = prepare();
    bool failed = false;
    {
      const FailingMemory memory(n, more);
      call(it);
      failed = memory.failed();
    }
    judge(it, failed);
    if (!failed) return n;
  }
}

// One allocation fails, then all from one on.
constexpr std::size_t kOne = 0;
constexpr std::size_t kAll = 1'000'000;

// Either the check was decided, or its status says that memory was short. Returns whether it was decided.
inline bool decided_or_says_so(const v1::Decision& decision) {
  if (decision.status.ok()) return true;
  CHECK(decision.status.code == v1::Code::out_of_memory);
  CHECK(decision.status.message == "out of memory");
  CHECK_FALSE(decision.allowed);
  CHECK(decision.policy.empty());
  CHECK(decision.lease_id.empty());
  return false;
}

inline void ok_or_says_so(const v1::Status& status, bool failed) {
  if (status.ok()) return;
  CHECK(failed);
  CHECK(status.code == v1::Code::out_of_memory);
}

}  // namespace sluice::test
