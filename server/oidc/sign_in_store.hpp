// Turns a person whom the provider has named into a session, in one transaction that the audit trail records.
//
// Throws what libpqxx throws. Thread: that of the connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <pqxx/connection>

#include "server/oidc/id_token.hpp"
#include "server/sessions/session_store.hpp"

namespace sluice::server::oidc {

struct SignIn {
  Identity identity;
  std::string state;  // of the attempt: it becomes a session once
  std::string source;
  std::string request_id;
};

struct SignedIn {
  enum class Outcome : std::uint8_t {
    started,
    unmapped,  // no group mapping names a group of the person
    used,      // the attempt has become a session before
  };
  Outcome outcome = Outcome::unmapped;
  std::string secret = {};  // if started, for the cookie; stored nowhere
};

// `now_us`: Unix time.
SignedIn sign_in(pqxx::connection& connection, const SignIn& wanted, std::int64_t now_us);

// REQUIRES: `tx` has entered Scope::everything().
void delete_expired_sign_ins(postgres::Transaction& tx, std::int64_t now_us);

}  // namespace sluice::server::oidc
