// Looks up tokens that are not in memory. A look-up is one read of everything that is new in PostgreSQL (sync/feed). It
// serves all requests that wait when it begins, so a flood of unknown tokens costs PostgreSQL no more than one of them
// does: at most 20 look-ups a second.
//
// Thread: the event loop's; any thread may read the statistics.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace sluice::server::auth {

class TokenLookups {
 public:
  using Done = std::function<void(bool succeeded)>;
  // Begins a read after the call, and calls `done` on the loop when the memory has what was read.
  using Read = std::function<void(Done done)>;

  static constexpr std::chrono::milliseconds kPace{50};  // from the beginning of a look-up to that of the next
  static constexpr std::size_t kMaxWaiting = 50'000;     // requests

  TokenLookups(boost::asio::io_context& loop, Read read) : loop_(loop), read_(std::move(read)), timer_(loop) {}

  // Calls `done` after a look-up that begins after this call; done(false) if PostgreSQL cannot be read, or if too many
  // requests wait. Never from inside request().
  void request(Done done);

  struct Statistics {
    std::atomic<std::uint64_t> succeeded{0};
    std::atomic<std::uint64_t> failed{0};
  };
  const Statistics& statistics() const { return statistics_; }

 private:
  void begin_when_due();
  void begin();

  boost::asio::io_context& loop_;
  const Read read_;
  boost::asio::steady_timer timer_;
  std::vector<Done> waiting_;  // for the next look-up
  bool scheduled_ = false;     // the timer runs, or a look-up does
  std::chrono::steady_clock::time_point not_before_{};
  Statistics statistics_;
};

}  // namespace sluice::server::auth
