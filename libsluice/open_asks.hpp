// What a lane has asked Redis and has no answer to, the oldest first.
//
// An answer can be lost, because an allocation failed on the loop. Then the ask is given up: whoever waits for it gets
// a status instead. Redis may still answer to an ask that was given up, so it lives until the lane closes.
#pragma once

#include <cstdint>

#include <boost/intrusive/list.hpp>

#include "sluice/engine.hpp"

namespace sluice::lib {

// Thread: the loop's. Allocates nothing.
class OpenAsks {
 public:
  class Ask : public boost::intrusive::list_base_hook<> {
   public:
    virtual ~Ask() = default;
    // Calls lose(), and tells whoever waits why there is no answer.
    virtual void give_up(v1::Status why) noexcept = 0;

   private:
    friend class OpenAsks;
    std::uint64_t asked_at_ = 0;  // the tick
  };

  // `patience`: how many ticks Redis may be asked at most.
  explicit OpenAsks(std::uint64_t patience) : patience_(patience) {}

  void add(Ask& ask) noexcept {
    ask.asked_at_ = ticks_;
    open_.push_back(ask);
  }
  // REQUIRES, for both: `ask` was added, and neither removed nor lost.
  void remove(Ask& ask) noexcept { open_.erase(open_.iterator_to(ask)); }  // Redis has answered, or was not asked
  void lose(Ask& ask) noexcept {
    remove(ask);
    lost_.push_back(ask);
  }

  void give_up_all(v1::Status (*why)() noexcept) noexcept {
    while (!open_.empty()) open_.front().give_up(why());
  }
  // REQUIRES: Redis cannot answer any more, and each was made by `new`.
  void delete_lost() noexcept {
    lost_.clear_and_dispose([](Ask* each) { delete each; });
  }

  // Returns true if the oldest has been asked for longer than the patience: its answer was lost.
  bool tick() noexcept {
    ++ticks_;
    return !open_.empty() && ticks_ - open_.front().asked_at_ > patience_;
  }

 private:
  const std::uint64_t patience_;
  std::uint64_t ticks_ = 0;
  boost::intrusive::list<Ask> open_;
  boost::intrusive::list<Ask> lost_;
};

}  // namespace sluice::lib
