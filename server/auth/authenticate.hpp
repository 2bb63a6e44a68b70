// Authenticates a caller of the admin API: turns its bearer token into a principal.
#pragma once

#include <optional>
#include <string_view>

#include "server/auth/roles.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::auth {

// Returns the token in `Authorization: Bearer …`, or "" if the header has another form.
std::string_view bearer(std::string_view authorization);

// Returns the principal of `Authorization: Bearer sla_…`, or nullopt for a token that is malformed, unknown, expired or
// revoked. (The API answers all four the same way.) Queries PostgreSQL only if the token's form and checksum are
// correct. Takes equally long whether or not the token's id exists. Does not enter the principal's scope
// (Transaction::enter): the code that calls this function must do that next. `now_us`: Unix time in µs.
std::optional<Principal> authenticate(postgres::Transaction& tx, std::string_view authorization, std::int64_t now_us);

}  // namespace sluice::server::auth
