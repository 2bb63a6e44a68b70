// Decides when the agent counts as started (/startupz). If the agent is a sidecar, Kubernetes starts the application's
// container only then.
//
// The agent has started when it has policies and its counter store has answered. After --startup-wait it counts as
// started in any case, so that no pod waits forever.
//
// Time is a parameter. Thread: the admin loop's.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace sluice::agent {

class Startup {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // From `deadline` on, the agent counts as started even if something is missing.
  explicit Startup(Time deadline) : deadline_(deadline) {}

  // Returns what the start still waits for, in a few words each. An empty result means that the agent has started; from
  // then on every result is empty.
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
