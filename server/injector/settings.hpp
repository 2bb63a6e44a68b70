// The administrator's settings for sidecars, and the list of settings that a pod may change for itself. A sidecar is
// the container with an agent that the injector (a webhook of the server) adds to a pod.
//
// Values only; thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice::server::injector {

// The settings that a pod may change by its annotations `sluice.dev/<name>`. pod_settings() lists the names.
struct SidecarSettings {
  std::int64_t cpu_request_milli = 10;
  std::int64_t cpu_limit_milli = 0;  // 0: no limit (the default: a throttled agent would delay all requests of its pod)
  std::int64_t memory_request_bytes = 16LL << 20;
  std::int64_t memory_limit_bytes = 64LL << 20;
  // Environment variables of the agent (SLUICE_AGENT_…). If a variable is missing, the agent uses its own default.
  std::map<std::string, std::string, std::less<>> variables;
};

struct InjectorSettings {
  std::string version;  // the injector's version, written to the pod's annotation sluice.dev/injected
  std::string image;
  std::string pull_policy = "IfNotPresent";
  std::string server_url;
  std::string server_ca;    // CA certificates for server_url, PEM; "": agents trust the CAs of their operating system
  std::string counters;     // "memory", or the URL of Redis, without the password
  std::string counters_ca;  // as server_ca, but for Redis; used if the URL in `counters` starts with rediss://
  // The audience of the service account's token that the agent sends to the server.
  std::string audience = "sluice";
  // The server's own namespace, whose pods get no sidecar.
  std::string own_namespace = "sluice-system";
  SidecarSettings sidecar;  // defaults, which a pod's annotations can change
};

// One setting that a pod may change.
struct PodSetting {
  std::string_view name;      // "log-level"
  std::string_view variable;  // the agent's environment variable; "": the setting is a resource request or limit
  bool (*is_valid)(std::string_view value);
  std::string_view rule;  // for error texts: "must be …"
};
std::span<const PodSetting> pod_settings();

// Changes the setting called `name`. Errors: `unknown` (there is no such setting), `value` (it is invalid). An error's
// text completes a sentence that begins with the name.
Result<> set_pod_setting(SidecarSettings& settings, std::string_view name, std::string_view value);

// Describes two settings that contradict each other, so that Kubernetes would refuse the pod; "": there are none.
std::string contradiction(const SidecarSettings& settings);

}  // namespace sluice::server::injector
