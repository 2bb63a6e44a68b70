// The configuration of sluice-agent, from flags and environment; read and checked in full before anything starts.
//
// Values only: copy freely. No text made here shows a secret.
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

// What `mint-key` shall make.
struct MintKeyRequest {
  std::string id;  // "": a random one
  std::string tenant;
  std::string name;  // "": none
};

struct Config {
  // What the program shall do. Of help, version and mint_key only `text` and `mint` are filled in.
  enum class Command : std::uint8_t { run, check_config, mint_key, reference, help, version };
  Command command = Command::run;
  std::string text;  // help, version: print this and exit 0
  MintKeyRequest mint;

  std::string policies_file;                      // "": none; REQUIRED by check_config
  std::optional<policies::ServerOptions> server;  // instead of it
  bool allow_without_snapshot = false;

  std::optional<redis::Options> redis;  // absent: counters in memory

  std::string listen;                  // "127.0.0.1:8088"; loopback unless with TLS or --insecure-listen
  http::CertificateFiles certificate;  // of listen; "": no TLS
  std::string listen_unix;             // "": none
  mode_t listen_unix_mode = 0660;
  std::string admin;

  std::size_t workers = 1;
  std::size_t max_in_flight = 10'000;
  HeaderFamilies headers;
  std::chrono::milliseconds drain_timeout{20'000};
  std::chrono::milliseconds startup_wait{3'000};  // how long /startupz waits for policies and counters

  telemetry::DecisionLogMode decision_log;
  telemetry::LogLevel log_level = telemetry::LogLevel::info;
  bool metrics_policy_label = false;
};

// All faults at once; each names the flag or the variable (Fault::pointer), the value, the rule and the fix. Exit 2.
std::expected<Config, Faults> read_config(int argc, const char* const* argv, const program::Environment& environment);

}  // namespace sluice::agent
