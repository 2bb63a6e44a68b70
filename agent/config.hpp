// The configuration of sluice-agent, from flags and environment. It is read and checked in full before anything starts.
//
// Values only: copy freely. No error text contains a secret.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include <sys/types.h>

#include "agent/policies/server_source.hpp"
#include "common/base/error.hpp"
#include "common/domain/decision.hpp"
#include "common/http/tls.hpp"
#include "common/program/flags.hpp"
#include "common/redis/client.hpp"
#include "common/telemetry/decision_log.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::agent {

// The arguments of `sluice-agent mint-key`.
struct MintKeyRequest {
  std::string id;  // "": make a random id
  std::string tenant;
  std::string name;  // "": no name
};

struct Config {
  // The command to run. For help and version only `text` is set, for mint_key only `mint`.
  enum class Command : std::uint8_t { run, check_config, mint_key, reference, openapi, help, version };
  Command command = Command::run;
  std::string text;  // for help and version: the text to print
  MintKeyRequest mint;

  std::string policies_file;                      // "": no bundle file; REQUIRED for check_config
  std::optional<policies::ServerOptions> server;  // present: policies come from this server, not from a file
  bool allow_without_snapshot = false;            // true: checks without policies get 200; false: 503 no_snapshot

  std::optional<redis::Options> redis;  // absent: counters in memory
  std::size_t memory_limit = 0;         // how many bytes counters in memory may take

  std::string listen;                  // "127.0.0.1:8088"; loopback, unless TLS or --insecure-listen is set
  http::CertificateFiles certificate;  // for `listen`; empty: no TLS
  std::string listen_unix;             // "": no Unix socket
  mode_t listen_unix_mode = 0660;
  std::string admin;  // address of probes and metrics

  std::size_t workers = 1;
  std::size_t max_in_flight = 10'000;
  HeaderFamilies headers;
  std::chrono::milliseconds drain_timeout{20'000};
  std::chrono::milliseconds startup_wait{3'000};  // how long /startupz waits for policies and counters

  telemetry::DecisionLogMode decision_log;
  telemetry::LogLevel log_level = telemetry::LogLevel::info;
  bool metrics_policy_label = false;
};

// Returns the configuration, or all faults together. Each fault names the flag or variable (Fault::pointer), the value,
// the rule and the fix. After faults the program exits with status 2.
std::expected<Config, Faults> read_config(int argc, const char* const* argv, const program::Environment& environment);

}  // namespace sluice::agent
