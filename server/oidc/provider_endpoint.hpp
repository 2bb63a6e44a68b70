// The URL of one of the provider's endpoints, split as the HTTP client needs it.
//
// Pure functions: any thread.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/http_client/url.hpp"

namespace sluice::server::oidc {

inline constexpr std::size_t kMaxUrlBytes = 2'048;

struct Endpoint {
  http_client::Url server;
  std::string target;  // path and query, at least "/"
  std::string text;    // the whole URL

  bool encrypted() const { return server.transport == http_client::Url::Transport::tls; }
};

// Reads https://HOST[:PORT][/PATH][?QUERY]. http:// only leads to this machine, because secrets go there. The text has
// no fragment, no user, and only visible ASCII characters. Error: `url`; its text completes "… must be".
Result<Endpoint> parse_endpoint(std::string_view text);

}  // namespace sluice::server::oidc
