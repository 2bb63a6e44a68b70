// Who is calling: from a bearer token to a principal.
#pragma once

#include <optional>
#include <string_view>

#include "server/auth/roles.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::auth {

// What stands behind the scheme in `Authorization: Bearer …`; "" where that is not its form.
std::string_view bearer(std::string_view authorization);

// Of `Authorization: Bearer sla_…`: nothing for a token that is malformed, unknown, expired or revoked (the caller says
// one thing for all of them). Asks PostgreSQL only where form and checksum are right; compares in constant time, and
// does the same work whether the id exists or not. The transaction is in no scope after it: enter() the principal's.
std::optional<Principal> authenticate(postgres::Transaction& tx, std::string_view authorization, std::int64_t now_us);

}  // namespace sluice::server::auth
