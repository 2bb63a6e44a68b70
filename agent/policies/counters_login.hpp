// The login to the counters' Redis, as the server hands it out: fetched at the start, every few minutes, and when Redis
// has refused it; kept in a file (mode 0600, replaced as a whole) that the Redis client reads at each connect. An agent
// that starts without its server finds the one from before there.
//
// Never logged. Thread: the io_context's; it may wait for the disk.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "agent/follow/alarm.hpp"
#include "agent/follow/server_link.hpp"
#include "common/base/backoff.hpp"
#include "common/base/error.hpp"
#include "common/http_client/client.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::agent::policies {

class CountersLogin {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::minutes kEvery{5};
  static constexpr std::chrono::seconds kAgain{10};  // at least, between two that Redis has asked for

  CountersLogin(boost::asio::io_context& context, http_client::Options server, std::string agent_id,
                follow::ServerLink::Token token, std::string file, telemetry::Log& log);

  void start();
  // Redis did not take the login, or there was none.
  void refused();
  void stop();

  // What is degraded: the last attempt has failed.
  std::optional<std::string> problem() const;

 private:
  void fetch();
  void take(const Result<http_client::Response>& answer);
  Result<> keep(const http_client::Response& answer);
  void fail(Error why);

  follow::ServerLink link_;
  http_client::Client client_;
  const std::string file_;
  telemetry::Log& log_;
  Backoff backoff_;
  follow::Alarm alarm_;
  Time due_ = Time::max();
  Time asked_at_ = Time::min();
  std::string kept_;  // what the file holds; "": not known
  std::optional<Error> error_;
};

}  // namespace sluice::agent::policies
