// Keeps the newest checks of one worker in a fixed amount of memory. When it is full, the oldest fall out, and are
// counted by tenant and minute.
//
// Thread safety: one worker records; any thread may read. Each ring has a mutex of its own, so workers never wait for
// each other. A reader holds it for one piece of at most kPieceBytes at a time.
// Invariant: [tail_, head_) holds whole records. Positions only grow; a position modulo the size is a place in the
// memory. A record never crosses the end of the memory: a head with `bytes` 0 fills the rest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/whatif/record.hpp"

namespace sluice::whatif {

// Requests of one tenant that are no longer in the ring.
struct Fallen {
  std::int64_t requests = 0;           // of the asked minutes
  std::int64_t newest_us = INT64_MIN;  // the time of the newest of all of them; INT64_MIN: none has fallen out
};

class RequestRing {
 public:
  static constexpr std::size_t kMinBytes = 4 * kMaxRecordBytes;
  static constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

  // `bytes`: at least kMinBytes; rounded down to a multiple of 8.
  explicit RequestRing(std::size_t bytes);

  // Sets `head.bytes`. Allocates nothing.
  void record(RecordHead head, const CheckRequest& request);

  // Appends the records of the tenant from `from_us` on and before `to_us` to `out`, in their order.
  void copy(std::uint64_t tenant, std::int64_t from_us, std::int64_t to_us, std::vector<char>& out) const;

  // Counts whole minutes: also those that the asked time only touches.
  Fallen fallen(std::uint64_t tenant, std::int64_t from_us, std::int64_t to_us) const;

 private:
  // The requests of one tenant and minute that fell out.
  struct Gone {
    std::uint64_t tenant = 0;
    std::int64_t minute = 0;
    std::int64_t requests = 0;  // 0: the place is free
    std::int64_t newest_us = INT64_MIN;
  };
  static constexpr std::size_t kGone = 512;
  static constexpr std::size_t kProbes = 8;

  char* place(std::uint64_t position) { return memory_.data() + position % memory_.size(); }
  const char* place(std::uint64_t position) const { return memory_.data() + position % memory_.size(); }
  std::size_t room_before_end(std::uint64_t position) const {
    return memory_.size() - static_cast<std::size_t>(position % memory_.size());
  }
  void make_room(std::size_t bytes);
  void drop_oldest();
  void count_gone(const RecordHead& head);
  std::uint64_t end() const;
  bool copy_piece(std::uint64_t& position, std::uint64_t end, std::vector<char>& piece) const;

  std::vector<char> memory_;

  mutable std::mutex mutex_;  // guards all below, and the contents of the memory
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
  std::array<Gone, kGone> gone_{};
  std::int64_t forgotten_us_ = INT64_MIN;  // the newest time in places of gone_ that were used again
};

}  // namespace sluice::whatif
