// The newest image of the fleet for each scope that event streams show. Streams of one scope share its image, so the
// number of reads does not grow with them.
//
// Thread safety: any thread. Time is a parameter.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "server/admin/fleet_image.hpp"

namespace sluice::server::admin {

class FleetImages {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // An image is read again when it is older than both: kFreshFor, and kRest times what its read took. So a large fleet
  // costs PostgreSQL at most a fifth of one connection's time for each scope.
  static constexpr std::chrono::milliseconds kFreshFor{900};
  static constexpr int kRest = 4;
  // An image that nobody has asked for in this time is forgotten: a stream that connects again sooner goes on.
  static constexpr std::chrono::seconds kKeptFor{30};

  // Returns the image of the scope `key`, reading it with `read` where it is not fresh, or does not know the revision
  // `at_least`: who has just made a change asks about it before the image is old. While another thread reads the
  // same one, its former image is returned. Throws what `read` throws. `now`: tells the time before and after a read.
  FleetImagePtr get(const std::string& key, std::int64_t at_least, const std::function<ReadFleet()>& read,
                    const std::function<Time()>& now);

  std::size_t count() const;

 private:
  struct Entry {
    FleetImagePtr image;
    Time read_at;  // when the read of `image` began
    std::chrono::nanoseconds took{0};
    Time used_at;
    bool reading = false;
  };

  static FleetImagePtr known(const Entry& entry, std::int64_t at_least, Time now);
  FleetImagePtr keep(const std::string& key, ReadFleet fleet, Time began, Time ended);
  void forget_unused(Time now);

  mutable std::mutex mutex_;  // guards the entries
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace sluice::server::admin
