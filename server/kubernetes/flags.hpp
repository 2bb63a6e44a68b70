// The flags about the Kubernetes API and the certificate that the server stores there.
#pragma once

#include <optional>

#include "common/program/config_reader.hpp"
#include "common/program/flags.hpp"
#include "server/kubernetes/api_client.hpp"
#include "server/kubernetes/certificate_keeper.hpp"
#include "server/kubernetes/make_secrets.hpp"

namespace sluice::server::kubernetes {

using program::FlagSpec;

inline constexpr FlagSpec kKubernetes{
    "kubernetes", "Kubernetes", "off|in-cluster|URL", "off",
    "The Kubernetes API: off, in-cluster (the cluster that the program runs in), or https://HOST[:PORT]."};
inline constexpr FlagSpec kKubernetesCa{
    "kubernetes-ca", "Kubernetes", "FILE", "",
    "CA certificates of --kubernetes URL (PEM). Default: those of the operating system."};
inline constexpr FlagSpec kKubernetesTokenFile{"kubernetes-token-file", "Kubernetes", "FILE", "",
                                               "File with the token for --kubernetes URL, read at each request."};
inline constexpr FlagSpec kKubernetesNamespace{"kubernetes-namespace", "Kubernetes", "NAME", "",
                                               "The server's own namespace. Default: the pod's."};
inline constexpr FlagSpec kTlsSelfManaged{
    "tls-self-managed", "Kubernetes", "NAME,…", "",
    "DNS names and addresses for which the server itself makes and renews the certificate of --listen, instead of "
    "reading --tls-cert. A name without a dot, such as sluice-server, is a Service of the server's namespace: the "
    "certificate "
    "is for NAME.NAMESPACE, NAME.NAMESPACE.svc and NAME.NAMESPACE.svc.cluster.local too. The server keeps it in the "
    "Secret "
    "--tls-secret. Needs --kubernetes."};
inline constexpr FlagSpec kTlsSecret{"tls-secret", "Kubernetes", "NAME", "sluice-tls",
                                     "The Secret that the servers share for --tls-self-managed."};
inline constexpr FlagSpec kTlsLifetime{
    "tls-lifetime", "Kubernetes", "DURATION", "2160h",
    "How long a certificate is valid: 3s to 8760h. It is renewed after two thirds of that."};
inline constexpr FlagSpec kTlsCaLifetime{"tls-ca-lifetime", "Kubernetes", "DURATION", "87600h",
                                         "How long the CA is valid: at least three times --tls-lifetime, at most "
                                         "876000h. It is replaced after two thirds of that."};
inline constexpr FlagSpec kTlsLookEvery{"tls-look-every", "Kubernetes", "DURATION", "10s",
                                        "How often the server reads the Secret: 100ms to 10m."};
inline constexpr FlagSpec kTlsCache{"tls-cache", "Kubernetes", "FILE", "",
                                    "File in which the server keeps the certificate of --tls-self-managed, with its "
                                    "key. A server that starts while the "
                                    "API server is away serves with it. Default: none, and such a server waits."};
inline constexpr FlagSpec kWebhookConfiguration{"webhook-configuration", "Kubernetes", "NAME", "",
                                                "The MutatingWebhookConfiguration whose caBundle the server keeps up "
                                                "to date with --tls-self-managed. Default: none."};

// Flags of the command make-secrets.
inline constexpr FlagSpec kDatabaseHost{"database-host", "Secrets", "HOST[:PORT]", "sluice-postgres",
                                        "Host of PostgreSQL in the URLs of the Secret sluice-database."};
inline constexpr FlagSpec kDatabaseName{"database-name", "Secrets", "NAME", "sluice",
                                        "Name of the database in the URLs of the Secret sluice-database."};

struct Settings {
  std::optional<ApiOptions> api;                           // absent with --kubernetes off
  std::optional<CertificateKeeper::Options> self_managed;  // absent without --tls-self-managed
};

Settings read_settings(program::ConfigReader& reader, const program::Environment& environment);

// Without --kubernetes, make-secrets uses the API of the cluster that it runs in.
SecretsOptions read_secrets_options(program::ConfigReader& reader, const program::Environment& environment);

}  // namespace sluice::server::kubernetes
