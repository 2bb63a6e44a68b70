#include "server/webhooks/target.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/core.h>

#include "common/base/letter_case.hpp"

namespace sluice::server::webhooks {
namespace {

constexpr std::string_view kHttps = "https://";
constexpr std::string_view kHttp = "http://";
constexpr std::uint16_t kFirstUnprivilegedPort = 1024;

// IPv4: everything outside these blocks is public.
constexpr std::array<std::string_view, 17> kSpecial4{
    "0.0.0.0/8",         // "this network"
    "10.0.0.0/8",        // private
    "100.64.0.0/10",     // carriers' NAT; Alibaba's metadata
    "127.0.0.0/8",       // loopback
    "168.63.129.16/32",  // Azure's metadata
    "169.254.0.0/16",    // link-local; the metadata of most clouds
    "172.16.0.0/12",     // private
    "192.0.0.0/24",      // IETF protocols; Oracle's metadata
    "192.0.2.0/24",      // documentation
    "192.31.196.0/24",   // AS112
    "192.52.193.0/24",   // AMT
    "192.88.99.0/24",    // 6to4 relays
    "192.168.0.0/16",    // private
    "198.18.0.0/15",     // benchmarks
    "198.51.100.0/24",   // documentation
    "203.0.113.0/24",    // documentation
    "224.0.0.0/3",       // multicast, reserved, broadcast
};
// IPv6: public is global unicast without these blocks.
constexpr std::string_view kGlobal6 = "2000::/3";
constexpr std::array<std::string_view, 4> kSpecial6{
    "2001::/23",      // IETF protocols: Teredo, ORCHID, benchmarks
    "2001:db8::/32",  // documentation
    "2002::/16",      // 6to4
    "3fff::/20",      // documentation
};

bool in_any(const IpAddress& address, std::span<const std::string_view> blocks) {
  return std::ranges::any_of(blocks, [&](std::string_view text) { return parse_cidr(text)->contains(address); });
}

std::unexpected<Error> faulty(std::string why) { return failure("url", std::move(why)); }

std::string text_of(const IpAddress& address) {
  AddressText buffer;
  return std::string(write_block({.base = address, .prefix = address.bits}, buffer));
}

// Whether a resolver could take the host for a number: "2130706433", "0x7f.1", "127.1", "0177.0.0.1". WHATWG's URL
// standard takes such hosts for IPv4 addresses too.
bool ends_in_number(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') + 1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (last.empty()) return false;
  if (std::ranges::all_of(last, is_digit)) return true;
  return last.size() >= 2 && last[0] == '0' && (last[1] == 'x' || last[1] == 'X');
}

bool is_localhost(std::string_view host) { return host == "localhost" || host.ends_with(".localhost"); }

Result<> check_host(const http_client::Url& server, const AddressRules& rules) {
  const bool encrypted = server.transport == net::Address::Transport::tls;
  if (const auto address = parse_ip(server.host)) {
    if (auto allowed = rules.check(*address, encrypted); !allowed) return faulty("leads to " + allowed.error().text);
    return {};
  }
  if (server.host.find(':') != std::string::npos) return faulty("holds an IPv6 address that is not valid");
  if (server.host.ends_with('.')) return faulty("ends its host with a dot: leave it out");
  if (ends_in_number(server.host)) {
    return faulty("writes an IPv4 address in an unusual form: write a host name, or four decimal numbers");
  }
  if (is_localhost(lower_case(server.host))) {
    if (auto allowed = rules.check(*parse_ip("127.0.0.1"), encrypted); !allowed) {
      return faulty("leads to " + allowed.error().text);
    }
  }
  if (!encrypted && !rules.allows_some()) return faulty("must begin with https://");
  return {};
}

}  // namespace

bool is_public(const IpAddress& address) {
  if (address.bits == 32) return !in_any(address, kSpecial4);
  return parse_cidr(kGlobal6)->contains(address) && !in_any(address, kSpecial6);
}

bool AddressRules::allows(const IpAddress& address) const {
  return std::ranges::any_of(allowed_, [&](const IpBlock& block) { return block.contains(address); });
}

Result<> AddressRules::check(const IpAddress& address, bool encrypted) const {
  if (allows(address)) return {};
  if (!is_public(address)) {
    return failure("forbidden_address", fmt::format("{}, which is not an address of the public Internet: use a public "
                                                    "address, or let the operator allow it with --notify-allow",
                                                    text_of(address)));
  }
  if (!encrypted) {
    return failure("forbidden_address", fmt::format("{} without encryption: use https://", text_of(address)));
  }
  return {};
}

Result<Target> parse_target(std::string_view url, const AddressRules& rules) {
  if (url.size() > kMaxUrlBytes) return faulty(fmt::format("must have at most {} bytes", kMaxUrlBytes));
  const auto visible = [](char c) { return c > ' ' && c < '\x7f' && c != '\\'; };
  if (!std::ranges::all_of(url, visible)) {
    return faulty(
        "must be of visible ASCII characters without backslashes: percent-encode others, and write an "
        "international name as xn--…");
  }
  const std::string_view scheme = url.starts_with(kHttps) ? kHttps : kHttp;
  if (!url.starts_with(scheme)) return faulty("must begin with https://");
  const std::size_t end = std::min(url.find_first_of("/?#", scheme.size()), url.size());
  const std::string_view rest = url.substr(end);
  if (url.substr(0, end).contains('@'))
    return faulty("must not contain a user or a password: leave out what is before @");
  if (rest.contains('#')) return faulty("must not have a fragment: leave out what begins with #");
  const auto server = http_client::parse_url(url.substr(0, end));
  if (!server) return faulty("must name a host and at most a port: https://HOST[:PORT]/PATH");
  if (auto allowed = check_host(*server, rules); !allowed) return std::unexpected(std::move(allowed.error()));
  if (server->port < kFirstUnprivilegedPort && server->port != 443 && server->port != 80) {
    return faulty(fmt::format("has the port {}: use 443, 80, or one from {}", server->port, kFirstUnprivilegedPort));
  }
  std::string path(rest);
  if (!path.starts_with('/')) path.insert(0, "/");
  return Target{.server = *server, .path = std::move(path)};
}

}  // namespace sluice::server::webhooks
