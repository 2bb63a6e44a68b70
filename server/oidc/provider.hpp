// What the provider says of itself: its discovery document (OpenID Connect Discovery 1.0), and its answers to a token
// request (RFC 6749).
//
// Pure functions: any thread. Their errors quote nothing of a document but the provider's error codes.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "server/oidc/provider_endpoint.hpp"

namespace sluice::server::oidc {

inline constexpr std::size_t kMaxDocumentBytes = 256 << 10;  // of each answer of the provider

struct Provider {
  std::string issuer;
  Endpoint authorization;
  Endpoint token;
  Endpoint keys;
  bool secret_in_body = false;          // the token endpoint takes client_secret_post, and not client_secret_basic
  bool names_issuer_in_answer = false;  // the callback has the parameter `iss` (RFC 9207)
};

// The path of the document, below the path of the issuer.
std::string discovery_target(const Endpoint& issuer);

// Errors: `document` (it is no such document, or lacks what a sign-in needs), `issuer` (it is another issuer's).
Result<Provider> read_provider(std::string_view document, std::string_view issuer);

// The ID token in the answer to a token request. Errors: `rejected` (the provider did not take the code or the secret),
// `status`, `document`.
Result<std::string> read_token_answer(unsigned status, std::string_view document);

}  // namespace sluice::server::oidc
