// The table of all routes of the admin API.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "server/admin/call.hpp"

namespace sluice::server::admin {

struct Route {
  std::string_view method;
  std::string_view path;  // a template: "/v1/admin/plans/{id}"
  auth::Permission permission;
  auth::Level level;  // the smallest scope that the caller must have
  RouteHandler handler;
  std::string_view parameters = "";  // names allowed in the query, with commas between
  std::size_t max_body = 1 << 20;    // bytes
  bool one_snapshot = false;         // all reads of the transaction see the same state of the database
  bool takes_yaml = false;
  bool takes_text = false;  // any text, whatever type of text the call names
  bool open = false;        // needs no token: for the public tenant of the playground, with rates for each address
  bool answered_by_agent = false;  // may charge a check, so it takes no Idempotency-Key
  bool asks_agents = false;        // the call is repeated until they have answered, so an Idempotency-Key has no effect

  // Also true for a POST that changes nothing, such as /v1/admin/validate.
  bool changes() const { return method != "GET"; }
  bool takes_idempotency_key() const { return changes() && !answered_by_agent && !asks_agents && !open; }
};

std::span<const Route> routes();
// "METHOD /template". REQUIRES: `route` is one of routes().
std::string_view route_name(const Route& route);

}  // namespace sluice::server::admin
