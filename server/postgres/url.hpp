// Connection URLs of PostgreSQL, parsed by libpq: "postgresql://…" or "host=… user=…".
//
// No error text contains a password.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::server::postgres {

// nullopt: libpq accepts the URL.
std::optional<std::string> url_fault(const std::string& url);

// "" if the URL has none.
std::string url_user(const std::string& url);
std::string url_password(const std::string& url);

// Returns the URL's connection parameters ("host='…' user='…'"), with `name` set to `value`. REQUIRES: a valid URL.
std::string with_parameter(const std::string& url, std::string_view name, std::string_view value);
// Like with_parameter(), but returns the URL unchanged if it already sets the parameter `name`.
std::string with_default(const std::string& url, std::string_view name, std::string_view value);

}  // namespace sluice::server::postgres
