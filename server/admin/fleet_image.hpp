// The agents that one event stream may show, as PostgreSQL had them at one time, with the number of each agent's last
// change. A reader that has seen everything up to a number needs only what has a higher one.
//
// Pure and immutable: any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/admin/fleet_query.hpp"

namespace sluice::server::admin {

// One row of PostgreSQL. The texts are those of fleet_query.hpp.
struct ReadAgent {
  std::string key;       // unique
  std::string identity;  // JSON
  std::string document;  // JSON
  std::string mark;      // another text whenever the document is worth telling again
};

struct ReadFleet {
  std::vector<ReadAgent> agents;  // sorted by key
  EnforcementGroups groups;
  std::int64_t newest = 0;  // revision
};

class FleetImage;
using FleetImagePtr = std::shared_ptr<const FleetImage>;

class FleetImage {
 public:
  // How many of the agents that left an image remembers. A reader that has not seen one that was forgotten takes the
  // whole list anew.
  static constexpr std::size_t kMaxGone = 1'000;

  struct Agent {
    ReadAgent read;
    std::uint64_t changed = 0;
  };
  using AgentPtr = std::shared_ptr<const Agent>;

  // The first image. `epoch`: tells its numbers from those of other images: 1 to 32 letters and digits.
  static FleetImagePtr begin(std::string epoch, ReadFleet fleet);
  // Shares the agents that have not changed.
  static FleetImagePtr after(const FleetImagePtr& before, ReadFleet fleet);

  const std::string& epoch() const { return epoch_; }
  std::uint64_t number() const { return number_; }          // of the last change; from 1
  std::uint64_t gone_since() const { return gone_since_; }  // agents that left after this number are in gone()
  const std::vector<AgentPtr>& agents() const { return agents_; }
  const std::vector<AgentPtr>& gone() const { return gone_; }  // the number is that of the change with which they left
  const EnforcementGroups& groups() const { return groups_; }
  std::int64_t newest() const { return newest_; }

 private:
  FleetImage() = default;
  void forget_old();

  std::string epoch_;
  std::uint64_t number_ = 1;
  std::uint64_t gone_since_ = 1;
  std::vector<AgentPtr> agents_;  // sorted by key
  std::vector<AgentPtr> gone_;    // the last one to leave is the last
  EnforcementGroups groups_;
  std::int64_t newest_ = 0;
};

}  // namespace sluice::server::admin
