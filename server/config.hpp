// The configuration of sluice-server, from flags and environment. No error text contains a secret.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "common/base/error.hpp"
#include "common/http/tls.hpp"
#include "common/otlp/exporter.hpp"
#include "common/program/flags.hpp"
#include "common/redis/client.hpp"
#include "common/telemetry/log.hpp"
#include "server/admin/token_rates.hpp"
#include "server/identity/flags.hpp"
#include "server/import_command.hpp"
#include "server/injector/flags.hpp"
#include "server/kubernetes/flags.hpp"
#include "server/oidc/flags.hpp"
#include "server/playground/flags.hpp"
#include "server/postgres/pool.hpp"
#include "server/redis_users/flags.hpp"
#include "server/sessions/flags.hpp"
#include "server/sync/retention.hpp"
#include "server/webhooks/flags.hpp"

namespace sluice::server {

struct Config {
  // Only the members that the command needs are set.
  enum class Command : std::uint8_t {
    run,
    migrate,
    bootstrap,
    make_secrets,
    audit_verify,
    import_policies,
    routes,
    reference,
    openapi,
    help,
    version
  };
  Command command = Command::run;
  std::string text;          // to print, for help and version
  Faults unknown_variables;  // to show at the start; Fault::pointer is the name
  Faults warnings;           // to show at the start; Fault::pointer names the flag

  postgres::DatabaseOptions database;
  std::size_t max_waiting = 1000;  // admin calls that may wait for a connection to PostgreSQL
  std::string owner_url;           // of the role that owns the schema, or "" to leave the schema unchanged

  std::optional<redis::Options> redis;
  bool allow_evicting = false;                     // start even if Redis may evict overrides
  std::chrono::milliseconds redis_survey{60'000};  // how often the server surveys Redis' memory; 0: never

  std::string listen;                          // for admin requests and agents
  sluice::http::CertificateFiles certificate;  // if empty, `listen` has no TLS, unless kubernetes.self_managed is set
  std::string client_ca;                       // file with the CAs of clients of `listen`; "": clients need none
  std::string tls_ca;                          // file with the CA certificate of `certificate`, or ""
  sessions::Site site;                         // how browsers reach `listen`
  std::optional<oidc::Setup> oidc;             // nullopt: nobody signs in by OpenID Connect
  std::string admin;                           // for probes and metrics
  std::chrono::milliseconds call_timeout{45'000};
  std::chrono::milliseconds drain_timeout{20'000};
  std::size_t request_memory = 0;  // bytes that all requests in flight may take
  admin::TokenRates::PerSecond admin_rates;
  std::chrono::microseconds analytics_retention{0};
  sync::Retention::Options changes_retention;
  std::chrono::milliseconds usage_batch{60'000};  // how often the server writes usage to PostgreSQL
  telemetry::LogLevel log_level = telemetry::LogLevel::info;
  telemetry::LogFormat log_format = telemetry::LogFormat::json;
  std::optional<otlp::Options> tracing;  // nullopt: no traces
  identity::IdentitySettings identity;
  redis_users::Settings redis_users;
  std::optional<webhooks::Setup> webhooks;
  std::optional<playground::Setup> playground;
  std::optional<injector::InjectorOptions> injector;
  kubernetes::Settings kubernetes;

  // migrate:
  bool dry_run = false;
  std::chrono::milliseconds wait{0};  // for PostgreSQL
  // bootstrap:
  std::string token_name;
  bool again = false;  // make a token although one exists
  // audit verify:
  std::string head_file;        // saved heads of the audit chains, or ""
  std::string write_head_file;  // file for the new heads, or ""
  // import:
  ImportOptions import_options;
  // make-secrets:
  kubernetes::SecretsOptions secrets;
};

// Returns the configuration, or all faults at once. Fault::pointer names the flag or the environment variable.
std::expected<Config, Faults> read_config(int argc, const char* const* argv, const program::Environment& environment);

}  // namespace sluice::server
