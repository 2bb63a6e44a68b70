// The headers that every answer has: the request id and the common headers.
#pragma once

#include <string>
#include <string_view>

namespace sluice::server::http {

inline constexpr std::string_view kCommonHeaders = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";

// Returns the caller's X-Request-Id if it is_request_id(), else a new random id.
std::string request_id_of(std::string_view given);

// Returns `own`, the request id and the common headers. `own`: the headers that only this answer has, complete lines.
std::string answer_headers(std::string_view own, std::string_view request_id);

}  // namespace sluice::server::http
