// The flags about signing in by OpenID Connect.
#pragma once

#include <optional>

#include "common/program/config_reader.hpp"
#include "common/program/flags.hpp"
#include "server/oidc/setup.hpp"
#include "server/sessions/request_check.hpp"

namespace sluice::server::oidc {

using program::FlagSpec;

inline constexpr FlagSpec kIssuer{
    "oidc-issuer", "Signing in", "URL", "",
    "Let people sign in to the console by OpenID Connect: the provider's issuer, exactly as the provider writes it. "
    "https://; http:// only on this machine. Needs --oidc-client-id and --console-url. At the provider, allow the "
    "redirect URI CONSOLE-URL/v1/console/oidc/callback."};
inline constexpr FlagSpec kClientId{"oidc-client-id", "Signing in", "ID", "",
                                    "The name of this server at the provider of --oidc-issuer."};
inline constexpr FlagSpec kClientSecretFile{
    "oidc-client-secret-file", "Signing in", "FILE", "",
    "File whose first line is the client's secret at the provider, read at each sign-in. Other users must not be able "
    "to read it. Without it, the client is a public one."};
inline constexpr FlagSpec kGroupsClaim{
    "oidc-groups-claim", "Signing in", "NAME", "groups",
    "The claim of the ID token that lists a person's groups. Group mappings give groups their role and scope."};
inline constexpr FlagSpec kScopes{
    "oidc-scopes", "Signing in", "SCOPES", "openid profile email",
    "What the server asks the provider for, with spaces between; openid must be among them. Some providers name groups "
    "only if asked for the scope groups."};
inline constexpr FlagSpec kName{"oidc-name", "Signing in", "TEXT", "",
                                "What the console's button names: Sign in with TEXT. Default: the issuer's host."};
inline constexpr FlagSpec kCa{"oidc-ca", "Signing in", "FILE", "",
                              "CA certificates to trust for the provider (PEM), read at each connection. Default: "
                              "those of the operating system."};

// nullopt: nobody can sign in by OpenID Connect. `site`: how browsers reach the server.
std::optional<Setup> read_setup(program::ConfigReader& reader, const sessions::Site& site);

}  // namespace sluice::server::oidc
