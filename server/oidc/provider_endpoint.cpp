#include "server/oidc/provider_endpoint.hpp"

#include <algorithm>

#include "common/program/config_reader.hpp"

namespace sluice::server::oidc {
namespace {

using Transport = http_client::Url::Transport;

std::unexpected<Error> faulty() {
  return failure("url",
                 "an https:// URL without user and fragment, of at most 2048 bytes; http:// only for this machine");
}

bool is_url_character(char c) { return c > ' ' && c <= '~' && c != '"' && c != '<' && c != '>' && c != '\\'; }

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (text.size() > kMaxUrlBytes || scheme == std::string_view::npos || text.contains('#') ||
      !std::ranges::all_of(text, is_url_character)) {
    return faulty();
  }
  const std::size_t path = std::min(text.find_first_of("/?", scheme + 3), text.size());
  const auto server = http_client::parse_url(text.substr(0, path));
  if (!server || server->transport == Transport::unix_socket) return faulty();
  if (server->transport == Transport::tcp && !program::is_loopback(server->host)) return faulty();
  Endpoint endpoint{.server = *server, .target = std::string(text.substr(path)), .text = std::string(text)};
  if (!endpoint.target.starts_with('/')) endpoint.target.insert(0, 1, '/');
  return endpoint;
}

}  // namespace sluice::server::oidc
