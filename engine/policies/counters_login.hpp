// Fetches the login to Redis, a user and a password, from the server: at the start, every 5 min, and when Redis rejects
// the login. The Redis client reads the login from a file of mode 0600. The login is never logged.
//
// The server may give a Redis user of the token's own, which calls functions and brings no scripts. Such a login has a
// generation, which reports carry: when all agents use the new one, the server ends the old password.
//
// Thread: the io_context's. Writing the login file blocks it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "common/base/backoff.hpp"
#include "common/base/error.hpp"
#include "common/http_client/client.hpp"
#include "common/telemetry/log.hpp"
#include "engine/follow/deadline_timer.hpp"
#include "engine/follow/server_link.hpp"

namespace sluice::policies {

class CountersLogin {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::minutes kEvery{5};
  // The shortest time between the starts of two fetches when Redis rejects the login.
  static constexpr std::chrono::seconds kMinInterval{10};

  CountersLogin(boost::asio::io_context& context, http_client::Options server, std::string agent_id,
                follow::ServerLink::Token token, std::string file, std::function<void()> changed, telemetry::Log& log);

  void start();
  // Call this when Redis has rejected the login, or the login file could not be read. Fetches the login again.
  void login_rejected();
  void stop();

  // The generation of the login in the file, or "" if it has none. kUnknownGeneration until the server has answered, if
  // there is a login from an earlier run.
  std::string generation() const;

  static constexpr std::string_view kUnknownGeneration = "unknown";

  // A sentence for /readyz if the last fetch failed, else nullopt.
  std::optional<std::string> problem() const;

 private:
  void fetch();
  void on_reply(const Result<http_client::Response>& answer);
  Result<> store(const http_client::Response& answer);
  void fail(Error why);

  follow::ServerLink link_;
  http_client::Client client_;
  const std::string file_;
  const std::function<void()> changed_;  // called when the file has changed
  telemetry::Log& log_;
  Backoff backoff_;
  follow::DeadlineTimer timer_;
  Time due_ = Time::max();         // start of the next fetch; max() while a fetch runs
  Time fetched_at_ = Time::min();  // start of the last fetch
  std::string stored_;             // content of the file, or "" if it is unknown
  std::string generation_;         // of stored_
  std::optional<Error> error_;
};

}  // namespace sluice::policies
