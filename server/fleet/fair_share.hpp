// Divides places, such as rows in memory, among organizations, and within each among its scopes. One rule replaces
// "first come, first served": an organization may use as many places as it leaves free, and a scope as many as its
// organization could still take. So one organization gets at most half of the places, one scope a third, and whoever
// comes later still finds room.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "server/fleet/agent_key.hpp"

namespace sluice::server::fleet {

// Agents with the same scope use their places together.
struct ShareOwner {
  std::string organization_id;  // "": the platform
  std::string scope;            // as in AgentKey
};

class FairShare {
 public:
  explicit FairShare(std::size_t places) : places_(places) {}

  bool fits(const ShareOwner& owner, std::size_t count) const;
  // Does not check fits().
  void add(const ShareOwner& owner, std::size_t count);
  // REQUIRES: as many were added.
  void remove(const ShareOwner& owner, std::size_t count);

  std::size_t used() const { return used_; }
  std::size_t used_by(const ShareOwner& owner) const;

 private:
  struct Organization {
    std::size_t used = 0;
    std::map<std::string, std::size_t, std::less<>> by_scope;
  };

  std::size_t places_;
  std::size_t used_ = 0;
  std::map<std::string, Organization, std::less<>> organizations_;  // with places in use
};

}  // namespace sluice::server::fleet
