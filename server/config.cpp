#include "server/config.hpp"

#include <algorithm>
#include <array>
#include <fstream>

#include <fmt/core.h>

#include "common/base/version.hpp"
#include "common/program/certificate.hpp"
#include "common/program/client_ca.hpp"
#include "common/program/config_reader.hpp"
#include "common/program/log_format.hpp"
#include "common/program/redis_flags.hpp"
#include "common/program/tracing_flags.hpp"
#include "common/program/unknown_variables.hpp"
#include "server/flag_table.hpp"
#include "server/postgres/url.hpp"

namespace sluice::server {
namespace {

using namespace std::chrono_literals;
using program::ConfigReader;

// The server refuses these passwords of examples and templates.
constexpr std::array<std::string_view, 8> kPlaceholders{"changeme", "change-me", "password", "secret",
                                                        "example",  "postgres",  "admin",    "sluice"};

bool is_placeholder(std::string_view password) {
  return std::ranges::find(kPlaceholders, password) != kPlaceholders.end() || password.starts_with('<');
}

constexpr std::string_view kPasswordFile = "the file of --database-password-file";
constexpr std::string_view kPassfile = "a passfile that the URL names (?passfile=FILE)";

void require_encryption(ConfigReader& reader, std::string_view flag, const std::string& url) {
  const bool allowed = reader.boolean("insecure-database");
  const auto route = postgres::route_of(url);
  if (!route) {
    return reader.fault_without_value(
        flag, "cannot be completed by libpq; name a service that its service file has (PGSERVICE, PGSERVICEFILE)");
  }
  const auto remote =
      std::ranges::find_if_not(route->hosts, [](const std::string& host) { return program::is_loopback(host); });
  if (allowed || route->demands_tls() || remote == route->hosts.end()) return;
  reader.fault_without_value(
      flag, fmt::format("may send passwords and policies across the network in clear, to {}; PostgreSQL on another "
                        "machine needs TLS, and sslmode={} does not demand it: add sslmode=verify-full, and "
                        "sslrootcert=FILE for an authority of your own, or add --insecure-database where the network "
                        "is trusted",
                        *remote, route->sslmode));
}

// Returns "" if the flag was not given. `instead`: where a password is better kept than in the URL.
std::string read_url(ConfigReader& reader, std::string_view flag, bool required, std::string_view instead) {
  const program::FlagValue& given = reader.value(flag);
  if (!given.given) {
    if (required) reader.fault_without_value(flag, "is missing; name PostgreSQL: postgresql://ROLE@HOST/NAME");
    return {};
  }
  if (const auto wrong = postgres::url_fault(given.text)) {
    reader.fault_without_value(flag, *wrong);
  } else {
    require_encryption(reader, flag, given.text);
  }
  if (postgres::url_user(given.text).empty())
    reader.fault_without_value(flag, "names no role; write postgresql://ROLE@HOST/NAME");
  const std::string password = postgres::url_password(given.text);
  if (is_placeholder(password)) {
    reader.fault_without_value(flag, "has a placeholder for a password; choose a real one");
  }
  if (!password.empty()) {
    reader.warn_of_password(flag, instead);
  } else if (!postgres::url_key_password(given.text).empty()) {
    reader.warn_of_password(flag, "");
  }
  return given.text;
}

std::string read_password(ConfigReader& reader) {
  const std::string path = reader.file("database-password-file");
  std::string password;
  std::ifstream file(path);
  if (path.empty() || !std::getline(file, password)) {
    reader.require_use("database-password-file", path.empty(), "is empty; its first line is the password");
    return {};
  }
  reader.require_use("database-password-file", !is_placeholder(password),
                     "holds a placeholder; choose a real password");
  return password;
}

void read_database(ConfigReader& reader, Config& config) {
  config.database.url = read_url(reader, "database-url", true, kPasswordFile);
  const std::string password = read_password(reader);
  if (!password.empty()) config.database.url = postgres::with_parameter(config.database.url, "password", password);
}

void read_tuning(ConfigReader& reader, Config& config) {
  config.database.connections = reader.number("database-pool", 1, 200);
  config.max_waiting = reader.number("database-waiting", 1, 100'000);
  config.database.lock_timeout = reader.duration("database-lock-timeout", 10ms, 1min, "10ms to 1m");
  config.database.statement_timeout = reader.duration("database-statement-timeout", 100ms, 10min, "100ms to 10m");
}

void read_counters(ConfigReader& reader, Config& config) {
  config.redis =
      program::read_redis(reader, {.flag_value = "",
                                   .invalid_text = "must be the URL of the Redis that the agents count in",
                                   .useless_text = "has no use without --counters; name the Redis, or leave it out"});
  config.allow_evicting = reader.boolean("allow-evicting-redis");
  reader.require_use("allow-evicting-redis", config.redis.has_value(), "has no use without --counters; leave it out");
  config.redis_survey = reader.duration("redis-survey-every", 0ms, 1h, "0s to 1h");
  reader.require_use("redis-survey-every", config.redis.has_value(), "has no use without --counters; leave it out");
  if (config.redis && is_placeholder(config.redis->target.password)) {
    reader.fault_without_value("counters", "has a placeholder for a password; choose a real one");
  }
}

void read_listeners(ConfigReader& reader, Config& config) {
  config.listen = reader.value("listen").text;
  config.admin = reader.value("admin").text;
  config.certificate = program::read_certificate(reader);
  config.tls_ca = reader.file("tls-ca");
  reader.require_use("tls-ca", !config.certificate.chain.empty(), "has no use without --tls-cert; leave it out");
  const auto listen = reader.address("listen");
  const auto admin = reader.address("admin");
  const bool encrypted = !config.certificate.chain.empty() || config.kubernetes.self_managed;
  config.client_ca = program::read_client_ca(reader, "tls-client-ca", encrypted,
                                             "add --tls-cert and --tls-key or --tls-self-managed, or leave it out");
  config.site = sessions::read_site(reader, encrypted);
  const bool insecure = reader.boolean("insecure-listen");
  if (listen && !encrypted && !insecure && !program::is_loopback(listen->address())) {
    reader.fault(
        "listen",
        "can be reached from outside, and tokens would cross the network in clear; add --tls-cert and --tls-key, "
        "--tls-self-managed in Kubernetes, or --insecure-listen where something else encrypts");
  }
  if (listen && admin && listen->port() != 0 && listen->port() == admin->port()) {
    reader.fault("admin", "has the port of --listen; choose another port");
  }
  config.call_timeout = reader.duration("call-timeout", 100ms, 10min, "100ms to 10m");
  config.drain_timeout = reader.duration("drain-timeout", 0ms, 10min, "0s to 10m");
}

void read_bounds(ConfigReader& reader, Config& config) {
  config.request_memory = reader.byte_size("request-memory", 16'000'000, 64'000'000'000, "16MB to 64GB");
  config.admin_rates.writes = static_cast<std::int64_t>(reader.number("admin-writes-per-second", 0, 1'000'000));
  config.admin_rates.reads = static_cast<std::int64_t>(reader.number("admin-reads-per-second", 0, 1'000'000));
}

void read_analytics(ConfigReader& reader, Config& config) {
  config.analytics_retention = reader.duration("analytics-retention", 1h, 87'600h, "1h to 87600h");
  config.usage_batch = reader.duration("analytics-every", 100ms, 10min, "100ms to 10m");
}

void read_retention(ConfigReader& reader, Config& config) {
  config.changes_retention.age = reader.duration("changes-retention", 1h, 87'600h, "1h to 87600h");
  config.changes_retention.kept = static_cast<std::int64_t>(reader.number("changes-kept", 1, 10'000'000));
}

void read_log_level(ConfigReader& reader, Config& config) {
  const auto level = telemetry::parse_log_level(reader.value("log-level").text);
  config.log_format = program::read_log_format(reader);
  if (!level) return reader.fault("log-level", "must be debug, info, warn or error");
  config.log_level = *level;
}

// The kubelet sets HOSTNAME to the pod's name.
std::string instance_of(const program::Environment& environment) {
  const char* const host = environment.find("HOSTNAME");
  return host == nullptr ? "" : host;
}

void read_injector(ConfigReader& reader, Config& config) {
  const bool encrypted = !config.certificate.chain.empty() || config.kubernetes.self_managed;
  reader.require_use("webhook", encrypted,
                     "needs a certificate: the API server calls webhooks over TLS only; add --tls-self-managed, or "
                     "--tls-cert and --tls-key");
  config.injector = injector::read_injector(reader, config.kubernetes.api);
  if (config.injector) config.injector->settings.audience = config.identity.review.audience;
}

Config::Command command_of(ConfigReader& reader, const program::Flags& flags) {
  if (reader.boolean("help")) return Config::Command::help;
  if (flags.command == "migrate") return Config::Command::migrate;
  if (flags.command == "bootstrap") return Config::Command::bootstrap;
  if (flags.command == "make-secrets") return Config::Command::make_secrets;
  if (flags.command == "import") return Config::Command::import_policies;
  if (flags.command == "routes") return Config::Command::routes;
  if (flags.command == "reference") return Config::Command::reference;
  if (flags.command == "reference openapi") return Config::Command::openapi;
  if (flags.command == "audit verify") return Config::Command::audit_verify;
  return reader.boolean("version") ? Config::Command::version : Config::Command::run;
}

void read_command(ConfigReader& reader, const program::Flags& flags, const program::Environment& environment,
                  Config& config) {
  switch (config.command) {
    case Config::Command::run:
      read_database(reader, config);
      read_tuning(reader, config);
      config.owner_url = read_url(reader, "database-owner-url", false, kPassfile);
      read_counters(reader, config);
      config.kubernetes = kubernetes::read_settings(reader, environment);
      read_listeners(reader, config);
      read_bounds(reader, config);
      read_analytics(reader, config);
      read_retention(reader, config);
      config.identity = identity::read_identity(reader);
      config.redis_users = redis_users::read_settings(reader);
      config.webhooks = webhooks::read_setup(reader);
      config.playground = playground::read_setup(reader);
      config.oidc = oidc::read_setup(reader, config.site);
      read_log_level(reader, config);
      config.tracing = program::read_tracing(
          reader, environment, {.name = std::string(kProgram.name), .instance = instance_of(environment)});
      read_injector(reader, config);
      return;
    case Config::Command::migrate:
      config.database.url = read_url(reader, "database-url", true, kPassfile);
      config.owner_url = read_url(reader, "database-owner-url", true, kPassfile);
      config.dry_run = reader.boolean("dry-run");
      config.wait = reader.duration("wait", 0ms, 1h, "0s to 1h");
      return;
    case Config::Command::bootstrap:
      read_database(reader, config);
      config.token_name = reader.value("name").text;
      config.again = reader.boolean("again");
      return;
    case Config::Command::make_secrets:
      config.secrets = kubernetes::read_secrets_options(reader, environment);
      return;
    case Config::Command::audit_verify:
      read_database(reader, config);
      config.head_file = reader.file("head");
      config.write_head_file = reader.value("write-head").text;
      return;
    case Config::Command::import_policies:
      config.import_options = read_import(reader, flags.operands);
      return;
    case Config::Command::routes:
    case Config::Command::reference:
    case Config::Command::openapi:
    case Config::Command::help:
    case Config::Command::version:
      return;
  }
}

}  // namespace

std::expected<Config, Faults> read_config(int argc, const char* const* argv, const program::Environment& environment) {
  const program::Flags flags = read_flags(kProgram, argc, argv, environment);
  ConfigReader reader(flags);
  Config config;
  config.command = command_of(reader, flags);
  if (config.command == Config::Command::help) {
    config.text = flags.help;
    return config;  // even if other flags are invalid
  }
  if (config.command == Config::Command::version) {
    config.text = fmt::format("{} {} ({})\n", kProgram.name, version(), compiler());
  }
  if (!flags.unknown_command) read_command(reader, flags, environment, config);
  if (!reader.faultless()) return std::unexpected(std::move(reader).take_faults());
  config.warnings = reader.warnings();
  config.unknown_variables = program::unknown_variables(kProgram, environment);
  return config;
}

}  // namespace sluice::server
