#include "agent/config.hpp"

#include <fmt/core.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <utility>

#include "agent/flag_table.hpp"
#include "agent/server_flags.hpp"
#include "common/base/version.hpp"
#include "common/domain/enum_text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/http/address.hpp"
#include "common/program/certificate.hpp"
#include "common/program/client_ca.hpp"
#include "common/program/config_reader.hpp"
#include "common/program/log_format.hpp"
#include "common/program/redis_flags.hpp"
#include "common/program/tracing_flags.hpp"
#include "common/program/unknown_variables.hpp"
#include "engine/whatif/recording.hpp"

namespace sluice::agent {
namespace {

using boost::asio::ip::tcp;
using namespace std::chrono_literals;
using program::ConfigReader;

constexpr std::size_t kMaxKeyName = 256;           // bytes
constexpr std::string_view kUnixPrefix = "unix:";  // of --grpc
constexpr std::string_view kIdRule = "must match [a-z0-9][a-z0-9.-]{0,62}: lower-case letters, digits, '.' and '-'";

void read_policies(ConfigReader& reader, Config& config) {
  config.policies_file = reader.file("policies");
  if (config.command == Config::Command::check_config && config.policies_file.empty() &&
      !reader.value("ratelimit-config").given && !reader.value("server").given) {
    reader.fault_without_value(
        "policies", "is missing; --check-config needs the bundle to check, or --ratelimit-config or --server");
  }
  const std::optional<Mode> mode = mode_from(reader.value("mode").text);
  if (!mode) reader.fault("mode", fmt::format("must be one of {}", kModeNames));
  config.mode = mode.value_or(Mode::enforce);
  reader.require_use("mode", !reader.value("server").given,
                     "has no use with --server, where policies have the mode that the server says; leave it out");
  const std::string& answer = reader.value("no-snapshot").text;
  config.allow_without_snapshot = answer == "allow";
  if (answer != "allow" && answer != "deny") reader.fault("no-snapshot", "must be deny or allow");
}

void read_rate_limits(ConfigReader& reader, Config& config) {
  constexpr std::array<std::string_view, 5> kFurther{"ratelimit-tenant", "rls-decision", "rls-response-headers",
                                                     "rls-dynamic-metadata", "ratelimit-metrics"};
  const bool is_served = reader.value("ratelimit-config").given;
  for (const std::string_view flag : kFurther) {
    reader.require_use(flag, is_served, "has no use without --ratelimit-config; leave it out");
  }
  config.ratelimit.tenant = reader.value("ratelimit-tenant").text;
  if (!is_id(config.ratelimit.tenant)) reader.fault("ratelimit-tenant", kIdRule);
  const std::string& decision = reader.value("rls-decision").text;
  config.ratelimit.atomic = decision == "atomic";
  if (!config.ratelimit.atomic && decision != "per-descriptor") {
    reader.fault("rls-decision", "must be per-descriptor or atomic");
  }
  config.ratelimit.parts = {.headers = reader.boolean("rls-response-headers"),
                            .metadata = reader.boolean("rls-dynamic-metadata")};
  config.ratelimit.rule_metrics = reader.boolean("ratelimit-metrics");
  config.ratelimit.stands_alone = !reader.value("policies").given && !reader.value("server").given;
  if (!is_served) return;
  config.ratelimit_folder = reader.value("ratelimit-config").text;
  std::error_code error;
  if (!std::filesystem::is_directory(config.ratelimit_folder, error)) {
    reader.fault("ratelimit-config", "is not a folder; name the folder that has the YAML files");
  }
}

void read_counters(ConfigReader& reader, Config& config) {
  config.redis = program::read_redis(reader, {.flag_value = "memory",
                                              .invalid_text = "must be memory or the URL of a Redis",
                                              .useless_text = "has no use with --counters memory; leave it out"});
  const auto queue_wait = reader.duration("queue-wait", 0ms, 10s, "0s to 10s");
  const auto batch_queue_wait = reader.duration("batch-queue-wait", 0ms, 10s, "0s to 10s");
  if (!config.redis) return;
  config.redis->queue_wait = queue_wait;
  config.redis->batch_queue_wait = batch_queue_wait;
}

// The server hands out the user and password of Redis. The agent stores them beside the last good state, so that it can
// start while the server is away.
void read_counters_login(ConfigReader& reader, Config& config) {
  constexpr std::string_view kFlag = "redis-password-from-server";
  if (!reader.boolean(kFlag)) return;
  reader.require_use(kFlag, reader.value("server").given, "has no use without --server; leave it out");
  reader.require_use(kFlag, reader.value("counters").text != "memory",
                     "has no use with --counters memory; leave it out");
  reader.require_use(kFlag, !reader.value("server").given || reader.value("snapshot-cache").given,
                     "needs a file to keep the password in; add --snapshot-cache");
  reader.require_use("redis-user", false, "has no use with --redis-password-from-server; leave it out");
  if (!config.redis) return;
  if (!config.redis->password_file.empty() || !config.redis->target.password.empty()) {
    reader.fault(kFlag, "conflicts with the password in --counters or --redis-password-file; remove that password");
  }
  if (!config.server || config.server->cache.empty()) return;
  config.server->login_file = config.redis->login_file = config.server->cache + ".redis";
}

void read_unix_mode(ConfigReader& reader, Config& config) {
  const program::FlagValue& given = reader.value("listen-unix-mode");
  const std::string& text = given.text;
  const bool octal = (text.size() == 3 || text.size() == 4) && text.find_first_not_of("01234567") == std::string::npos;
  const auto mode = octal ? static_cast<mode_t>(std::stoul(text, nullptr, 8)) : mode_t{0};
  // To connect, a process needs write permission on the socket.
  if (mode > 0777 || (mode & 0600) != 0600) {
    return reader.fault("listen-unix-mode",
                        "must be an octal mode from 0600 to 0777 that lets the owner read and write");
  }
  reader.require_use("listen-unix-mode",
                     reader.value("listen-unix").given || reader.value("grpc").text.starts_with(kUnixPrefix),
                     "has no use without --listen-unix or --grpc unix:PATH; leave it out");
  config.listen_unix_mode = mode;
}

void check_unix_path(ConfigReader& reader, std::string_view flag, const std::string& path) {
  constexpr std::size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;  // without the NUL byte
  if (path.size() > kLongest) {
    return reader.fault(flag, fmt::format("is longer than the {} bytes a socket's path may have", kLongest));
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) {
    return reader.fault(flag, "is in a folder that is missing or not writable; make it, or name another");
  }
  std::error_code error;
  const auto there = std::filesystem::symlink_status(path, error).type();
  if (there != std::filesystem::file_type::socket && there != std::filesystem::file_type::not_found) {
    reader.fault(flag, "exists and is not a socket, so the agent does not replace it; name another path");
  }
}

void read_unix_path(ConfigReader& reader, Config& config) {
  const program::FlagValue& path = reader.value("listen-unix");
  if (!path.given) return;
  config.listen_unix = path.text;
  check_unix_path(reader, "listen-unix", path.text);
}

// The rules of --listen hold for --grpc as well: API keys do not cross a network in clear by mistake.
void read_grpc(ConfigReader& reader, Config& config) {
  const program::FlagValue& given = reader.value("grpc");
  if (!given.given) return;
  config.grpc = given.text;
  if (given.text.starts_with(kUnixPrefix)) {
    const std::string path = given.text.substr(kUnixPrefix.size());
    if (path.empty()) return reader.fault("grpc", "must name a socket after unix:, such as unix:/run/sluice/grpc.sock");
    if (path == config.listen_unix) return reader.fault("grpc", "is the socket of --listen-unix; name another path");
    return check_unix_path(reader, "grpc", path);
  }
  const std::optional<tcp::endpoint> grpc = reader.address("grpc");
  if (grpc && config.certificate.chain.empty() && !program::is_loopback(grpc->address()) &&
      !reader.boolean("insecure-listen")) {
    reader.fault("grpc",
                 "can be reached from outside, and API keys would cross the network in clear; listen on 127.0.0.1, add "
                 "--tls-cert and --tls-key, or --insecure-listen where the network is trusted");
  }
  for (const std::string_view other : {"listen", "admin", "metrics-listen"}) {
    const auto taken = http::parse_address(reader.value(other).text);
    if (grpc && taken && grpc->port() != 0 && grpc->port() == taken->port()) {
      reader.fault("grpc", fmt::format("has the port of --{}; choose another port", other));
    }
  }
}

void read_listeners(ConfigReader& reader, Config& config) {
  config.listen = reader.value("listen").text;
  config.admin = reader.value("admin").text;
  const std::optional<tcp::endpoint> listen = reader.address("listen");
  const std::optional<tcp::endpoint> admin = reader.address("admin");
  const bool insecure = reader.boolean("insecure-listen");
  config.certificate = program::read_certificate(reader);
  config.client_ca = program::read_client_ca(reader, "tls-client-ca", !config.certificate.chain.empty(),
                                             "add --tls-cert and --tls-key, or leave it out");
  if (listen && config.certificate.chain.empty() && !program::is_loopback(listen->address()) && !insecure) {
    reader.fault("listen",
                 "can be reached from outside, and API keys would cross the network in clear; listen on 127.0.0.1, add "
                 "--tls-cert and --tls-key, or --insecure-listen where the network is trusted");
  }
  if (listen && admin && listen->port() != 0 && listen->port() == admin->port()) {
    reader.fault("admin", "has the port of --listen; choose another port");
  }
  if (reader.value("metrics-listen").given) {
    config.metrics_listen = reader.value("metrics-listen").text;
    const std::optional<tcp::endpoint> metrics = reader.address("metrics-listen");
    const auto same_port = [&metrics](const std::optional<tcp::endpoint>& other) {
      return metrics && other && metrics->port() != 0 && metrics->port() == other->port();
    };
    if (same_port(listen)) reader.fault("metrics-listen", "has the port of --listen; choose another port");
    if (same_port(admin)) reader.fault("metrics-listen", "has the port of --admin; choose another port");
  }
  config.metrics_token_file = reader.file("metrics-token-file");
  read_unix_path(reader, config);
  read_unix_mode(reader, config);
  read_grpc(reader, config);
}

void read_proxies(ConfigReader& reader, Config& config) {
  auto proxies = api::parse_trusted_proxies(reader.value("trusted-proxies").text);
  if (!proxies) reader.fault("trusted-proxies", proxies.error());
  auto map = api::parse_authz_map(reader.value("authz-map").text);
  if (!map) reader.fault("authz-map", map.error());
  config.authz_key_file = reader.file("authz-key-file");
  if (!proxies || !map) return;
  config.authz = {.proxies = *std::move(proxies), .map = *std::move(map)};
  const bool trusts = config.authz.proxies.unix_socket || !config.authz.proxies.blocks.empty();
  constexpr std::string_view kUseless = "has no use with --trusted-proxies none; leave it out";
  reader.require_use("authz-map", trusts, kUseless);
  reader.require_use("authz-key-file", trusts, kUseless);
}

void read_headers(ConfigReader& reader, Config& config) {
  config.headers = {.x = false, .ietf = false, .ietf_next = false, .draft6 = false, .retry_after = false};
  std::string_view rest = reader.value("headers").text;
  if (rest == "none") return;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    const std::string_view family = rest.substr(0, comma);
    if (family == "x")
      config.headers.x = true;
    else if (family == "ietf")
      config.headers.ietf = true;
    else if (family == "ietf-next")
      config.headers.ietf_next = true;
    else if (family == "draft6")
      config.headers.draft6 = true;
    else if (family == "retry-after")
      config.headers.retry_after = true;
    else
      return reader.fault("headers",
                          "must be a list of x, ietf, ietf-next, draft6 and retry-after, such as x,ietf; or none");
    if (config.headers.ietf && config.headers.ietf_next)
      return reader.fault("headers", "has ietf and ietf-next, which write the same headers; keep one");
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
}

void read_record_decisions(ConfigReader& reader, Config& config) {
  constexpr std::string_view kFlag = "record-decisions";
  if (!reader.value(kFlag).given) return;
  const std::size_t least = whatif::Recording::least_bytes(config.workers);
  config.record_decisions = reader.byte_size(kFlag, 64'000, std::size_t{256} << 20, "64kB to 256MiB");
  if (config.record_decisions < least)
    reader.fault(kFlag, fmt::format("must be {} bytes or more: 32KiB for each of --workers", least));
}

void read_serving(ConfigReader& reader, Config& config) {
  config.workers = reader.number("workers", 1, 256);
  config.max_in_flight = reader.number("max-in-flight", 1, 1'000'000);
  config.max_waiting = reader.number("max-waiting", 0, 100'000);
  config.max_wait = reader.duration("max-wait", 0ms, 10min, "0s to 10m");
  config.matching_budget = reader.duration("matching-budget", 1ms, 1s, "1ms to 1s");
  config.redis_budget = reader.duration("redis-budget", 1ms, 1s, "1ms to 1s");
  config.memory_limit = reader.byte_size("memory-limit", 1'000'000, 64'000'000'000, "1MB to 64GB");
  read_record_decisions(reader, config);
  config.drain_timeout = reader.duration("drain-timeout", 0ms, 10min, "0s to 10m");
  config.startup_wait = reader.duration("startup-wait", 0ms, 10min, "0s to 10m");
  read_headers(reader, config);
}

// Faults of the file are found now: later the log could only say that lines are lost.
void check_log_file(ConfigReader& reader, std::string_view flag, const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return reader.fault(flag, "is in a folder that is missing or not writable; make it, or name another");
  }
  std::error_code error;
  const auto there = std::filesystem::status(path, error).type();
  if (there == std::filesystem::file_type::not_found) return;
  if (there != std::filesystem::file_type::regular) return reader.fault(flag, "is no regular file; name another path");
  if (::access(path.c_str(), W_OK) != 0) reader.fault(flag, "is a file that this user may not write; name another");
}

void read_decision_log_to(ConfigReader& reader, Config& config) {
  constexpr std::string_view kTo = "decision-log-to", kSize = "decision-log-rotate-size",
                             kKeep = "decision-log-rotate-keep";
  const bool never = reader.value(kSize).text == "0";
  const auto size = never ? 0 : reader.byte_size(kSize, 64'000, 1'000'000'000'000, "64kB to 1000GB (or 0: never)");
  const auto keep = static_cast<std::uint32_t>(reader.number(kKeep, 1, 1'000));
  auto to = line_sinks::parse_destination(reader.value(kTo).text);
  if (!to) return reader.fault(kTo, to.error());
  auto* file = std::get_if<line_sinks::FileOptions>(&*to);
  reader.require_use(kSize, file != nullptr, "has no use without --decision-log-to file:PATH; leave it out");
  reader.require_use(kKeep, file != nullptr && size > 0,
                     "has no use without --decision-log-to file:PATH and a size to rotate at; leave it out");
  if (file != nullptr) {
    check_log_file(reader, kTo, file->path);
    file->rotate_size = size;
    file->keep = keep;
  }
  config.decision_log_to = *std::move(to);
}

void read_telemetry(ConfigReader& reader, Config& config) {
  const auto mode = telemetry::parse_decision_log_mode(reader.value("decision-log").text);
  if (mode)
    config.decision_log = *mode;
  else
    reader.fault("decision-log", telemetry::kDecisionLogRule);
  read_decision_log_to(reader, config);
  const auto level = telemetry::parse_log_level(reader.value("log-level").text);
  if (level)
    config.log_level = *level;
  else
    reader.fault("log-level", "must be debug, info, warn or error");
  config.log_format = program::read_log_format(reader);
  config.metrics_policy_label = reader.boolean("metrics-policy-label");
  config.metrics_aliases = reader.boolean("metrics-aliases");
}

void read_mint_key(ConfigReader& reader, Config& config) {
  config.mint = {
      .id = reader.value("id").text, .tenant = reader.value("tenant").text, .name = reader.value("name").text};
  if (!config.mint.id.empty() && !is_id(config.mint.id)) reader.fault("id", kIdRule);
  if (!is_id(config.mint.tenant)) reader.fault("tenant", kIdRule);
  if (config.mint.name.size() > kMaxKeyName) {
    reader.fault("name", fmt::format("must be at most {} bytes", kMaxKeyName));
  }
}

Config::Command command_of(ConfigReader& reader, std::string_view command) {
  const bool help = reader.boolean("help");
  const bool version = reader.boolean("version");
  const bool check = reader.boolean("check-config");
  if (help) return Config::Command::help;
  if (version) return Config::Command::version;
  if (command == kMintKey) return Config::Command::mint_key;
  if (command == kReference) return Config::Command::reference;
  if (command == kReferenceOpenapi) return Config::Command::openapi;
  return check ? Config::Command::check_config : Config::Command::run;
}

}  // namespace

std::expected<Config, Faults> read_config(int argc, const char* const* argv, const program::Environment& environment) {
  const program::Flags flags = read_flags(kProgram, argc, argv, environment);
  ConfigReader reader(flags);
  Config config;
  config.command = command_of(reader, flags.command);
  const bool about_itself = config.command == Config::Command::help || config.command == Config::Command::version;
  if (flags.unknown_command && !about_itself) return std::unexpected(flags.faults);
  switch (config.command) {
    case Config::Command::help:
      config.text = flags.help;
      return config;  // even if other flags are invalid
    case Config::Command::version:
      config.text = fmt::format("{} {} ({})\n", kProgram.name, version(), compiler());
      return config;
    case Config::Command::mint_key:
      read_mint_key(reader, config);
      break;
    case Config::Command::reference:
    case Config::Command::openapi:
      break;
    case Config::Command::run:
    case Config::Command::check_config:
      read_policies(reader, config);
      read_rate_limits(reader, config);
      config.server = read_server(reader, environment);
      read_counters(reader, config);
      read_counters_login(reader, config);
      read_listeners(reader, config);
      read_proxies(reader, config);
      read_serving(reader, config);
      read_telemetry(reader, config);
      config.tracing = program::read_tracing(reader, environment, {std::string(kProgram.name), agent_name(reader)});
  }
  if (!reader.faultless()) return std::unexpected(std::move(reader).take_faults());
  config.warnings = reader.warnings();
  config.unknown_variables = program::unknown_variables(kProgram, environment);
  return config;
}

}  // namespace sluice::agent
