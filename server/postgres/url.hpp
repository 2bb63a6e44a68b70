// Connection URLs of PostgreSQL, as libpq reads them: "postgresql://…" or "host=… user=…".
//
// Thread safety: pure functions. No text made here shows a password.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::server::postgres {

// What is wrong with a URL, as libpq sees it; nothing for a good one.
std::optional<std::string> url_fault(const std::string& url);

// The role it names, "" where it leaves that to the environment.
std::string url_user(const std::string& url);
std::string url_password(const std::string& url);

// The URL with one more parameter; one that it has already is replaced. REQUIRES: a good URL.
std::string with_parameter(const std::string& url, std::string_view name, std::string_view value);
// The same, but one that it has already stays as it is.
std::string with_default(const std::string& url, std::string_view name, std::string_view value);

}  // namespace sluice::server::postgres
