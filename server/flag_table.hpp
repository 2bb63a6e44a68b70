// The command line of sluice-server. Flags that belong to one folder are specified in the `flags.hpp` of that folder.
#pragma once

#include <array>
#include <string_view>

#include "common/program/flags.hpp"
#include "common/program/log_format.hpp"
#include "common/program/redis_flags.hpp"
#include "common/program/tracing_flags.hpp"
#include "server/identity/flags.hpp"
#include "server/injector/flags.hpp"
#include "server/kubernetes/flags.hpp"
#include "server/oidc/flags.hpp"
#include "server/playground/flags.hpp"
#include "server/redis_users/flags.hpp"
#include "server/sessions/flags.hpp"
#include "server/webhooks/flags.hpp"

namespace sluice::server {

using program::FlagSpec;

inline constexpr FlagSpec kDatabaseUrl{
    "database-url", "PostgreSQL", "URL", "",
    "URL by which the server connects to PostgreSQL, with a role that may not change the schema: "
    "postgresql://ROLE@HOST[:PORT]/NAME, or postgresql:///NAME?host=/FOLDER&user=ROLE for a Unix socket. Another "
    "machine needs sslmode=verify-full (verify-ca, require), or --insecure-database. Keep passwords in "
    "--database-password-file, a passfile or a client certificate."};
inline constexpr FlagSpec kDatabasePasswordFile{
    "database-password-file", "PostgreSQL", "FILE", "",
    "File with the password of --database-url, read when the server starts."};
inline constexpr FlagSpec kOwnerUrl{"database-owner-url", "PostgreSQL", "URL", "",
                                    "URL of PostgreSQL, with the role that owns the schema. With it the server applies "
                                    "missing migrations when it starts; without it the schema must exist."};
inline constexpr FlagSpec kInsecureDatabase{
    "insecure-database", "PostgreSQL", "", "false",
    "Allow a PostgreSQL on another machine without TLS, which is what sslmode disable, allow and prefer permit. "
    "Passwords and policies then cross the network in clear, and who is on the way can change them."};
inline constexpr FlagSpec kLogLevel{
    "log-level", "Telemetry", "LEVEL", "info",
    "The lowest level that is logged to stderr: debug (every call), info, warn or error."};
inline constexpr FlagSpec kHelp{"help", "Other", "", "false", "Print this help and exit."};

inline constexpr std::array kFlags{
    kDatabaseUrl,
    kDatabasePasswordFile,
    kOwnerUrl,
    kInsecureDatabase,
    FlagSpec{"database-pool", "PostgreSQL", "N", "8",
             "How many connections the pool has to PostgreSQL, and so how many admin calls run at once: 1 to 200."},
    FlagSpec{"database-waiting", "PostgreSQL", "N", "1000",
             "How many calls may wait for a connection: 1 to 100000. The server answers further calls with 503."},
    FlagSpec{
        "database-lock-timeout", "PostgreSQL", "DURATION", "2s",
        "How long a call waits for another that changes the same objects: 10ms to 1m. After that it is answered 503."},
    FlagSpec{"database-statement-timeout", "PostgreSQL", "DURATION", "30s",
             "How long one SQL statement may take: 100ms to 10m."},

    FlagSpec{
        "counters", "Counters", "URL", "",
        "The Redis that the agents count in, where the server writes overrides: "
        "redis://[USER:PASSWORD@]HOST[:PORT][/DB], redis+sentinel://[USER:PASSWORD@]HOST[:PORT],HOST,HOST/NAME[/DB], "
        "redis+cluster://[USER:PASSWORD@]HOST[:PORT],HOST,HOST, the same with rediss (TLS), or unix:PATH[?db=N]. "
        "Another machine needs TLS, or --insecure-redis. Without --counters there are no overrides, and counters "
        "cannot be read."},
    program::kRedisUser,
    program::kRedisPasswordFile,
    program::kRedisSentinelPasswordFile,
    program::kRedisSentinelLoginFile,
    program::kRedisTlsCa,
    program::kRedisTlsCert,
    program::kRedisTlsKey,
    program::kInsecureRedis,
    FlagSpec{"redis-deadline", "Counters", "DURATION", "250ms",
             "How long a call waits for Redis: 1ms to 10s. If Redis takes longer, the server answers the call and "
             "publishes the call's overrides later."},
    FlagSpec{"allow-evicting-redis", "Counters", "", "false",
             "Start although Redis' maxmemory-policy is not noeviction. Redis may then drop overrides and counters."},
    FlagSpec{"redis-survey-every", "Counters", "DURATION", "1m",
             "How often the server asks each Redis for its memory, and for 400 random keys to estimate which tenants "
             "use it: 0s to 1h; 0s for never. The metrics sluice_redis_memory_… and sluice_redis_tenant_… have the "
             "results."},

    FlagSpec{"listen", "Listeners", "ADDR:PORT", "127.0.0.1:8080",
             "Where the server answers the admin API and agents. Port 0 takes any free port; the log names it. An "
             "address that others can reach needs TLS, or --insecure-listen."},
    FlagSpec{"tls-cert", "Listeners", "FILE", "",
             "Certificate chain (PEM) of --listen. Read again when it changes. Needs --tls-key."},
    FlagSpec{"tls-key", "Listeners", "FILE", "", "Key of the certificate (PEM). Needs --tls-cert."},
    FlagSpec{"tls-ca", "Listeners", "FILE", "",
             "CA certificate (PEM) of --tls-cert. With --webhook, the server gives it to the agents that it puts into "
             "pods, so that they trust the server."},
    FlagSpec{"tls-client-ca", "Listeners", "FILE", "",
             "CA certificates (PEM). Whoever connects to --listen must then present a client certificate that leads to "
             "one of them: agents theirs by --server-tls-cert. Agents that --webhook puts into pods have none. Read "
             "again when it changes. Needs --tls-cert or --tls-self-managed."},
    FlagSpec{"insecure-listen", "Listeners", "", "false",
             "Allow --listen without TLS on an address that others can reach. Tokens then cross the network in clear."},
    sessions::kConsoleUrl,
    FlagSpec{"admin", "Listeners", "ADDR:PORT", "0.0.0.0:9090",
             "Where probes and metrics are answered: /livez, /readyz, /metrics."},
    FlagSpec{"call-timeout", "Listeners", "DURATION", "45s",
             "How long a call may take, with the wait for a connection: 100ms to 10m. After that it is answered 503."},
    FlagSpec{"drain-timeout", "Listeners", "DURATION", "20s",
             "How long a stop waits for calls that are being answered: 0s to 10m."},

    FlagSpec{"request-memory", "Bounds", "SIZE", "160MiB",
             "How much memory all requests in flight may take together: 16MB to 64GB. One request gets at most three "
             "quarters of it. The server answers 413 or 503 to requests that need more, before it changes anything."},
    FlagSpec{
        "admin-writes-per-second", "Bounds", "N", "100",
        "How many calls other than GET an admin token may make a second on this server, if no quota of its tenant or "
        "organization says otherwise: 0 to 1000000; 0 for any number. The server answers further calls with 429."},
    FlagSpec{"admin-reads-per-second", "Bounds", "N", "1000",
             "How many GET calls an admin token may make a second on this server, if no quota of its tenant or "
             "organization says otherwise: 0 to 1000000; 0 for any number. The server answers further calls with 429."},

    injector::kWebhook,
    injector::kWebhookClientCa,
    injector::kInjectImage,
    injector::kInjectPullPolicy,
    injector::kInjectServerUrl,
    injector::kInjectCounters,
    injector::kInjectCountersCa,
    injector::kInjectSettings,
    injector::kInjectMissedEvery,

    FlagSpec{"analytics-retention", "Analytics", "DURATION", "720h",
             "How long the server keeps usage, which it counts per minute: 1h to 87600h."},
    FlagSpec{"analytics-every", "Analytics", "DURATION", "1m",
             "How often the server writes usage to PostgreSQL: 100ms to 10m. Agents keep what is not written yet."},

    webhooks::kSecretFile,
    webhooks::kAllow,
    webhooks::kTlsCa,
    webhooks::kGiveUp,

    oidc::kIssuer,
    oidc::kClientId,
    oidc::kClientSecretFile,
    oidc::kGroupsClaim,
    oidc::kScopes,
    oidc::kName,
    oidc::kCa,

    playground::kAgent,
    playground::kAgentCa,
    playground::kInsecureAgent,
    playground::kKeyFile,
    playground::kPublic,

    FlagSpec{"changes-retention", "Agents", "DURATION", "720h",
             "How long the server keeps which objects a revision changed: 1h to 87600h. An agent that was away longer "
             "gets a full snapshot. Versions of objects and the audit trail stay for ever."},
    FlagSpec{"changes-kept", "Agents", "N", "10000",
             "How many of the newest revisions the server keeps even if they are older than --changes-retention: 1 to "
             "10000000."},
    identity::kTokenAudience,
    identity::kTokenReviewCache,
    identity::kAgentsRedisUser,
    identity::kAgentsRedisPasswordFile,
    redis_users::kRedisUsers,
    redis_users::kRedisUsersSecretFile,
    kubernetes::kKubernetes,
    kubernetes::kKubernetesCa,
    kubernetes::kKubernetesTokenFile,
    kubernetes::kKubernetesNamespace,
    kubernetes::kTlsSelfManaged,
    kubernetes::kTlsSecret,
    kubernetes::kTlsLifetime,
    kubernetes::kTlsCaLifetime,
    kubernetes::kTlsLookEvery,
    kubernetes::kTlsCache,
    kubernetes::kWebhookConfiguration,

    kLogLevel,
    program::kLogFormat,
    program::kOtlpEndpoint,
    program::kTraceSample,
    kHelp,
    FlagSpec{"version", "Other", "", "false", "Print the version and exit."},
};

inline constexpr std::array kMigrateFlags{
    kOwnerUrl,
    kDatabaseUrl,
    kInsecureDatabase,
    FlagSpec{"dry-run", "Migration", "", "false", "Apply all missing migrations, print them, and roll back."},
    FlagSpec{"wait", "Migration", "DURATION", "0s",
             "How long to wait for PostgreSQL if it cannot be reached: 0s to 1h."},
    kHelp,
};

inline constexpr std::array kBootstrapFlags{
    kDatabaseUrl,
    kDatabasePasswordFile,
    kInsecureDatabase,
    FlagSpec{"name", "Token", "TEXT", "bootstrap", "Name of the token, for people."},
    FlagSpec{"again", "Token", "", "false", "Make another token although a valid platform_admin token exists."},
    kHelp,
};

inline constexpr std::array kMakeSecretsFlags{
    kubernetes::kKubernetes,
    kubernetes::kKubernetesCa,
    kubernetes::kKubernetesTokenFile,
    kubernetes::kKubernetesNamespace,
    kubernetes::kDatabaseHost,
    kubernetes::kDatabaseName,
    kHelp,
};

inline constexpr std::array kImportFlags{
    FlagSpec{"dry-run", "Import", "", "false", "Print the bundle as YAML, and apply nothing."},
    FlagSpec{"strict", "Import", "", "false",
             "Exit with status 1, and apply nothing, if anything has no counterpart or counts otherwise."},
    FlagSpec{"tenant", "Import", "ID", "default", "The tenant that gets the policies."},
    FlagSpec{"server", "Server", "URL", "",
             "The running server that applies the bundle: https://HOST[:PORT] or http://…. Needs --token-file."},
    FlagSpec{"token-file", "Server", "FILE", "",
             "File with an admin token, whose role is platform_admin or org_admin."},
    FlagSpec{"server-tls-ca", "Server", "FILE", "",
             "CA certificates to trust for --server (PEM). Default: those of the operating system."},
    FlagSpec{"insecure-server", "Server", "", "false",
             "Allow --server http://… to another machine. The token then crosses the network in clear."},
    kHelp,
};

inline constexpr std::array kRoutesFlags{kHelp};

inline constexpr std::array kReferenceFlags{kHelp};

inline constexpr std::array kAuditFlags{kHelp};

inline constexpr std::array kAuditVerifyFlags{
    kDatabaseUrl,
    kDatabasePasswordFile,
    kInsecureDatabase,
    FlagSpec{"head", "Verification", "FILE", "",
             "File with the heads (last rows) of the chains, which --write-head wrote earlier. With it, rows that were "
             "cut off at the end of a chain are found too."},
    FlagSpec{"write-head", "Verification", "FILE", "",
             "Write the heads of the chains to this file if no fault is found."},
    kHelp,
};

inline constexpr std::string_view kDescription =
    "Sluice server: tenants, plans, policies, keys and tokens in PostgreSQL, served as the admin REST API.\n"
    "Every flag has an environment variable (a flag wins over it; booleans take true, false, 1, 0).";

inline constexpr std::string_view kExamples = R"(
Examples:
  sluice-server migrate --database-owner-url postgresql://sluice_owner@localhost/sluice \
      --database-url postgresql://sluice_app@localhost/sluice
      Makes or upgrades the schema, and grants the application's role what it needs.
  sluice-server bootstrap --database-url postgresql://sluice_app@localhost/sluice
      Prints the first platform_admin token, once.
  sluice-server --database-url 'postgresql://sluice_app@db/sluice?sslmode=verify-full&sslrootcert=ca.crt' \
      --listen 0.0.0.0:8080 --tls-cert tls.crt --tls-key tls.key
  sluice-server audit verify --database-url 'postgresql://sluice_app@db/sluice?sslmode=verify-full' --head kept-elsewhere.json

Durations: a whole number and a unit: us, ms, s, m, h. Exit status: 0 good, 1 it could not start or found faults,
2 faulty flags.)";

inline constexpr std::string_view kImportExamples = R"(
Examples:
  nginx -T | sluice-server import nginx - --tenant shop --dry-run
  sluice-server import traefik dynamic.yaml --tenant shop --server https://sluice.example.com --token-file admin.token)";

inline constexpr std::array kCommands{
    program::Command{"", kDescription, kExamples, kFlags},
    program::Command{"migrate", "Apply the missing migrations of the schema, and exit.", "", kMigrateFlags},
    program::Command{"bootstrap", "Make the first platform_admin token and print it. It is shown only here.", "",
                     kBootstrapFlags},
    program::Command{"make-secrets",
                     "Make the Secrets sluice-database and sluice-redis with random passwords if they do not exist. "
                     "Existing Secrets are never changed. Here --kubernetes defaults to in-cluster.",
                     "", kMakeSecretsFlags},
    program::Command{
        "import",
        "Make policies of the configuration of another limiter, and apply them to a running server, or "
        "with --dry-run print them: import FROM FILE... FROM is envoy-ratelimit, limitador, kong, "
        "gubernator, nginx or traefik. FILE may be - for stdin. stderr lists with its line what has no counterpart.",
        kImportExamples, kImportFlags, false, true},
    program::Command{"routes",
                     "Print every route of the admin API, the permission that it needs, and the roles that have it.",
                     "", kRoutesFlags},
    program::Command{"reference",
                     "Print every command, flag and error of this program as JSON. docs/reference is made of it.", "",
                     kReferenceFlags},
    program::Command{"reference openapi", "Print the OpenAPI document that this program serves at /openapi.json.", "",
                     kReferenceFlags},
    program::Command{"audit", "Commands for the audit trail.", "", kAuditFlags, true},
    program::Command{"audit verify", "Check that no row of the audit trail was changed, removed, swapped or cut off.",
                     "", kAuditVerifyFlags},
};

inline constexpr program::Program kProgram{"sluice-server", "SLUICE_SERVER_", kCommands};

}  // namespace sluice::server
