#include "server/oidc/attempt.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/core.h>

#include "common/base/crypto.hpp"
#include "server/http/field_list.hpp"

namespace sluice::server::oidc {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kSecretDigits = 43;
constexpr std::string_view kAttributes = "HttpOnly; SameSite=Lax; Path=/";

std::string derived(const std::string& secret, std::string_view text) {
  return to_base64url(hmac_sha256(as_bytes(secret), text));
}

// The prefix __Host-: browsers take the cookie from this host over TLS only.
std::string_view cookie_name(bool secure) { return secure ? "__Host-sluice_sign_in" : "sluice_sign_in"; }

std::string cookie_line(std::string_view value, std::int64_t max_age, bool secure) {
  return fmt::format("Set-Cookie: {}={}; {}; Max-Age={}{}\r\n", cookie_name(secure), value, kAttributes, max_age,
                     secure ? "; Secure" : "");
}

std::optional<Attempt> read_cookie(std::string_view value) {
  Attempt attempt;
  attempt.secret = http::cut(value, '.');
  const std::string_view begun = http::cut(value, '.');
  const auto [end, error] = std::from_chars(begun.data(), begun.data() + begun.size(), attempt.begun_at);
  const auto target = from_base64url(value);
  if (attempt.secret.size() != kSecretDigits || !is_base62(attempt.secret) || error != std::errc{} ||
      end != begun.data() + begun.size() || !target || target->size() > kMaxReturnBytes) {
    return std::nullopt;
  }
  attempt.return_to.assign(target->begin(), target->end());
  return attempt;
}

// "" if there is none, or two: then another host of the domain may have added one.
std::string_view cookie_value(std::string_view header, bool secure) {
  std::string_view found;
  while (!header.empty()) {
    std::string_view pair = http::cut(header, ';');
    const std::string_view name = http::cut(pair, '=');
    if (name != cookie_name(secure)) continue;
    if (!found.empty()) return {};
    found = pair;
  }
  return found;
}

}  // namespace

std::string Attempt::state() const {
  return derived(secret, fmt::format("sluice oidc state {} {}", begun_at, return_to));
}
std::string Attempt::nonce() const { return derived(secret, "sluice oidc nonce"); }
std::string Attempt::verifier() const { return derived(secret, "sluice oidc verifier"); }
std::string Attempt::challenge() const { return to_base64url(sha256(verifier())); }

Attempt begin_attempt(std::string return_to, std::int64_t now_us) {
  std::array<std::uint8_t, kSecretBytes> bytes;
  random_bytes(bytes);
  return {.secret = to_base62(bytes, kSecretDigits), .begun_at = now_us / 1'000'000, .return_to = std::move(return_to)};
}

std::string attempt_cookie(const Attempt& attempt, bool secure) {
  return cookie_line(
      fmt::format("{}.{}.{}", attempt.secret, attempt.begun_at, to_base64url(as_bytes(attempt.return_to))),
      std::chrono::seconds(kPatience).count(), secure);
}

std::string clear_attempt_cookie(bool secure) { return cookie_line("", 0, secure); }

std::optional<Attempt> find_attempt(std::string_view cookie_header, std::string_view state, bool secure,
                                    std::int64_t now_us) {
  auto attempt = read_cookie(cookie_value(cookie_header, secure));
  if (!attempt || !constant_time_equal(as_bytes(attempt->state()), as_bytes(state))) return std::nullopt;
  const std::int64_t age = now_us / 1'000'000 - attempt->begun_at;
  // The clocks of two servers may differ a little.
  if (age > std::chrono::seconds(kPatience).count() || age < -std::chrono::seconds(kPatience).count()) {
    return std::nullopt;
  }
  return attempt;
}

bool may_return_to(std::string_view target, const std::function<bool(std::string_view path)>& is_view) {
  if (target.size() > kMaxReturnBytes || !target.starts_with('/') || target.starts_with("//")) return false;
  const bool plain = std::ranges::all_of(target, [](char c) { return c > ' ' && c <= '~' && c != '\\'; });
  return plain && is_view(target.substr(0, target.find_first_of("?#")));
}

}  // namespace sluice::server::oidc
