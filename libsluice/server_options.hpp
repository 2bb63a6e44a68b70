// What a program says of its server, as the source of policies wants it.
#pragma once

#include <expected>

#include "engine/policies/server_source.hpp"
#include "sluice/engine.hpp"

namespace sluice::lib {

// REQUIRES: `server.url` is not empty. Reads the token file, to find out early that it cannot be used.
std::expected<policies::ServerOptions, v1::Status> server_options(const v1::Server& server);

}  // namespace sluice::lib
