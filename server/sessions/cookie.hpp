// The cookie of a browser's session, and the CSRF token that belongs to it.
//
// The cookie has 256 random bits in base 62. The server stores only their hash. The CSRF token is computed from the
// secret, so it is stored nowhere, and whoever reads the database can make neither of them.
//
// Pure functions: any thread.
#pragma once

#include <string>
#include <string_view>

namespace sluice::server::sessions {

// What a request presents as its session. Empty texts: no session.
struct Presented {
  std::string secret;
  std::string hash;  // as hash_of() returns it

  bool empty() const { return secret.empty(); }
};

std::string make_secret();
// SHA-256 in hex.
std::string hash_of(std::string_view secret);
// Names a session in answers, the audit trail and logs: the first 16 digits of its hash. Opens nothing.
std::string id_of(std::string_view hash);

// `secure`: browsers reach the server over TLS only. Then the name has the prefix __Host-, with which browsers take the
// cookie from this host over TLS only.
std::string_view cookie_name(bool secure);

// Complete header lines.
std::string set_cookie(std::string_view secret, bool secure);
std::string clear_cookie(bool secure);

// Finds the session in the header Cookie. Empty if there is none, if it has another form, or if there are two: then
// another host of the domain may have added one.
Presented find_session(std::string_view cookie_header, bool secure);

std::string csrf_token(std::string_view secret);
// Compares in constant time.
bool is_csrf_token(std::string_view secret, std::string_view presented);

}  // namespace sluice::server::sessions
