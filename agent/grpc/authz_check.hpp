// What Envoy tells of a request becomes a check. The rules are those of /v1/authz (agent/api/authz.hpp):
//
//   The caller, who is Envoy, is believed if --trusted-proxies has its address. Of any other caller only the request
//   itself counts (method, path, host), and the caller is the client.
//   The address of a believed caller's client is `source.address`. If that is a trusted proxy too, the client is the
//   right-most address of X-Forwarded-For that is not a trusted proxy.
//   A mapping of --authz-map takes the value of context_extensions, which only Envoy's configuration writes. A header
//   counts if there is no such extension.
//
// Whatever a client of Envoy can choose is never a fault.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "agent/api/authz.hpp"
#include "agent/grpc/authz_message.hpp"
#include "common/domain/check_request.hpp"

namespace sluice::agent::rpc {

// `caller`: the peer that called. Fills `out` with views into `text`, which the caller keeps as long as `out`.
void read_authz_check(const api::AuthzOptions& options, const api::Peer& caller, AuthzMessage& message,
                      std::string& text, CheckRequest& out);

// The headers of the client that have a credential of Sluice. The application must not get them; a key of its own has
// another form.
inline constexpr std::size_t kCredentialHeaders = 2;
std::span<const std::string_view> credential_headers(AuthzMessage& message,
                                                     std::array<std::string_view, kCredentialHeaders>& out);

}  // namespace sluice::agent::rpc
