// One request of policy sync between its arrival and its answer.
//
// Thread: the loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/http/server.hpp"
#include "common/tracing/tracer.hpp"
#include "server/http/request_memory.hpp"
#include "server/sync/agent_authenticator.hpp"
#include "server/sync/request.hpp"

namespace sluice::server::sync {

struct SyncCall {
  enum class DatabaseQuery : std::uint8_t { not_sent, pending, done, failed };
  // An Admission if the body is large: the server authenticates the agent before it reads such a body.
  using Responder = std::variant<sluice::http::Reply, sluice::http::Admission>;

  SyncCall(boost::asio::io_context& loop, Responder responder) : answer(std::move(responder)), timer(loop) {}

  // Copies the data of the request, except its body, out of the connection's buffers. Throws Refusal.
  void read(const sluice::http::Request& request);

  Responder answer;
  SyncRoute route = SyncRoute::snapshot;
  bool routed = false;  // `route` is what the request named
  const std::chrono::steady_clock::time_point arrived = std::chrono::steady_clock::now();
  bool announced_is_foreign = false;  // positions.announced is not part of PostgreSQL's history
  Positions positions;
  AgentAuthenticator::Credentials credentials;
  std::string agent_id;
  std::string request_id;
  std::string body;
  http::RequestMemory::SharePtr memory = {};  // what the body has set aside
  bool gzip = false;
  bool reads_newer_fields = false;
  bool reads_whatif = false;     // only for SyncRoute::watch
  bool calls_functions = false;  // only for SyncRoute::counters
  DatabaseQuery query = DatabaseQuery::not_sent;
  tracing::ActiveSpan span;         // empty if the request is not traced
  boost::asio::steady_timer timer;  // limits the time of the database query
};

}  // namespace sluice::server::sync
