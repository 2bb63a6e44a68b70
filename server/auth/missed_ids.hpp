// Ids of tokens that PostgreSQL did not have a moment ago. For a second they are refused without another look-up.
//
// Not thread-safe. REQUIRES: `now` never decreases.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace sluice::server::auth {

class MissedIds {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::seconds kFor{1};
  static constexpr std::size_t kMaxIds = 10'000;  // with more, the oldest is forgotten early

  void add(std::string_view id, Time now) {
    forget(now);
    if (!ids_.emplace(id).second) return;
    by_time_.emplace_back(now + kFor, id);
    if (ids_.size() > kMaxIds) forget_oldest();
  }

  bool contains(std::string_view id, Time now) {
    forget(now);
    return ids_.contains(std::string(id));
  }

 private:
  void forget(Time now) {
    while (!by_time_.empty() && by_time_.front().first <= now) forget_oldest();
  }
  void forget_oldest() {
    ids_.erase(by_time_.front().second);
    by_time_.pop_front();
  }

  std::unordered_set<std::string> ids_;
  std::deque<std::pair<Time, std::string>> by_time_;  // when each of ids_ is forgotten; the oldest first
};

}  // namespace sluice::server::auth
