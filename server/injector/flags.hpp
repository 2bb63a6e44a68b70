// The flags of the injector: --webhook and what goes into pods. A part of config.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/program/config_reader.hpp"
#include "common/program/flags.hpp"
#include "server/injector/settings.hpp"
#include "server/kubernetes/api_client.hpp"

namespace sluice::server::injector {

using program::FlagSpec;

inline constexpr FlagSpec kWebhook{
    "webhook", "Injector", "ADDR:PORT", "",
    "Serve the Kubernetes admission webhook that puts the agent into pods: POST /v1/inject, with the "
    "certificate of --listen. Without it there is none."};
inline constexpr FlagSpec kInjectImage{"inject-image", "Injector", "IMAGE", "", "Image of the agent for pods."};
inline constexpr FlagSpec kInjectPullPolicy{"inject-pull-policy", "Injector", "POLICY", "IfNotPresent",
                                            "When a node pulls it: Always, IfNotPresent or Never."};
inline constexpr FlagSpec kInjectServerUrl{
    "inject-server-url", "Injector", "URL", "https://sluice-server.sluice-system.svc:8080",
    "Where agents in pods find this server. They are given the authority of its certificate: "
    "--tls-ca, or the one of --tls-self-managed."};
inline constexpr FlagSpec kInjectCounters{
    "inject-counters", "Injector", "memory|URL", "",
    "Where agents in pods count: redis://HOST[:PORT][/DB], rediss://…, or memory. Without a password: "
    "every pod shows it, and agents get theirs from the server."};
inline constexpr FlagSpec kInjectCountersCa{
    "inject-counters-ca", "Injector", "FILE", "",
    "CA certificates (PEM) for rediss://; read again when it changes. Default: their system's."};
inline constexpr FlagSpec kInjectSettings{
    "inject-settings", "Injector", "NAME=VALUE;…", "",
    "Settings of agents in pods, where a pod's annotations sluice.dev/NAME do not say otherwise: "
    "cpu-request, memory-limit, log-level, headers and so on; server/injector/README.md has all."};
inline constexpr FlagSpec kInjectMissedEvery{
    "inject-missed-every", "Injector", "DURATION", "1m",
    "How often pods are looked for that have no agent and should: 1s to 1h. Needs --kubernetes."};

struct InjectorOptions {
  std::string listen;
  InjectorSettings settings;  // without the authorities' certificates
  std::string counters_ca_file;
  std::chrono::milliseconds missed_every{60'000};
};

// Nothing without --webhook. `api`: it names the namespace where this server runs, and no pod is touched; without it
// that is sluice-system.
std::optional<InjectorOptions> read_injector(program::ConfigReader& reader,
                                             const std::optional<kubernetes::ApiOptions>& api);

}  // namespace sluice::server::injector
