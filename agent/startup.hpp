// When an agent counts as started, for the probe that holds back what comes behind it: when it decides by policies and
// its counters have answered, or when that has taken too long, for no pod shall wait for ever.
//
// Time is a parameter. Thread safety: none; the admin loop's.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace sluice::agent {

class Startup {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // It has waited long enough at `patience_ends`.
  explicit Startup(Time patience_ends) : patience_ends_(patience_ends) {}

  // What it still waits for, a few words each; once that was nothing, it stays so.
  std::vector<std::string> waits_for(Time now, bool has_policies, bool has_counters) {
    std::vector<std::string> missing;
    if (started_) return missing;
    if (now < patience_ends_) {
      if (!has_policies) missing.emplace_back("policies");
      if (!has_counters) missing.emplace_back("the first answer of the counter store");
    }
    started_ = missing.empty();
    return missing;
  }

 private:
  const Time patience_ends_;
  bool started_ = false;
};

}  // namespace sluice::agent
