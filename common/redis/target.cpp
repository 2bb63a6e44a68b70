// Reads and writes the URLs that name a Redis. Error texts never quote an invalid URL: any part might be a password.
#include "common/redis/target.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <sys/un.h>

#include "common/base/percent_encoding.hpp"

namespace sluice::redis {
namespace {

constexpr std::size_t kLongestUnixPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::string_view kForms =
    "redis://[USER:PASSWORD@]HOST[:PORT][/DB], redis+sentinel://[USER:PASSWORD@]HOST[:PORT],HOST,HOST/NAME[/DB], "
    "redis+cluster://[USER:PASSWORD@]HOST[:PORT],HOST,HOST, the same with rediss (TLS), or unix:PATH[?db=N]";
constexpr std::uint16_t kSentinelPort = 26379;
constexpr std::uint16_t kNodePort = 6379;

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_host_character(char c) { return is_alphanumeric(c) || c == '-' || c == '.' || c == '_'; }

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
    // Some tools read a text without ':' as a user, others as a password. A wrong guess would leak or misuse a secret.
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

Result<> read_port(std::string_view text, HostPort& address) {
  if (text.empty()) return {};
  if (text[0] != ':') return failure("invalid_url", "after the ']' of an IPv6 address only ':PORT' may follow");
  const Result<std::uint16_t> port = read_number<std::uint16_t>(text.substr(1), 1, 65535, "port");
  if (!port) return std::unexpected(port.error());
  address.port = *port;
  return {};
}

Result<> read_address(std::string_view text, HostPort& out) {
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    const std::string_view address = text.substr(1, close == std::string_view::npos ? close : close - 1);
    const bool valid = close != std::string_view::npos && !address.empty() &&
                       address.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
    if (!valid) return failure("invalid_url", "an IPv6 address is written in brackets, like [::1]");
    out.host = address;
    return read_port(text.substr(close + 1), out);
  }
  const std::size_t colon = text.find(':');
  const std::string_view host = text.substr(0, colon);
  if (colon != std::string_view::npos && text.find(':', colon + 1) != std::string_view::npos) {
    return failure("invalid_url", "several ':' after the host: an IPv6 address is written in brackets, like [::1]");
  }
  if (host.empty()) return failure("invalid_url", fmt::format("the host is missing: write {}", kForms));
  if (host.contains(',')) {
    return failure("invalid_url",
                   "several hosts are sentinels or nodes of a Cluster: write redis+sentinel://HOST,HOST,HOST/NAME or "
                   "redis+cluster://HOST,HOST,HOST");
  }
  if (!std::ranges::all_of(host, is_host_character)) {
    return failure("invalid_url",
                   "the host contains an invalid character: in a user or a password, write '@' as %40, '/' as "
                   "%2F, ':' as %3A");
  }
  out.host = host;
  return read_port(colon == std::string_view::npos ? std::string_view() : text.substr(colon), out);
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

struct Parts {
  std::string_view hosts;
  std::string_view path;
};
// Splits "[USER:PASSWORD@]HOSTS[/PATH]" and stores the credentials in `target`.
Result<Parts> split(std::string_view text, Target& target) {
  if (text.find_first_of("?#") != std::string_view::npos) {
    return failure("invalid_url", "'?' and '#' have no meaning here: in a user or a password write %3F and %23");
  }
  const std::size_t slash = text.find('/');
  Parts parts{.hosts = text.substr(0, slash),
              .path = slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1)};
  if (const std::size_t at = parts.hosts.rfind('@'); at != std::string_view::npos) {
    if (Result<> read = read_credentials(parts.hosts.substr(0, at), target); !read)
      return std::unexpected(read.error());
    parts.hosts.remove_prefix(at + 1);
  }
  return parts;
}

Result<Target> with_database(Target target, std::string_view text) {
  if (text.empty()) return target;
  const Result<std::uint32_t> database = read_database(text);
  if (!database) return std::unexpected(database.error());
  target.database = *database;
  return target;
}

Result<Target> read_network(std::string_view text, Target::Transport transport) {
  Target target;
  target.transport = transport;
  const Result<Parts> parts = split(text, target);
  if (!parts) return std::unexpected(parts.error());
  HostPort address{.host = {}, .port = target.port};
  if (Result<> read = read_address(parts->hosts, address); !read) return std::unexpected(read.error());
  target.host = std::move(address.host);
  target.port = address.port;
  return with_database(std::move(target), parts->path);
}

// Reads HOST[:PORT],HOST[:PORT],…
Result<std::vector<HostPort>> read_hosts(std::string_view list, std::uint16_t default_port, std::string_view what) {
  std::vector<HostPort> hosts;
  for (bool more = true; more;) {
    const std::size_t comma = list.find(',');
    HostPort address{.host = {}, .port = default_port};
    if (Result<> read = read_address(list.substr(0, comma), address); !read) {
      return failure("invalid_url", fmt::format("{} {}: {}", what, hosts.size() + 1, read.error().text));
    }
    if (std::ranges::find(hosts, address) != hosts.end()) {
      return failure("invalid_url",
                     fmt::format("{} {} is there twice: name each of them once", what, hosts.size() + 1));
    }
    hosts.push_back(std::move(address));
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
  }
  return hosts;
}

Result<Target> read_sentinel_set(std::string_view text, Target::Transport transport) {
  Target target;
  target.transport = transport;
  const Result<Parts> parts = split(text, target);
  if (!parts) return std::unexpected(parts.error());
  Result<std::vector<HostPort>> sentinels = read_hosts(parts->hosts, kSentinelPort, "sentinel");
  if (!sentinels) return std::unexpected(sentinels.error());
  target.sentinels = *std::move(sentinels);
  const std::size_t slash = parts->path.find('/');
  target.primary_name = parts->path.substr(0, slash);
  if (target.primary_name.empty()) {
    return failure("invalid_url",
                   "the name of the primary is missing: after the hosts, write the name that the sentinels use, like "
                   "redis+sentinel://HOST,HOST,HOST/mymaster");
  }
  if (!std::ranges::all_of(target.primary_name, is_host_character)) {
    return failure("invalid_url", "the name of the primary may contain letters, digits, '.', '-' and '_' only");
  }
  return with_database(std::move(target),
                       slash == std::string_view::npos ? std::string_view() : parts->path.substr(slash + 1));
}

Result<Target> read_cluster(std::string_view text, Target::Transport transport) {
  Target target;
  target.transport = transport;
  const Result<Parts> parts = split(text, target);
  if (!parts) return std::unexpected(parts.error());
  if (!parts->path.empty()) {
    return failure("invalid_url", "a Redis Cluster has database 0 only: leave out what follows the hosts");
  }
  Result<std::vector<HostPort>> nodes = read_hosts(parts->hosts, kNodePort, "node");
  if (!nodes) return std::unexpected(nodes.error());
  target.cluster = *std::move(nodes);
  return target;
}

std::string joined(const std::vector<HostPort>& hosts) {
  std::string text;
  for (const HostPort& host : hosts) text += (text.empty() ? "" : ",") + to_string(host);
  return text;
}

}  // namespace

Result<Target> parse_target(std::string_view url) {
  if (url.starts_with("unix:")) return read_unix(url.substr(5));
  if (url.starts_with("redis://")) return read_network(url.substr(8), Target::Transport::tcp);
  if (url.starts_with("rediss://")) return read_network(url.substr(9), Target::Transport::tls);
  if (url.starts_with("redis+sentinel://")) return read_sentinel_set(url.substr(17), Target::Transport::tcp);
  if (url.starts_with("rediss+sentinel://")) return read_sentinel_set(url.substr(18), Target::Transport::tls);
  if (url.starts_with("redis+cluster://")) return read_cluster(url.substr(16), Target::Transport::tcp);
  if (url.starts_with("rediss+cluster://")) return read_cluster(url.substr(17), Target::Transport::tls);
  return failure("invalid_url", fmt::format("write {}", kForms));
}

std::string to_string(const Target& target) {
  if (target.transport == Target::Transport::unix_socket) {
    return target.database == 0 ? "unix:" + target.path : fmt::format("unix:{}?db={}", target.path, target.database);
  }
  const std::string_view scheme = target.transport == Target::Transport::tls ? "rediss" : "redis";
  const std::string user = percent_encode(target.user) + (target.user.empty() ? "" : "@");
  if (!target.cluster.empty()) return fmt::format("{}+cluster://{}{}", scheme, user, joined(target.cluster));
  if (target.sentinels.empty()) {
    return fmt::format("{}://{}{}/{}", scheme, user, to_string(HostPort{target.host, target.port}), target.database);
  }
  return fmt::format("{}+sentinel://{}{}/{}/{}", scheme, user, joined(target.sentinels), target.primary_name,
                     target.database);
}

Target node_of(const Target& cluster, const HostPort& address) {
  Target node = cluster;
  node.host = address.host;
  node.port = address.port;
  node.cluster.clear();
  node.in_cluster = true;
  return node;
}

std::string to_string(const HostPort& address) {
  const bool ipv6 = address.host.contains(':');
  return fmt::format("{}{}{}:{}", ipv6 ? "[" : "", address.host, ipv6 ? "]" : "", address.port);
}

bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= 255 &&
         std::ranges::all_of(text, [](char c) { return is_host_character(c) || c == ':'; });
}

}  // namespace sluice::redis
