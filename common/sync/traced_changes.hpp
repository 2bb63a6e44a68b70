// The traces of changes that are told, or fetched, together: by their `traceparent` (W3C Trace Context).
//
// A value; thread safety: none. Its size is bounded: the oldest changes are dropped, and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice::sync {

class TracedChanges {
 public:
  static constexpr std::size_t kMostEarlier = 32;

  TracedChanges() = default;
  explicit TracedChanges(std::string traceparent) { add(std::move(traceparent)); }

  // A change that is newer than all others. "" is no traced change.
  void add(std::string traceparent) {
    if (traceparent.empty()) return;
    if (!newest_.empty()) earlier_.push_back(std::move(newest_));
    newest_ = std::move(traceparent);
    if (earlier_.size() <= kMostEarlier) return;
    earlier_.erase(earlier_.begin());
    ++dropped_;
  }
  void add(const TracedChanges& newer) {
    dropped_ += newer.dropped_;
    for (const std::string& each : newer.earlier_) add(each);
    add(newer.newest_);
  }
  void add_dropped(std::int64_t count) { dropped_ += count; }
  void clear() { *this = TracedChanges(); }

  bool empty() const { return newest_.empty(); }
  const std::string& newest() const { return newest_; }                 // "": there is none
  const std::vector<std::string>& earlier() const { return earlier_; }  // the oldest first
  std::int64_t dropped() const { return dropped_; }                     // older than those

  bool operator==(const TracedChanges&) const = default;

 private:
  std::string newest_;
  std::vector<std::string> earlier_;
  std::int64_t dropped_ = 0;
};

}  // namespace sluice::sync
