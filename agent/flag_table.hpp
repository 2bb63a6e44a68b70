// The command line of sluice-agent: its commands, and of every flag the name, group, kind of value, default and help.
#pragma once

#include <array>
#include <string_view>

#include "common/program/flags.hpp"
#include "common/program/redis_flags.hpp"

namespace sluice::agent {

using program::FlagSpec;

inline constexpr std::array kFlags{
    FlagSpec{"policies", "Policies", "FILE", "",
             "The bundle (sluice/v1, JSON) of tenants, plans, policies and keys. It is read again when the file "
             "changes, and on "
             "SIGHUP; one with a fault is refused, and the former stays in force."},
    FlagSpec{
        "server", "Policies", "URL", "",
        "The server to take policies from, instead of --policies, and to report to: https://HOST[:PORT] or http://…. "
        "Overrides are then the server's to write."},
    FlagSpec{
        "agent-token-file", "Policies", "FILE", "",
        "File with the agent token for --server, or with the token of a Kubernetes service account (projected, for "
        "the server's audience); read again when it changes. Nobody else may write it."},
    FlagSpec{"server-tls-ca", "Policies", "FILE", "", "CA certificates for --server (PEM). Default: the system's."},
    FlagSpec{"server-tls-cert", "Policies", "FILE", "",
             "Client certificate for --server (PEM); needs --server-tls-key."},
    FlagSpec{"server-tls-key", "Policies", "FILE", "", "Key of the client certificate (PEM); needs --server-tls-cert."},
    FlagSpec{"insecure-server", "Policies", "", "false",
             "Allow --server http://… to another machine. Tokens and policies then cross the network in clear."},
    FlagSpec{
        "snapshot-cache", "Policies", "PATH", "",
        "Keep the server's last good policies in PATH.1 and PATH.2 (mode 0600), and start with them. Default: none "
        "are kept, and a start without the server has none."},
    FlagSpec{"max-snapshot-age", "Policies", "DURATION", "0s",
             "How long policies stay in force that the server has not confirmed; then checks are answered as "
             "--no-snapshot says: 1s to 8760h, or 0s: for ever."},
    FlagSpec{
        "report-interval", "Policies", "DURATION", "5s",
        "How often the agent reports to --server: 100ms to 10s. After 15s without a report it is listed as missing."},
    FlagSpec{"agent-id", "Policies", "ID", "",
             "Name of this agent in reports, one for each agent: visible ASCII. Default: the host's name."},
    FlagSpec{"pod", "Policies", "NAME", "", "Its pod, in reports. Default: POD_NAME, or the host's name."},
    FlagSpec{"no-snapshot", "Policies", "deny|allow", "deny",
             "The answer to checks before any policies are loaded: 503 or 200."},
    FlagSpec{"check-config", "Policies", "", "false",
             "Check the flags and the bundle, print every fault, and exit: 0 good, 1 a faulty bundle, 2 faulty flags."},

    FlagSpec{"counters", "Counters", "memory|URL", "redis://127.0.0.1:6379/0",
             "Where counters live: memory (this process only), redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss://… "
             "(TLS) or unix:PATH[?db=N]."},
    program::kRedisPasswordFile,
    FlagSpec{"redis-password-from-server", "Counters", "", "false",
             "Take Redis' user and password from --server, and keep them in PATH.redis (mode 0600) beside the files of "
             "--snapshot-cache PATH."},
    program::kRedisTlsCa,
    program::kRedisTlsCert,
    program::kRedisTlsKey,
    FlagSpec{"redis-deadline", "Counters", "DURATION", "25ms",
             "How long a decision waits for Redis before its failure mode answers: 1ms to 10s."},

    FlagSpec{"listen", "Listeners", "ADDR:PORT", "127.0.0.1:8088",
             "Where checks are served. Port 0 takes any free port and logs which."},
    FlagSpec{
        "insecure-listen", "Listeners", "", "false",
        "Allow --listen without TLS on an address that others can reach. API keys then cross the network in clear."},
    FlagSpec{"tls-cert", "Listeners", "FILE", "",
             "Certificate chain (PEM) of --listen; read again when it changes. Needs --tls-key."},
    FlagSpec{"tls-key", "Listeners", "FILE", "", "Key of the certificate (PEM). Needs --tls-cert."},
    FlagSpec{"listen-unix", "Listeners", "PATH", "", "Serve checks on a Unix socket as well."},
    FlagSpec{"listen-unix-mode", "Listeners", "MODE", "0660",
             "Who may connect to that socket: an octal mode. 0666 where the folder lets in nobody else."},
    FlagSpec{"admin", "Listeners", "ADDR:PORT", "0.0.0.0:9088",
             "Where probes and metrics are served: /livez, /readyz, /startupz, /metrics."},

    FlagSpec{"workers", "Serving", "N", "1", "Threads that serve checks: 1 to 256."},
    FlagSpec{"max-in-flight", "Serving", "N", "10000",
             "Most checks in flight; above, checks are answered 503 overload: 1 to 1000000."},
    FlagSpec{"headers", "Serving", "LIST", "x,ietf",
             "Rate limit headers of replies: a list of x (X-RateLimit-*), ietf (RateLimit, RateLimit-Policy), draft6 "
             "(RateLimit-Limit, …); or none."},
    FlagSpec{
        "startup-wait", "Serving", "DURATION", "3s",
        "How long /startupz waits for policies and for the counter store's first answer, before the agent counts as "
        "started whatever is missing: 0s to 10m."},
    FlagSpec{"drain-timeout", "Serving", "DURATION", "20s",
             "How long a stop waits for open connections to finish: 0s to 10m."},

    FlagSpec{"decision-log", "Telemetry", "WHICH", "off",
             "Decisions logged to stdout, one JSON line each, without raw subjects: off, denied, sample:N (one of N), "
             "all."},
    FlagSpec{"log-level", "Telemetry", "LEVEL", "info", "Least level logged to stderr: debug, info, warn, error."},
    FlagSpec{"metrics-policy-label", "Telemetry", "", "false",
             "Add a policy label to sluice_decisions_total, for 200 policies; the rest is `other`."},

    FlagSpec{"help", "Other", "", "false", "Print this help and exit."},
    FlagSpec{"version", "Other", "", "false", "Print the version and exit."},
};

inline constexpr std::array kMintKeyFlags{
    FlagSpec{"id", "Key", "ID", "", "Id of the key: [a-z0-9][a-z0-9.-]{0,62}. Default: a random one."},
    FlagSpec{"tenant", "Key", "ID", "default", "Tenant of the bundle entry."},
    FlagSpec{"name", "Key", "TEXT", "", "Name of the bundle entry, for people. Default: none."},
    FlagSpec{"help", "Other", "", "false", "Print this help and exit."},
};

inline constexpr std::string_view kDescription =
    "Sluice agent: answers POST /v1/check with allow or deny, counting in Redis or in memory.\n"
    "Every flag has an environment variable (a flag wins over it; booleans take true, false, 1, 0).";

inline constexpr std::string_view kExamples = R"(
Examples:
  sluice-agent --policies bundle.json --counters memory
      Embedded: no other process needed.
  sluice-agent --policies bundle.json --counters redis://127.0.0.1:6379/0 --workers 2
  sluice-agent --policies bundle.json --counters rediss://sluice:@redis.internal:6380/0 \
      --redis-password-file /run/secrets/redis --redis-tls-ca /etc/ssl/redis-ca.pem
  sluice-agent --server https://sluice.example --agent-token-file /run/secrets/agent-token \
      --snapshot-cache /var/lib/sluice/snapshot --counters redis://127.0.0.1:6379/0
  sluice-agent --server https://sluice.example --agent-token-file /run/secrets/agent-token \
      --listen 0.0.0.0:8443 --tls-cert tls.crt --tls-key tls.key
      As a gateway: others check over the network.
  sluice-agent --policies bundle.json --check-config
  sluice-agent mint-key --tenant shop --id prod-app
      Prints a new API key (shown once), its hash and an entry for the bundle's "keys".

Durations: a whole number and a unit: us, ms, s, m, h. Exit status: 0 good, 1 a faulty bundle or a failed start,
2 faulty flags.)";

inline constexpr std::string_view kMintKey = "mint-key";
inline constexpr std::string_view kMintKeyDescription =
    "Make an API key and print it as one JSON object: id, key (shown only here), key_hash, bundle_entry.";

inline constexpr std::array kCommands{
    program::Command{"", kDescription, kExamples, kFlags},
    program::Command{kMintKey, kMintKeyDescription, "", kMintKeyFlags},
};

inline constexpr program::Program kProgram{"sluice-agent", "SLUICE_AGENT_", kCommands};

}  // namespace sluice::agent
