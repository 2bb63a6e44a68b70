// The flags about the playground.
#pragma once

#include <optional>

#include "common/program/config_reader.hpp"
#include "common/program/flags.hpp"
#include "server/playground/setup.hpp"

namespace sluice::server::playground {

using program::FlagSpec;

inline constexpr FlagSpec kAgent{
    "playground-agent", "Playground", "URL", "",
    "The agent that judges the checks of the playground: http://HOST[:PORT], https://… or unix:PATH. Another machine "
    "needs https, or --insecure-playground-agent. Without it, there is no playground."};
inline constexpr FlagSpec kAgentCa{
    "playground-agent-ca", "Playground", "FILE", "",
    "CA certificates to trust for --playground-agent https://… (PEM). Default: those of the operating system."};
inline constexpr FlagSpec kInsecureAgent{
    "insecure-playground-agent", "Playground", "", "false",
    "Allow --playground-agent http://… on another machine. API keys then cross the network in clear."};
inline constexpr FlagSpec kKeyFile{
    "playground-key-file", "Playground", "FILE", "",
    "File with API keys, one a line, each of a tenant to play with. Read when the server starts. Other users must not "
    "be able to read it. For tenants without a key there, whoever plays brings an API key."};
inline constexpr FlagSpec kPublic{
    "playground", "Playground", "TENANT", "",
    "Let anybody who reaches --listen make checks of this tenant in the playground, without signing in. The checks are "
    "real: they count. Each address gets 100 at once, then 10 a second; all together 1,000, then 100 a second. "
    "Needs a key of the tenant in --playground-key-file."};

// nullopt: there is no playground.
std::optional<Setup> read_setup(program::ConfigReader& reader);

}  // namespace sluice::server::playground
