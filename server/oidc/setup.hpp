// What the flags about OpenID Connect set up. Immutable after the start.
#pragma once

#include <string>

#include "common/base/error.hpp"
#include "server/oidc/provider_endpoint.hpp"

namespace sluice::server::oidc {

inline constexpr std::string_view kCallbackPath = "/v1/console/oidc/callback";

struct Setup {
  Endpoint issuer;  // its text is what the provider calls itself
  std::string client_id;
  std::string secret_file;  // "": a public client
  std::string groups_claim;
  std::string scopes;        // with spaces between
  std::string name;          // "Sign in with NAME"
  std::string ca_file;       // PEM; "": the authorities of the operating system
  std::string redirect_uri;  // --console-url and kCallbackPath
};

// The client's secret, "" for a public client. Read at each use, so that a renewed file counts. Error: `secret`.
Result<std::string> read_secret(const std::string& file);

}  // namespace sluice::server::oidc
