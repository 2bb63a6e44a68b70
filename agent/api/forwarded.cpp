#include "agent/api/forwarded.hpp"

#include <algorithm>
#include <span>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/domain/resource.hpp"

namespace sluice::agent::api {
namespace {

constexpr std::size_t kMaxMethod = 32;
constexpr std::size_t kShortestKnownMethod = 3;  // GET and PUT

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::optional<IpBlock> parse_block(std::string_view text) {
  if (const auto block = parse_cidr(text)) return block;
  const auto address = parse_ip(text);
  return address ? std::optional(block_of(*address, address->bits)) : std::nullopt;
}

bool is_visible(char c) { return c > ' ' && c < '\x7f'; }

char method_letter(char c) {
  if (c >= 'a' && c <= 'z') return static_cast<char>(c - 'a' + 'A');
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";  // of a token (RFC 9110)
  const bool is_token = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kOthers.find(c) != std::string_view::npos;
  return is_token ? c : '_';
}

void append_encoded(std::string_view text, std::string& out) {
  if (std::ranges::all_of(text, is_visible)) {
    out += text;
    return;
  }
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : text) {
    if (is_visible(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
}

bool starts_with_scheme(std::string_view text, std::string_view scheme) {
  return text.size() >= scheme.size() && std::ranges::equal(text.substr(0, scheme.size()), scheme, {}, [](char c) {
           return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
         });
}

}  // namespace

bool TrustedProxies::contains(const IpAddress& address) const {
  return std::ranges::any_of(blocks, [&](const IpBlock& block) { return block.contains(address); });
}

std::expected<TrustedProxies, std::string> parse_trusted_proxies(std::string_view list) {
  TrustedProxies proxies;
  if (list == "none") return proxies;
  for (bool more = true; more;) {
    const std::size_t comma = list.find(',');
    const std::string_view entry = list.substr(0, comma);
    if (entry == "unix") {
      proxies.unix_socket = true;
    } else if (entry == "loopback") {
      proxies.blocks.push_back(*parse_cidr("127.0.0.0/8"));
      proxies.blocks.push_back(*parse_block("::1"));
    } else if (const auto block = parse_block(entry)) {
      proxies.blocks.push_back(*block);
    } else {
      return std::unexpected(
          fmt::format("must be a list of loopback, unix, addresses and networks, such as loopback,unix,10.0.0.0/8, or "
                      "none; {} is none of these",
                      quoted(entry)));
    }
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
  }
  return proxies;
}

Peer find_peer(std::string_view text, const TrustedProxies& proxies) {
  if (text.empty()) return {.address = std::nullopt, .trusted = proxies.unix_socket};
  const auto address = parse_ip(text);
  return {.address = address, .trusted = address && proxies.contains(*address)};
}

std::optional<IpAddress> client_address(const Peer& peer, std::string_view forwarded_for,
                                        const TrustedProxies& proxies) {
  std::optional<IpAddress> client = peer.address;
  bool trusted = peer.trusted;
  while (trusted && !forwarded_for.empty()) {
    const std::size_t comma = forwarded_for.rfind(',');
    const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
    const auto found = find_address(forwarded_for.substr(begin));
    const auto address = found ? parse_ip(*found) : std::nullopt;
    if (!address) break;
    client = address;
    trusted = proxies.contains(*address);
    forwarded_for = forwarded_for.substr(0, begin == 0 ? 0 : comma);
  }
  return client;
}

std::optional<Target> split_target(std::string_view text) {
  if (text.starts_with('/') || text == "*") return Target{.host = {}, .path = text};
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!starts_with_scheme(text, scheme)) continue;
    const std::string_view rest = text.substr(scheme.size());
    const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
    if (host.empty()) return std::nullopt;
    const std::string_view path = rest.substr(host.size());
    return Target{.host = host, .path = path.starts_with('/') ? path : std::string_view("/")};
  }
  return std::nullopt;
}

std::string_view host_without_port(std::string_view host) {
  host = without_blanks(host);
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end == std::string_view::npos ? host : host.substr(1, end - 1);
  }
  return host.substr(0, host.find(':'));
}

std::size_t route_bound(std::string_view method, std::string_view path) {
  const auto hidden = static_cast<std::size_t>(std::ranges::count_if(path, [](char c) { return !is_visible(c); }));
  return std::max(std::min(method.size(), kMaxMethod), kShortestKnownMethod) + 1 + path.size() + 2 * hidden;
}

RouteRange append_route(std::string_view method, std::string_view path, std::string& out) {
  method = method.substr(0, kMaxMethod);
  // canonical_resource() rewrites routes of known methods only, so the path is rewritten as that of a GET.
  const std::size_t lead = std::max(method.size(), kShortestKnownMethod);
  const std::size_t path_at = out.size() + lead + 1;
  const std::size_t as_get_at = path_at - 1 - kShortestKnownMethod;
  out.append(lead - kShortestKnownMethod, ' ').append("GET:");
  append_encoded(path, out);
  const std::string_view as_get = canonical_resource(std::span(out).subspan(as_get_at));
  out.resize(as_get_at + as_get.size());

  const RouteRange range{.at = path_at - 1 - method.size(),
                         .size = std::min(out.size() - (path_at - 1 - method.size()), kMaxRoute),
                         .method_size = method.size()};
  std::ranges::transform(method, out.begin() + static_cast<std::ptrdiff_t>(range.at), method_letter);
  out.resize(range.at + range.size);
  return range;
}

}  // namespace sluice::agent::api
