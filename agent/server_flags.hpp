// The flags by which an agent is told where its server is. A part of config.
#pragma once

#include <optional>

#include "agent/policies/server_source.hpp"
#include "common/program/config_reader.hpp"
#include "common/program/flags.hpp"

namespace sluice::agent {

// Nothing where there is no --server. POD_NAME is asked of the environment.
std::optional<policies::ServerOptions> read_server(program::ConfigReader& reader,
                                                   const program::Environment& environment);

}  // namespace sluice::agent
