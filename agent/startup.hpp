// Decides when the agent counts as started (/startupz): when it has policies and its counter store has answered, but at
// the latest at a deadline. Kubernetes starts an application only after the agent beside it.
//
// Thread: the admin loop's.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace sluice::agent {

class Startup {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Startup(Time deadline) : deadline_(deadline) {}

  // Returns what the start still waits for, in a few words each. Once the result was empty, it stays empty.
  std::vector<std::string> waits_for(Time now, bool has_policies, bool has_counters) {
    std::vector<std::string> missing;
    if (started_) return missing;
    if (now < deadline_) {
      if (!has_policies) missing.emplace_back("policies");
      if (!has_counters) missing.emplace_back("the first answer of the counter store");
    }
    started_ = missing.empty();
    return missing;
  }

 private:
  const Time deadline_;
  bool started_ = false;
};

}  // namespace sluice::agent
