// Authenticates a caller of the admin API: turns its bearer token into a principal.
#pragma once

#include <cstdint>
#include <expected>
#include <string_view>

#include "common/domain/credential.hpp"
#include "server/auth/roles.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::auth {

// Returns "" if the header has another form than `Bearer …`.
std::string_view bearer(std::string_view authorization);

// What is wrong with the header. REQUIRES: it holds no well-formed admin token.
CredentialFault fault_of_header(std::string_view authorization);

// Queries PostgreSQL only if the token's
// form and checksum are correct. Takes equally long whether or not the token's id exists. Does not enter the
// principal's scope (Transaction::enter). `now_us`: Unix time in µs.
std::expected<Principal, CredentialFault> authenticate(postgres::Transaction& tx, std::string_view authorization,
                                                       std::int64_t now_us);

// The principal of a token whose holder was authenticated otherwise, if the token is live. REQUIRES: `tx` sees the
// token (Transaction::present).
std::expected<Principal, CredentialFault> principal_of_id(postgres::Transaction& tx, std::string_view token_id,
                                                          std::int64_t now_us);

}  // namespace sluice::server::auth
