// The server's flags for the injector, which adds agents to pods.
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

inline constexpr FlagSpec kWebhook{"webhook", "Injector", "ADDR:PORT", "",
                                   "Serve the Kubernetes admission webhook that puts the agent into pods: POST "
                                   "/v1/inject, with the certificate of --listen. Default: no webhook."};
inline constexpr FlagSpec kWebhookClientCa{
    "webhook-tls-client-ca", "Injector", "FILE", "",
    "CA certificates (PEM). Whoever calls --webhook must then present a client certificate that leads to one of them. "
    "Read again when it changes."};
inline constexpr FlagSpec kInjectImage{"inject-image", "Injector", "IMAGE", "", "Image of the agent for pods."};
inline constexpr FlagSpec kInjectPullPolicy{"inject-pull-policy", "Injector", "POLICY", "IfNotPresent",
                                            "When a node pulls that image: Always, IfNotPresent or Never."};
inline constexpr FlagSpec kInjectServerUrl{
    "inject-server-url", "Injector", "URL", "",
    "Where agents in pods find this server. They trust the CA of its certificate: --tls-ca, or the one of "
    "--tls-self-managed. Default: https://sluice-server.NAMESPACE.svc:8080 with the server's own namespace, which "
    "--kubernetes knows; without --kubernetes it is sluice-system."};
inline constexpr FlagSpec kInjectCounters{
    "inject-counters", "Injector", "memory|URL", "",
    "Where agents in pods count: redis://HOST[:PORT][/DB], redis+sentinel://HOST,HOST,HOST/NAME (sentinels without a "
    "login), redis+cluster://HOST,HOST,HOST, the same with rediss (TLS), or memory. Without TLS it needs "
    "--insecure-redis, which then holds for agents too. Leave the password out, because "
    "everybody who can see a pod sees it; agents get theirs from the server. Default: --counters without its login, if "
    "pods can use that Redis with no file of the server. A host without a dot is then a Service of the server's "
    "namespace: sidecars get HOST.NAMESPACE.svc."};
inline constexpr FlagSpec kInjectCountersCa{
    "inject-counters-ca", "Injector", "FILE", "",
    "CA certificates (PEM) for rediss://. Read again when it changes. Default: --redis-tls-ca if agents use the Redis "
    "of --counters, else those of the agent's image."};
inline constexpr FlagSpec kInjectSettings{
    "inject-settings", "Injector", "NAME=VALUE;…", "",
    "Settings of agents in pods, unless an annotation sluice.dev/NAME of the pod says otherwise: cpu-request, "
    "memory-limit, log-level, headers and so on. server/injector/README.md lists them."};
inline constexpr FlagSpec kInjectMissedEvery{
    "inject-missed-every", "Injector", "DURATION", "1m",
    "How often the server looks for pods that should have an agent and have none: 1s to 1h. Needs --kubernetes."};

struct InjectorOptions {
  std::string listen;
  InjectorSettings settings;  // without CA certificates, which the Injector adds
  std::string client_ca;      // file with the CAs of the webhook's clients; "": they need no certificate
  std::string counters_ca_file;
  std::chrono::milliseconds missed_every{60'000};  // how often to search for pods without an agent
};

// Returns nullopt without --webhook. `api` names the server's own namespace; without `api` it is sluice-system.
std::optional<InjectorOptions> read_injector(program::ConfigReader& reader,
                                             const std::optional<kubernetes::ApiOptions>& api);

}  // namespace sluice::server::injector
