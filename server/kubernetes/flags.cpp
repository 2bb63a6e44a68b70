#include "server/kubernetes/flags.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <boost/asio/ip/address.hpp>

namespace sluice::server::kubernetes {
namespace {

using namespace std::chrono_literals;
using program::ConfigReader;

constexpr std::size_t kMaxLabelBytes = 63;  // RFC 1123
constexpr std::size_t kMaxDnsNameBytes = 253;

// Whether the text is a DNS label.
bool is_label(std::string_view text) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= kMaxLabelBytes && plain(text.front()) && plain(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return plain(c) || c == '-'; });
}

bool is_dotted_name(std::string_view text) {
  if (text.size() > kMaxDnsNameBytes) return false;
  for (;;) {
    const std::size_t dot = text.find('.');
    if (!is_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

std::string read_object_name(ConfigReader& reader, std::string_view flag) {
  const std::string& text = reader.value(flag).text;
  if (!text.empty() && !is_dotted_name(text)) {
    reader.fault(flag, "must be a Kubernetes name: lower-case letters, digits, '-' and '.'");
  }
  return text;
}

std::optional<ApiOptions> read_by_url(ConfigReader& reader) {
  const auto url = http_client::parse_url(reader.value("kubernetes").text);
  if (!url || url->transport != http_client::Url::Transport::tls) {
    reader.fault_without_value("kubernetes", "must be off, in-cluster or https://HOST[:PORT], without a path");
    return std::nullopt;
  }
  if (!reader.value("kubernetes-token-file").given) {
    reader.fault_without_value("kubernetes-token-file", "is missing; --kubernetes URL needs a file with a token");
  }
  return ApiOptions{
      .server = *url, .ca_file = reader.file("kubernetes-ca"), .token_file = reader.file("kubernetes-token-file")};
}

std::optional<ApiOptions> read_in_cluster(ConfigReader& reader, const program::Environment& environment) {
  for (const std::string_view flag : {"kubernetes-ca", "kubernetes-token-file"}) {
    reader.require_use(flag, false, "has no use without --kubernetes https://…; leave it out");
  }
  auto found = in_cluster_options(environment);
  if (found) return *std::move(found);
  reader.fault_without_value("kubernetes", "in-cluster does not work here: " + found.error().text);
  return std::nullopt;
}

// `where`: a value of --kubernetes.
std::optional<ApiOptions> read_api(ConfigReader& reader, const program::Environment& environment,
                                   std::string_view where) {
  if (where == "off") {
    for (const std::string_view flag : {"kubernetes-ca", "kubernetes-token-file", "kubernetes-namespace"}) {
      reader.require_use(flag, false, "has no use with --kubernetes off; leave it out");
    }
    return std::nullopt;
  }
  auto api = where == "in-cluster" ? read_in_cluster(reader, environment) : read_by_url(reader);
  const std::string& name = reader.value("kubernetes-namespace").text;
  if (!name.empty() && !is_label(name)) {
    reader.fault("kubernetes-namespace", "must be a namespace's name: lower-case letters, digits and '-'");
  }
  if (api && !name.empty()) api->namespace_ = name;
  if (api && api->namespace_.empty()) {
    reader.fault_without_value("kubernetes-namespace", "is missing; --kubernetes URL needs the server's own namespace");
  }
  return api;
}

// Returns the names as read_certificate() (certificates.hpp) does: sorted, addresses in canonical form.
std::vector<std::string> read_names(ConfigReader& reader) {
  std::vector<std::string> names;
  std::string_view rest = reader.value("tls-self-managed").text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string name(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    boost::system::error_code no_address;
    const auto address = boost::asio::ip::make_address(name, no_address);
    if (no_address && !is_dotted_name(name)) {
      reader.fault("tls-self-managed",
                   "must be a list of DNS names (in lower case) and IP addresses, with commas between them");
      return {};
    }
    names.push_back(no_address ? name : address.to_string());
  }
  std::ranges::sort(names);
  return names;
}

// A name without a dot is that of a Service in the server's namespace, which other namespaces call by longer names.
// Adds these, so that no setting has to spell the namespace.
void add_names_of_services(std::vector<std::string>& names, std::string_view namespace_) {
  const std::vector<std::string> given = names;
  for (const std::string& name : given) {
    if (name == "localhost" || name.find_first_of(".:") != std::string::npos) continue;
    for (const std::string_view domain : {"", ".svc", ".svc.cluster.local"}) {
      names.push_back(fmt::format("{}.{}{}", name, namespace_, domain));
    }
  }
  std::ranges::sort(names);
  const auto rest = std::ranges::unique(names);
  names.erase(rest.begin(), rest.end());
}

std::optional<CertificateKeeper::Options> read_self_managed(ConfigReader& reader) {
  const bool given = reader.value("tls-self-managed").given;
  for (const std::string_view flag :
       {"tls-secret", "tls-lifetime", "tls-ca-lifetime", "tls-look-every", "tls-cache", "webhook-configuration"}) {
    reader.require_use(flag, given, "has no use without --tls-self-managed; leave it out");
  }
  if (!given) return std::nullopt;
  reader.require_use("tls-self-managed", reader.value("kubernetes").text != "off",
                     "needs the Kubernetes API; add --kubernetes");
  reader.require_use("tls-cert", false, "cannot be combined with --tls-self-managed; leave one of them out");
  CertificateKeeper::Options options;
  options.wanted.names = read_names(reader);
  const auto lifetime = reader.duration("tls-lifetime", 3s, 8'760h, "3s to 8760h");
  const auto authority = reader.duration("tls-ca-lifetime", 9s, 876'000h, "9s to 876000h");
  if (authority < 3 * lifetime) reader.fault("tls-ca-lifetime", "must be at least three times --tls-lifetime");
  options.wanted.lifetime = std::chrono::floor<std::chrono::seconds>(lifetime);
  options.wanted.authority_lifetime = std::chrono::floor<std::chrono::seconds>(authority);
  options.secret = read_object_name(reader, "tls-secret");
  options.webhooks = read_object_name(reader, "webhook-configuration");
  options.cache = reader.value("tls-cache").text;
  options.check_every = reader.duration("tls-look-every", 100ms, 10min, "100ms to 10m");
  return options;
}

}  // namespace

Settings read_settings(ConfigReader& reader, const program::Environment& environment) {
  Settings settings{.api = read_api(reader, environment, reader.value("kubernetes").text),
                    .self_managed = read_self_managed(reader)};
  if (settings.api && settings.self_managed) {
    settings.self_managed->namespace_ = settings.api->namespace_;
    add_names_of_services(settings.self_managed->wanted.names, settings.api->namespace_);
  }
  return settings;
}

SecretsOptions read_secrets_options(ConfigReader& reader, const program::Environment& environment) {
  const program::FlagValue& where = reader.value("kubernetes");
  if (where.given && where.text == "off") reader.fault("kubernetes", "must name the cluster in which to make Secrets");
  const auto api = read_api(reader, environment, where.given ? where.text : "in-cluster");
  return {.api = api.value_or(ApiOptions{}),
          .database_host = reader.value("database-host").text,
          .database_name = reader.value("database-name").text};
}

}  // namespace sluice::server::kubernetes
