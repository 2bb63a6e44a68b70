#include "agent/api/authz.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include <fmt/core.h>

#include "common/base/crypto.hpp"
#include "common/base/text.hpp"
#include "common/base/utf8.hpp"
#include "common/domain/check_fields.hpp"
#include "common/domain/identifiers.hpp"

namespace sluice::agent::api {
namespace {

constexpr std::string_view kDigestPrefix = "sha256:";
constexpr std::size_t kDigestText = kDigestPrefix.size() + 2 * sizeof(Sha256Digest);

// Where the original request comes from.
enum class Family : std::uint8_t { forwarded, original, own };

// The original request, as views into the sub-request.
struct Original {
  std::string_view method;
  std::string_view path;
  std::string_view host;
};

Value& dimension_of(CheckRequest& request, Dimension dimension) {
  return request.dimensions[static_cast<std::size_t>(dimension)];
}

std::vector<RequestFault> fault(std::string text) {
  std::vector<RequestFault> faults;
  faults.push_back({.status = 422, .pointer = "/resource", .text = std::move(text)});
  return faults;
}

// Reads `headers=…`. Returns a fault for any other query.
std::optional<std::vector<RequestFault>> read_query(std::string_view query, std::optional<Family>& family) {
  if (query.empty()) return std::nullopt;
  if (query == "headers=forwarded") {
    family = Family::forwarded;
  } else if (query == "headers=original") {
    family = Family::original;
  } else {
    return fault(
        fmt::format("the query of /v1/authz must be headers=forwarded or headers=original; got {}: correct the "
                    "address in the proxy's configuration, or leave the query out",
                    quoted(query)));
  }
  return std::nullopt;
}

std::vector<RequestFault> untrusted(const Peer& peer, std::string_view text) {
  return fault(
      fmt::format("the path is missing: {} is not a trusted proxy, so its headers are ignored. Add it to the "
                  "agent's --trusted-proxies, or ask /v1/authz/PATH",
                  peer.address ? text : std::string_view("the Unix socket")));
}

std::vector<RequestFault> without_path(Family family) {
  const bool original = family == Family::original;
  return fault(fmt::format("the path is missing: {} is required. Let the proxy set it, or ask /v1/authz/PATH",
                           original ? "X-Original-URI or X-Original-URL" : "X-Forwarded-Uri"));
}

std::vector<RequestFault> no_path(std::string_view header, std::string_view value) {
  return fault(
      fmt::format("{} must be a path such as /orders?page=2, or a URL; got {}: correct the header in the "
                  "proxy's configuration",
                  header, quoted(value)));
}

// Reads the headers of `family`. REQUIRES: the peer is trusted.
std::vector<RequestFault> read_headers(const http::Request& http, Family family, Original& out) {
  std::string_view header = "X-Forwarded-Uri";
  std::string_view target;
  if (family == Family::forwarded) {
    target = http.header("x-forwarded-uri");
    out.method = http.header("x-forwarded-method");
    out.host = http.header("x-forwarded-host");
  } else {
    header = "X-Original-URI";
    target = http.header("x-original-uri");
    if (target.empty()) {
      header = "X-Original-URL";
      target = http.header("x-original-url");
    }
    out.method = http.header("x-original-method");
  }
  if (target.empty()) return without_path(family);
  const auto split = split_target(target);
  if (!split) return no_path(header, target);
  out.path = split->path;
  if (!split->host.empty()) out.host = split->host;
  if (out.host.empty()) out.host = http.header("host");
  if (out.method.empty()) out.method = http.method;
  return {};
}

// Which headers to read if the address does not say it. A client may add headers of the other family to its request,
// and most proxies copy them, so nobody knows which of both the proxy has written.
std::optional<Family> family_of(const http::Request& http) {
  const bool forwarded = !http.header("x-forwarded-uri").empty();
  const bool original = !http.header("x-original-uri").empty() || !http.header("x-original-url").empty();
  if (forwarded && original) return std::nullopt;
  return original ? Family::original : Family::forwarded;
}

std::vector<RequestFault> read_original(const http::Request& http, const Peer& peer, Original& out) {
  if (http.path.starts_with(kAuthzPrefix)) {
    out = {.method = http.method, .path = http.path.substr(kAuthzPath.size()), .host = http.header("host")};
    return {};
  }
  std::optional<Family> family;
  if (auto faults = read_query(http.query, family)) return *std::move(faults);
  if (!peer.trusted) return untrusted(peer, http.peer);
  if (!family) family = family_of(http);
  if (!family) {
    return fault(
        "X-Forwarded-Uri and X-Original-URI (or -URL) are both there, and only the proxy's configuration knows "
        "which one it sets. Ask /v1/authz?headers=forwarded or /v1/authz?headers=original");
  }
  return read_headers(http, *family, out);
}

// Bytes that append_value() appends at most.
std::size_t value_bound(std::string_view value) { return std::max(value.size(), kDigestText); }

// A value that no check can have is replaced by its digest: cut off, it could be the same as another one.
std::string_view append_value(std::string_view value, std::string& text) {
  const std::size_t at = text.size();
  if (value.size() <= kMaxValueBytes && is_utf8(value)) {
    text += value;
  } else {
    text += kDigestPrefix;
    append_hex(sha256(value), text);
  }
  return std::string_view(text).substr(at);
}

std::string_view append_host(std::string_view host, std::string& text) {
  const std::size_t at = text.size();
  append_value(host_without_port(host), text);
  std::transform(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(),
                 text.begin() + static_cast<std::ptrdiff_t>(at),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return std::string_view(text).substr(at);
}

void set(const AuthzMapping& mapping, std::string_view value, CheckRequest& out) {
  if (mapping.is_plan) {
    out.plan_id = value;
  } else if (mapping.dimension.dimension == Dimension::tag) {
    out.tags.emplace_back(mapping.dimension.name, value);
  } else if (mapping.dimension.dimension == Dimension::attr) {
    out.attributes.emplace_back(mapping.dimension.name, value);
  } else {
    dimension_of(out, mapping.dimension.dimension) = {value, true};
  }
}

}  // namespace

std::expected<std::vector<AuthzMapping>, std::string> parse_authz_map(std::string_view list) {
  constexpr std::string_view kRule =
      "must be a list of HEADER=FIELD, such as x-user-id=subject,x-team=tag.team; FIELD is plan_id or a dimension of "
      "checks, but not org, tenant or api_key, which follow from the API key";
  std::vector<AuthzMapping> map;
  for (bool more = !list.empty(); more;) {
    const std::size_t comma = list.find(',');
    const std::string_view entry = list.substr(0, comma);
    const std::size_t equals = entry.find('=');
    const auto unfit = [&entry, &kRule] {
      return std::unexpected(fmt::format("{}; {} is not one", kRule, quoted(entry)));
    };
    if (equals == 0 || equals == std::string_view::npos) return unfit();
    AuthzMapping mapping{.header = std::string(entry.substr(0, equals)), .is_plan = false, .dimension = {}};
    for (char& c : mapping.header) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_')) return unfit();
    }
    const std::string_view field = entry.substr(equals + 1);
    mapping.is_plan = field == "plan_id";
    if (!mapping.is_plan) {
      const auto dimension = parse_dimension(field);
      const bool of_key =
          dimension && (dimension->dimension == Dimension::org || dimension->dimension == Dimension::tenant ||
                        dimension->dimension == Dimension::api_key);
      if (!dimension || of_key || field.size() > kMaxValueBytes || !is_utf8(field)) return unfit();
      mapping.dimension = *dimension;
    }
    const bool twice = std::ranges::any_of(map, [&](const AuthzMapping& other) {
      return other.is_plan == mapping.is_plan && other.dimension == mapping.dimension;
    });
    if (twice) {
      return std::unexpected(fmt::format("names {} twice; keep one header for each field", quoted(field)));
    }
    if (map.size() == kMaxAuthzMappings) {
      return std::unexpected(fmt::format("may have at most {} headers; leave some out", kMaxAuthzMappings));
    }
    map.push_back(std::move(mapping));
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
  }
  return map;
}

void make_check(std::span<const AuthzMapping> map, const ProxiedRequest& request, std::string& text,
                CheckRequest& out) {
  AddressText address_text;
  const std::string_view address =
      request.client ? write_block(block_of(*request.client, request.client->bits), address_text) : std::string_view();
  std::size_t bound = route_bound(request.method, request.path) + value_bound(request.host) + address.size();
  for (const std::string_view value : request.mapped) bound += value_bound(value);
  text.clear();
  text.reserve(bound);  // so that the views into `text` stay valid

  if (!request.method.empty() || !request.path.empty()) {
    const RouteRange range = append_route(request.method, request.path, text);
    const std::string_view route = std::string_view(text).substr(range.at, range.size);
    dimension_of(out, Dimension::resource) = {route, true};
    dimension_of(out, Dimension::method) = {route.substr(0, range.method_size), true};
    dimension_of(out, Dimension::endpoint) = {route.substr(range.method_size + 1), true};
  }
  if (!request.host.empty()) dimension_of(out, Dimension::service) = {append_host(request.host, text), true};
  if (request.client) {
    const std::string_view kept = append_value(address, text);
    dimension_of(out, Dimension::source_ip) = dimension_of(out, Dimension::subject) = {kept, true};
  }
  for (std::size_t i = 0; i < request.mapped.size(); ++i) {
    if (!request.mapped[i].empty()) set(map[i], append_value(request.mapped[i], text), out);
  }
}

std::vector<RequestFault> read_authz(const AuthzOptions& options, const http::Request& http, const Peer& peer,
                                     std::string& text, CheckRequest& out) {
  out.clear();
  Original original;
  if (auto faults = read_original(http, peer, original); !faults.empty()) return faults;
  const std::string_view forwarded_for = peer.trusted ? http.header("x-forwarded-for") : std::string_view();
  std::array<std::string_view, kMaxAuthzMappings> mapped;
  const std::size_t mappings = peer.trusted ? options.map.size() : 0;
  for (std::size_t i = 0; i < mappings; ++i) mapped[i] = http.header(options.map[i].header);
  make_check(options.map,
             {.method = original.method,
              .path = original.path,
              .host = original.host,
              .client = client_address(peer, forwarded_for, options.proxies),
              .mapped = std::span(mapped).first(mappings)},
             text, out);
  return {};
}

}  // namespace sluice::agent::api
