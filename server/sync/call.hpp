// One request of policy sync between its arrival and its answer: its parsed content and its reply object.
//
// Thread: the loop.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/http/server.hpp"
#include "server/sync/agent_authenticator.hpp"
#include "server/sync/request.hpp"

namespace sluice::server::sync {

struct SyncCall {
  enum class DatabaseQuery : std::uint8_t { not_sent, pending, done, failed };
  // The object through which the request is answered. Admission: the body has not been read yet.
  using Where = std::variant<sluice::http::Reply, sluice::http::Admission>;

  SyncCall(boost::asio::io_context& loop, Where its_answer) : answer(std::move(its_answer)), timer(loop) {}

  // Copies all parts of the request except the body out of the connection's buffers. Throws Refusal.
  void read(const sluice::http::Request& request);

  Where answer;
  SyncRoute route = SyncRoute::snapshot;
  bool announced_is_foreign = false;  // the announced position is not part of PostgreSQL's history
  Positions positions;
  AgentAuthenticator::Credentials credentials;
  std::string agent_id;
  std::string request_id;
  std::string body;
  bool gzip = false;
  DatabaseQuery query = DatabaseQuery::not_sent;  // whether this request has queried PostgreSQL
  boost::asio::steady_timer timer;                // ends the wait for that query
};

}  // namespace sluice::server::sync
