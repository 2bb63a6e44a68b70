// The command line of sluice-agent.
#pragma once

#include <array>
#include <string_view>

#include "common/program/flags.hpp"
#include "common/program/log_format.hpp"
#include "common/program/redis_flags.hpp"
#include "common/program/tracing_flags.hpp"

namespace sluice::agent {

using program::FlagSpec;

inline constexpr std::array kFlags{
    FlagSpec{"policies", "Policies", "FILE", "",
             "The bundle (sluice/v1, JSON or YAML) of tenants, plans, policies, keys and overrides. The agent reads it "
             "again "
             "when the file changes, and on SIGHUP. A faulty bundle is refused; the former one stays in force."},
    FlagSpec{"server", "Policies", "URL", "",
             "The server to take policies from and to report to, instead of --policies: https://HOST[:PORT] or "
             "http://…. With --server, the server, not the agent, writes the overrides into Redis."},
    FlagSpec{"agent-token-file", "Policies", "FILE", "",
             "File with the agent token for --server, or with a Kubernetes service account token whose audience is the "
             "server's --token-audience. Read again when it changes. Other users must not have write permission."},
    FlagSpec{"server-tls-ca", "Policies", "FILE", "",
             "CA certificates to trust for --server (PEM). Default: those of the operating system."},
    FlagSpec{
        "server-tls-cert", "Policies", "FILE", "",
        "Client certificate for --server (PEM), which a server with --tls-client-ca demands. Read at each connect, so "
        "that a renewed one is used. Needs --server-tls-key."},
    FlagSpec{"server-tls-key", "Policies", "FILE", "", "Key of the client certificate (PEM); needs --server-tls-cert."},
    FlagSpec{"insecure-server", "Policies", "", "false",
             "Allow --server http://… to another machine. Tokens and policies then cross the network in clear."},
    FlagSpec{"snapshot-cache", "Policies", "PATH", "",
             "Keep the last good policies of --server in the folder PATH.state (mode 0700), and start with them. The "
             "agent loads nothing that others can have written. Without it, an agent that starts while the server is "
             "away has no policies."},
    FlagSpec{"max-snapshot-age", "Policies", "DURATION", "0s",
             "How long policies stay in force without the server's confirmation: 1s to 8760h; 0s is no limit. After "
             "that, checks are answered as --no-snapshot says."},
    FlagSpec{"report-interval", "Policies", "DURATION", "5s",
             "How often the agent reports to --server: 100ms to 10s. The server lists an agent as missing after 15s "
             "without a report."},
    FlagSpec{"agent-id", "Policies", "ID", "",
             "Name of this agent in reports, unique among agents: visible ASCII. Default: the host's name."},
    FlagSpec{"pod", "Policies", "NAME", "",
             "Name of the agent's pod in reports. Default: POD_NAME, or the host's name."},
    FlagSpec{"record-decisions", "Policies", "SIZE", "",
             "Keep the newest checks of tenants with `record_requests` in so much memory, so that the server can ask "
             "what an edited policy would have denied (POST /v1/admin/whatif): 64kB to 256MiB, such as 4MiB, at least "
             "32KiB for each of --workers. A question takes as much again while it is answered. Default: keep none."},
    FlagSpec{"no-snapshot", "Policies", "deny|allow", "deny",
             "The answer to checks while there are no policies: deny is 503, allow is 200."},
    FlagSpec{"mode", "Policies", "enforce|shadow|off", "enforce",
             "The mode of all policies of --policies: shadow counts and reports but refuses nothing, off lets every "
             "request pass. The bundle, a tenant or a policy can have a laxer mode. Also on, monitor; and the variable "
             "RATE_LIMIT_MODE.",
             "RATE_LIMIT_MODE"},
    FlagSpec{"check-config", "Policies", "", "false",
             "Check the flags, the bundle, the files of --ratelimit-config and those of TLS, print every fault, and "
             "exit: 0 good, 1 a faulty file, 2 faulty flags."},

    FlagSpec{"ratelimit-config", "Rate limit service", "DIR", "",
             "Serve Envoy's rate limit service by the files *.yaml of this folder, in the format of "
             "envoyproxy/ratelimit. "
             "Needs neither --policies nor --server. The agent reads the files again when they change, and on SIGHUP. "
             "Faulty files are refused; the former rules stay in force."},
    FlagSpec{"ratelimit-tenant", "Rate limit service", "ID", "default",
             "The tenant that all domains of --ratelimit-config belong to: whose API keys may ask, and whose share of "
             "the agent the requests take."},
    FlagSpec{"rls-decision", "Rate limit service", "per-descriptor|atomic", "per-descriptor",
             "per-descriptor: each descriptor of a request is charged by itself, as envoyproxy/ratelimit does. atomic: "
             "all of them are charged, or none; the counters of a domain are then in one slot of a Redis Cluster."},
    FlagSpec{"rls-response-headers", "Rate limit service", "", "false",
             "Let the proxy add RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset to its responses "
             "(response_headers_to_add)."},
    FlagSpec{"rls-dynamic-metadata", "Rate limit service", "", "false",
             "Answer with dynamic_metadata: the request, the `metadata` of the rules that passed, and with quota_mode "
             "the models that have quota left."},
    FlagSpec{"ratelimit-metrics", "Rate limit service", "", "false",
             "Count hits for each rule too, under the names that exporters of envoyproxy/ratelimit give "
             "(ratelimit_service_rate_limit_total_hits{domain,key1} and others), for dashboards that need them."},

    FlagSpec{"counters", "Counters", "memory|URL", "redis://127.0.0.1:6379/0",
             "Where counters are kept: memory (this process only), redis://[USER:PASSWORD@]HOST[:PORT][/DB], "
             "redis+sentinel://[USER:PASSWORD@]HOST[:PORT],HOST,HOST/NAME[/DB] (the primary that these sentinels call "
             "NAME), redis+cluster://[USER:PASSWORD@]HOST[:PORT],HOST,HOST (nodes of a Redis Cluster), the same with "
             "rediss (TLS), or unix:PATH[?db=N]. Another machine needs TLS, or --insecure-redis."},
    FlagSpec{"memory-limit", "Counters", "SIZE", "32MB",
             "How much memory counters may take in the agent: those of --counters memory, and those of failure mode "
             "fail_degrade. 1MB to 64GB. When memory is short, the new identities of a tenant that takes more than its "
             "share have one common counter for each limit, and its checks that would take a lease get 503."},
    program::kRedisUser,
    program::kRedisPasswordFile,
    program::kRedisSentinelPasswordFile,
    program::kRedisSentinelLoginFile,
    FlagSpec{"redis-password-from-server", "Counters", "", "false",
             "Take Redis' user and password from --server, and keep them in PATH.redis (mode 0600) beside the files of "
             "--snapshot-cache PATH."},
    program::kRedisTlsCa,
    program::kRedisTlsCert,
    program::kRedisTlsKey,
    program::kInsecureRedis,
    FlagSpec{
        "redis-deadline", "Counters", "DURATION", "25ms",
        "How long Redis may take to answer a call, counted from sending it: 1ms to 10s. After that the failure mode "
        "answers."},
    FlagSpec{
        "queue-wait", "Counters", "DURATION", "25ms",
        "How long a check waits for its turn while Redis is busy: 0s to 10s. Tenants take turns, and so do a tenant's "
        "API keys."},
    FlagSpec{"batch-queue-wait", "Counters", "DURATION", "450ms",
             "As --queue-wait, but for each check of a batch: 0s to 10s."},

    FlagSpec{"listen", "Listeners", "ADDR:PORT", "127.0.0.1:8088",
             "Where the agent answers checks. Port 0 takes any free port; the log names it. An address that others can "
             "reach needs TLS, or --insecure-listen."},
    FlagSpec{"insecure-listen", "Listeners", "", "false",
             "Allow --listen and --grpc without TLS on an address that others can reach. API keys then cross the "
             "network in clear."},
    FlagSpec{"tls-cert", "Listeners", "FILE", "",
             "Certificate chain (PEM) of --listen and --grpc. Read again when it changes. Needs --tls-key."},
    FlagSpec{"tls-key", "Listeners", "FILE", "", "Key of the certificate (PEM). Needs --tls-cert."},
    FlagSpec{
        "tls-client-ca", "Listeners", "FILE", "",
        "CA certificates (PEM). Whoever connects to --listen or --grpc must then present a client certificate that "
        "leads to one of them. Read again when it changes. Needs --tls-cert. Does not concern Unix sockets."},
    FlagSpec{"listen-unix", "Listeners", "PATH", "", "Answer checks on this Unix socket as well."},
    FlagSpec{"listen-unix-mode", "Listeners", "MODE", "0660",
             "Who may connect to the socket of --listen-unix and of --grpc: an octal mode. Use 0666 only in a folder "
             "that nobody "
             "else can enter."},
    FlagSpec{"grpc", "Listeners", "ADDR:PORT|unix:PATH", "",
             "Answer checks over gRPC as well: sluice.v1.Decisions, health and reflection. TLS and client certificates "
             "are those of --listen; the mode of a socket is --listen-unix-mode. Port 0 takes any free port; the log "
             "names it."},
    FlagSpec{
        "admin", "Listeners", "ADDR:PORT", "0.0.0.0:9088",
        "Where probes and metrics are answered: /livez, /readyz, /startupz, /metrics. Without --metrics-listen and "
        "--metrics-token-file, everybody who reaches this address can read the metrics, which name tenants."},
    FlagSpec{"metrics-listen", "Listeners", "ADDR:PORT", "",
             "Answer /metrics here, and no longer at --admin, so that a network policy can tell scrapes and probes "
             "apart. Port 0 takes any free port; the log names it."},
    FlagSpec{"metrics-token-file", "Listeners", "FILE", "",
             "File with a token of 16 to 1024 visible ASCII characters. /metrics then needs Authorization: Bearer "
             "TOKEN; probes need none. Read again when it changes."},

    FlagSpec{
        "trusted-proxies", "Proxies", "LIST", "loopback,unix",
        "The proxies whose headers /v1/authz believes (X-Forwarded-*, X-Original-*, those of --authz-map), and the "
        "Envoys whose messages the gRPC service envoy.service.auth.v3.Authorization believes: a list of "
        "addresses, networks such as 10.0.0.0/8, loopback, and unix (whoever may connect to the Unix socket of "
        "--listen-unix or --grpc); or none. They are also skipped in X-Forwarded-For."},
    FlagSpec{"authz-map", "Proxies", "LIST", "",
             "Headers of a trusted proxy that become fields of the check: a list of HEADER=FIELD, such as "
             "x-user-id=subject,x-team=tag.team. FIELD is a dimension or plan_id. Name only headers that the proxy "
             "sets itself, because it copies others from its clients. Over gRPC, context_extensions of this name count "
             "before the header."},
    FlagSpec{"authz-key-file", "Proxies", "FILE", "",
             "File with the API key of all sub-requests of --trusted-proxies, whose x-api-key is then ignored. For "
             "proxies that cannot send a key. Whoever reaches --listen or --grpc from such an address is then served "
             "without a key. Read again when it changes."},

    FlagSpec{"workers", "Serving", "N", "1",
             "Threads that answer checks, each with its own connection to Redis: 1 to 256."},
    FlagSpec{
        "max-in-flight", "Serving", "N", "10000",
        "How many checks the agent decides at the same time: 1 to 1000000. Checks beyond that get 503 overload. The "
        "last eighth of the places is for tenants that use less than their share, the eighth before it for such API "
        "keys."},
    FlagSpec{"max-wait", "Serving", "DURATION", "30s",
             "How long the agent holds a check at most until it fits (`wait` of a check, `max_delay` of the action "
             "delay): 0s to 10m; 0s holds none."},
    FlagSpec{"max-waiting", "Serving", "N", "1000",
             "How many checks the agent holds at the same time, at most 100 of one counter: 0 to 100000. Checks beyond "
             "that get 429 at once. The last eighth of the places is for tenants that use less than their share, the "
             "eighth before it for such API keys."},
    FlagSpec{"matching-budget", "Serving", "DURATION", "200ms",
             "How much time of a worker, each second, may go into matching one tenant's checks with patterns or with "
             "many policies: 1ms to 1s; 1s is no bound. Such checks beyond that get 503 overload. An agent with one "
             "tenant has no bound."},
    FlagSpec{"redis-budget", "Serving", "DURATION", "500ms",
             "How much time of a Redis, each second, one tenant's checks may take while Redis is busy, through all its "
             "agents together: 1ms to 1s; 1s is no bound. Checks beyond that get 503 overload. Give all agents the "
             "same value."},
    FlagSpec{
        "headers", "Serving", "LIST", "x,ietf",
        "Rate limit headers of replies: a list of x (X-RateLimit-*), ietf (RateLimit, RateLimit-Policy), ietf-next "
        "(the same as the IETF draft's next revision proposes), draft6 (RateLimit-Limit, …) and retry-after "
        "(Retry-After on 200 too: 0, or when the request would be within "
        "the limit); or none."},
    FlagSpec{"startup-wait", "Serving", "DURATION", "3s",
             "How long /startupz waits for policies and for the first answer of the counter store: 0s to 10m. After "
             "that the agent counts as started, whatever is missing."},
    FlagSpec{"drain-timeout", "Serving", "DURATION", "20s",
             "How long a stop waits for open connections to finish: 0s to 10m."},

    FlagSpec{"decision-log", "Telemetry", "WHICH", "off",
             "Which decisions are logged, one JSON line each, without subjects and keys: off, denied, all, or "
             "sample=SHARE, such as sample=0.01. sample:N is one of N."},
    FlagSpec{"decision-log-to", "Telemetry", "WHERE", "stdout",
             "Where the decision log goes: stdout, stderr, file:PATH, syslog (the socket /dev/log), syslog:unix:PATH, "
             "syslog:udp://HOST:PORT or syslog:tcp://HOST:PORT. Syslog messages have the form of RFC 5424."},
    FlagSpec{"decision-log-rotate-size", "Telemetry", "SIZE", "100MB",
             "With --decision-log-to file:PATH: at this size PATH becomes PATH.1, and a new file begins: 64kB to "
             "1000GB. 0 leaves that to logrotate, which needs no signal."},
    FlagSpec{"decision-log-rotate-keep", "Telemetry", "N", "5",
             "How many old files stay, PATH.1 to PATH.N: 1 to 1000."},
    FlagSpec{"log-level", "Telemetry", "LEVEL", "info",
             "The lowest level that is logged to stderr: debug, info, warn or error."},
    program::kLogFormat,
    FlagSpec{
        "metrics-policy-label", "Telemetry", "", "false",
        "Add a policy label to the metrics of decisions, for the first 200 policies; the others share `other`. Also "
        "expose the configured limits, at most 1,000."},
    FlagSpec{
        "metrics-aliases", "Telemetry", "", "false",
        "Also expose metrics by the names that dashboards for other rate limiters have, such as rl_allowed_total."},
    program::kOtlpEndpoint,
    program::kTraceSample,

    FlagSpec{"help", "Other", "", "false", "Print this help and exit."},
    FlagSpec{"version", "Other", "", "false", "Print the version and exit."},
};

inline constexpr std::array kMintKeyFlags{
    FlagSpec{"id", "Key", "ID", "", "Id of the key: [a-z0-9][a-z0-9.-]{0,62}. Default: a random one."},
    FlagSpec{"tenant", "Key", "ID", "default", "Tenant that the key belongs to."},
    FlagSpec{"name", "Key", "TEXT", "", "Name of the key, for people. Default: none."},
    FlagSpec{"help", "Other", "", "false", "Print this help and exit."},
};

inline constexpr std::array kReferenceFlags{
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

inline constexpr std::string_view kReference = "reference";
inline constexpr std::string_view kReferenceDescription =
    "Print every command, flag and error of this program as JSON. docs/reference is made of it.";

inline constexpr std::string_view kReferenceOpenapi = "reference openapi";
inline constexpr std::string_view kReferenceOpenapiDescription =
    "Print the OpenAPI document that this program serves at /openapi.json.";

inline constexpr std::array kCommands{
    program::Command{"", kDescription, kExamples, kFlags},
    program::Command{kMintKey, kMintKeyDescription, "", kMintKeyFlags},
    program::Command{kReference, kReferenceDescription, "", kReferenceFlags},
    program::Command{kReferenceOpenapi, kReferenceOpenapiDescription, "", kReferenceFlags},
};

inline constexpr program::Program kProgram{"sluice-agent", "SLUICE_AGENT_", kCommands};

}  // namespace sluice::agent
