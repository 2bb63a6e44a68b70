// The open event streams of the fleet (GET /v1/admin/fleet/events).
//
// A stream repeats its call every second: so its token, session, permission and scope are checked as those of any call,
// and a stream ends within seconds of them. While PostgreSQL cannot be reached, a stream stays open, says that its data
// is old, and sends nothing else. A reader that takes longer than the server's write time-out for one piece is cut off.
//
// Thread: the server's loop; any thread may read the statistics.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "server/admin/call.hpp"
#include "server/admin/pending_call.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {

class EventStreams {
 public:
  static constexpr std::chrono::milliseconds kRepeatEvery{1'000};
  static constexpr std::chrono::seconds kHeartbeatEvery{5};  // of silence
  static constexpr std::size_t kMax = 200;
  static constexpr std::size_t kMaxPerToken = 20;  // its sessions' among them

  using Repeat = std::function<void(std::shared_ptr<PendingCall>)>;

  EventStreams(boost::asio::io_context& loop, Repeat repeat);
  ~EventStreams();
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  // Returns why no stream was opened: then the call can still be answered. REQUIRES: `answer` is that of `pending`, and
  // has a fleet.
  std::optional<http::Refusal> open(PendingCall& pending, const FinishedAnswer& answer);

  // Ends all streams, because the server drains. No stream opens any more.
  void end();

  struct Statistics {
    std::atomic<std::int64_t> open{0};
    std::atomic<std::uint64_t> refused{0};  // over a limit
    std::atomic<std::uint64_t> ended{0};    // by the server: the caller may no longer read
  };
  const Statistics& statistics() const { return statistics_; }

 private:
  class Stream;

  std::optional<http::Refusal> limit_reached(const std::string& token_id);
  void remove(Stream& stream);

  boost::asio::io_context& loop_;
  const Repeat repeat_;
  std::map<Stream*, std::shared_ptr<Stream>> streams_;
  std::map<std::string, std::size_t, std::less<>> by_token_;
  bool ended_ = false;
  Statistics statistics_;
};

}  // namespace sluice::server::admin
