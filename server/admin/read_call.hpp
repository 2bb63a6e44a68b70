// Reads a request into a Call. Refuses what can be refused without PostgreSQL and without knowing the caller: unknown
// paths, methods, query parameters and types of bodies, malformed Idempotency-Keys, calls that another site makes.
#pragma once

#include "common/http/message.hpp"
#include "server/admin/call.hpp"
#include "server/admin/route_match.hpp"
#include "server/sessions/request_check.hpp"

namespace sluice::server::admin {

// Sets what `call` has of the request. `found`: the request's route, or the methods that its path accepts instead.
// Throws Refusal.
void read_call(const sluice::http::Request& request, const sessions::Site& site, RouteMatch found, Call& call);

}  // namespace sluice::server::admin
