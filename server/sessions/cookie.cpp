#include "server/sessions/cookie.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/core.h>

#include "common/base/crypto.hpp"

namespace sluice::server::sessions {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kSecretDigits = 43;
constexpr std::size_t kIdDigits = 16;
// No Max-Age: the cookie ends with the browser, and the server ends the session.
constexpr std::string_view kAttributes = "HttpOnly; SameSite=Strict; Path=/";

bool is_secret(std::string_view text) { return text.size() == kSecretDigits && is_base62(text); }

std::string cookie_line(std::string_view value, std::string_view more, bool secure) {
  return fmt::format("Set-Cookie: {}={}; {}{}{}\r\n", cookie_name(secure), value, kAttributes, more,
                     secure ? "; Secure" : "");
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string make_secret() {
  std::array<std::uint8_t, kSecretBytes> bytes;
  random_bytes(bytes);
  return to_base62(bytes, kSecretDigits);
}

std::string hash_of(std::string_view secret) { return to_hex(sha256(secret)); }

std::string id_of(std::string_view hash) { return std::string(hash.substr(0, kIdDigits)); }

std::string_view cookie_name(bool secure) { return secure ? "__Host-sluice_session" : "sluice_session"; }

std::string set_cookie(std::string_view secret, bool secure) { return cookie_line(secret, "", secure); }

std::string clear_cookie(bool secure) { return cookie_line("", "; Max-Age=0", secure); }

Presented find_session(std::string_view cookie_header, bool secure) {
  std::string_view found;
  while (!cookie_header.empty()) {
    const std::size_t end = std::min(cookie_header.find(';'), cookie_header.size());
    const std::string_view pair = trimmed(cookie_header.substr(0, end));
    cookie_header.remove_prefix(std::min(end + 1, cookie_header.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || pair.substr(0, equals) != cookie_name(secure)) continue;
    if (!found.empty()) return {};
    found = pair.substr(equals + 1);
  }
  if (!is_secret(found)) return {};
  return {.secret = std::string(found), .hash = hash_of(found)};
}

std::string csrf_token(std::string_view secret) {
  return to_base64url(hmac_sha256(as_bytes(secret), "sluice csrf token"));
}

bool is_csrf_token(std::string_view secret, std::string_view presented) {
  return constant_time_equal(as_bytes(csrf_token(secret)), as_bytes(presented));
}

}  // namespace sluice::server::sessions
