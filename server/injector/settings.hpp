// The administrator's settings for sidecars, and the settings that a pod may change for itself. A sidecar is the
// container with an agent that the server's injector adds to a pod.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice::server::injector {

// The settings that a pod may change by its annotations `sluice.dev/<name>`.
struct SidecarSettings {
  std::int64_t cpu_request_milli = 10;
  std::int64_t cpu_limit_milli = 0;  // 0: no limit, because a throttled agent would delay all requests of its pod
  std::int64_t memory_request_bytes = 16LL << 20;
  std::int64_t memory_limit_bytes = 64LL << 20;
  // The agent's environment variables (SLUICE_AGENT_…).
  std::map<std::string, std::string, std::less<>> variables;
};

struct InjectorSettings {
  std::string version;  // the injector's
  std::string image;
  std::string pull_policy = "IfNotPresent";
  std::string server_url;
  std::string server_ca;                        // PEM; "": agents trust the CAs of their operating system
  std::string counters;                         // "memory", or the URL of Redis, without the password
  std::string counters_ca;                      // PEM; for a URL of Redis that starts with rediss://
  bool insecure_redis = false;                  // agents may use `counters` without TLS, as the server does
  std::string audience = "sluice";              // of the token that the agent sends to the server
  std::string own_namespace = "sluice-system";  // the server's; pods in it get no sidecar
  SidecarSettings sidecar;                      // defaults
};

struct PodSetting {
  std::string_view name;      // "log-level"
  std::string_view variable;  // of the agent's environment; "": the setting is a resource request or limit
  bool (*is_valid)(std::string_view value);
  std::string_view rule;  // "must be …"
};
std::span<const PodSetting> pod_settings();

// Errors: `unknown` (there is no such setting), `value` (invalid). The text completes a sentence that begins with the
// name.
Result<> set_pod_setting(SidecarSettings& settings, std::string_view name, std::string_view value);

// Describes two settings that contradict each other, so that Kubernetes would refuse the pod; "": there are none.
std::string contradiction(const SidecarSettings& settings);

}  // namespace sluice::server::injector
