// The configuration of sluice-agent, from flags and environment. No error text contains a secret.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include <sys/types.h>

#include "agent/api/authz.hpp"
#include "agent/rls/service.hpp"
#include "common/base/error.hpp"
#include "common/domain/decision.hpp"
#include "common/domain/plan.hpp"
#include "common/http/tls.hpp"
#include "common/line_sinks/destination.hpp"
#include "common/otlp/exporter.hpp"
#include "common/program/flags.hpp"
#include "common/redis/client.hpp"
#include "common/telemetry/decision_log.hpp"
#include "common/telemetry/log.hpp"
#include "engine/policies/server_source.hpp"

namespace sluice::agent {

// The arguments of `sluice-agent mint-key`.
struct MintKeyRequest {
  std::string id;  // "" asks for a random id
  std::string tenant;
  std::string name;  // may be ""
};

struct Config {
  // For help and version only `text` is set, for mint_key only `mint`.
  enum class Command : std::uint8_t { run, check_config, mint_key, reference, openapi, help, version };
  Command command = Command::run;
  std::string text;          // what help and version print
  Faults unknown_variables;  // to show at the start; Fault::pointer is the name
  Faults warnings;           // to log at the start; Fault::pointer names the flag
  MintKeyRequest mint;

  std::string policies_file;  // "" if there is no bundle file
  std::optional<policies::ServerOptions> server;
  Mode mode = Mode::enforce;  // the strictest mode of the policies in `policies_file`
  bool allow_without_snapshot = false;

  std::string ratelimit_folder;  // "": no rate limit service
  rls::Options ratelimit;

  std::optional<redis::Options> redis;  // nullopt: counters in memory
  std::size_t memory_limit = 0;         // bytes that counters in memory may take
  std::size_t record_decisions = 0;     // bytes of recorded checks, of all workers; 0: none are recorded

  std::string listen;                  // such as "127.0.0.1:8088"
  http::CertificateFiles certificate;  // of `listen`; empty without TLS
  std::string client_ca;               // file with the CAs of clients of `listen`; "": clients need no certificate
  std::string listen_unix;             // "": no Unix socket
  mode_t listen_unix_mode = 0660;
  std::string grpc;                // an address, or "unix:" and a path; "": no gRPC
  std::string admin;               // address of probes and metrics
  std::string metrics_listen;      // "": `admin` has the metrics
  std::string metrics_token_file;  // "": everybody may read the metrics

  api::AuthzOptions authz;
  std::string authz_key_file;  // "": proxies send an API key

  std::size_t workers = 1;
  std::size_t max_in_flight = 10'000;
  std::size_t max_waiting = 1'000;                 // checks that are held at the same time
  std::chrono::milliseconds max_wait{30'000};      // how long a check is held at most
  std::chrono::milliseconds matching_budget{200};  // of a worker's time, per tenant and second
  std::chrono::milliseconds redis_budget{500};     // of a Redis' time, per tenant and second, while Redis is busy
  HeaderFamilies headers;
  std::chrono::milliseconds drain_timeout{20'000};
  std::chrono::milliseconds startup_wait{3'000};  // how long /startupz waits for policies and counters

  telemetry::DecisionLogMode decision_log;
  line_sinks::Destination decision_log_to;
  telemetry::LogLevel log_level = telemetry::LogLevel::info;
  telemetry::LogFormat log_format = telemetry::LogFormat::json;
  bool metrics_policy_label = false;
  bool metrics_aliases = false;          // also expose the names of other limiters' metrics
  std::optional<otlp::Options> tracing;  // nullopt: nothing is traced
};

// Returns the configuration, or all faults together. Fault::pointer names the flag or variable.
std::expected<Config, Faults> read_config(int argc, const char* const* argv, const program::Environment& environment);

}  // namespace sluice::agent
