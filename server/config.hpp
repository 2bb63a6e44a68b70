// The configuration of sluice-server, from flags and environment; read and checked in full before anything starts.
//
// Values only: copy freely. No text made here shows a secret.
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
  // What the program shall do; only what the command needs is filled in.
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
  std::string text;  // help, version: print this and exit 0

  postgres::DatabaseOptions database;
  std::size_t max_waiting = 1000;  // calls that wait for a connection
  std::string owner_url;           // "": the schema is not ours to change

  std::optional<redis::Options> redis;  // of the counters; absent: no overrides
  bool allow_evicting = false;

  std::string listen;
  sluice::http::CertificateFiles certificate;  // "": no TLS, or the certificate is kubernetes.self_managed
  std::string tls_ca;                          // the authority of `certificate`; "": not known
  std::string admin;
  std::chrono::milliseconds call_timeout{45'000};
  std::chrono::milliseconds drain_timeout{20'000};
  std::chrono::microseconds analytics_retention{0};
  std::chrono::milliseconds usage_batch{60'000};  // how often usage is stored
  telemetry::LogLevel log_level = telemetry::LogLevel::info;
  identity::IdentitySettings identity;
  std::optional<injector::InjectorOptions> injector;  // absent: no webhook
  kubernetes::Settings kubernetes;

  bool dry_run = false;                // migrate
  std::chrono::milliseconds wait{0};   // migrate: for PostgreSQL
  std::string token_name;              // bootstrap
  bool again = false;                  // bootstrap
  std::string head_file;               // audit verify; "": none
  std::string write_head_file;         // audit verify; "": none
  kubernetes::SecretsOptions secrets;  // make-secrets
};

// All faults at once; each names the flag or the variable, the value, the rule and the fix. Exit 2.
std::expected<Config, Faults> read_config(int argc, const char* const* argv, const program::Environment& environment);

}  // namespace sluice::server
