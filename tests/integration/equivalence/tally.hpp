// What a run did, for the summary and for the checks that it did enough.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "common/limiter/program.hpp"

namespace sluice::test {

struct Tally {
  struct OfKind {
    std::int64_t judged = 0;
    std::int64_t denied = 0;
  };
  std::map<limiter::Kind, OfKind> kinds;

  std::int64_t steps = 0;  // checks, lease calls, override writes and resets compared
  std::int64_t checks = 0;
  std::int64_t denials = 0;
  std::int64_t never = 0;             // of them with retry_after -1
  std::int64_t early_denied = 0;      // denied again one microsecond before retry_after
  std::int64_t passed_in_place = 0;   // passed at retry_after, as the next step
  std::int64_t passed_on_copies = 0;  // passed at retry_after, on copies of the keys
  std::int64_t early_exempt = 0;      // numbers changed since the state was written, and its time to live ended first
  std::int64_t inexact = 0;           // numbers that do not fit together after an edit: not exact to the microsecond
  std::int64_t exempt = 0;            // an override ends before retry_after, or it lies beyond the clock
  std::int64_t joint = 0;             // judged in one call with another rulebook
  std::int64_t brought = 0;           // with limits of their own
  std::int64_t leases_taken = 0, releases = 0, renewals = 0;
  std::int64_t edits = 0, overrides = 0, resets = 0, steps_back = 0, wrong_periods = 0;
  std::int64_t referenced = 0;  // compared with the exact reference too
  std::int64_t counted = 0;     // run through the instrumented scripts too
};

}  // namespace sluice::test
