#include "agent/grpc/authz_check.hpp"

#include "common/domain/credential.hpp"

namespace sluice::agent::rpc {
namespace {

constexpr std::string_view kApiKey = "x-api-key";
constexpr std::string_view kAuthorization = "authorization";

// The peer of Envoy, whom Envoy may be told by about further ones.
api::Peer downstream_of(const AuthzMessage& message, const api::Peer& caller, const api::TrustedProxies& proxies) {
  if (!caller.trusted) return caller;
  // Without an address it is a Unix socket, or a listener within Envoy.
  if (!message.source_is_named) return api::find_peer({}, proxies);
  const auto address = parse_ip(message.source);
  return {.address = address, .trusted = address && proxies.contains(*address)};
}

bool is_credential(std::string_view text) {
  return split_key(text, CredentialKind::api_key) || split_key(text, CredentialKind::admin_token) ||
         split_key(text, CredentialKind::agent_token);
}

bool has_credential(std::string_view authorization) {
  const std::size_t blank = authorization.find(' ');
  return blank != std::string_view::npos && is_credential(authorization.substr(blank + 1));
}

}  // namespace

void read_authz_check(const api::AuthzOptions& options, const api::Peer& caller, AuthzMessage& message,
                      std::string& text, CheckRequest& out) {
  out.clear();
  std::array<std::string_view, api::kMaxAuthzMappings> mapped;
  const std::size_t mappings = caller.trusted ? options.map.size() : 0;
  for (std::size_t i = 0; i < mappings; ++i) {
    const std::string& name = options.map[i].header;
    mapped[i] = message.extension(name);
    if (mapped[i].empty()) mapped[i] = message.header(name);
  }
  const api::Peer downstream = downstream_of(message, caller, options.proxies);
  const std::string_view forwarded_for = downstream.trusted ? message.header("x-forwarded-for") : std::string_view();
  api::ProxiedRequest request{.method = message.method,
                              .path = message.path,
                              .host = message.host,
                              .client = client_address(downstream, forwarded_for, options.proxies),
                              .mapped = std::span(mapped).first(mappings)};
  if (const auto target = api::split_target(request.path)) {
    request.path = target->path;
    if (!target->host.empty()) request.host = target->host;
  } else if (message.is_http && request.path.empty()) {
    request.path = "/";  // of CONNECT
  }
  api::make_check(options.map, request, text, out);
}

std::span<const std::string_view> credential_headers(AuthzMessage& message,
                                                     std::array<std::string_view, kCredentialHeaders>& out) {
  std::size_t found = 0;
  if (is_credential(message.header(kApiKey))) out[found++] = kApiKey;
  if (has_credential(message.header(kAuthorization))) out[found++] = kAuthorization;
  return std::span(out).first(found);
}

}  // namespace sluice::agent::rpc
