// What memory keeps under one state key: as the script's state, with the logs and leases of its limits beside it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "common/limiter/counter_store.hpp"
#include "common/limiter/entry_log.hpp"
#include "common/limiter/lease_set.hpp"

namespace sluice::limiter {

struct Collections {
  std::map<std::string, EntryLog, std::less<>> logs;  // by limit name
  std::map<std::string, LeaseSet, std::less<>> leases;
};

struct Cell {
  double time = 0;  // of the last charge, µs
  double expires_ms = std::numeric_limits<double>::infinity();
  std::uint32_t layout = 0;
  boost::container::small_vector<double, 2> values;
  boost::container::small_vector<std::uint32_t, 1> ids;  // counter ids
  std::vector<OverrideEntry> overrides;
  std::unique_ptr<Collections> collections;

  // Redis forgets a key in the millisecond after its expiry; here what is expired is forgotten when next touched or
  // swept.
  void forget_expired(double now_us) {
    double now_ms = std::floor(now_us / 1000);
    if (now_ms > expires_ms) {
      time = 0;
      layout = 0;
      values.clear();
      ids.clear();
      overrides.clear();
      expires_ms = std::numeric_limits<double>::infinity();
    }
    if (!collections) return;
    std::erase_if(collections->logs, [&](const auto& log) { return now_ms > log.second.expires_ms(); });
    std::erase_if(collections->leases,
                  [&](const auto& leases) { return leases.second.empty() || now_ms > leases.second.expires_ms(); });
    if (collections->logs.empty() && collections->leases.empty()) collections.reset();
  }
  bool empty() const { return ids.empty() && overrides.empty() && !collections; }
};

}  // namespace sluice::limiter
