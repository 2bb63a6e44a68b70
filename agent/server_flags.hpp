// Reads --server and the flags that need it, for config.cpp.
#pragma once

#include <optional>

#include "common/program/config_reader.hpp"
#include "common/program/flags.hpp"
#include "engine/policies/server_source.hpp"

namespace sluice::agent {

// Returns nullopt without --server. The environment variable POD_NAME is the default of --pod.
std::optional<policies::ServerOptions> read_server(program::ConfigReader& reader,
                                                   const program::Environment& environment);

// --agent-id, or else the host's name.
std::string agent_name(const program::ConfigReader& reader);

}  // namespace sluice::agent
