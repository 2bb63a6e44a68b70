// What the server sends to the provider: the address where a browser signs in, and the token request.
//
// Pure functions: any thread.
#pragma once

#include <string>
#include <string_view>

#include "common/http_client/client.hpp"
#include "server/oidc/attempt.hpp"
#include "server/oidc/provider.hpp"
#include "server/oidc/setup.hpp"

namespace sluice::server::oidc {

std::string authorization_url(const Provider& provider, const Setup& setup, const Attempt& attempt);

// `code`: as the provider gave it to the browser. `secret`: "" for a public client.
http_client::Request token_request(const Provider& provider, const Setup& setup, const Attempt& attempt,
                                   std::string_view code, std::string_view secret);

}  // namespace sluice::server::oidc
