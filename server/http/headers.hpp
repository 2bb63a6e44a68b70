// The headers that all routes share.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace sluice::server::http {

// Every answer has these.
inline constexpr std::string_view kCommonHeaders = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";

// The caller's X-Request-Id where it is 1 to 128 of A-Z a-z 0-9 . _ : -, else a new random one.
std::string request_id_of(std::string_view given);

// All headers of an answer: `own`, which are whole lines, the request's id, and the common ones.
std::string answer_headers(std::string_view own, std::string_view request_id);

}  // namespace sluice::server::http
