// Decides whether a request with a session's cookie may have been made by a page of another site. Browsers send the
// cookie by themselves, so the cookie alone does not prove that the person who signed in wants the call.
//
// Pure functions: any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/http/refusal.hpp"
#include "server/sessions/cookie.hpp"

namespace sluice::server::sessions {

// How browsers reach this server.
struct Site {
  std::string origin;   // of --console-url: "https://sluice.example.com"; "": any that equals the request's Host
  bool secure = false;  // browsers reach the server over TLS
};

// The headers that decide, "" when absent.
struct BrowserHeaders {
  std::string_view fetch_site;  // Sec-Fetch-Site; pages cannot set it
  std::string_view origin;
  std::string_view host;
  std::string_view csrf_token;  // X-CSRF-Token
};

// True if the browser says so. Old browsers send neither Sec-Fetch-Site nor, with GET, Origin.
bool from_another_site(const BrowserHeaders& headers, const Site& site);

// Returns why the call is refused, nullopt if it is not. `safe`: the method changes nothing. REQUIRES:
// !session.empty().
std::optional<http::Refusal> request_fault(const Presented& session, const BrowserHeaders& headers, const Site& site,
                                           bool safe);

}  // namespace sluice::server::sessions
