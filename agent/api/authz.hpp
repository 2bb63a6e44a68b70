// Makes a check of the request that a proxy asks about, and reads such a request out of a sub-request (/v1/authz).
// agent/grpc/authz_check.hpp reads it out of a message of Envoy.
//
// Over HTTP a proxy asks in one of two ways:
//   /v1/authz         the original request is in headers: X-Forwarded-Method, -Uri, -Host, or X-Original-Method, -URI,
//                     -URL. `?headers=forwarded` or `?headers=original` says which; without it, the one that is there.
//   /v1/authz/PATH    the original request is the sub-request itself: its method, PATH and Host.
// In both, X-Forwarded-For has the client. Headers of peers that are not trusted are ignored.
//
// Whatever a client of the proxy can choose (a long or odd path, address, header) is never a fault: a proxy may let
// requests pass when its sub-request fails, and then a client could choose that. Faults are those of the proxy's
// configuration.
// Thread: one worker's.
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/api/forwarded.hpp"
#include "common/domain/check_request.hpp"
#include "common/http/message.hpp"

namespace sluice::agent::api {

inline constexpr std::string_view kAuthzPath = "/v1/authz";
inline constexpr std::string_view kAuthzPrefix = "/v1/authz/";

// A header whose value becomes a field of the check.
struct AuthzMapping {
  std::string header;  // in lower case
  bool is_plan = false;
  DimensionRef dimension;  // unless is_plan
};
inline constexpr std::size_t kMaxAuthzMappings = 32;

// Reads a list such as "x-user-id=subject,x-plan=plan_id,x-team=tag.team"; "" is the empty list. The error completes
// "the flag …".
std::expected<std::vector<AuthzMapping>, std::string> parse_authz_map(std::string_view list);

struct AuthzOptions {
  TrustedProxies proxies;
  std::vector<AuthzMapping> map;
};

// The request that a proxy asks about, however it asks.
struct ProxiedRequest {
  std::string_view method;  // method and path are "" if the proxy asks about a connection
  std::string_view path;    // with its query
  std::string_view host;
  std::optional<IpAddress> client;
  std::span<const std::string_view> mapped;  // the values for AuthzOptions::map, in its order; "": none
};

// Fills `out` with views into `text`, which the caller keeps as long as `out`. In the steady state it allocates
// nothing. REQUIRES: `mapped` is not longer than `map`; `out` is clear.
void make_check(std::span<const AuthzMapping> map, const ProxiedRequest& request, std::string& text, CheckRequest& out);

// The same for a sub-request over HTTP. Returns the faults.
std::vector<RequestFault> read_authz(const AuthzOptions& options, const http::Request& http, const Peer& peer,
                                     std::string& text, CheckRequest& out);

}  // namespace sluice::agent::api
