// Passes checks of the playground to its agent, many at a time, each on a kept connection of its own.
//
// Invariants: at most kMost checks are in flight, and at most kMostOfCaller of one caller; others are refused at once,
// so nothing waits in a queue. Each check is answered within kPatience and the time to connect.
// A check is never sent again, because the agent may have charged it.
// Thread: the event loop's; statistics() from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "common/http_client/client.hpp"
#include "common/telemetry/log.hpp"
#include "server/http/answer.hpp"
#include "server/playground/check_answer.hpp"
#include "server/playground/setup.hpp"

namespace sluice::server::playground {

class AgentCalls {
 public:
  static constexpr std::size_t kMost = 100;
  static constexpr std::size_t kMostOfCaller = 25;
  static constexpr std::chrono::milliseconds kConnect{2'000};
  static constexpr std::chrono::milliseconds kPatience{10'000};

  using Time = std::chrono::steady_clock::time_point;
  using Done = std::function<void(http::Answer)>;

  struct Statistics {
    std::atomic<std::uint64_t> answered{0};
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> refused{0};
    std::atomic<std::size_t> in_flight{0};
  };

  AgentCalls(boost::asio::io_context& loop, const Setup& setup, telemetry::Log& log);
  ~AgentCalls();  // answers nobody any more
  AgentCalls(const AgentCalls&) = delete;

  // Calls `done` once, possibly before it returns. `arrived`: when the caller's request did.
  void ask(const AgentCheck& check, const std::string& request_id, Time arrived, Done done);

  const Statistics& statistics() const { return statistics_; }

 private:
  struct Place;

  Place& take_place(const std::string& caller);
  void finish(Place& place, const Result<http_client::Response>& result);
  http::Answer answer_of(const Place& place, const Result<http_client::Response>& result);
  void note(const Result<http_client::Response>& result);

  boost::asio::io_context& loop_;
  const http_client::Options options_;
  telemetry::Log& log_;
  Statistics statistics_;
  std::vector<std::unique_ptr<Place>> places_;
  std::vector<Place*> idle_;  // the most recently used last
  std::unordered_map<std::string, std::size_t> of_caller_;
  bool away_ = false;  // the last check got no answer
};

}  // namespace sluice::server::playground
