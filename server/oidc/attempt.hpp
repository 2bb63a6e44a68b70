// A sign-in that one browser has begun. All that a server needs to finish it is in one cookie of that browser, so any
// server can finish what another has begun, and beginning costs PostgreSQL nothing.
//
// The cookie holds a secret of 256 random bits, when the sign-in began, and where the browser goes afterwards. `state`,
// `nonce` and the PKCE verifier are computed from the secret: whoever does not know the cookie can make none of them.
// `state` is also computed from the rest of the cookie, so nobody can change it unnoticed.
//
// Pure functions: any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::server::oidc {

inline constexpr std::chrono::minutes kPatience{10};  // from the beginning of a sign-in to its end
inline constexpr std::size_t kMaxReturnBytes = 1'024;

struct Attempt {
  std::string secret;
  std::int64_t begun_at = 0;  // Unix time in s
  std::string return_to;      // a path of the console, with its query

  std::string state() const;
  std::string nonce() const;
  std::string verifier() const;   // RFC 7636
  std::string challenge() const;  // SHA-256 of the verifier
};

Attempt begin_attempt(std::string return_to, std::int64_t now_us);

// Complete header lines. `secure`: as for the session's cookie. The cookie is SameSite=Lax, because the browser brings
// it when the provider, another site, sends it back.
std::string attempt_cookie(const Attempt& attempt, bool secure);
std::string clear_attempt_cookie(bool secure);

// The attempt of a callback. nullopt: this browser has begun none, or it is another one than `state` names, or it is
// older than kPatience.
std::optional<Attempt> find_attempt(std::string_view cookie_header, std::string_view state, bool secure,
                                    std::int64_t now_us);

// Whether a browser may be sent to `target` after it has signed in: a path of one of the console's views on this
// server, which a browser cannot read as the address of another one.
bool may_return_to(std::string_view target, const std::function<bool(std::string_view path)>& is_view);

}  // namespace sluice::server::oidc
