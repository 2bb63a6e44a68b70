// The request id that a caller chooses (X-Request-Id). It goes into logs and answers, so it must be short and plain.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::http {

inline constexpr std::string_view kRequestIdField = "x-request-id";
inline constexpr std::size_t kMaxRequestId = 128;  // characters

inline constexpr auto kOfRequestIds = [] {
  std::array<bool, 256> fits{};
  for (unsigned char c = '0'; c <= '9'; ++c) fits[c] = true;
  for (unsigned char c = 'A'; c <= 'Z'; ++c) fits[c] = fits[c + ('a' - 'A')] = true;
  for (const char c : {'.', '_', ':', '-'}) fits[static_cast<unsigned char>(c)] = true;
  return fits;
}();

// Whether `id` is 1 to 128 characters of A-Z a-z 0-9 . _ : -.
constexpr bool is_request_id(std::string_view id) {
  if (id.empty() || id.size() > kMaxRequestId) return false;
  bool fits = true;
  for (const char c : id) fits &= kOfRequestIds[static_cast<unsigned char>(c)];
  return fits;
}

// A random id, for a request whose caller gives none that is_request_id() takes.
std::string make_request_id();

}  // namespace sluice::http
