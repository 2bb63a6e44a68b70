// Connection URLs of PostgreSQL, parsed by libpq: "postgresql://…" or "host=… user=…".
//
// Thread safety: pure functions. No error text contains a password.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::server::postgres {

// Returns an error text if libpq does not accept the URL, else nullopt.
std::optional<std::string> url_fault(const std::string& url);

// The role and the password in the URL; "" if the URL does not name them.
std::string url_user(const std::string& url);
std::string url_password(const std::string& url);

// Returns the URL's connection parameters ("host='…' user='…'"), with the parameter `name` set to `value`. REQUIRES: a
// valid URL.
std::string with_parameter(const std::string& url, std::string_view name, std::string_view value);
// The same, but returns the URL unchanged if it already sets the parameter `name`.
std::string with_default(const std::string& url, std::string_view name, std::string_view value);

}  // namespace sluice::server::postgres
