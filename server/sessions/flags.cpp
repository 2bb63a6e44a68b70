#include "server/sessions/flags.hpp"

#include <fmt/core.h>

#include "common/http_client/url.hpp"

namespace sluice::server::sessions {

Site read_site(program::ConfigReader& reader, bool encrypted) {
  using Transport = http_client::Url::Transport;
  const program::FlagValue& given = reader.value(kConsoleUrl.name);
  if (!given.given) return {.origin = {}, .secure = encrypted};
  const auto url = http_client::parse_url(given.text);
  if (!url || url->transport == Transport::unix_socket) {
    reader.fault(kConsoleUrl.name, "must be the address of a server, without a path: https://sluice.example.com");
    return {};
  }
  const bool secure = url->transport == Transport::tls;
  reader.require_use(kConsoleUrl.name, secure || !encrypted,
                     "begins with http://, but --listen has TLS: write https://");
  return {.origin = fmt::format("{}://{}", secure ? "https" : "http", http_client::host_header(*url)),
          .secure = secure};
}

}  // namespace sluice::server::sessions
