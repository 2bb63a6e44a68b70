#include "common/http_client/url.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include <fmt/core.h>
#include <sys/un.h>

namespace sluice::http_client {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

std::unexpected<Error> malformed(std::string_view url, std::string_view why) {
  return failure("url_malformed",
                 fmt::format("\"{}\" is not the URL of a server: {}; write http://host:port, https://host:port or "
                             "unix:/path",
                             url.find('@') == std::string_view::npos ? url : "…", why));
}

bool is_host_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
}
bool is_ipv6_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' || c == '.';
}

std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
}

Result<Url> read_unix(std::string_view url, std::string_view path) {
  if (path.empty() || path.front() != '/' || path.size() > sizeof(sockaddr_un::sun_path) - 1) {
    return malformed(url, "a socket's path begins with / and has at most 107 bytes");
  }
  return Url{{.transport = Url::Transport::unix_socket, .path = std::string(path)}};
}

Result<Url> read_network(std::string_view url, std::string_view authority, Url::Transport transport) {
  if (authority.ends_with('/')) authority.remove_suffix(1);
  if (authority.find('@') != std::string_view::npos) return malformed(url, "it must not contain a user or password");
  if (authority.find_first_of("/?#") != std::string_view::npos) return malformed(url, "it names a path");
  Url read{{.transport = transport, .port = transport == Url::Transport::tls ? kHttpsPort : kHttpPort}};
  const bool ipv6 = authority.starts_with('[');
  const std::size_t end = ipv6 ? authority.find(']') : std::min(authority.find(':'), authority.size());
  if (end == std::string_view::npos) return malformed(url, "the address has no closing bracket");
  read.host = authority.substr(ipv6 ? 1 : 0, end - (ipv6 ? 1 : 0));
  std::string_view port = authority.substr(end + (ipv6 ? 1 : 0));
  if (read.host.empty() || !std::ranges::all_of(read.host, ipv6 ? is_ipv6_character : is_host_character)) {
    return malformed(url, "the host is not a name or an address");
  }
  if (port.empty()) return read;
  port.remove_prefix(1);
  const auto [rest, error] = std::from_chars(port.data(), port.data() + port.size(), read.port);
  if (authority[end + (ipv6 ? 1 : 0)] != ':' || error != std::errc() || rest != port.data() + port.size() ||
      read.port == 0) {
    return malformed(url, "the port is not a number from 1 to 65535");
  }
  return read;
}

}  // namespace

Result<Url> parse_url(std::string_view url) {
  if (url.starts_with("unix:")) return read_unix(url, url.substr(5));
  if (url.starts_with("http://")) return read_network(url, url.substr(7), Url::Transport::tcp);
  if (url.starts_with("https://")) return read_network(url, url.substr(8), Url::Transport::tls);
  return malformed(url, "it has an unknown scheme");
}

std::string to_string(const Url& url) {
  if (url.transport == Url::Transport::unix_socket) return "unix:" + url.path;
  return fmt::format("{}://{}:{}", url.transport == Url::Transport::tls ? "https" : "http", bracketed(url.host),
                     url.port);
}

std::string host_header(const Url& url) {
  if (url.transport == Url::Transport::unix_socket) return "localhost";
  const bool usual = url.port == (url.transport == Url::Transport::tls ? kHttpsPort : kHttpPort);
  return usual ? bracketed(url.host) : fmt::format("{}:{}", bracketed(url.host), url.port);
}

}  // namespace sluice::http_client
