// The request id that a caller chooses (X-Request-Id). It goes into logs and answers, so it must be short and plain.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace sluice::http {

inline constexpr std::string_view kRequestIdField = "x-request-id";
inline constexpr std::size_t kMaxRequestId = 128;  // characters

// Whether `id` is 1 to 128 characters of A-Z a-z 0-9 . _ : -.
constexpr bool is_request_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxRequestId && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == ':' || c == '-';
  });
}

// A random id, for a request whose caller gives none that is_request_id() takes.
std::string make_request_id();

}  // namespace sluice::http
