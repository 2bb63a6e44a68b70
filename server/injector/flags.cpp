#include "server/injector/flags.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "common/http/address.hpp"
#include "common/http_client/url.hpp"
#include "common/json/fields.hpp"
#include "common/program/redis_flags.hpp"
#include "common/redis/target.hpp"

namespace sluice::server::injector {
namespace {

using namespace std::chrono_literals;
using program::ConfigReader;

constexpr std::array kWebhookFlags{
    kWebhookClientCa, kInjectImage,      kInjectPullPolicy, kInjectServerUrl,
    kInjectCounters,  kInjectCountersCa, kInjectSettings,   kInjectMissedEvery,
};

void read_listener(ConfigReader& reader, InjectorOptions& options) {
  options.listen = reader.value(kWebhook.name).text;
  options.client_ca = reader.file(kWebhookClientCa.name);
  const auto webhook = reader.address(kWebhook.name);
  if (!webhook || webhook->port() == 0) return;
  for (const std::string_view other : {"listen", "admin"}) {
    const auto address = sluice::http::parse_address(reader.value(other).text);
    if (address && address->port() == webhook->port()) {
      reader.fault(kWebhook.name, fmt::format("has the port of --{}; choose another port", other));
    }
  }
}

void read_image(ConfigReader& reader, InjectorSettings& settings) {
  settings.image = reader.value(kInjectImage.name).text;
  const bool good = !settings.image.empty() && settings.image.size() <= 1'024 &&
                    std::ranges::all_of(settings.image, [](char c) { return c > ' ' && c < '\x7f'; });
  if (settings.image.empty()) {
    reader.fault_without_value(kInjectImage.name, "is missing; --webhook needs the image of the agent");
  } else if (!good) {
    reader.fault(kInjectImage.name, "must be the name of an image: visible ASCII, at most 1024 characters");
  }
  settings.pull_policy = reader.value(kInjectPullPolicy.name).text;
  if (settings.pull_policy != "Always" && settings.pull_policy != "IfNotPresent" && settings.pull_policy != "Never") {
    reader.fault(kInjectPullPolicy.name, "must be Always, IfNotPresent or Never");
  }
}

void read_server(ConfigReader& reader, InjectorSettings& settings) {
  settings.server_url = reader.value(kInjectServerUrl.name).text;
  if (settings.server_url.empty()) {
    settings.server_url = fmt::format("https://sluice-server.{}.svc:8080", settings.own_namespace);
  }
  const auto url = http_client::parse_url(settings.server_url);
  if (!url || url->transport != http_client::Url::Transport::tls) {
    reader.fault_without_value(kInjectServerUrl.name,
                               "must be https://HOST[:PORT] without a path: agents send their tokens there");
  }
}

// In a pod of another namespace, a name without a dot would be a Service of that namespace.
void complete_host(std::string& host, std::string_view namespace_) {
  if (!host.empty() && host.find_first_of(".:") == std::string::npos) host = fmt::format("{}.{}.svc", host, namespace_);
}

void complete_hosts(redis::Target& target, std::string_view namespace_) {
  complete_host(target.host, namespace_);
  for (redis::HostPort& sentinel : target.sentinels) complete_host(sentinel.host, namespace_);
  for (redis::HostPort& node : target.cluster) complete_host(node.host, namespace_);
}

// Returns --counters without its login, or "" if pods cannot use it: they cannot reach it, or it needs a file that only
// the server has. `namespace_`: the server's own; "" if the server is outside of Kubernetes.
std::string counters_of_server(const ConfigReader& reader, std::string_view namespace_) {
  constexpr std::array kOwnFiles{"redis-sentinel-password-file", "redis-sentinel-login-file", "redis-tls-cert"};
  auto target = redis::parse_target(reader.value("counters").text);
  if (!target || target->transport == redis::Target::Transport::unix_socket) return {};
  const bool of_one_redis = target->sentinels.empty() && target->cluster.empty();
  if (of_one_redis && program::is_loopback(target->host)) return {};
  if (std::ranges::any_of(kOwnFiles, [&](const char* flag) { return reader.value(flag).given; })) return {};
  target->user.clear();
  if (!namespace_.empty()) complete_hosts(*target, namespace_);
  return to_string(*target);
}

void read_counters(ConfigReader& reader, std::string_view namespace_, InjectorOptions& options) {
  const bool given = reader.value(kInjectCounters.name).given;
  const std::string& text = options.settings.counters =
      given ? reader.value(kInjectCounters.name).text : counters_of_server(reader, namespace_);
  constexpr std::string_view kRule =
      "must be memory, redis://HOST[:PORT][/DB], redis+sentinel://HOST,HOST,HOST/NAME, redis+cluster://HOST,HOST,HOST, "
      "or one of these with rediss";
  bool tls = false;
  if (text.empty()) {
    reader.fault_without_value(
        kInjectCounters.name,
        fmt::format("is missing, and pods cannot use the Redis of --counters; --inject-counters {}", kRule));
  } else if (text != "memory") {
    const auto target = redis::parse_target(text);
    if (!target || target->transport == redis::Target::Transport::unix_socket) {
      reader.fault_without_value(kInjectCounters.name, kRule);
    } else if (!target->password.empty()) {
      reader.fault_without_value(
          kInjectCounters.name,
          "holds a password, which every pod would show; leave it out: agents get theirs from the "
          "server");
    } else {
      // What comes from --counters was judged there.
      if (given) program::require_encryption(reader, kInjectCounters.name, *target);
      // Only agents that need the permission get it.
      options.settings.insecure_redis = !program::clear_text_host(*target).empty();
    }
    tls = text.starts_with("rediss");
  }
  options.counters_ca_file = reader.file(kInjectCountersCa.name);
  if (!given && options.counters_ca_file.empty()) options.counters_ca_file = reader.value("redis-tls-ca").text;
  reader.require_use(kInjectCountersCa.name, tls,
                     "has no use without TLS; write --inject-counters rediss://… or leave it out");
}

void read_settings(ConfigReader& reader, SidecarSettings& settings) {
  std::string_view rest = reader.value(kInjectSettings.name).text;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) {
      return reader.fault(kInjectSettings.name,
                          "must be NAME=VALUE;NAME=VALUE…, such as log-level=warn;memory-limit=96Mi");
    }
    const std::string_view name = one.substr(0, equals);
    const auto set = set_pod_setting(settings, name, one.substr(equals + 1));
    if (!set) reader.fault(kInjectSettings.name, fmt::format("is faulty: {} {}", quoted(name), set.error().text));
  }
  if (const std::string wrong = contradiction(settings); !wrong.empty()) {
    reader.fault(kInjectSettings.name, fmt::format("contradicts itself: {}", wrong));
  }
}

}  // namespace

std::optional<InjectorOptions> read_injector(ConfigReader& reader, const std::optional<kubernetes::ApiOptions>& api) {
  const bool given = reader.value(kWebhook.name).given;
  for (const FlagSpec& flag : kWebhookFlags) {
    reader.require_use(flag.name, given, "has no use without --webhook; leave it out");
  }
  if (!given) return std::nullopt;
  InjectorOptions options;
  options.settings.version = version();
  if (api) options.settings.own_namespace = api->namespace_;
  read_listener(reader, options);
  read_image(reader, options.settings);
  read_server(reader, options.settings);
  read_counters(reader, api ? std::string_view(api->namespace_) : std::string_view(), options);
  read_settings(reader, options.settings.sidecar);
  reader.require_use(kInjectMissedEvery.name, api.has_value(), "has no use without --kubernetes; leave it out");
  options.missed_every = reader.duration(kInjectMissedEvery.name, 1s, 1h, "1s to 1h");
  return options;
}

}  // namespace sluice::server::injector
