// Reads and writes the URLs that name a Redis. No text made here contains any part of a password. So error texts never
// quote an invalid URL, any part of which might be a password.
#include "common/redis/target.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <sys/un.h>

#include "common/base/percent_encoding.hpp"

namespace sluice::redis {
namespace {

constexpr std::size_t kLongestUnixPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::string_view kForms = "redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss://… (TLS) or unix:PATH[?db=N]";

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Result<std::string> decoded(std::string_view text, std::string_view what) {
  if (auto bytes = percent_decode(text)) return *std::move(bytes);
  return failure("invalid_url",
                 fmt::format("a '%' in the {} is not followed by two hex digits: write a plain '%' as %25", what));
}

template <class Number>
Result<Number> read_number(std::string_view text, Number least, Number most, std::string_view what) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least || number > most) {
    return failure("invalid_url", fmt::format("the {} must be a number from {} to {}", what, least, most));
  }
  return number;
}

Result<std::uint32_t> read_database(std::string_view text) {
  return read_number<std::uint32_t>(text, 0, std::numeric_limits<std::int32_t>::max(), "database");
}

Result<> read_credentials(std::string_view text, Target& target) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    // Some tools read this as a user, others as a password. A wrong guess would leak or misuse a secret.
    return failure("invalid_url",
                   "the part before '@' must be USER:PASSWORD, or :PASSWORD for the default user, or USER: if a file "
                   "has the password");
  }
  Result<std::string> user = decoded(text.substr(0, colon), "user");
  if (!user) return std::unexpected(user.error());
  Result<std::string> password = decoded(text.substr(colon + 1), "password");
  if (!password) return std::unexpected(password.error());
  target.user = *std::move(user);
  target.password = *std::move(password);
  return {};
}

Result<> read_port(std::string_view text, Target& target) {
  if (text.empty()) return {};
  if (text[0] != ':') return failure("invalid_url", "after the ']' of an IPv6 address only ':PORT' may follow");
  const Result<std::uint16_t> port = read_number<std::uint16_t>(text.substr(1), 1, 65535, "port");
  if (!port) return std::unexpected(port.error());
  target.port = *port;
  return {};
}

Result<> read_host(std::string_view text, Target& target) {
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    const std::string_view address = text.substr(1, close == std::string_view::npos ? close : close - 1);
    const bool valid = close != std::string_view::npos && !address.empty() &&
                       address.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
    if (!valid) return failure("invalid_url", "an IPv6 address is written in brackets, like [::1]");
    target.host = address;
    return read_port(text.substr(close + 1), target);
  }
  const std::size_t colon = text.find(':');
  const std::string_view host = text.substr(0, colon);
  if (colon != std::string_view::npos && text.find(':', colon + 1) != std::string_view::npos) {
    return failure("invalid_url", "several ':' after the host: an IPv6 address is written in brackets, like [::1]");
  }
  if (host.empty()) return failure("invalid_url", fmt::format("the host is missing: write {}", kForms));
  if (!std::ranges::all_of(host, [](char c) { return is_alphanumeric(c) || c == '-' || c == '.' || c == '_'; })) {
    return failure("invalid_url",
                   "the host contains an invalid character: in a user or a password, write '@' as %40, '/' as "
                   "%2F, ':' as %3A");
  }
  target.host = host;
  return read_port(colon == std::string_view::npos ? std::string_view() : text.substr(colon), target);
}

Result<Target> read_unix(std::string_view text) {
  Target target;
  target.transport = Target::Transport::unix_socket;
  const std::size_t question = text.find('?');
  const std::string_view path = text.substr(0, question);
  if (path.empty()) return failure("invalid_url", "the path is missing: write unix:PATH[?db=N]");
  if (path.size() > kLongestUnixPath || path.find('\0') != std::string_view::npos) {
    return failure("invalid_url",
                   fmt::format("the path of a Unix socket has at most {} bytes, and no NUL", kLongestUnixPath));
  }
  target.path = path;
  if (question == std::string_view::npos) return target;
  const std::string_view query = text.substr(question + 1);
  if (!query.starts_with("db=")) return failure("invalid_url", "after the '?' of unix:PATH only db=N may follow");
  const Result<std::uint32_t> database = read_database(query.substr(3));
  if (!database) return std::unexpected(database.error());
  target.database = *database;
  return target;
}

Result<Target> read_network(std::string_view text, Target::Transport transport) {
  Target target;
  target.transport = transport;
  const std::size_t slash = text.find('/');
  std::string_view authority = text.substr(0, slash);
  if (text.find_first_of("?#") != std::string_view::npos) {
    return failure("invalid_url", "'?' and '#' have no meaning here: in a user or a password write %3F and %23");
  }
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    if (Result<> read = read_credentials(authority.substr(0, at), target); !read) return std::unexpected(read.error());
    authority.remove_prefix(at + 1);
  }
  if (Result<> read = read_host(authority, target); !read) return std::unexpected(read.error());
  if (slash == std::string_view::npos || slash + 1 == text.size()) return target;
  const Result<std::uint32_t> database = read_database(text.substr(slash + 1));
  if (!database) return std::unexpected(database.error());
  target.database = *database;
  return target;
}

}  // namespace

Result<Target> parse_target(std::string_view url) {
  if (url.starts_with("unix:")) return read_unix(url.substr(5));
  if (url.starts_with("redis://")) return read_network(url.substr(8), Target::Transport::tcp);
  if (url.starts_with("rediss://")) return read_network(url.substr(9), Target::Transport::tls);
  return failure("invalid_url", fmt::format("write {}", kForms));
}

std::string to_string(const Target& target) {
  if (target.transport == Target::Transport::unix_socket) {
    return target.database == 0 ? "unix:" + target.path : fmt::format("unix:{}?db={}", target.path, target.database);
  }
  const bool ipv6 = target.host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}{}{}:{}/{}", target.transport == Target::Transport::tls ? "rediss" : "redis",
                     percent_encode(target.user), target.user.empty() ? "" : "@", ipv6 ? "[" : "", target.host,
                     ipv6 ? "]" : "", target.port, target.database);
}

}  // namespace sluice::redis
