// The configuration of sluice-server, from flags and environment. It is read and checked in full before anything
// starts.
//
// Values only: copy freely. No error text contains a secret.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "common/base/error.hpp"
#include "common/http/tls.hpp"
#include "common/program/flags.hpp"
#include "common/redis/client.hpp"
#include "common/telemetry/log.hpp"
#include "server/identity/flags.hpp"
#include "server/injector/flags.hpp"
#include "server/kubernetes/flags.hpp"
#include "server/postgres/pool.hpp"

namespace sluice::server {

struct Config {
  // The command to run. Only the members that this command needs are set.
  enum class Command : std::uint8_t {
    run,
    migrate,
    bootstrap,
    make_secrets,
    audit_verify,
    routes,
    reference,
    openapi,
    help,
    version
  };
  Command command = Command::run;
  std::string text;  // for help and version: the text to print

  postgres::DatabaseOptions database;
  std::size_t max_waiting = 1000;  // admin calls that may wait for a connection to PostgreSQL
  std::string owner_url;           // URL for the role that owns the schema; "": this server does not change the schema

  std::optional<redis::Options> redis;  // the Redis that the agents count in; absent: no overrides
  bool allow_evicting = false;          // start even if this Redis may evict overrides

  std::string listen;                          // address for admin requests and for agents
  sluice::http::CertificateFiles certificate;  // for `listen`; empty: no TLS, unless kubernetes.self_managed is set
  std::string tls_ca;                          // file with the CA certificate of `certificate`; "": unknown
  std::string admin;                           // address for probes and metrics
  std::chrono::milliseconds call_timeout{45'000};
  std::chrono::milliseconds drain_timeout{20'000};
  std::chrono::microseconds analytics_retention{0};  // how long the server keeps usage
  std::chrono::milliseconds usage_batch{60'000};     // how often the server writes usage to PostgreSQL
  telemetry::LogLevel log_level = telemetry::LogLevel::info;
  identity::IdentitySettings identity;
  std::optional<injector::InjectorOptions> injector;  // absent: no webhook
  kubernetes::Settings kubernetes;

  // Each of these is for the command that its comment names.
  bool dry_run = false;                // migrate: apply everything, then roll back
  std::chrono::milliseconds wait{0};   // migrate: how long to wait for PostgreSQL
  std::string token_name;              // bootstrap: name of the new token
  bool again = false;                  // bootstrap: make a token although one exists
  std::string head_file;               // audit verify: saved heads of the audit chains; "": no file
  std::string write_head_file;         // audit verify: where to save the heads; "": nowhere
  kubernetes::SecretsOptions secrets;  // make-secrets
};

// Returns the configuration, or else all faults at once. Each fault names the flag or environment variable
// (Fault::pointer), the value, the rule and the fix. If there are faults, the program exits with status 2.
std::expected<Config, Faults> read_config(int argc, const char* const* argv, const program::Environment& environment);

}  // namespace sluice::server
