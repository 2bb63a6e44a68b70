// Connection URLs of PostgreSQL, parsed by libpq: "postgresql://…" or "host=… user=…".
//
// No error text contains a password.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::server::postgres {

// nullopt: libpq accepts the URL.
std::optional<std::string> url_fault(const std::string& url);

// "" if the URL has none.
std::string url_user(const std::string& url);
std::string url_password(const std::string& url);
std::string url_key_password(const std::string& url);  // of the client certificate's key: sslpassword

// Where libpq would connect: what the URL leaves out comes from the environment (PGHOST, PGHOSTADDR, PGSSLMODE, …),
// from the service file, and from libpq's own defaults.
struct Route {
  std::vector<std::string> hosts;  // names or addresses; without Unix sockets
  std::string sslmode;             // "prefer" unless somebody says otherwise

  // Whether libpq gives up rather than sending anything without TLS.
  bool demands_tls() const { return sslmode == "require" || sslmode == "verify-ca" || sslmode == "verify-full"; }
};
// nullopt: libpq cannot find out, for example because it does not find the service. It would not connect either.
// Connects to nothing. REQUIRES: a valid URL.
std::optional<Route> route_of(const std::string& url);

// Returns the URL's connection parameters ("host='…' user='…'"), with `name` set to `value`. REQUIRES: a valid URL.
std::string with_parameter(const std::string& url, std::string_view name, std::string_view value);
// Like with_parameter(), but returns the URL unchanged if it already sets the parameter `name`.
std::string with_default(const std::string& url, std::string_view name, std::string_view value);

}  // namespace sluice::server::postgres
